//! The simulator's TCP compared with this kernel's, over the same bottleneck.
//!
//! [`relay`] passes a kernel's packets through the simulator's own bottleneck in real time;
//! [`kernel`] sends a flow through it; [`page`] writes the table.

pub mod kernel;
pub mod page;
pub mod relay;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use fanfare_proto::Bitrate;
use fanfare_sim::tcp::{Algorithm, Bottleneck, Config, Pipe, Source};

use crate::tool::{self, ToolError};

/// Fewest bytes of queue: ten packets. The bandwidth-delay product of a slow short path would be
/// less than two, and leave only the packets' granularity to compare.
const MIN_QUEUE_BYTES: u64 = 10 * 1492;

/// A path and an algorithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conditions {
    /// Reno or CUBIC.
    pub algorithm: Algorithm,
    /// Line rate.
    pub mbps: u64,
    /// Round trip without queue.
    pub rtt: Duration,
    /// Share of data packets lost.
    pub loss: f64,
}

impl Conditions {
    /// As a row's first cells.
    pub fn name(&self) -> String {
        let algorithm = match self.algorithm {
            Algorithm::Reno => "Reno",
            Algorithm::Cubic => "CUBIC",
        };
        let (rtt, loss) = (self.rtt.as_millis(), self.loss * 100.0);
        format!("{algorithm} {} Mbit/s {rtt} ms {loss} %", self.mbps)
    }

    /// The name of the algorithm in `/proc/sys/net/ipv4/tcp_available_congestion_control`.
    pub fn kernel_name(&self) -> &'static str {
        match self.algorithm {
            Algorithm::Reno => "reno",
            Algorithm::Cubic => "cubic",
        }
    }

    /// The path; `seed` decides which packets are lost.
    pub fn bottleneck(&self, seed: u64) -> Bottleneck {
        let path = Bottleneck::new(Bitrate::mbps(self.mbps), self.rtt / 2, seed);
        let queue_bytes = path.queue_bytes.max(MIN_QUEUE_BYTES);
        path.queue(queue_bytes).loss(self.loss)
    }

    /// The model's goodput in bit/s over `time` from the first byte that arrives.
    pub fn model(&self, time: Duration, seed: u64) -> f64 {
        let config = Config { algorithm: self.algorithm, ..Config::default() };
        let mut pipe = Pipe::new(self.bottleneck(seed)).flow(config, Source::Greedy);
        let begin = self.rtt / 2;
        pipe.goodput(begin, begin + time)[0]
    }
}

/// What is compared.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Length of a run.
    pub time: Duration,
    /// Runs of each condition with loss; one without.
    pub runs: u64,
    /// Runs at a time.
    pub jobs: usize,
}

impl Plan {
    /// The table's rows.
    pub fn conditions() -> Vec<Conditions> {
        let mut all = Vec::new();
        for algorithm in [Algorithm::Cubic, Algorithm::Reno] {
            for mbps in [1, 10] {
                for rtt in [20, 100].map(Duration::from_millis) {
                    for loss in [0.0, 0.001, 0.01, 0.05] {
                        all.push(Conditions { algorithm, mbps, rtt, loss });
                    }
                }
            }
        }
        all
    }

    /// Seeds of a condition's runs: without loss they would all be the same.
    fn seeds(&self, conditions: &Conditions) -> std::ops::RangeInclusive<u64> {
        1..=if conditions.loss > 0.0 { self.runs } else { 1 }
    }
}

/// A condition's goodputs, bit/s, run by run with the same seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Path and algorithm.
    pub conditions: Conditions,
    /// The simulator's.
    pub model: Vec<f64>,
    /// This kernel's.
    pub kernel: Vec<f64>,
}

/// Runs the plan; `said` is called after each run of the kernel.
///
/// # Errors
/// The first of the runs themselves; a signal ends it as [`ToolError::Interrupted`].
pub fn compare(
    plan: &Plan,
    chosen: &[Conditions],
    said: impl Fn(&Conditions, f64, f64) + Sync,
) -> Result<Vec<Row>, ToolError> {
    let runs: Vec<(usize, u64)> = chosen
        .iter()
        .enumerate()
        .flat_map(|(index, conditions)| plan.seeds(conditions).map(move |seed| (index, seed)))
        .collect();
    let results = all(&runs, plan.jobs, |(index, seed)| {
        let conditions = &chosen[*index];
        let model = conditions.model(plan.time, *seed);
        let kernel = kernel::goodput(conditions, plan.time, *seed)?;
        said(conditions, model, kernel);
        Ok((model, kernel))
    })?;
    let of = |index| runs.iter().zip(&results).filter(move |((at, _), _)| *at == index);
    let rows = chosen.iter().enumerate().map(|(index, conditions)| Row {
        conditions: *conditions,
        model: of(index).map(|(_, (model, _))| *model).collect(),
        kernel: of(index).map(|(_, (_, kernel))| *kernel).collect(),
    });
    Ok(rows.collect())
}

/// Does `work` on every item, `jobs` at a time, and keeps their order.
fn all<T: Sync, R: Send>(
    items: &[T],
    jobs: usize,
    work: impl Fn(&T) -> Result<R, ToolError> + Sync,
) -> Result<Vec<R>, ToolError> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Result<R, ToolError>)>> = Mutex::new(Vec::new());
    let worker = || {
        while let Some((index, item)) = {
            let index = next.fetch_add(1, Ordering::SeqCst);
            items.get(index).map(|item| (index, item))
        } {
            let result = if tool::interrupted() { Err(ToolError::Interrupted) } else { work(item) };
            if result.is_err() {
                next.store(items.len(), Ordering::SeqCst);
            }
            done.lock().unwrap_or_else(|e| e.into_inner()).push((index, result));
        }
    };
    thread::scope(|scope| (0..jobs.max(1)).for_each(|_| drop(scope.spawn(worker))));
    let mut done = done.into_inner().unwrap_or_else(|e| e.into_inner());
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_in_parallel_keeps_its_order_and_stops_at_the_first_error() {
        let items: Vec<u64> = (0..20).collect();
        assert_eq!(all(&items, 3, |n| Ok(n * 2)).unwrap()[19], 38);
        let failed = all(&items, 3, |n| match n {
            5 => Err(ToolError::Missing { program: "x".into() }),
            n => Ok(*n),
        });
        assert!(failed.is_err());
    }

    #[test]
    fn the_model_fills_a_clean_line_and_not_a_lossy_one() {
        let rtt = Duration::from_millis(20);
        let clean = Conditions { algorithm: Algorithm::Cubic, mbps: 1, rtt, loss: 0.0 };
        let time = Duration::from_secs(30);
        assert!(clean.model(time, 1) > 0.94e6, "{}", clean.model(time, 1));
        let lossy = Conditions { loss: 0.3, ..clean };
        assert!(lossy.model(time, 1) < 0.5e6, "{}", lossy.model(time, 1));
    }
}

//! How exact the laboratory is on this machine, measured against the model.
//!
//! One process sends and receives on all hosts. Each datagram carries the time when it was sent.
//! The kernel notes the time when it arrives at the receiving host, before any program runs. The
//! times of sending, the line's rate and the delay give the time when each datagram should have
//! arrived.

mod measurement;
pub(crate) mod option;
mod throughput;

pub use throughput::{Carried, Throughput};

use crate::{emulator::snapshot::Snapshot, error::LabError, lab::Lab};
use fanfare_sim::{Scenario, Sorted};
pub(crate) use measurement::opened;
use measurement::{Arrived, Load, measure};
use serde::Serialize;
use std::{collections::BTreeMap, net::Ipv4Addr, time::Duration};

/// What is published (docs/reference/laboratory.md): a share of the rate, and milliseconds.
const RATE_ERROR_MAX: f64 = 0.01;
const MEDIAN_MAX_MS: f64 = 0.3;
const P99_MAX_MS: f64 = 2.0;
/// Of a loss's standard deviation: 1 cell in 370 fails by chance.
const SIGMAS_MAX: f64 = 3.0;
/// UDP and IPv4 headers.
const HEADERS: usize = 28;

/// A measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Check {
    /// How long each cell sends.
    pub seconds: u64,
}

/// What one cell came to.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Accuracy {
    /// The cell.
    pub cell: &'static str,
    /// Datagrams sent.
    pub sent: u64,
    /// Datagrams received, by all.
    pub received: u64,
    /// Rate measured, over the rate asked for, less one.
    pub rate_error: Option<f64>,
    /// Delay beyond the model's, milliseconds: median, 95th and 99th percentile, greatest.
    pub delay_error_ms: Option<[f64; 4]>,
    /// Greatest distance of a receiver's loss from what was asked for, in standard deviations.
    pub loss_sigmas: Option<f64>,
    /// Every packet is in one of the emulator's numbers, and all that arrived was handed over.
    pub accounted: bool,
    /// The emulator's lateness: median and 99th percentile, milliseconds.
    pub late_ms: [f64; 2],
    /// The emulator was late beyond its bound: the cell does not count.
    pub void: bool,
    /// It keeps what is published.
    pub ok: bool,
}

/// What all cells came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// All are as published.
    Kept,
    /// The machine was too busy in some.
    Void,
    /// Some are not.
    Missed,
}

/// One cell: its network and what is sent over it.
struct Cell {
    name: &'static str,
    link: &'static str,
    load: Load,
    rate: f64,
    delay: Duration,
    quantity: Quantity,
}

#[derive(Clone, Copy, PartialEq)]
enum Quantity {
    Rate,
    Delay,
    Loss(f64),
}

impl Check {
    /// Measures every cell; `each` is told of each.
    ///
    /// # Errors
    /// When no lab can be made here.
    pub fn run(self, each: &mut dyn FnMut(&Accuracy)) -> Result<Verdict, LabError> {
        let mut verdict = Verdict::Kept;
        for cell in cells(Duration::from_secs(self.seconds)) {
            let accuracy = cell.run()?;
            each(&accuracy);
            verdict = match (verdict, accuracy.void, accuracy.ok) {
                (Verdict::Missed, ..) | (_, false, false) => Verdict::Missed,
                (Verdict::Void, ..) | (_, true, _) => Verdict::Void,
                (Verdict::Kept, false, true) => Verdict::Kept,
            };
        }
        Ok(verdict)
    }
}

fn cells(lasting: Duration) -> [Cell; 5] {
    let group = Ipv4Addr::new(239, 255, 77, 1);
    let load = |nodes, senders, rate, to| Load { nodes, senders, rate, to, bytes: 1_372, lasting };
    let line = "rate = \"10Mbps\"\ndelay = \"20ms\"\n";
    let lossy = "delay = \"5ms\"\nloss = \"5%\"\n";
    let ms = Duration::from_millis;
    let cell =
        |name, link, load, delay, quantity| Cell { name, link, load, rate: 10e6, delay, quantity };
    [
        cell("rate: 12 on 10 Mbit/s", line, load(2, 1, 12e6, group), ms(20), Quantity::Rate),
        cell("delay: 1 to 9, 9.2 Mbit/s", line, load(10, 1, 9.2e6, group), ms(20), Quantity::Delay),
        cell(
            "delay: 10 nodes, 1 Mbit/s each",
            line,
            load(10, 10, 1e6, group),
            ms(20),
            Quantity::Delay,
        ),
        cell(
            "loss: 5 % to a group of 3",
            lossy,
            load(4, 1, 20e6, group),
            ms(5),
            Quantity::Loss(0.05),
        ),
        cell(
            "loss: 5 % to one host",
            lossy,
            load(2, 1, 20e6, crate::emulator::packet::address(1)),
            ms(5),
            Quantity::Loss(0.05),
        ),
    ]
}

impl Cell {
    fn scenario(&self) -> String {
        let nodes = self.load.nodes;
        format!(
            "[scenario]\nname = \"check\"\nduration = \"1h\"\n\
             [[node]]\nname = \"n\"\ncount = {nodes}\n\
             [[link]]\nfrom = \"*\"\nto = \"*\"\n{}",
            self.link
        )
    }

    fn run(&self) -> Result<Accuracy, LabError> {
        let lab = Lab::up(&read(&self.scenario()), 1)?;
        let arrived = measure(&lab, &self.load)?;
        let overruns = lab.overruns()?;
        let counted = lab.down()?;
        Ok(self.quantity(&arrived, &counted, overruns))
    }

    fn quantity(&self, arrived: &[Arrived], counted: &Snapshot, overruns: u64) -> Accuracy {
        let received: usize = arrived.iter().map(|arrived| arrived.times.len()).sum();
        let mut accuracy = Accuracy {
            cell: self.name,
            sent: counted.nodes.iter().map(|node| node.sent.packets).sum(),
            received: received as u64,
            accounted: overruns == 0 && is_accounted(counted),
            late_ms: [counted.lateness.median_ms, counted.lateness.p99_ms],
            void: counted.lateness.void,
            ..Accuracy::default()
        };
        let kept = match self.quantity {
            Quantity::Rate => {
                let error = self.rate_error(arrived);
                accuracy.rate_error = Some(error);
                error.abs() <= RATE_ERROR_MAX
            }
            Quantity::Delay => {
                let errors = self.delay_errors(arrived);
                accuracy.delay_error_ms = Some(errors);
                errors[0] <= MEDIAN_MAX_MS && errors[2] <= P99_MAX_MS
            }
            Quantity::Loss(share) => {
                let sigmas = loss_sigmas(arrived, share);
                accuracy.loss_sigmas = Some(sigmas);
                sigmas <= SIGMAS_MAX
            }
        };
        accuracy.ok = kept && accuracy.accounted;
        accuracy
    }

    /// Bytes on the line.
    fn bits(&self) -> f64 {
        ((self.load.bytes + HEADERS) * 8) as f64
    }

    /// Of the first receiver, whose line was always full.
    fn rate_error(&self, arrived: &[Arrived]) -> f64 {
        let times = arrived.iter().flat_map(|a| a.times.values().copied());
        let (mut first, mut last, mut count) = (i64::MAX, i64::MIN, 0_u32);
        for at in times {
            (first, last, count) = (first.min(at), last.max(at), count + 1);
        }
        let seconds = (last.saturating_sub(first)) as f64 / 1e9;
        f64::from(count.saturating_sub(1)) * self.bits() / seconds / self.rate - 1.0
    }

    /// Arrival less what the line's rate and the delay make of the sending times.
    fn delay_errors(&self, arrived: &[Arrived]) -> [f64; 4] {
        let on_line = (self.bits() / self.rate * 1e9) as i64;
        let mut errors = Vec::new();
        for Arrived { sent, times, .. } in arrived {
            let mut free = i64::MIN;
            for (number, sent) in sent.iter().enumerate() {
                free = free.max(*sent) + on_line;
                if let Some(at) = times.get(&(number as u32)) {
                    errors.push((at - free - self.delay.as_nanos() as i64) as f64 / 1e6);
                }
            }
        }
        percentiles(&errors)
    }
}

/// A scenario of ours: a test reads every one of them.
fn read(text: &str) -> Scenario {
    let no_files = |file: &str| Err(format!("there is no {file}"));
    let scenario = Scenario::parse_for_laboratory(text, &no_files);
    scenario.unwrap_or_else(|mistakes| unreachable!("{mistakes:?}"))
}

/// Median, 95th and 99th percentile and greatest of the sizes.
fn percentiles(errors: &[f64]) -> [f64; 4] {
    let sizes: Sorted = errors.iter().map(|error| error.abs()).collect();
    [50, 95, 99, 100].map(|percent| sizes.percentile(percent).unwrap_or(f64::INFINITY))
}

/// The greatest distance of a receiver's losses from their mean.
fn loss_sigmas(arrived: &[Arrived], share: f64) -> f64 {
    let distance = |Arrived { sent, times, .. }: &Arrived| {
        let (sent, lost) = (sent.len() as f64, (sent.len() - times.len()) as f64);
        (lost - sent * share).abs() / (sent * share * (1.0 - share)).sqrt()
    };
    arrived.iter().map(distance).fold(0.0, f64::max)
}

/// Every packet of every link is in one number, and what arrived was handed over.
fn is_accounted(counted: &Snapshot) -> bool {
    let arrived: u64 = counted.links.iter().map(|link| link.arrived).sum();
    let handed: u64 =
        counted.nodes.iter().map(|node| node.received.packets + node.refused + node.spoiled).sum();
    counted.is_balanced() && arrived == handed + counted.unheard
}

/// Times by number: what a receiver has of one sender.
type Times = BTreeMap<u32, i64>;

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(quantity: Quantity) -> Cell {
        let [mut cell, ..] = cells(Duration::from_secs(1));
        cell.quantity = quantity;
        cell
    }
    /// Sent at these times (microseconds), arrived so much after.
    fn arrived(times: &[(i64, i64)]) -> Vec<Arrived> {
        let sent: Vec<i64> = times.iter().map(|(sent, _)| sent * 1_000).collect();
        let at =
            |(number, (sent, after)): (usize, &(i64, i64))| (number as u32, (sent + after) * 1_000);
        vec![Arrived { sent, times: times.iter().enumerate().map(at).collect() }]
    }

    #[test]
    fn an_error_of_delay_is_what_line_and_delay_do_not_explain() {
        // 1400 bytes at 10 Mbit/s take 1.12 ms: the second waits for the first.
        let errors = cell(Quantity::Delay).delay_errors(&arrived(&[(0, 21_120), (0, 22_340)]));
        assert_eq!(errors.map(|ms| (ms * 1e3).round()), [0.0, 100.0, 100.0, 100.0]);
    }

    #[test]
    fn a_rate_is_counted_from_the_first_to_the_last_arrival() {
        let times: Vec<(i64, i64)> = (0..101).map(|n| (n * 1_120, 5_000)).collect();
        assert!(cell(Quantity::Rate).rate_error(&arrived(&times)).abs() < 1e-9);
    }

    #[test]
    fn a_loss_of_the_right_share_is_within_a_deviation_and_none_is_far_off() {
        let all: Vec<(i64, i64)> = (0..2_000).map(|n| (n, 1)).collect();
        let mut lossy = arrived(&all);
        assert!(loss_sigmas(&lossy, 0.05) > 9.0);
        lossy[0].times.retain(|number, _| number % 20 != 0);
        assert!(loss_sigmas(&lossy, 0.05) < 0.1);
    }

    #[test]
    fn every_cells_scenario_can_be_read() {
        for cell in cells(Duration::from_secs(1)) {
            let hosts = read(&cell.scenario()).plan(1).emulated_hosts();
            assert_eq!(hosts.len(), cell.load.nodes);
        }
        assert_eq!(read(&Throughput::scenario()).plan(1).emulated_hosts().len(), 4);
    }
}

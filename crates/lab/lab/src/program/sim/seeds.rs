//! One scenario with many seeds, over all cores.

use std::{
    ops::Range,
    sync::{
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    thread,
};

use fanfare_sim::{Report, Scenario, Summary, metrics::Metric};

/// What came of one seed.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) seed: u64,
    pub(super) hash: u64,
    pub(super) complete: bool,
    pub(super) ended_s: f64,
    pub(super) metrics: Vec<Metric>,
}

impl Outcome {
    fn of(scenario: &Scenario, report: &Report) -> Self {
        Self {
            seed: report.seed,
            hash: report.hash,
            complete: report.complete,
            ended_s: report.ended.as_secs_f64(),
            metrics: scenario.metrics_of(report),
        }
    }
}

/// Runs every seed, `jobs` at a time. `on_outcome` is told each in the order of the seeds, as soon
/// as those before are done. Gives all outcomes, and the whole report of the first seed.
pub(super) fn run_seeds(
    scenario: &Scenario,
    seeds: Range<u64>,
    jobs: usize,
    mut on_outcome: impl FnMut(&Outcome),
) -> (Vec<Outcome>, Option<Box<Report>>) {
    let next = AtomicU64::new(seeds.start);
    let (mut slots, mut told, mut first) = (Vec::new(), 0, None);
    slots.resize_with((seeds.end - seeds.start) as usize, || None);
    thread::scope(|scope| {
        let (done, results) = mpsc::channel();
        for _ in 0..jobs {
            let (done, next, seeds) = (done.clone(), &next, &seeds);
            scope.spawn(move || {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end {
                        return;
                    }
                    let report = scenario.plan(seed).run();
                    let outcome = Outcome::of(scenario, &report);
                    let kept = (seed == seeds.start).then(|| Box::new(report));
                    if done.send((outcome, kept)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(done);
        for (outcome, report) in results {
            first = first.take().or(report);
            let slot = (outcome.seed - seeds.start) as usize;
            slots[slot] = Some(outcome);
            while let Some(Some(outcome)) = slots.get(told) {
                on_outcome(outcome);
                told += 1;
            }
        }
    });
    (slots.into_iter().flatten().collect(), first)
}

/// Each figure over all seeds, in the order in which runs tell them.
pub(super) fn summarise(outcomes: &[Outcome]) -> Vec<(String, Summary)> {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in outcomes.iter().flat_map(|outcome| &outcome.metrics) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let values = |name: &str| -> Vec<f64> {
        let all = outcomes.iter().flat_map(|outcome| &outcome.metrics);
        all.filter(|(other, _)| other == name).map(|(_, value)| *value).collect()
    };
    names.into_iter().map(|name| (name.to_owned(), Summary::of(&values(name)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> Scenario {
        let text = include_str!("../../../../../../scenarios/files/small.toml");
        Scenario::parse(text, &|_| Err(String::new())).unwrap()
    }

    #[test]
    fn seeds_come_in_order_and_the_same_however_many_threads_run_them() {
        let scenario = small();
        let hashes = |jobs| {
            let mut seen = Vec::new();
            let (outcomes, first) =
                run_seeds(&scenario, 3..9, jobs, |outcome| seen.push(outcome.seed));
            assert_eq!(seen, [3, 4, 5, 6, 7, 8]);
            assert_eq!(first.map(|report| report.seed), Some(3));
            outcomes.iter().map(|outcome| outcome.hash).collect::<Vec<_>>()
        };
        assert_eq!(hashes(1), hashes(3));
    }

    #[test]
    fn a_figure_is_summed_up_over_its_seeds() {
        let (outcomes, _) = run_seeds(&small(), 1..5, 2, |_| ());
        let figures = summarise(&outcomes);
        let names: Vec<&str> = figures.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            ["complete", "completion_s", "data_ratio", "nacks", "nacks_per_loss_event"]
        );
        assert!(figures[0].1.mean == 1.0 && figures[1].1.runs == 4, "{figures:?}");
        assert!(figures[2].1.ci95 > 0.0 && figures[2].1.least > 1.2, "{figures:?}");
    }
}

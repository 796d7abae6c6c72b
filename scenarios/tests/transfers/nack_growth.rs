//! The number of NACKs for each loss event must not grow with the group.
//!
//! The bound of 6 is what RFC 5401's backoff gives when the assumed group size is right within a
//! factor of ten. The table shows what Fanfare needs.

use fanfare_proto::SenderConfig;
use fanfare_scenarios::{SENDER, plan};
use fanfare_sim::{Link, Object, Report, Table};

/// 200 segments to `n` receivers; the loss is each receiver's own, or common to all. Delay 5 ms.
fn run(seed: u64, n: u16, loss: f64, common: bool) -> Report {
    let plan = plan(seed).sender(SenderConfig::default()).receivers(n);
    let plan = match common {
        true => plan.uplink(SENDER, Link::wire().loss(loss)),
        false => plan.link(Link::default().loss(loss)),
    };
    let report = plan.send(Object::data(200 * 1400)).run();
    report.check_complete();
    report
}

/// Runs of several seeds, summed up.
#[derive(Default)]
struct Runs {
    runs: u64,
    events: Vec<u32>,
    suppressed: u64,
    millis: u64,
}

impl Runs {
    fn new(seeds: core::ops::Range<u64>, n: u16, common: bool) -> Self {
        let mut all = Self::default();
        for seed in seeds {
            let report = run(seed, n, 0.05, common);
            all.runs += 1;
            all.events.extend(report.traffic.loss_events());
            all.suppressed += report.sum(|s| s.nacks_suppressed);
            all.millis += report.last_completion().as_nanos() / 1_000_000;
        }
        all
    }
    fn nacks(&self) -> u32 {
        self.events.iter().sum()
    }
    fn mean(&self) -> f64 {
        f64::from(self.nacks()) / self.events.len().max(1) as f64
    }
}

#[test]
fn a_thousand_receivers_with_their_own_loss_send_few_nacks() {
    // 1000 receivers, 5 % independent loss each way, delay 5 ms, seeds 1 to 5
    let runs = Runs::new(1..6, 1000, false);
    assert!(runs.mean() <= 6.0, "{:.2} NACKs a loss event: {:?}", runs.mean(), runs.events);
}

#[test]
fn a_thousand_receivers_with_common_loss_send_few_nacks() {
    // 1000 receivers, 5 % lost for all alike, delay 5 ms, seeds 1 to 5
    let runs = Runs::new(1..6, 1000, true);
    assert!(runs.mean() <= 6.0, "{:.2} NACKs a loss event: {:?}", runs.mean(), runs.events);
}

/// NACKs for each loss event, of a thousand receivers whose sender takes them for `few` and tells
/// them to hurry: `n` segments, 5 % loss, delay 5 ms, seed 1.
fn hurried(few: u32, n: u64, common: bool) -> Vec<u32> {
    let config = SenderConfig { backoff_factor: 1, group_size: few, ..SenderConfig::default() };
    let plan = plan(1).sender(config).receivers(1000);
    let plan = match common {
        true => plan.uplink(SENDER, Link::wire().loss(0.05)),
        false => plan.link(Link::default().loss(0.05)),
    };
    let report = plan.send(Object::data(n * 1400)).run();
    report.check_complete();
    report.traffic.loss_events().to_vec()
}

fn mean(events: &[u32]) -> f64 {
    f64::from(events.iter().sum::<u32>()) / events.len().max(1) as f64
}

#[test]
fn a_thousand_receivers_that_are_told_to_hurry_do_not() {
    // K = 1 for a group of 1000; each receiver's own loss, and common
    for common in [false, true] {
        let events = hurried(1000, 200, common);
        assert!(mean(&events) <= 6.0, "{common}: {events:?}");
    }
}

#[test]
fn a_thousand_receivers_that_are_told_they_are_ten_have_learned_better_after_two_rounds() {
    // K = 1 for a group of 10; each receiver's own loss. Then the sender has heard of more.
    let events = hurried(10, 600, false);
    let (first, rest) = events.split_at(2);
    assert!(first.iter().all(|n| *n <= 30) && mean(rest) <= 6.0, "{events:?}");
}

#[test]
fn nacks_by_group_size_are_as_recorded() {
    // 10, 100, 1000 receivers; 5 % loss; delay 5 ms; seeds 7 to 10
    let mut table =
        Table::new(&["receivers", "loss", "events", "nacks", "mean", "most", "suppressed", "ms"]);
    for common in [false, true] {
        for n in [10, 100, 1000] {
            let runs = Runs::new(7..11, n, common);
            table.row([
                n.to_string(),
                if common { "common" } else { "own" }.to_string(),
                runs.events.len().to_string(),
                runs.nacks().to_string(),
                format!("{:.1}", runs.mean()),
                runs.events.iter().max().copied().unwrap_or(0).to_string(),
                runs.suppressed.to_string(),
                (runs.millis / runs.runs).to_string(),
            ]);
        }
    }
    insta::assert_snapshot!(table.to_string());
}

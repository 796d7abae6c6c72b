//! How soon receivers of layers reach their share: from their start, or after a change.

use fanfare_proto::{Bitrate, Duration, Time};

use crate::{
    place::Place,
    results::{metrics::Metric, report::Report},
};

/// How near the share counts as there: a tenth to either side, and what rounding makes of it. Where
/// layers are coarse, the last sum below the share counts, too.
const NEAR: core::ops::Range<f64> = 0.9..1.101;

/// A share that receivers should come to.
#[derive(Debug, Clone, PartialEq)]
pub struct Convergence {
    /// What the figure is called.
    pub name: String,
    /// Whose.
    pub of: Vec<Place>,
    /// From when on it is measured; without a time from each receiver's beginning.
    pub at: Option<Duration>,
    /// The share.
    pub share: Bitrate,
}

impl Convergence {
    /// `reaction_s`: until the slowest had joined as many layers as the share is; the rest of the run
    /// when one never did.
    #[must_use]
    pub fn metrics(&self, report: &Report) -> Vec<Metric> {
        let share = self.share.as_bps() as f64;
        let receivers = report.layered.iter().filter(|r| self.of.contains(&r.place));
        let took = receivers.map(|receiver| {
            let below = receiver.layers.sum(receiver.layers.level_below(share));
            let range = below.min(NEAR.start * share)..NEAR.end * share;
            let from = self.at.map_or(receiver.began, |at| Time::ZERO + at);
            receiver.reached(from, &range).unwrap_or(report.ended).since(from).as_secs_f64()
        });
        vec![(format!("reaction_s:{}", self.name), took.fold(0.0, f64::max))]
    }
}

#[cfg(test)]
mod tests {
    use fanfare_proto::congestion::layered::{LayeredControl, Scheme};

    use super::*;
    use crate::{Hop, LayeredFlow, Link, Plan, Router, Until, flow::layered::LayeredReport};

    fn report(levels: &[(u64, f64)]) -> Report {
        let scheme = Scheme::Equal { rate: Bitrate::kbps(20), count: 10 };
        let flow = LayeredFlow::new(Router(0), LayeredControl::Plm, scheme)
            .receiver(Router(1), Duration::ZERO);
        let plan = Plan::new(1).wire(Router(0), Router(1), Hop::from(Link::default()));
        let mut report = plan.layered(flow).until(Until::Limit, Duration::from_secs(9)).run();
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let levels = levels.iter().map(|(ms, kbps)| (at(*ms), 1, kbps * 1e3)).collect();
        let receiver: &mut LayeredReport = &mut report.layered[0];
        (receiver.levels, receiver.began) = (levels, at(500));
        report
    }
    fn reached(at: Option<u64>, levels: &[(u64, f64)]) -> f64 {
        let (name, of) = (String::from("x"), vec![Router(1).into()]);
        let at = at.map(Duration::from_millis);
        let convergence = Convergence { name, of, at, share: Bitrate::kbps(100) };
        convergence.metrics(&report(levels))[0].1
    }

    #[test]
    fn it_takes_until_the_layers_sum_is_within_a_tenth() {
        let levels = [(600, 20.0), (900, 140.0), (1500, 100.0), (3000, 200.0)];
        assert_eq!(reached(None, &levels), 1.0);
        assert_eq!(reached(Some(1000), &levels), 0.5);
        assert_eq!(reached(Some(2000), &levels), 0.0);
        assert_eq!(reached(Some(4000), &levels), 5.0);
    }
}

//! How soon a flow has its share after a change, and what the change cost.

use core::ops::Range;

use fanfare_proto::{Bitrate, Duration, Time};

use crate::{
    network::Host,
    packet::FlowId,
    place::Place,
    results::{hop_report::HopReport, metrics::Metric, report::Report, series::STEP},
};

/// How near the share counts as there: a tenth to either side.
const NEAR: Range<f64> = 0.9..1.1;
/// Averages are of one round trip, and of two steps of a series at least.
const AVERAGE_MIN: Duration = Duration::from_millis(200);
/// Drops are counted for ten round trips, and for two seconds at least: what a change costs has
/// happened by then.
const COST_RTTS: u32 = 10;
const COST_MIN: Duration = Duration::from_secs(2);

/// A change after which a host's datagrams should have a certain share of a hop.
#[derive(Debug, Clone, PartialEq)]
pub struct Reaction {
    /// What the figures are called.
    pub name: String,
    /// When the road changes.
    pub at: Duration,
    /// Whose datagrams.
    pub of: Host,
    /// The hop.
    pub hop: (Place, Place),
    /// What they should have of it, headers included.
    pub share: Bitrate,
    /// The round trip over which rates are averaged.
    pub rtt: Duration,
}

impl Reaction {
    /// `reaction_s`: from the change until an average over a round trip was within a tenth of the
    /// share; the rest of the run when that never was. `reaction_drops`: share of all packets that
    /// the hop's queue dropped in the ten round trips after it.
    #[must_use]
    pub fn metrics(&self, report: &Report) -> Vec<Metric> {
        let Some(hop) = report.hop(self.hop.0, self.hop.1) else { return Vec::new() };
        let cost = self.at..self.at + (self.rtt * COST_RTTS).max(COST_MIN);
        let end = report.ended.since(Time::ZERO);
        vec![
            (format!("reaction_s:{}", self.name), self.reached(hop, end).as_secs_f64()),
            (format!("reaction_drops:{}", self.name), hop.drop_share(&cost)),
        ]
    }

    fn reached(&self, hop: &HopReport, end: Duration) -> Duration {
        let average = self.rtt.max(AVERAGE_MIN);
        let ours = hop.bytes_of.get(&FlowId::Host(self.of));
        // A step that began before the change tells of what was before.
        let first = STEP * (self.at.as_nanos().div_ceil(STEP.as_nanos()) as u32);
        let begins = (0..).map(|n| first + STEP * n).take_while(|t| *t + average <= end);
        let is_there = |t: &Duration| {
            let bps = ours.map_or(0.0, |ours| ours.bps(&(*t..*t + average)));
            NEAR.contains(&(bps / self.share.as_bps() as f64))
        };
        begins.into_iter().find(is_there).map_or(end, |t| t + average).saturating_sub(self.at)
    }
}

#[cfg(test)]
mod tests {
    use fanfare_proto::Duration;

    use super::*;
    use crate::{Hop, Link, Object, Plan, Queue, Router, Until};

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    /// A host that sends 800 kbit/s of payload from 3 s on over a line of 1 Mbit/s.
    fn report() -> Report {
        let line = Link::default().rate(Bitrate::mbps(1), 0);
        Plan::dumbbell(1, 1, Hop::from(line).queue(Queue::packets(5)))
            .adjust(Host(0), |config| {
                config.sender.as_mut().unwrap().rate = Bitrate::kbps(800);
            })
            .at(ms(3_000), crate::Change::Send(Host(0), Object::data(1 << 30)))
            .until(Until::Limit, ms(20_000))
            .run()
    }
    fn reaction(at: u64, share: u64) -> [f64; 2] {
        let hop = (Router(0).into(), Router(1).into());
        let (share, name) = (Bitrate::kbps(share), String::from("x"));
        let reaction = Reaction { name, at: ms(at), of: Host(0), hop, share, rtt: ms(500) };
        let metrics = reaction.metrics(&report());
        assert_eq!([&*metrics[0].0, &metrics[1].0], ["reaction_s:x", "reaction_drops:x"]);
        [metrics[0].1, metrics[1].1]
    }

    #[test]
    fn it_is_over_when_a_round_trips_average_is_near_the_share() {
        let [seconds, drops] = reaction(2_000, 820);
        assert!((1.4..1.7).contains(&seconds) && drops == 0.0, "{seconds} {drops}");
    }

    #[test]
    fn a_share_that_is_never_reached_takes_the_rest_of_the_run() {
        assert_eq!(reaction(2_000, 400), [18.0, 0.0]);
    }
}

//! Election among several gateways between the same groups: which one forwards, and when another
//! takes over.
//!
//! Gateways do not negotiate. The gateway that forwarded last continues at once. The others wait
//! until they could have heard its copy, and wait longer while they hear copies. If two forward the
//! same message, the one on the shorter way continues; if the ways are equal, the one with the
//! lower node id.

use fanfare_proto::{Duration, NodeId, Time, rng::Rng};

/// Who stands by waits at most so many times its time after a message came, whatever else it hears
/// carried: another gateway may have missed just this one, or its filter may be narrower.
const TAKEOVER: u32 = 8;

/// One way into a group, as one gateway sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Election {
    is_elected: bool,
    /// How long it leaves a message to others.
    wait: Duration,
    /// When another's copy was last heard.
    heard: Option<Time>,
}

/// How a copy came: gateways on its way, and the last one's id. The lesser goes on.
pub(super) type PathRank = (u8, NodeId);

impl Election {
    /// `standby`: how long to leave a message to others that has passed `hops` gateways. Each has half
    /// of it more, by chance, so that of several one is first.
    pub(super) fn new(standby: Duration, hops: u8, rng: &mut Rng) -> Self {
        let half = standby.as_nanos() as u64 / 2;
        let wait = standby * (u32::from(hops) + 1) + Duration::from_nanos(rng.below(half));
        Self { is_elected: false, wait, heard: None }
    }

    /// When a message that came at `came` is to be carried.
    pub(super) fn due(&self, came: Time) -> Time {
        if self.is_elected {
            return came;
        }
        let quiet = self.heard.map_or(came, |heard| heard.max(came)) + self.wait;
        quiet.min(came + self.wait * TAKEOVER)
    }

    /// It has carried one, which nobody else had.
    pub(super) fn on_carried(&mut self) {
        self.is_elected = true;
    }

    /// Another has carried one that was to be carried, or was carried, here.
    pub(super) fn on_copy(&mut self, now: Time, theirs: PathRank, ours: PathRank) {
        self.heard = Some(now);
        self.is_elected &= ours < theirs;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STANDBY: Duration = Duration::from_millis(1000);

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }
    fn election() -> Election {
        Election::new(STANDBY, 0, &mut Rng::new(1))
    }

    #[test]
    fn the_gateway_that_forwarded_continues_until_one_with_a_shorter_way_forwards() {
        let mut election = election();
        assert!(election.due(at(0)) >= at(1000) && election.due(at(0)) < at(1500));
        election.on_carried();
        assert_eq!(election.due(at(2000)), at(2000));
        election.on_copy(at(2100), (1, NodeId(9)), (1, NodeId(5)));
        assert_eq!(election.due(at(2200)), at(2200));
        election.on_copy(at(2300), (1, NodeId(4)), (1, NodeId(5)));
        assert!(election.due(at(2300)) >= at(3300));
    }

    #[test]
    fn it_waits_a_limited_time_while_others_forward() {
        let mut election = election();
        for ms in (0..20_000).step_by(500) {
            election.on_copy(at(ms), (1, NodeId(1)), (1, NodeId(2)));
        }
        assert!(election.due(at(19_000)) >= at(20_500));
        assert!(election.due(at(1_000)) <= at(1_000) + election.wait * TAKEOVER);
    }
}

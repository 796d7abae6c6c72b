//! The sender's repair cycle: aggregate requests, serve them together, hold off (RFC 5740 5.4.1).

use crate::{
    sender::{demand::Demand, in_flight::BlockInFlight},
    time::{Duration, Time},
};
use alloc::vec::Vec;
use fanfare_wire::NodeId;

/// Askers of one cycle that are kept apart: beyond that nobody is known to be the last.
const ASKERS_MAX: usize = 16;

/// How long the parts of a cycle last.
#[derive(Debug, Clone, Copy)]
pub(in crate::sender) struct CycleTiming {
    /// Requests are collected so long: (K + 1) * GRTT, zero when there is one receiver.
    pub(in crate::sender) aggregate: Duration,
    /// Then requests for what was just served count no more: 1 * GRTT.
    pub(in crate::sender) holdoff: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The next request starts a cycle.
    Idle,
    Aggregating {
        since: Time,
    },
    /// A repair in flight may still arrive: only what lies ahead counts.
    Holdoff {
        until: Time,
    },
}

/// The repair cycle.
#[derive(Debug)]
pub(in crate::sender) struct RepairCycle {
    phase: Phase,
    collected: Demand,
    /// Who has asked since the cycle began.
    askers: Vec<NodeId>,
}

impl RepairCycle {
    pub(in crate::sender) fn new() -> Self {
        Self { phase: Phase::Idle, collected: Demand::default(), askers: Vec::new() }
    }

    /// A receiver asks. Gives what is to be served at once: late requests in hold-off that lie
    /// ahead of `position` (ordinal and block sent last).
    pub(in crate::sender) fn on_demand(
        &mut self,
        now: Time,
        mut demand: Demand,
        timing: CycleTiming,
        position: Option<(u64, u32)>,
    ) -> Option<Demand> {
        if let Phase::Holdoff { until } = self.phase
            && until <= now
        {
            self.phase = Phase::Idle;
        }
        if demand.is_empty() {
            return None;
        }
        match self.phase {
            Phase::Idle => {
                self.collected = demand;
                self.phase = Phase::Aggregating { since: now };
                self.poll_activation(now, timing)
            }
            Phase::Aggregating { .. } => {
                self.collected.merge(demand);
                None
            }
            Phase::Holdoff { .. } => {
                demand.keep_ahead_of(position?);
                (!demand.is_empty()).then_some(demand)
            }
        }
    }

    /// All that was collected, once it has been long enough; hold-off begins.
    pub(in crate::sender) fn poll_activation(
        &mut self,
        now: Time,
        timing: CycleTiming,
    ) -> Option<Demand> {
        let Phase::Aggregating { since } = self.phase else { return None };
        if now < since + timing.aggregate {
            return None;
        }
        self.phase = Phase::Holdoff { until: now + timing.holdoff };
        self.askers.clear();
        Some(core::mem::take(&mut self.collected))
    }

    /// Another node repairs a block of this object.
    pub(in crate::sender) fn on_repaired(&mut self, ordinal: u64, block: u32, by: &BlockInFlight) {
        let object = self.collected.objects.get_mut(&ordinal);
        if let Some(wanted) = object.and_then(|object| object.symbols.get_mut(&block)) {
            wanted.deduct(by);
        }
    }

    /// Whether its INFO is among what was collected.
    pub(in crate::sender) fn has_info(&self, ordinal: u64) -> bool {
        self.collected.objects.get(&ordinal).is_some_and(|wanted| wanted.info)
    }

    /// Another node says its INFO.
    pub(in crate::sender) fn on_info_repaired(&mut self, ordinal: u64) {
        if let Some(wanted) = self.collected.objects.get_mut(&ordinal) {
            wanted.info = false;
        }
    }

    /// A request of this receiver is among those collected.
    pub(in crate::sender) fn on_asker(&mut self, node: NodeId) {
        let collecting = matches!(self.phase, Phase::Aggregating { .. });
        if collecting && self.askers.len() < ASKERS_MAX && !self.askers.contains(&node) {
            self.askers.push(node);
        }
    }

    /// Whether this receiver has asked since the cycle began.
    pub(in crate::sender) fn has_asked(&self, node: NodeId) -> bool {
        self.askers.contains(&node)
    }

    /// Nobody is left who could ask: there is nothing to wait for.
    pub(in crate::sender) fn activate_early(
        &mut self,
        now: Time,
        timing: CycleTiming,
    ) -> Option<Demand> {
        self.poll_activation(now, CycleTiming { aggregate: Duration::ZERO, ..timing })
    }

    /// What is being collected; `None` outside aggregation.
    pub(in crate::sender) fn collecting(&self) -> Option<&Demand> {
        matches!(self.phase, Phase::Aggregating { .. }).then_some(&self.collected)
    }

    /// Whether a request for `ordinal` or an earlier object is being collected.
    pub(in crate::sender) fn concerns(&self, ordinal: u64) -> bool {
        self.collecting().is_some_and(|demand| demand.objects.range(..=ordinal).next().is_some())
    }

    /// When [`Self::poll_activation`] has something to say, by the timing of now: a GRTT that has
    /// fallen shortens a cycle under way, whose receivers would otherwise ask again and again.
    pub(in crate::sender) fn next_timeout(&self, timing: CycleTiming) -> Option<Time> {
        match self.phase {
            Phase::Aggregating { since } => Some(since + timing.aggregate),
            Phase::Idle | Phase::Holdoff { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        sender::{block::BlockDemand, demand::ObjectDemand},
        time::at,
    };
    use core::ops::Range;

    const TIMING: CycleTiming =
        CycleTiming { aggregate: Duration::from_millis(500), holdoff: Duration::from_millis(100) };

    fn demand(ordinal: u64, block: u32, symbols: Range<u16>) -> Demand {
        let mut object = ObjectDemand::default();
        object.symbols.insert(block, BlockDemand::named(symbols));
        Demand { objects: [(ordinal, object)].into() }
    }

    #[test]
    fn requests_are_served_together_when_aggregation_ends() {
        let mut cycle = RepairCycle::new();
        assert_eq!(cycle.on_demand(at(0), demand(1, 0, 0..3), TIMING, None), None);
        assert_eq!(cycle.on_demand(at(400), demand(1, 0, 5..7), TIMING, None), None);
        assert_eq!(cycle.poll_activation(at(499), TIMING), None);
        let served = cycle.poll_activation(at(500), TIMING).unwrap();
        let block = &served.objects[&1].symbols[&0];
        assert_eq!((block.need, block.named.len()), (3, 5));
    }

    #[test]
    fn in_holdoff_only_what_lies_ahead_is_served_and_at_once() {
        let mut cycle = RepairCycle::new();
        cycle.on_demand(at(0), demand(1, 0, 0..3), TIMING, None);
        cycle.poll_activation(at(500), TIMING);
        assert_eq!(cycle.on_demand(at(550), demand(1, 2, 0..1), TIMING, Some((1, 2))), None);
        let ahead = demand(1, 3, 0..1);
        assert_eq!(cycle.on_demand(at(560), ahead.clone(), TIMING, Some((1, 2))), Some(ahead));
    }

    #[test]
    fn after_holdoff_a_request_starts_a_new_cycle() {
        let mut cycle = RepairCycle::new();
        cycle.on_demand(at(0), demand(1, 0, 0..3), TIMING, None);
        cycle.poll_activation(at(500), TIMING);
        cycle.on_demand(at(600), demand(1, 0, 0..1), TIMING, Some((1, 2)));
        assert_eq!(cycle.next_timeout(TIMING), Some(at(1100)));
    }

    #[test]
    fn a_falling_grtt_ends_a_running_aggregation() {
        let mut cycle = RepairCycle::new();
        cycle.on_demand(at(0), demand(1, 0, 0..3), TIMING, None);
        let shorter = CycleTiming { aggregate: Duration::from_millis(50), ..TIMING };
        assert_eq!(cycle.next_timeout(shorter), Some(at(50)));
        assert!(cycle.poll_activation(at(100), shorter).is_some());
    }

    #[test]
    fn a_cycle_knows_its_requesters_and_can_be_ended_early() {
        let mut cycle = RepairCycle::new();
        cycle.on_asker(NodeId(2));
        assert!(!cycle.has_asked(NodeId(2)), "no cycle has begun");
        let asked = demand(1, 0, 0..3);
        cycle.on_demand(at(0), asked.clone(), TIMING, None);
        cycle.on_asker(NodeId(2));
        assert!(cycle.has_asked(NodeId(2)) && !cycle.has_asked(NodeId(3)));
        assert_eq!(cycle.activate_early(at(1), TIMING), Some(asked));
        assert!(!cycle.has_asked(NodeId(2)));
        assert_eq!(cycle.activate_early(at(2), TIMING), None);
    }

    #[test]
    fn with_one_receiver_requests_are_served_at_once() {
        let mut cycle = RepairCycle::new();
        let timing = CycleTiming { aggregate: Duration::ZERO, ..TIMING };
        let asked = demand(1, 0, 0..3);
        assert_eq!(cycle.on_demand(at(0), asked.clone(), timing, None), Some(asked));
    }
}

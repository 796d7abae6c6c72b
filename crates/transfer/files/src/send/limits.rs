//! What limited the rate for the longest time.

use std::collections::BTreeMap;

use fanfare_proto::NodeId;

use crate::event::Limit;

/// Counts each limit as often as it is told, which is at even intervals.
#[derive(Debug, Default)]
pub(super) struct Limits {
    /// By code and receiver: as many as there are receivers, times the codes.
    seen: BTreeMap<(&'static str, Option<NodeId>), (u64, Limit)>,
}

impl Limits {
    /// This one is in force now.
    pub(super) fn on_limit(&mut self, limit: &Limit) {
        let key = (limit.code(), limit.receiver.as_ref().map(|view| view.id));
        let (count, latest) = self.seen.entry(key).or_insert_with(|| (0, limit.clone()));
        *count += 1;
        latest.clone_from(limit);
    }

    /// The one that was in force longest, with the figures that it had last; `None` before any was.
    pub(super) fn longest(&self) -> Option<Limit> {
        let longest = self.seen.values().max_by_key(|(count, _)| *count);
        longest.map(|(_, limit)| limit.clone())
    }
}

#[cfg(test)]
mod tests {
    use fanfare_proto::congestion::Reason;

    use super::*;

    #[test]
    fn the_limit_that_was_in_force_longest_is_told_with_its_last_figures() {
        let mut limits = Limits::default();
        assert_eq!(limits.longest(), None);
        let of = |reason| Limit { reason, ..Limit::set() };
        let loss = |share| of(Reason::Loss(NodeId(7), share));
        for limit in [of(Reason::Start), loss(0.1), of(Reason::Set), loss(0.2)] {
            limits.on_limit(&limit);
        }
        assert_eq!(limits.longest(), Some(loss(0.2)));
    }
}

//! Detects other nodes with the same node id. A node's own messages come back from the group, so
//! only the source address tells them apart. RFC 5740 leaves unique ids to the operator (2, 4.1).

use alloc::vec::Vec;
use core::net::SocketAddr;

/// Addresses remembered as told.
const TOLD_MAX: usize = 16;

/// Watches for this node's id at other addresses.
#[derive(Debug, Default)]
pub(crate) struct IdConflicts {
    /// Where this node sends from; nothing is watched before it is known.
    own: Option<SocketAddr>,
    /// Addresses told, and whether as acknowledging.
    told: Vec<(SocketAddr, bool)>,
}

impl IdConflicts {
    /// This node sends from here.
    pub(crate) fn set_address(&mut self, own: SocketAddr) {
        self.own = Some(own).filter(|own| !own.ip().is_unspecified());
    }

    /// This node goes by another id now.
    pub(crate) fn clear(&mut self) {
        self.told.clear();
    }

    /// This node's id was heard from `source`. True when that is news.
    pub(crate) fn hear(&mut self, source: SocketAddr, acknowledges: bool) -> bool {
        let Some(own) = self.own else { return false };
        // A link's scope is a matter of the system, not of the sender.
        if (own.ip(), own.port()) == (source.ip(), source.port()) {
            return false;
        }
        if let Some((_, acknowledged)) = self.told.iter_mut().find(|(told, _)| *told == source) {
            return acknowledges && !core::mem::replace(acknowledged, true);
        }
        let has_room = self.told.len() < TOLD_MAX;
        if has_room {
            self.told.push((source, acknowledges));
        }
        has_room
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8, port: u16) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, last], port))
    }

    #[test]
    fn another_address_is_reported_once_and_again_when_it_acknowledges() {
        let mut id_conflicts = IdConflicts::default();
        id_conflicts.set_address(address(1, 5000));
        assert!(!id_conflicts.hear(address(1, 5000), true), "its own message");
        let heard =
            [false, false, true, true].map(|acks| id_conflicts.hear(address(2, 5000), acks));
        assert_eq!(heard, [true, false, true, false]);
        assert!(id_conflicts.hear(address(1, 5001), false), "another program on this machine");
    }

    #[test]
    fn without_its_own_address_a_node_reports_no_conflict() {
        let mut id_conflicts = IdConflicts::default();
        assert!(!id_conflicts.hear(address(2, 1), false));
        id_conflicts.set_address(SocketAddr::from(([0, 0, 0, 0], 5000)));
        assert!(!id_conflicts.hear(address(2, 1), false));
    }

    #[test]
    fn a_flood_of_addresses_is_reported_sixteen_times() {
        let mut id_conflicts = IdConflicts::default();
        id_conflicts.set_address(address(1, 5000));
        let news = (0..1000).filter(|port| id_conflicts.hear(address(2, *port), false));
        assert_eq!(news.count(), TOLD_MAX);
    }
}

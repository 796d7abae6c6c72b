//! Who speaks for a group in another: no words are needed for it, all choose alike.

use fanfare_wire::NodeId;

/// Somebody who could.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// Who.
    pub node: NodeId,
    /// It is in both groups.
    pub in_both: bool,
    /// So many hear it.
    pub heard_by: usize,
    /// It is the one now, and has been heard lately.
    pub is_master: bool,
}

/// Who it is: in both groups first, then who is it already, then who is heard by most, then the lowest id.
/// Two at once, on two sides of a rift, cost bytes and nothing else.
#[must_use]
pub fn elect(candidates: &[Candidate]) -> Option<NodeId> {
    let best = candidates.iter().min_by_key(|one| {
        (!one.in_both, !one.is_master, core::cmp::Reverse(one.heard_by), one.node)
    });
    best.map(|one| one.node)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(id: u32, in_both: bool, heard_by: usize, is_master: bool) -> Candidate {
        Candidate { node: NodeId(id), in_both, heard_by, is_master }
    }

    #[test]
    fn a_gateway_goes_first_then_who_is_it_then_who_is_heard_then_the_lowest_id() {
        let of = |all: &[Candidate]| elect(all).map(|node| node.0);
        assert_eq!(of(&[one(1, false, 9, true), one(2, true, 1, false)]), Some(2));
        assert_eq!(of(&[one(1, true, 9, false), one(2, true, 1, true)]), Some(2));
        assert_eq!(of(&[one(2, true, 9, false), one(1, true, 1, false)]), Some(2));
        assert_eq!(of(&[one(2, true, 3, false), one(1, true, 3, false)]), Some(1));
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn after_a_rift_both_sides_have_one_and_the_lower_id_stays() {
        let healed = [one(5, true, 3, true), one(2, true, 3, true)];
        assert_eq!(elect(&healed), Some(NodeId(2)));
    }
}

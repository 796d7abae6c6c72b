//! The delivery ratio from one node to another: the share of its messages that arrive, and who
//! reports it.

use alloc::vec::Vec;
use fanfare_proto::{Duration, NodeId};

/// Steps that a share is told in: three bits.
const STEPS: u8 = 7;
/// What is left of the chance to be silent with each of its usual silences, for who is still there: 1/e.
const STILL: f32 = 0.368;
/// Silences that are reckoned with; after as many nobody is counted on.
const SILENCES_MAX: u32 = 16;
/// Nobody is so near that a long silence would mean nothing.
const SURE: f32 = 0.95;

/// Half of what is known of a link now is left after this, in which vehicles pass what shadows them.
const FADES: Duration = Duration::from_secs(5);
/// What a node's having been heard just now adds to its share, of what lacks, and its having been silent takes away. More
/// serves fewer, and leaves the others to requests: tried on `company`, seeds 1 to 15.
const RISES: f32 = 0.2;
const FALLS: f32 = 0.28;

/// A share as it is told: so many sevenths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DeliveryRatio(u8);

impl DeliveryRatio {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const LEAST: Self = Self(1);
    pub(crate) const ALL: Self = Self(STEPS);

    pub(crate) fn new(share: f32) -> Self {
        Self((share.clamp(0.0, 1.0) * f32::from(STEPS) + 0.5) as u8)
    }
    /// From its three bits.
    pub(crate) fn from_bits(bits: u8) -> Self {
        Self(bits & STEPS)
    }
    pub(crate) fn bits(self) -> u8 {
        self.0
    }
    pub(crate) fn get(self) -> f32 {
        f32::from(self.0) / f32::from(STEPS)
    }
}

/// How likely who is within reach is silent for so long that is `usual` as a rule: as if it spoke at any time.
pub(crate) fn still(silence: Duration, usual: Duration) -> f32 {
    let silences = (silence.as_nanos() / usual.as_nanos().max(1)).min(u128::from(SILENCES_MAX));
    (0..silences).fold(1.0, |still, _| still * STILL)
}

/// A share of messages from it or to it, when who is there would be silent for so long with this chance: the longer,
/// the likelier it is out of reach (Bayes).
pub(crate) fn there(share: f32, still: f32) -> f32 {
    if still >= 1.0 {
        return share;
    }
    let there = share.min(SURE) * still;
    there / (there + 1.0 - share.min(SURE))
}

/// How lately a node was heard that is silent for so long: 1 now, less and less from then on.
pub(crate) fn recency(silence: Duration, usual: Duration) -> f32 {
    // Where nodes speak rarely, silence means little.
    let fades = (usual * 2).saturating_sub(FADES * 3).max(FADES);
    let ratio = silence.as_nanos() as f32 / fades.as_nanos() as f32;
    1.0 / (1.0 + ratio)
}

/// How likely a message goes to a node where `there` of them arrive on average: who was heard just now is
/// near, as links come and go both ways; who was not may not be any more.
pub(crate) fn arrives(there: f32, recency: f32) -> f32 {
    (there + (1.0 - there) * recency * RISES) * (1.0 - (1.0 - recency) * FALLS)
}

/// What a node says of how it hears another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeardNode {
    pub(crate) node: NodeId,
    /// Of its messages so many arrive.
    pub(crate) share: DeliveryRatio,
    /// It is counted on.
    pub(crate) counts: bool,
}

impl HeardNode {
    /// All that it sends arrives.
    #[cfg(test)]
    pub(crate) fn all_of(node: NodeId) -> Self {
        Self { node, share: DeliveryRatio::ALL, counts: true }
    }
}

/// Nodes and shares, by node.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeliveryRatios(Vec<(NodeId, DeliveryRatio)>);

impl DeliveryRatios {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    pub(crate) fn iter(&self) -> impl Iterator<Item = (NodeId, DeliveryRatio)> + '_ {
        self.0.iter().copied()
    }
    pub(crate) fn of(&self, node: NodeId) -> DeliveryRatio {
        let place = self.0.binary_search_by_key(&node, |(node, _)| *node);
        place.map_or(DeliveryRatio::NONE, |place| self.0[place].1)
    }
    pub(crate) fn set(&mut self, node: NodeId, share: DeliveryRatio) {
        match self.0.binary_search_by_key(&node, |(node, _)| *node) {
            Ok(place) => self.0[place].1 = share,
            Err(place) => self.0.insert(place, (node, share)),
        }
    }
    pub(crate) fn remove(&mut self, node: NodeId) {
        if let Ok(place) = self.0.binary_search_by_key(&node, |(node, _)| *node) {
            self.0.remove(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_just_heard_is_more_likely_to_hear_than_its_ratio_and_a_silent_one_less() {
        let usual = Duration::from_secs(4);
        let after = |share, s| arrives(share, recency(Duration::from_secs(s), usual));
        assert!(after(0.5, 0) > 0.55 && after(1.0, 0) > 0.99);
        assert!(after(0.5, 5) < 0.5 && after(1.0, 60) > 0.6);
        let often: Vec<f32> = (0..20).map(|s| after(0.7, s)).collect();
        assert!(often.is_sorted_by(|a, b| a > b));
        let quiet = recency(Duration::from_secs(60), Duration::from_secs(60));
        assert!(arrives(1.0, quiet) > 0.85, "in a quiet group nobody speaks oftener");
    }

    #[test]
    fn a_delivery_ratio_is_sent_in_sevenths() {
        let told = |share: f32| DeliveryRatio::new(share).bits();
        assert_eq!((told(0.0), told(0.06), told(0.08), told(0.5), told(1.0)), (0, 0, 1, 4, 7));
        assert_eq!(DeliveryRatio::from_bits(7), DeliveryRatio::ALL);
        assert!((DeliveryRatio::from_bits(3).get() - 3.0 / 7.0).abs() < 1e-6);
    }

    #[test]
    fn a_node_silent_for_longer_than_usual_is_less_likely_to_be_near() {
        let after = |share, s| there(share, still(Duration::from_secs(s), Duration::from_secs(4)));
        assert_eq!((after(0.5, 3), after(0.0, 30)), (0.5, 0.0));
        assert!((0.25..0.28).contains(&after(0.5, 4)) && after(0.5, 12) < 0.06);
        assert!((0.4..0.6).contains(&after(1.0, 12)) && after(1.0, 1000) < 0.001);
    }
}

//! What each rule of order is told, and asked.

use core::fmt::Debug;

use fanfare_proto::{InstanceId, NodeId};

/// One instance of a publisher.
pub(crate) type Source = (NodeId, InstanceId);

/// A message's place among its publisher's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) source: Source,
    /// Its object's number, counted on where the transport id wraps.
    pub(crate) index: u64,
    /// The topic, as the node numbers them.
    pub(crate) topic: u32,
    /// Its number on that topic, and that of the next.
    pub(crate) number: u64,
    pub(crate) next_number: u64,
}

/// One rule, for one subscription.
pub(crate) trait Order: Debug + Send {
    /// A message has come whole.
    fn on_message(&mut self, place: Place);
    /// All of the publisher's objects before `index` are settled.
    fn on_settled(&mut self, source: Source, index: u64);
    /// The next message to hand over.
    fn poll(&mut self) -> Option<Place>;
    /// The next message that never will be.
    fn poll_dropped(&mut self) -> Option<Place> {
        None
    }
}

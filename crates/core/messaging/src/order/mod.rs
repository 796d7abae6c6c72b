//! The order in which a subscription gets its messages. Each rule has a file; `rule` is what they have
//! in common.
//!
//! A rule holds back messages that come too early. It is told of each message
//! ([`Order::on_message`]) and of how far its publisher's objects are settled
//! ([`Order::on_settled`]): everything before that object has arrived, or never will.

mod arrival;
mod latest;
mod rule;
mod source;
mod source_topic;

use crate::subscription::Ordering;
use alloc::boxed::Box;
pub(crate) use rule::{Order, Place, Source};

/// Publishers, or topics of publishers, of which a rule remembers how far they are. Of more, the one used
/// least lately counts as new: `latest` may then hand over something older once, and what waits for a
/// number waits until all before it is settled.
pub(crate) const STREAMS_MAX: usize = 65_536;

/// The rule of this name.
pub(crate) fn rule(ordering: Ordering) -> Box<dyn Order> {
    match ordering {
        Ordering::Arrival => Box::new(arrival::Arrival::default()),
        Ordering::Source => Box::new(source::SourceOrder::new(STREAMS_MAX)),
        Ordering::SourceTopic => Box::new(source_topic::SourceTopicOrder::new(STREAMS_MAX)),
        Ordering::Latest => Box::new(latest::Latest::new(STREAMS_MAX)),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use alloc::vec::Vec;
    use fanfare_proto::{InstanceId, NodeId};

    pub(crate) const SOURCE: Source = (NodeId(1), InstanceId(1));

    pub(crate) fn at(index: u64, topic: u32, number: u64) -> Place {
        let next_number = number.saturating_add(1);
        Place { source: SOURCE, index, topic, number, next_number }
    }
    pub(crate) fn drain(order: &mut dyn Order) -> Vec<u64> {
        core::iter::from_fn(|| order.poll()).map(|place| place.index).collect()
    }
}

//! Decides with which object a late joiner begins (RFC 5740 5.2).

use crate::config::JoinPolicy;
use crate::receiver::position::ObjectIndex;
use fanfare_wire::{ObjectFlags, ObjectTransportId};

/// What was heard of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Heard {
    /// Its INFO or its first block, not as a repair.
    Beginning,
    /// Something else of it, or a flush that names it.
    Middle,
    /// A flush that asks this receiver to acknowledge.
    AskedToAcknowledge,
}

impl Heard {
    /// INFO or DATA with these flags; `first_block`: INFO, or DATA of block 0.
    pub(crate) fn of(flags: ObjectFlags, first_block: bool) -> Self {
        match first_block && !flags.has(ObjectFlags::REPAIR) {
            true => Self::Beginning,
            false => Self::Middle,
        }
    }
}

/// The synchronisation point: the first object that counts; `None` while none does.
///
/// With [`JoinPolicy::AllCached`] a window of earlier ids is requested as well: the sender answers
/// what it no longer has with SQUELCH. Ids do not reach back across 0: a sender begins there.
pub(crate) fn synchronise(
    policy: JoinPolicy,
    id: ObjectTransportId,
    heard: Heard,
    window: u16,
) -> Option<ObjectIndex> {
    let object = ObjectIndex::first(id);
    let back = u64::from(window.saturating_sub(1).min(id.0));
    match policy {
        JoinPolicy::FromNow => (heard != Heard::Middle).then_some(object),
        JoinPolicy::ObjectStart => Some(object),
        JoinPolicy::AllCached => Some(ObjectIndex(object.0 - back)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floor(policy: JoinPolicy, id: u16, heard: Heard) -> Option<u16> {
        synchronise(policy, ObjectTransportId(id), heard, 256).map(|object| object.id().0)
    }

    #[test]
    fn from_now_waits_for_the_beginning_of_an_object() {
        assert_eq!(floor(JoinPolicy::FromNow, 7, Heard::Middle), None);
        assert_eq!(floor(JoinPolicy::FromNow, 7, Heard::Beginning), Some(7));
    }

    #[test]
    fn being_asked_to_acknowledge_joins_at_once() {
        assert_eq!(floor(JoinPolicy::FromNow, 7, Heard::AskedToAcknowledge), Some(7));
    }

    #[test]
    fn object_start_wants_the_object_under_way() {
        assert_eq!(floor(JoinPolicy::ObjectStart, 7, Heard::Middle), Some(7));
    }

    #[test]
    fn all_cached_wants_a_window_of_earlier_objects_but_none_before_the_first() {
        assert_eq!(floor(JoinPolicy::AllCached, 7, Heard::Middle), Some(0));
        assert_eq!(floor(JoinPolicy::AllCached, 1000, Heard::Middle), Some(745));
    }
}

//! An object has the format that its first message tells, and others are refused. When that first
//! message was not the sender's, all that the sender says afterwards would be refused for ever. So
//! when most messages keep to another format for some time, and nothing speaks for the first, that one
//! counts.

use crate::{
    receiver::{format::Format, pinned_identity::CONFIRM_MIN, position::ObjectIndex},
    time::Time,
};
use alloc::collections::BTreeMap;

/// So many more messages must say the same than say anything else: a sender that repairs an object sends more.
const MESSAGES: u8 = 4;
/// Objects that are doubted at once; the lowest gives way, as it is the nearest to be given up.
const DOUBTED_MAX: usize = 64;

/// What the sender says instead, how much more often than anything else, and since when.
#[derive(Debug, Clone, Copy)]
struct Other {
    format: Format,
    count: u8,
    since: Time,
}

/// Objects whose format is doubted.
#[derive(Debug, Default)]
pub(crate) struct FormatDoubts {
    doubted: BTreeMap<ObjectIndex, Other>,
}

impl FormatDoubts {
    /// A message of the sender tells the format that the object has.
    pub(crate) fn on_same(&mut self, object: ObjectIndex) {
        if !self.doubted.is_empty() {
            self.doubted.remove(&object);
        }
    }

    /// It tells another one. True when that is to be believed.
    pub(crate) fn on_other(&mut self, now: Time, object: ObjectIndex, format: Format) -> bool {
        let new = Other { format, count: 0, since: now };
        let other = self.doubted.entry(object).or_insert(new);
        if other.format == format {
            other.count = other.count.saturating_add(1);
        } else if other.count > 1 {
            // One that was changed on the way does not undo what many say.
            other.count -= 1;
            return false;
        } else {
            *other = Other { count: 1, ..new };
        }
        let believed = other.count >= MESSAGES && now.since(other.since) >= CONFIRM_MIN;
        if believed {
            self.doubted.remove(&object);
        } else if self.doubted.len() > DOUBTED_MAX {
            self.doubted.pop_first();
        }
        believed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{config::ReceiverConfig, time::at};
    use fanfare_wire::{FecId, FieldSize, ObjectFlags, ext::Fti};

    fn format(size: u64) -> Format {
        let fti = Fti {
            object_size: size,
            field: FieldSize::M8,
            segment_size: 100,
            max_block_len: 4,
            num_parity: 4,
        };
        let config = ReceiverConfig::default();
        Format::new(FecId::ReedSolomon8, fti, ObjectFlags::default(), &config).unwrap()
    }

    const OBJECT: ObjectIndex = ObjectIndex(7);

    #[test]
    fn what_a_sender_keeps_to_for_a_second_is_believed() {
        let mut doubts = FormatDoubts::default();
        let believed = (0..20).map(|n| doubts.on_other(at(n * 100), OBJECT, format(500)));
        assert_eq!(believed.take_while(|believed| !believed).count(), 10);
    }

    #[test]
    fn what_most_messages_keep_to_is_believed_though_some_say_something_else() {
        let mut doubts = FormatDoubts::default();
        let said = |n: u64| format(if n % 4 == 3 { 600 + n } else { 500 });
        let believed = (0..40).position(|n| doubts.on_other(at(n * 100), OBJECT, said(n)));
        assert_eq!(believed, Some(10));
    }

    #[test]
    fn other_formats_that_change_or_are_denied_are_never_believed() {
        let mut doubts = FormatDoubts::default();
        for n in 0..1000 {
            assert!(!doubts.on_other(at(n * 100), OBJECT, format(500 + n % 2)), "they change");
        }
        for n in 0..1000 {
            assert!(!doubts.on_other(at(n * 100), OBJECT, format(500)));
            if n % 5 == 0 {
                doubts.on_same(OBJECT);
            }
        }
    }

    #[test]
    fn objects_that_are_doubted_are_bounded() {
        let mut doubts = FormatDoubts::default();
        for n in 0..1000 {
            doubts.on_other(at(0), ObjectIndex(n), format(500));
        }
        assert!(doubts.doubted.len() <= DOUBTED_MAX);
    }
}

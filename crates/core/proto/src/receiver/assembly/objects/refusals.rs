//! Refusals of an object for what its messages say of it: it is too long, or there is no room for it.
//!
//! One message may have been changed on the way. So those count that say the same, and what says
//! something else begins a new count.

use super::{Entry, Objects};
use crate::{receiver::position::ObjectIndex, storage::ObjectKind};
use fanfare_wire::ext::Fti;

/// Format and kind of an object, as a message tells them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FormatTold {
    pub(crate) fti: Fti,
    pub(crate) kind: ObjectKind,
}

/// Count of messages in a row that said the same, and were refused.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RefusalCount {
    told: Option<FormatTold>,
    count: u8,
}

impl RefusalCount {
    fn on_refused(&mut self, told: FormatTold) -> u8 {
        self.count = if self.told == Some(told) { self.count.saturating_add(1) } else { 1 };
        self.told = Some(told);
        self.count
    }
}

impl Objects {
    /// A message of an object that is not open was refused. Returns how many have said the same in a row.
    pub(super) fn count_refusal(&mut self, object: ObjectIndex, told: FormatTold) -> u8 {
        let refusals = RefusalCount::default();
        let unknown = Entry::Pending { info_only: false, refusals };
        match self.entries.entry(object).or_insert(unknown) {
            Entry::Pending { refusals, .. } => refusals.on_refused(told),
            Entry::Open(_) | Entry::Complete { .. } | Entry::GivenUp | Entry::Skipped => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::receiver::format::tests::small;

    #[test]
    fn messages_that_say_the_same_in_a_row_are_counted() {
        let told = |size| FormatTold { fti: small(size, 10), kind: ObjectKind::File };
        let mut refusals = RefusalCount::default();
        let counts = [7, 7, 8, 7, 7, 7].map(|size| refusals.on_refused(told(size)));
        assert_eq!(counts, [1, 2, 1, 1, 2, 3]);
    }
}

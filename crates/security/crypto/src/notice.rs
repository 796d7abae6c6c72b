//! What people are told of packets that do not open.

use std::{collections::BTreeMap, fmt, time::Duration};

use fanfare_wire::units::Time;

use crate::{key::KeyId, refusal::Refusal};

/// Each kind is told no more often than this.
const INTERVAL: Duration = Duration::from_secs(10);

/// So many packets were dropped since the last notice of this kind, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// They are not sealed.
    Clear(u64),
    /// They are sealed, and we have no key.
    NoKey(u64),
    /// They are sealed with another key than ours.
    OtherKey {
        /// How many.
        count: u64,
        /// That key.
        theirs: KeyId,
        /// The one that we speak with.
        ours: KeyId,
    },
    /// They are sealed in the other form.
    Form(u64),
    /// Somebody has changed them, or made them up.
    Forged(u64),
    /// The clock of their sender differs from ours by so much.
    Clock(u64, Duration),
}

impl Notice {
    /// Stable name for programs.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Clear(_) => "seal.clear",
            Self::NoKey(_) => "seal.no_key",
            Self::OtherKey { .. } => "seal.other_key",
            Self::Form(_) => "seal.form",
            Self::Forged(_) => "seal.forged",
            Self::Clock(..) => "seal.clock",
        }
    }

    /// Whether key, clock or options of this node or another one have to be changed.
    #[must_use]
    pub const fn is_mistake(&self) -> bool {
        !matches!(self, Self::Forged(_))
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = count_of(self);
        let plural = if count == 1 { "" } else { "s" };
        if !matches!(self, Self::Clock(..)) {
            write!(f, "dropped {count} packet{plural} of this group: ")?;
        }
        match self {
            Self::Clear(_) => f.write_str("not sealed. Their sender needs --key, too"),
            Self::NoKey(_) => f.write_str("sealed, and this node has no key. Give --key"),
            Self::OtherKey { theirs, ours, .. } => write!(
                f,
                "sealed with another key than ours (key id {theirs} instead of {ours}). Compare \
                 'fanfare key fingerprint' on both machines"
            ),
            Self::Form(_) => f.write_str(
                "sealed in the other form. Give --seal-short on all machines, or on none",
            ),
            Self::Forged(_) => f.write_str("changed on their way, or made up"),
            Self::Clock(_, by) => write!(
                f,
                "a sender's clock and ours differ by {}, so its packets may be recorded ones and were \
                 dropped. Set the clocks",
                span(*by)
            ),
        }
    }
}

fn span(by: Duration) -> String {
    match by.as_secs() {
        seconds if seconds < 600 => format!("{seconds} s"),
        seconds if seconds < 36_000 => format!("{} minutes", seconds / 60),
        seconds if seconds < 172_800 => format!("{} hours", seconds / 3600),
        seconds => format!("{} days", seconds / 86_400),
    }
}

/// Counts what was dropped until it is told.
#[derive(Debug, Default)]
pub(crate) struct Notices {
    waiting: BTreeMap<&'static str, Notice>,
    told: BTreeMap<&'static str, Time>,
    /// Of senders that are not known: theirs are counted once it is known why.
    strangers: u64,
}

impl Notices {
    pub(crate) fn on_refusal(&mut self, refusal: Refusal, ours: KeyId) {
        let before = |code| self.waiting.get(code).map_or(0, count_of);
        let notice = match refusal {
            Refusal::Clear => Notice::Clear(before("seal.clear") + 1),
            Refusal::Form => Notice::Form(before("seal.form") + 1),
            Refusal::Forged => Notice::Forged(before("seal.forged") + 1),
            Refusal::Clock(by) => Notice::Clock(before("seal.clock") + 1, by),
            Refusal::OtherKey(theirs) => {
                let count = before("seal.other_key") + 1 + std::mem::take(&mut self.strangers);
                Notice::OtherKey { count, theirs, ours }
            }
            Refusal::Stranger => {
                self.strangers += 1;
                return;
            }
            Refusal::Malformed | Refusal::Replayed | Refusal::Own => return,
        };
        self.waiting.insert(notice.code(), notice);
    }

    /// Something sealed came, and there is no key.
    pub(crate) fn on_sealed(&mut self) {
        let before = self.waiting.get("seal.no_key").map_or(0, count_of);
        self.waiting.insert("seal.no_key", Notice::NoKey(before + 1));
    }

    /// The next that is to be told now.
    pub(crate) fn poll(&mut self, now: Time) -> Option<Notice> {
        if self.waiting.is_empty() {
            return None;
        }
        let due = |code: &&&str| self.told.get(**code).is_none_or(|at| now.since(*at) >= INTERVAL);
        let code = *self.waiting.keys().find(due)?;
        self.told.insert(code, now);
        self.waiting.remove(code)
    }
}

const fn count_of(notice: &Notice) -> u64 {
    match notice {
        Notice::Clear(count)
        | Notice::NoKey(count)
        | Notice::OtherKey { count, .. }
        | Notice::Form(count)
        | Notice::Forged(count)
        | Notice::Clock(count, _) => *count,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_told_at_once_and_then_every_ten_seconds_with_all_that_came() {
        let ours = KeyId([0x91, 0, 0, 1]);
        let (mut notices, other) = (Notices::default(), Refusal::OtherKey(KeyId([0x3f, 0, 0, 2])));
        (0..1239).for_each(|_| notices.on_refusal(Refusal::Stranger, ours));
        assert_eq!(notices.poll(Time::ZERO), None);
        notices.on_refusal(other, ours);
        let told = notices.poll(Time::ZERO).unwrap().to_string();
        let says = "dropped 1240 packets of this group: sealed with another key than ours (key id \
                    3f000002 instead of 91000001)";
        assert!(told.starts_with(says), "{told}");
        notices.on_refusal(other, ours);
        assert_eq!(notices.poll(Time::ZERO + Duration::from_secs(9)), None);
        assert!(notices.poll(Time::ZERO + Duration::from_secs(10)).is_some());
    }
}

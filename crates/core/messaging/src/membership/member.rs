//! One node that is heard: how many of its messages arrive, how long it has been silent, and what
//! it announced about itself.

use crate::{membership::delivery_ratio, membership::node_set::NodeSet};
use fanfare_proto::{Duration, Time};
use fanfare_wire::Sequence;

/// The share of a node's messages that arrive is a mean over about so many of them.
const SHARE_OVER: f32 = 16.0;
/// A node of which less arrives is not counted on,
const SHARE_MIN: f32 = 0.35;
/// a publisher that hears nobody, when it is already, if less than this does: over so few messages the share of
/// one that is half heard often passes below the other, and all that it sends would be forwarded for it.
pub(crate) const SHARE_LEFT: f32 = 0.2;
/// Who says not to hear such a one is believed after so many of its messages: at first it may have lost all.
const KNOWN_AFTER: u32 = 8;
/// Messages in a row that may have been lost; more is another instance, or a forgery.
const SKIPPED_MAX: i32 = 256;
/// What comes within this time is one word.
const WORD: Duration = Duration::from_secs(1);
/// Who is silent for so many of its usual silences is not heard at present.
const SILENCES: u32 = 3;
/// But not before this: chance alone makes gaps.
const SILENCE_MIN: Duration = Duration::from_secs(10);

/// Who counts a message that it numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Count {
    /// It does as a sender (INFO, DATA and CMD).
    Sender,
    /// It does as a group node: plain NORM nodes do not count reports, and must not miss them.
    Reporter,
}

#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) heard: Time,
    /// When it came: who spoke before may not have heard it by then.
    pub(crate) since: Time,
    /// How many words of all will have been heard when it is missed.
    pub(crate) words: u64,
    /// The numbers of its last message as a sender and of its last report, and the share of them that arrives here.
    pub(crate) sequences: [Option<Sequence>; 2],
    pub(crate) share: f32,
    /// Enough of them does.
    pub(crate) arrives: bool,
    /// So many have, and when as many had that whoever hears it half knows of it.
    pub(crate) messages: u32,
    pub(crate) known: Option<Time>,
    /// Between two of its words, on average; `None` before the second.
    pub(crate) silence: Option<Duration>,
    /// Whether it said that it hears us; `None` before it spoke of that.
    pub(crate) hears_us: Option<bool>,
    /// It takes datagrams of one address alone.
    pub(crate) one_source: bool,
    /// Whom it says to hear.
    pub(crate) hears: NodeSet,
    /// Whom it names, those of whom it hears little among them.
    pub(crate) names: NodeSet,
    /// It hears more than it has named, as far as one can know.
    pub(crate) hears_more: bool,
    /// It has said something that only group nodes say.
    pub(crate) in_group: bool,
    /// It has said whom it hears, and when.
    pub(crate) told: Option<Time>,
    /// True if its long announcements say by content what it holds; `None` before the first.
    pub(crate) names_contents: Option<bool>,
    /// Number of times that it was called on.
    pub(crate) called: u8,
    /// It says to hear nobody.
    pub(crate) alone: bool,
    /// It has said good-bye.
    pub(crate) leaves: bool,
}

impl Member {
    pub(crate) fn new(now: Time, words: u64) -> Self {
        let (sequences, share, silence) = ([None; 2], 1.0, None);
        let (hears_us, hears, names) = (None, NodeSet::default(), NodeSet::default());
        let arrives = true;
        let (told, alone) = (None, false);
        Self {
            heard: now,
            since: now,
            words,
            sequences,
            share,
            arrives,
            messages: 0,
            known: None,
            silence,
            hears_us,
            one_source: false,
            hears,
            names,
            hears_more: false,
            in_group: false,
            told,
            names_contents: None,
            called: 0,
            alone,
            leaves: false,
        }
    }
    /// True if it listens to somebody else, and not to us: it need not say how it stands to what is ours.
    pub(crate) fn listens_elsewhere(&self) -> bool {
        self.one_source && self.hears_us == Some(false)
    }
    /// One of its messages, of those that are counted so.
    pub(crate) fn on_sequence(&mut self, (count, sequence): (Count, Sequence)) {
        let last = &mut self.sequences[count as usize];
        let ahead = last.map_or(1, |last| last.distance_to(sequence));
        if !(-SKIPPED_MAX..=0).contains(&ahead) {
            *last = Some(sequence);
        }
        // What comes late was counted as lost; numbers far away are of another instance.
        if (1..=SKIPPED_MAX).contains(&ahead) {
            (0..ahead).for_each(|_| self.share -= self.share / SHARE_OVER);
            self.share += 1.0 / SHARE_OVER;
            let left = if self.alone { SHARE_LEFT } else { SHARE_MIN };
            self.arrives = self.share >= if self.arrives { left } else { SHARE_MIN };
        }
        self.messages = self.messages.saturating_add(1);
        if self.messages >= KNOWN_AFTER {
            self.known.get_or_insert(self.heard);
        }
    }
    /// Whether it is a word, `words` having been heard before.
    pub(crate) fn on_heard(&mut self, now: Time, words: u64) -> bool {
        let silence = now.since(self.heard);
        if silence >= WORD {
            // A mean over about four words: those who move are soon out of reach. In a quiet group
            // each silence is twice as long as the one before.
            let mean = self.silence.map_or(silence, |mean| (mean * 3 + silence) / 4);
            self.silence = Some(mean.max(silence));
        }
        (self.heard, self.words, self.leaves) = (now, words, false);
        silence >= WORD
    }
    /// How long it is silent as a rule.
    pub(crate) fn usual(&self, incarnation: Duration) -> Duration {
        self.silence.unwrap_or(incarnation).max(SILENCE_MIN / SILENCES)
    }
    /// How likely it would be silent for so long, were it within reach.
    pub(crate) fn still(&self, now: Time, incarnation: Duration) -> f32 {
        delivery_ratio::still(now.since(self.heard), self.usual(incarnation))
    }
    /// The share of its messages that arrives, now that it has been silent for so long.
    pub(crate) fn share(&self, now: Time, incarnation: Duration) -> f32 {
        delivery_ratio::there(self.share, self.still(now, incarnation))
    }
    /// Whether it still speaks, as far as one can know.
    pub(crate) fn speaks(&self, now: Time, incarnation: Duration, words: u64) -> bool {
        let usual = self.silence.map_or(incarnation, |silence| silence * SILENCES);
        now.since(self.heard) <= usual.max(SILENCE_MIN) || words < self.words
    }
    /// Whether it is within reach now, as far as one can know.
    pub(crate) fn is_near(&self, now: Time, incarnation: Duration, words: u64) -> bool {
        self.arrives && self.speaks(now, incarnation, words)
    }
}

//! What a node says of itself: at most eight numbers of one byte, those that are not known left out.

use alloc::{string::String, vec::Vec};

use crate::monitor::scale::{RATE, TIME, of_share, share};

/// Less than this is told as nothing, bit/s: announcements of all take as much in a quiet group.
const RATE_MIN: f64 = 256.0;
/// Bytes of a name.
const NAME_MAX: usize = 24;

/// What a sector is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Block {
    /// Numbers of a node: [`Facts`].
    Node,
    /// Its name.
    Name,
    /// The same as [`Self::Node`] of all nodes of a group together.
    Group,
}

impl Block {
    pub(crate) const ALL: [Self; 3] = [Self::Node, Self::Name, Self::Group];

    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Node => 1,
            Self::Name => 2,
            Self::Group => 3,
        }
    }

    pub(crate) fn of_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|block| block.code() == code)
    }

    /// What a sector of it is worth to others, before change and age.
    pub(crate) const fn weight(self) -> f64 {
        match self {
            Self::Node => 4.0,
            Self::Group => 3.0,
            Self::Name => 1.0,
        }
    }
}

/// Numbers of a node, or of a group. `None`: not known.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Facts {
    /// The busy share of its processors.
    pub processor: Option<f64>,
    /// The used share of its memory.
    pub memory: Option<f64>,
    /// What is left in its battery, as a share.
    pub battery: Option<f64>,
    /// Bits per second that it sends.
    pub sent: Option<f64>,
    /// Bits per second that it hears.
    pub received: Option<f64>,
    /// The share of others' messages that does not arrive.
    pub loss: Option<f64>,
    /// Seconds of its longest round trip.
    pub rtt: Option<f64>,
    /// Nodes that it hears.
    pub hears: Option<u8>,
}

impl Facts {
    /// The steps in which they are told.
    fn steps(&self) -> [Option<u8>; 8] {
        [
            self.processor.and_then(share),
            self.memory.and_then(share),
            self.battery.and_then(share),
            self.sent.and_then(rate_step),
            self.received.and_then(rate_step),
            self.loss.and_then(share),
            self.rtt.and_then(|value| TIME.step(value)),
            self.hears,
        ]
    }

    /// A bitmap, its highest bit the first, and a byte for each that is known.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let steps = self.steps();
        let bit = |(at, step): (usize, &Option<u8>)| u8::from(step.is_some()) << (7 - at);
        let known = steps.iter().enumerate().map(bit).fold(0, |all, one| all | one);
        core::iter::once(known).chain(steps.into_iter().flatten()).collect()
    }

    /// `None` when it is cut short, or has more than the bitmap says.
    #[must_use]
    pub fn parse(content: &[u8]) -> Option<Self> {
        let (&known, mut rest) = content.split_first()?;
        let mut steps = [None; 8];
        for (at, step) in steps.iter_mut().enumerate() {
            if known << at & 0x80 != 0 {
                let (&byte, after) = rest.split_first()?;
                (*step, rest) = (Some(byte), after);
            }
        }
        if !rest.is_empty() {
            return None;
        }
        let [processor, memory, battery, sent, received, loss, rtt, hears] = steps;
        Some(Self {
            processor: processor.map(of_share),
            memory: memory.map(of_share),
            battery: battery.map(of_share),
            sent: sent.map(|step| RATE.value(step)),
            received: received.map(|step| RATE.value(step)),
            loss: loss.map(of_share),
            rtt: rtt.map(|step| TIME.value(step)),
            hears,
        })
    }

    /// What is told instead of `before`: where a number has moved by no more than a step, the old one. So
    /// what swings about the border of two steps is no news.
    #[must_use]
    pub fn steadied(self, before: &Self) -> Self {
        let near = |new: Option<u8>, old: Option<u8>, wide: u8| {
            new.zip(old).is_some_and(|(new, old)| new.abs_diff(old) <= wide)
        };
        let (new, old) = (self.steps(), before.steps());
        // A share has 255 steps: a fiftieth is no news. A rate is news when it has doubled, or halved, and more.
        let keep = |at: usize, wide: u8| near(new[at], old[at], wide);
        Self {
            processor: if keep(0, 12) { before.processor } else { self.processor },
            memory: if keep(1, 5) { before.memory } else { self.memory },
            battery: if keep(2, 5) { before.battery } else { self.battery },
            sent: if keep(3, 8) { before.sent } else { self.sent },
            received: if keep(4, 8) { before.received } else { self.received },
            loss: if keep(5, 5) { before.loss } else { self.loss },
            rtt: if keep(6, 3) { before.rtt } else { self.rtt },
            hears: self.hears,
        }
    }
}

/// What is left of a rate after a single message fades without end, and would be news for minutes.
fn rate_step(value: f64) -> Option<u8> {
    RATE.step(if value < RATE_MIN { value.min(0.0) } else { value })
}

/// A name as it is told: cut, and without control characters.
#[must_use]
pub(crate) fn encode_name(name: &str) -> Vec<u8> {
    let mut end = name.len().min(NAME_MAX);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    name.as_bytes()[..end].to_vec()
}

#[must_use]
pub(crate) fn parse_name(content: &[u8]) -> Option<String> {
    let name = core::str::from_utf8(content).ok()?;
    let fits = content.len() <= NAME_MAX && !name.chars().any(char::is_control);
    (fits && !name.is_empty()).then(|| name.into())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn golden_bytes_of_a_node_that_knows_four_numbers() {
        let facts = Facts {
            processor: Some(0.5),
            sent: Some(8000.0),
            loss: Some(0.0),
            hears: Some(23),
            ..Facts::default()
        };
        assert_eq!(facts.encode(), [0b1001_0101, 128, 81, 0, 23]);
    }

    #[test]
    fn a_step_up_and_down_is_no_news_and_more_is() {
        let facts = |sent| Facts { sent: Some(sent), hears: Some(3), ..Facts::default() };
        let told = facts(1000.0);
        assert_eq!(facts(1200.0).steadied(&told), told);
        assert_eq!(facts(2500.0).steadied(&told), facts(2500.0));
    }

    #[test]
    fn a_rate_that_fades_to_nothing_is_nothing() {
        let told = |sent| Facts { sent: Some(sent), ..Facts::default() }.encode();
        assert_eq!((told(255.0), told(256.0)), ([0x10, 0].to_vec(), [0x10, 41].to_vec()));
        assert_eq!(told(-1.0), [0]);
    }

    #[test]
    fn names_are_cut_between_characters_and_others_refused() {
        assert_eq!(encode_name(&"é".repeat(20)).len(), 24);
        assert_eq!(encode_name(&std::format!("a{}", "é".repeat(20))).len(), 23);
        assert_eq!(parse_name(b"lab-1").as_deref(), Some("lab-1"));
        for wrong in [&b""[..], b"a\x1b[2J", b"\xff", &[b'a'; 25]] {
            assert_eq!(parse_name(wrong), None);
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(bytes in prop::collection::vec(any::<u8>(), 0..12)) {
            if let Some(facts) = Facts::parse(&bytes) {
                prop_assert_eq!(Facts::parse(&facts.encode()).map(|again| again.hears), Some(facts.hears));
                prop_assert_eq!(facts.encode()[0], bytes[0]);
            }
        }
    }
}

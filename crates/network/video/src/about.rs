//! What a stream is: its renditions, and the beginning of each one's files, without which a segment
//! cannot be shown.
//!
//! ```text
//! "FNVA" | version 1 (8) | reserved (8) | length of the text (16) | text, JSON | beginnings
//! ```

use serde::{Deserialize, Serialize};

use crate::ladder::{RENDITIONS_MAX, Rendition};

const MAGIC: [u8; 4] = *b"FNVA";
const VERSION: u8 = 1;
const HEAD: usize = 8;
/// The beginning of a file has a kilobyte or so.
const INIT_MAX: usize = 64 << 10;

/// A stream as its sender describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    /// What it is called.
    pub name: String,
    /// Of a life of the sender: another one has other files.
    pub life: u64,
    /// Milliseconds of a segment.
    pub segment_ms: u32,
    /// Nothing more comes after this segment.
    pub last: Option<u32>,
    /// Lowest first, each with the beginning of its files.
    pub renditions: Vec<(Rendition, Vec<u8>)>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Text {
    name: String,
    life: u64,
    segment_ms: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last: Option<u32>,
    renditions: Vec<Entry>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    #[serde(flatten)]
    rendition: Rendition,
    init: usize,
}

impl About {
    /// Its bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let entry = |(rendition, init): &(Rendition, Vec<u8>)| Entry {
            rendition: rendition.clone(),
            init: init.len(),
        };
        let text = Text {
            name: self.name.clone(),
            life: self.life,
            segment_ms: self.segment_ms,
            last: self.last,
            renditions: self.renditions.iter().map(entry).collect(),
        };
        let text = serde_json::to_vec(&text).unwrap_or_default();
        let mut out = Vec::from(MAGIC);
        out.extend([VERSION, 0]);
        out.extend((text.len() as u16).to_be_bytes());
        out.extend(text);
        self.renditions.iter().for_each(|(_, init)| out.extend(init));
        out
    }

    /// Reads one; `None` when it is none, or cut short.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let (head, rest) = bytes.split_first_chunk::<HEAD>()?;
        if head[..4] != MAGIC || head[4] != VERSION {
            return None;
        }
        let length = usize::from(u16::from_be_bytes([head[6], head[7]]));
        let (text, mut inits) = rest.split_at_checked(length)?;
        let text: Text = serde_json::from_slice(text).ok()?;
        if !crate::topics::is_name(&text.name) || text.segment_ms == 0 {
            return None;
        }
        if !(1..=RENDITIONS_MAX).contains(&text.renditions.len()) {
            return None;
        }
        let mut renditions = Vec::new();
        for Entry { rendition, init } in text.renditions {
            if init > INIT_MAX || !crate::topics::is_name(&rendition.name) {
                return None;
            }
            let (own, others) = inits.split_at_checked(init)?;
            inits = others;
            renditions.push((rendition, own.to_vec()));
        }
        let Text { name, life, segment_ms, last, .. } = text;
        Some(Self { name, life, segment_ms, last, renditions })
    }

    /// Which of its renditions is called so.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<usize> {
        self.renditions.iter().position(|(rendition, _)| rendition.name == name)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::ladder;

    pub(crate) fn about() -> About {
        let ladder = ladder::parse("64k,400k").unwrap();
        let renditions =
            ladder.into_iter().zip(1..).map(|(rendition, n)| (rendition, vec![n; 9])).collect();
        About { name: "gate".to_owned(), life: 7, segment_ms: 1000, last: None, renditions }
    }

    #[test]
    fn it_is_read_back_and_a_truncated_one_is_refused() {
        for last in [None, Some(40)] {
            let about = About { last, ..about() };
            let bytes = about.encode();
            assert_eq!(About::parse(&bytes).as_ref(), Some(&about));
            assert!((0..bytes.len()).all(|end| About::parse(&bytes[..end]).is_none()));
        }
    }

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        let away = About { name: "../x".to_owned(), ..about() };
        assert_eq!(About::parse(&away.encode()), None);
        let mut other = about();
        other.renditions[0].0.name = "a/b".to_owned();
        assert_eq!(About::parse(&other.encode()), None);
    }
}

//! A segment of a rendition as a message.
//!
//! ```text
//! "FNVS" | version 1 (8) | pace, kbit/s (24) | life (64) | number (32) | duration ms (32)
//! begun, ms since 1970 (64) | the segment as a file
//! ```

const MAGIC: [u8; 4] = *b"FNVS";
const VERSION: u8 = 1;
/// Bytes before the file.
pub const HEAD: usize = 32;
/// What the pace's field holds.
const PACE_MAX: u32 = 0xff_ffff;

/// What a message says of its segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Of which life of the sender.
    pub life: u64,
    /// Counts from 0; the same number is the same time in all renditions.
    pub number: u32,
    /// How long it is shown, milliseconds.
    pub duration_ms: u32,
    /// By the sender's clock, when its first picture was taken: milliseconds since 1970.
    pub begun_ms: u64,
    /// At which pace it was sent, kbit/s, at most 16 Gbit/s; 0: as fast as the sender may.
    pub pace_kbps: u32,
}

impl Segment {
    /// The message.
    #[must_use]
    pub fn encode(&self, file: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEAD + file.len());
        out.extend(MAGIC);
        out.push(VERSION);
        out.extend(&self.pace_kbps.min(PACE_MAX).to_be_bytes()[1..]);
        out.extend(self.life.to_be_bytes());
        out.extend(self.number.to_be_bytes());
        out.extend(self.duration_ms.to_be_bytes());
        out.extend(self.begun_ms.to_be_bytes());
        out.extend(file);
        out
    }

    /// What is said, and the file; `None` when it is no segment.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (head, file) = bytes.split_first_chunk::<HEAD>()?;
        if head[..4] != MAGIC || head[4] != VERSION {
            return None;
        }
        let long = |at: usize| head[at..at + 8].try_into().map(u64::from_be_bytes).ok();
        let short = |at: usize| head[at..at + 4].try_into().map(u32::from_be_bytes).ok();
        let (life, number) = (long(8)?, short(16)?);
        let (duration_ms, begun_ms, pace_kbps) = (short(20)?, long(24)?, short(4)? & PACE_MAX);
        let segment = Self { life, number, duration_ms, begun_ms, pace_kbps };
        (duration_ms > 0).then_some((segment, file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_comes_back_as_it_was_and_a_truncated_one_does_not() {
        let (begun_ms, pace_kbps) = (1_790_000_000_000, 70_000);
        let segment = Segment { life: 9, number: 3, duration_ms: 960, begun_ms, pace_kbps };
        let bytes = segment.encode(b"moof");
        assert_eq!(Segment::parse(&bytes), Some((segment, &b"moof"[..])));
        let fast = Segment { pace_kbps: u32::MAX, ..segment };
        assert_eq!(Segment::parse(&fast.encode(b"")).unwrap().0.pace_kbps, 0xff_ffff);
        assert!((0..HEAD).all(|end| Segment::parse(&bytes[..end]).is_none()));
        assert_eq!(Segment::parse(&[0; 40]), None);
    }
}

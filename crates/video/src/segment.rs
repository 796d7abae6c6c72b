//! A segment of a rendition as a message.
//!
//! ```text
//! "FNVS" | version 1 (8) | reserved (24) | life (64) | number (32) | duration ms (32)
//! begun, ms since 1970 (64) | the segment as a file
//! ```

const MAGIC: [u8; 4] = *b"FNVS";
const VERSION: u8 = 1;
/// Bytes before the file.
pub const HEAD: usize = 32;

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
}

impl Segment {
    /// The message.
    #[must_use]
    pub fn encode(&self, file: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEAD + file.len());
        out.extend(MAGIC);
        out.extend([VERSION, 0, 0, 0]);
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
        let (duration_ms, begun_ms) = (short(20)?, long(24)?);
        (duration_ms > 0).then_some((Self { life, number, duration_ms, begun_ms }, file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_comes_back_as_it_was_and_a_truncated_one_does_not() {
        let segment = Segment { life: 9, number: 3, duration_ms: 960, begun_ms: 1_790_000_000_000 };
        let bytes = segment.encode(b"moof");
        assert_eq!(Segment::parse(&bytes), Some((segment, &b"moof"[..])));
        assert!((0..HEAD).all(|end| Segment::parse(&bytes[..end]).is_none()));
        assert_eq!(Segment::parse(&[0; 40]), None);
    }
}

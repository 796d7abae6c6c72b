//! Header extensions (RFC 5740 4.1): each known one in its own file, unknown ones skipped.
//!
//! ```text
//! +---------------+---------------+-------------------------------+
//! |   het < 128   |  hel (words)  |        content ...            |
//! +---------------+---------------+-------------------------------+
//! |  het >= 128   |                content (3 bytes)              |
//! +---------------+-----------------------------------------------+
//! ```

pub mod age;
pub mod app_ack;
pub mod cc;
pub mod former;
pub mod fti;
pub mod held;
pub mod mode;
pub mod path;
pub mod rate;
pub mod time;
pub mod turn;

pub use age::ExtAge;
pub use app_ack::AppAck;
pub use cc::{CcFlags, ExtCc};
pub use former::ExtFormer;
pub use fti::Fti;
pub use held::ExtHeld;
pub use mode::ExtMode;
pub use path::ExtPath;
pub use rate::ExtRate;
pub use time::ExtTime;
pub use turn::ExtTurn;

use crate::{FecId, NodeId, WireError};
use alloc::vec::Vec;
use core::fmt;

/// The extension area of a parsed message: lengths are checked, content is read on demand.
///
/// Encoding a message writes the extensions it is given as arguments first, then those of its
/// `extensions` field that are of other types, as they stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Extensions<'a> {
    bytes: &'a [u8],
}

/// One extension: its type and its bytes after the type (and length) field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extension<'a> {
    /// Header extension type.
    pub het: u8,
    /// Content: everything after `het` and `hel`, or the three bytes of a one-word extension.
    pub content: &'a [u8],
}

impl<'a> Extension<'a> {
    /// Splits the first extension off; the rest is always shorter by at least one word.
    fn split(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), WireError> {
        let &[het, second, ..] = bytes else {
            let (what, have) = ("header extension", bytes.len());
            return Err(WireError::Truncated { what, need: 4, have });
        };
        let (words, prefix) = if het < 128 { (second, 2) } else { (1, 1) };
        match bytes.split_at_checked(usize::from(words) * 4) {
            Some((own @ [_, ..], rest)) => Ok((Self { het, content: &own[prefix..] }, rest)),
            _ => Err(WireError::ExtensionLength { het, words }),
        }
    }

    /// Appends it as it stood.
    fn append(&self, out: &mut Vec<u8>) {
        if self.het < 128 {
            write_variable(self.het, self.content, out);
        } else {
            out.push(self.het);
            out.extend_from_slice(self.content);
        }
    }
}

/// Appends an extension with a length field, padding `content` with zeros to a whole word.
///
/// # Panics
/// When `het` is not below 128, or when `content` is longer than the 1,018 bytes that the length
/// field can say.
pub fn write_variable(het: u8, content: &[u8], out: &mut Vec<u8>) {
    let words = (content.len() + 2).div_ceil(4);
    assert!(het < 128 && words <= 255, "extension {het} with {} bytes", content.len());
    out.extend_from_slice(&[het, words as u8]);
    out.extend_from_slice(content);
    out.resize(out.len() + words * 4 - content.len() - 2, 0);
}

impl<'a> Extensions<'a> {
    /// Checks an extension area: every extension lies within it, and those of known types have
    /// the size of their type. Unknown types pass.
    ///
    /// # Errors
    /// [`WireError::ExtensionLength`] for a length of zero or one that passes the end;
    /// [`WireError::ExtensionSize`] for an EXT_CC that is not three words, or an EXT_FTI that is
    /// neither three nor four; [`WireError::Truncated`] for a lone byte at the end.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, WireError> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let (extension, behind) = Extension::split(rest)?;
            let size = rest.len() - behind.len();
            let fits = match extension.het {
                ExtCc::HET => size == ExtCc::LEN,
                Fti::HET => size == 12 || size == 16,
                _ => true,
            };
            if !fits {
                return Err(WireError::ExtensionSize { het: extension.het, bytes: size });
            }
            rest = behind;
        }
        Ok(Self { bytes })
    }

    /// Refuses an EXT_FTI that is not well formed for the encoding id its message names.
    pub(crate) fn check_fti(&self, fec_id: FecId) -> Result<(), WireError> {
        self.find(Fti::HET).map_or(Ok(()), |content| Fti::read(content, fec_id).map(|_| ()))
    }

    /// All of them in order.
    pub fn iter(&self) -> impl Iterator<Item = Extension<'a>> + use<'a> {
        let mut rest = self.bytes;
        core::iter::from_fn(move || {
            let (extension, behind) = Extension::split(rest).ok()?;
            rest = behind;
            Some(extension)
        })
    }

    /// Content of the first extension of a type.
    #[must_use]
    pub fn find(&self, het: u8) -> Option<&'a [u8]> {
        self.iter().find(|extension| extension.het == het).map(|extension| extension.content)
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// FEC object transmission information (EXT_FTI), in the form that `fec_id` gives it.
    #[must_use]
    pub fn fti(&self, fec_id: FecId) -> Option<Fti> {
        Fti::read(self.find(Fti::HET)?, fec_id).ok()
    }
    /// Congestion control feedback (EXT_CC).
    #[must_use]
    pub fn cc(&self) -> Option<ExtCc> {
        ExtCc::read(self.find(ExtCc::HET)?)
    }
    /// Sender rate (EXT_RATE).
    #[must_use]
    pub fn rate(&self) -> Option<ExtRate> {
        ExtRate::read(self.find(ExtRate::HET)?)
    }
    /// How receivers are to measure (EXT_MODE).
    #[must_use]
    pub fn mode(&self) -> Option<ExtMode> {
        ExtMode::read(self.find(ExtMode::HET)?)
    }
    /// What a receiver measured of its path (EXT_PATH); `None` also when it has another length.
    #[must_use]
    pub fn path(&self) -> Option<ExtPath> {
        ExtPath::read(self.find(ExtPath::HET)?)
    }
    /// When the message was sent (EXT_TIME).
    #[must_use]
    pub fn time(&self) -> Option<ExtTime> {
        ExtTime::read(self.find(ExtTime::HET)?)
    }
    /// How old the `which`th message in the datagram is (EXT_AGE); `None`: nothing is said of it.
    #[must_use]
    pub fn age(&self, which: u8) -> Option<ExtAge> {
        let all = self.iter().filter(|extension| extension.het == ExtAge::HET);
        all.filter_map(|extension| ExtAge::read(extension.content)).find(|age| age.which == which)
    }
    /// Which objects were not sent whole (EXT_TURN): at most [`ExtTurn::MAX`] statements.
    pub fn turns(&self) -> impl Iterator<Item = ExtTurn> + use<'a> {
        let all = self.iter().filter(|extension| extension.het == ExtTurn::HET);
        all.filter_map(|extension| ExtTurn::read(extension.content)).take(ExtTurn::MAX)
    }
    /// Ids that the node had in earlier lives (EXT_FORMER), at most [`ExtFormer::MAX`].
    pub fn formers(&self) -> impl Iterator<Item = NodeId> + use<'a> {
        let former = self.find(ExtFormer::HET).and_then(ExtFormer::read);
        former.into_iter().flat_map(|former| former.ids())
    }
    /// Digest of what a node says that it holds, by content (EXT_HELD).
    #[must_use]
    pub fn held(&self) -> Option<ExtHeld<'a>> {
        self.find(ExtHeld::HET).and_then(ExtHeld::read)
    }
    /// Application bytes of a watermark or its acknowledgement (NRL's APP_ACK), zero-padded to a word.
    #[must_use]
    pub fn app_ack(&self) -> Option<AppAck<'a>> {
        self.find(AppAck::HET).map(|content| AppAck { content })
    }

    /// Appends all but those of the types `given`, which the encoder has written itself.
    pub(crate) fn append_others(&self, given: &[u8], out: &mut Vec<u8>) {
        self.iter()
            .filter(|extension| !given.contains(&extension.het))
            .for_each(|extension| extension.append(out));
    }
}

/// Each extension, led by a space; EXT_FTI only by its size, since its form is the message's.
impl fmt::Display for Extensions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Extension { het, content } in self.iter() {
            match (het, ExtCc::read(content), ExtRate::read(content)) {
                (ExtCc::HET, Some(cc), _) => write!(f, " {cc}")?,
                (ExtRate::HET, _, Some(rate)) => write!(f, " rate {}", rate.rate)?,
                (ExtAge::HET, ..) => match ExtAge::read(content) {
                    Some(age) => write!(f, " age({} {}s)", age.which, age.seconds())?,
                    None => write!(f, " ext {het}({} bytes)", content.len())?,
                },
                (ExtTurn::HET, ..) => match ExtTurn::read(content) {
                    Some(ExtTurn::Reach(object)) => write!(f, " reach({})", object.0)?,
                    Some(ExtTurn::Open { first, count }) => {
                        write!(f, " open({} from {})", count, first.0)?;
                    }
                    None => write!(f, " ext {het}({} bytes)", content.len())?,
                },
                (AppAck::HET, ..) => write!(f, " app_ack({} bytes)", content.len())?,
                (Fti::HET, ..) => write!(f, " fti({} bytes)", content.len())?,
                _ => write!(f, " ext {het}({} bytes)", content.len())?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::QuantizedRate;
    use alloc::vec;

    #[test]
    fn unknown_extensions_of_both_kinds_are_skipped() {
        let area = [99, 2, 1, 2, 3, 4, 5, 6, 200, 7, 8, 9, 128, 0, 0x19, 0xa3];
        let extensions = Extensions::parse(&area).expect("well formed");
        let seen: Vec<_> = extensions.iter().map(|e| (e.het, e.content.len())).collect();
        assert_eq!(seen, [(99, 6), (200, 3), (128, 3)]);
        assert_eq!(extensions.rate().map(|e| e.rate.0), Some(0x19a3));
    }

    #[test]
    fn a_length_of_zero_or_past_the_end_is_refused() {
        for words in [0, 2, 255] {
            let area = [99, words, 0, 0];
            assert_eq!(
                Extensions::parse(&area),
                Err(WireError::ExtensionLength { het: 99, words })
            );
        }
        assert_eq!(
            Extensions::parse(&[200, 0]),
            Err(WireError::ExtensionLength { het: 200, words: 1 })
        );
    }

    #[test]
    fn a_known_extension_of_the_wrong_size_is_refused() {
        for (het, words) in [(3, 2), (3, 4), (64, 2), (64, 5)] {
            let mut area = vec![0; usize::from(words) * 4];
            area[..2].copy_from_slice(&[het, words]);
            let bytes = area.len();
            assert_eq!(Extensions::parse(&area), Err(WireError::ExtensionSize { het, bytes }));
        }
    }

    #[test]
    fn application_bytes_are_padded_to_a_word() {
        let mut area = Vec::new();
        AppAck { content: b"abc" }.append(&mut area);
        assert_eq!(area, [65, 2, b'a', b'b', b'c', 0, 0, 0]);
        let extensions = Extensions::parse(&area).expect("well formed");
        assert_eq!(extensions.app_ack().map(|e| e.content), Some(&b"abc\0\0\0"[..]));
    }

    #[test]
    fn our_own_extensions_read_as_they_were_written() {
        let path = ExtPath {
            delivered: QuantizedRate(0x1234),
            queue_micros: 70_000,
            standing_micros: 5,
            lost: ExtPath::share(0.1),
            marked: ExtPath::share(1.0),
            bottleneck: QuantizedRate::ZERO,
            pace: ExtPath::quantized_pace(0.9),
            base: ExtPath::quantized_base(-0.3),
        };
        let (mode, time) = (ExtMode { mode: ExtMode::PATH }, ExtTime::of_micros((7 << 24) + 9));
        let mut area = Vec::new();
        path.append(&mut area);
        mode.append(&mut area);
        time.append(&mut area);
        let extensions = Extensions::parse(&area).expect("well formed");
        assert_eq!((extensions.path(), extensions.mode()), (Some(path), Some(mode)));
        assert_eq!(extensions.time().map(ExtTime::micros), Some(9));
        assert!((path.loss() - 0.1).abs() < 1e-4 && path.marks() == 1.0);
        let mut short = vec![ExtPath::HET, 2];
        short.resize(8, 0);
        assert_eq!(Extensions::parse(&short).expect("well formed").path(), None);
    }

    #[test]
    fn encoding_keeps_extensions_it_was_not_given() {
        let area = [99, 1, 1, 2, 128, 0, 0x19, 0xa3, 200, 7, 8, 9];
        let mut out = Vec::new();
        Extensions::parse(&area).expect("well formed").append_others(&[128], &mut out);
        assert_eq!(out, [99, 1, 1, 2, 200, 7, 8, 9]);
    }
}

//! A frame as it is given, and why one tells nothing.

use fanfare_wire::units::Time;

/// What the system or a file says of a packet, beside its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'b> {
    /// When it was seen.
    pub at: Time,
    /// What was copied of it.
    pub bytes: &'b [u8],
    /// How long it was.
    pub length: u32,
    /// Bytes of each packet that it was joined of; 0: it is one.
    pub segment: u16,
}

/// Why a frame tells nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refused {
    /// It ends within a header.
    Cut,
    /// Its link is of a kind that is not read.
    Link,
    /// It was seen before, at another interface.
    Copy,
    /// It carries no IP.
    NotIp,
    /// More tags of VLANs than are followed.
    Tags,
    /// A header of IP has a length or a version that cannot be.
    BadIp,
    /// Too many headers of IPv6 follow each other.
    Headers,
}

impl Refused {
    /// For programs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cut => "cut",
            Self::Link => "link",
            Self::Copy => "copy",
            Self::NotIp => "not-ip",
            Self::Tags => "tags",
            Self::BadIp => "bad-ip",
            Self::Headers => "headers",
        }
    }
}

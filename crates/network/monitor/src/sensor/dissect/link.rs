//! What is around an IP packet, by the types of links that capture files number.

use fanfare_messaging::monitor::observe::Mac;

use super::frame::Refused;

/// Nested tags of VLANs that are followed.
const TAGS_MAX: usize = 4;

/// What frames begin with. The numbers are those of capture files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkType {
    /// Ethernet, and Linux's loopback.
    Ethernet,
    /// IP at once.
    Raw,
    /// Linux, from "any" interface.
    Cooked,
    /// Its second form.
    Cooked2,
}

impl LinkType {
    /// By its number in a capture file.
    #[must_use]
    pub fn of_number(number: u32) -> Option<Self> {
        match number {
            1 => Some(Self::Ethernet),
            // 12 and 14 are what some systems write for raw IP; 228 and 229 are IPv4 and IPv6 alone.
            12 | 14 | 101 | 228 | 229 => Some(Self::Raw),
            113 => Some(Self::Cooked),
            276 => Some(Self::Cooked2),
            _ => None,
        }
    }
}

/// An IP packet, and what was around it.
pub(super) struct Inner<'b> {
    pub(super) macs: Option<(Mac, Mac)>,
    pub(super) packet: &'b [u8],
}

pub(super) fn open(link: LinkType, bytes: &[u8]) -> Result<Inner<'_>, Refused> {
    match link {
        LinkType::Raw => Ok(Inner { macs: None, packet: bytes }),
        LinkType::Cooked => {
            let (head, rest) = bytes.split_first_chunk::<16>().ok_or(Refused::Cut)?;
            tagged(None, u16::from_be_bytes([head[14], head[15]]), rest)
        }
        LinkType::Cooked2 => {
            let (head, rest) = bytes.split_first_chunk::<20>().ok_or(Refused::Cut)?;
            tagged(None, u16::from_be_bytes([head[0], head[1]]), rest)
        }
        LinkType::Ethernet => {
            let (head, rest) = bytes.split_first_chunk::<14>().ok_or(Refused::Cut)?;
            let (to, from) = (mac(&head[..6]), mac(&head[6..12]));
            tagged(Some((from, to)), u16::from_be_bytes([head[12], head[13]]), rest)
        }
    }
}

fn mac(bytes: &[u8]) -> Mac {
    let mut mac = [0; 6];
    mac.copy_from_slice(bytes);
    mac
}

fn tagged(
    macs: Option<(Mac, Mac)>,
    mut kind: u16,
    mut packet: &[u8],
) -> Result<Inner<'_>, Refused> {
    for _ in 0..=TAGS_MAX {
        match kind {
            0x0800 | 0x86dd => return Ok(Inner { macs, packet: without_hidden_tag(kind, packet) }),
            // 802.1Q, 802.1ad, and what came before it.
            0x8100 | 0x88a8 | 0x9100 | 0x9200 | 0x9300 => {
                let (tag, rest) = packet.split_first_chunk::<4>().ok_or(Refused::Cut)?;
                (kind, packet) = (u16::from_be_bytes([tag[2], tag[3]]), rest);
            }
            _ => return Err(Refused::NotIp),
        }
    }
    Err(Refused::Tags)
}

/// Linux takes one of two tags away, and says of cooked frames what is behind both: then a packet begins
/// with the tag that is left.
fn without_hidden_tag(kind: u16, packet: &[u8]) -> &[u8] {
    let Some((tag, rest)) = packet.split_first_chunk::<4>() else { return packet };
    let version = if kind == 0x0800 { 4 } else { 6 };
    let is_ip = |bytes: &[u8]| bytes.first().is_some_and(|first| first >> 4 == version);
    // A tag of priority 2 looks like version 4. As a packet it would be 2,048 bytes long.
    let is_long_enough = version == 6 || packet.len() >= usize::from(kind);
    match [tag[2], tag[3]] == kind.to_be_bytes() && is_ip(rest) {
        true if !is_ip(packet) || !is_long_enough => rest,
        _ => packet,
    }
}

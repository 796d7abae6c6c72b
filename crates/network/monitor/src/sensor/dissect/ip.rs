//! Headers of IPv4 and IPv6.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::frame::Refused;

/// Headers of IPv6 that follow each other, at most.
const EXTENSIONS_MAX: usize = 8;

/// An IP packet.
pub(super) struct Packet<'b> {
    pub(super) ends: (IpAddr, IpAddr),
    pub(super) ttl: u8,
    pub(super) protocol: u8,
    /// A piece other than the first: it has no header of what it carries.
    pub(super) is_fragment: bool,
    /// What was copied of its content.
    pub(super) content: &'b [u8],
    /// How long its content is, by its header; 0 where it was joined.
    pub(super) length: u32,
    headers: u32,
}

impl Packet<'_> {
    /// Bytes of its headers.
    pub(super) fn headers(&self) -> u32 {
        self.headers
    }
}

pub(super) fn open(bytes: &[u8]) -> Result<Packet<'_>, Refused> {
    match bytes.first().map(|first| first >> 4) {
        None => Err(Refused::Cut),
        Some(4) => open_v4(bytes),
        Some(6) => open_v6(bytes),
        Some(_) => Err(Refused::BadIp),
    }
}

fn open_v4(bytes: &[u8]) -> Result<Packet<'_>, Refused> {
    let head: &[u8; 20] = bytes.first_chunk().ok_or(Refused::Cut)?;
    let header = usize::from(head[0] & 0x0f) * 4;
    let total = usize::from(u16::from_be_bytes([head[2], head[3]]));
    // A joined packet that is longer than can be said has the length 0.
    if header < 20 || (total < header && total != 0) {
        return Err(Refused::BadIp);
    }
    let content = bytes.get(header..).ok_or(Refused::Cut)?;
    let length = total.saturating_sub(header);
    // What Ethernet fills up is no content.
    let content = &content[..if total == 0 { content.len() } else { content.len().min(length) }];
    let address = |at: usize| Ipv4Addr::new(head[at], head[at + 1], head[at + 2], head[at + 3]);
    Ok(Packet {
        ends: (IpAddr::V4(address(12)), IpAddr::V4(address(16))),
        ttl: head[8],
        protocol: head[9],
        is_fragment: u16::from_be_bytes([head[6], head[7]]) & 0x1fff != 0,
        content,
        length: length as u32,
        headers: header as u32,
    })
}

fn open_v6(bytes: &[u8]) -> Result<Packet<'_>, Refused> {
    let (head, mut content) = bytes.split_first_chunk::<40>().ok_or(Refused::Cut)?;
    let mut length = usize::from(u16::from_be_bytes([head[4], head[5]]));
    let is_joined = length == 0;
    let mut protocol = head[6];
    let mut is_fragment = false;
    let mut headers = 40;
    content = &content[..if is_joined { content.len() } else { content.len().min(length) }];
    for step in 0.. {
        let taken = match protocol {
            // Options for each hop, routing, options for the end, mobility; all count eights after the first.
            0 | 43 | 60 | 135 => {
                let &[next, eights, ..] = content else { break };
                protocol = next;
                (usize::from(eights) + 1) * 8
            }
            44 => {
                let &[next, _, high, low, ..] = content else { break };
                protocol = next;
                is_fragment = u16::from_be_bytes([high, low]) & 0xfff8 != 0;
                8
            }
            // Authentication counts fours after the second.
            51 => {
                let &[next, fours, ..] = content else { break };
                protocol = next;
                (usize::from(fours) + 2) * 4
            }
            _ => break,
        };
        if step == EXTENSIONS_MAX {
            return Err(Refused::Headers);
        }
        // The filter copies no more of them: what they carry is then not known.
        content = content.get(taken..).unwrap_or_default();
        length = length.saturating_sub(taken);
        headers += taken as u32;
        if is_fragment {
            break;
        }
    }
    let address = |at: usize| {
        let mut octets = [0; 16];
        octets.copy_from_slice(&head[at..at + 16]);
        IpAddr::V6(Ipv6Addr::from(octets))
    };
    Ok(Packet {
        ends: (address(8), address(24)),
        ttl: head[7],
        protocol,
        is_fragment,
        content,
        length: if is_joined { 0 } else { length as u32 },
        headers,
    })
}

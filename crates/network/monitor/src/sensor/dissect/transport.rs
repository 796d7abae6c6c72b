//! What an IP packet carries.

use fanfare_messaging::monitor::observe::{Norm, Segment, What};

use super::ip::Packet;

/// The head of a UDP datagram.
const UDP: u32 = 8;
/// Version 1 of NORM, in the upper half of its first byte.
const NORM_VERSION: u8 = 1;

/// What it is, and the bytes of its header.
pub(super) fn read(packet: &Packet<'_>, norm_ports: &[u16]) -> (What, u32) {
    if packet.is_fragment {
        return (What::Fragment(packet.protocol), 0);
    }
    let found = match packet.protocol {
        6 => tcp(packet),
        17 => udp(packet, norm_ports),
        1 => echo(packet.content, (8, 0)),
        58 => echo(packet.content, (128, 129)),
        _ => None,
    };
    found.unwrap_or((What::Other(packet.protocol), 0))
}

fn tcp(packet: &Packet<'_>) -> Option<(What, u32)> {
    let content = packet.content;
    let head: &[u8; 20] = content.first_chunk()?;
    let header = usize::from(head[12] >> 4) * 4;
    let word = |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let flag = |bit: u8| head[13] & bit != 0;
    // A header that ends before or after what it says is a broken one: it is counted, and not followed.
    if header < 20 || (packet.length != 0 && packet.length < header as u32) {
        return None;
    }
    let options = content.get(20..header.min(content.len())).unwrap_or_default();
    let length = packet.length.saturating_sub(header as u32);
    let segment = Segment {
        fin: flag(1),
        syn: flag(2),
        rst: flag(4),
        ack: flag(16),
        number: word(4),
        acknowledged: word(8),
        length,
        stamps: stamps(options),
    };
    Some((What::Tcp(ports(head), segment), header as u32))
}

fn ports(head: &[u8]) -> (u16, u16) {
    (u16::from_be_bytes([head[0], head[1]]), u16::from_be_bytes([head[2], head[3]]))
}

/// The option of time stamps (RFC 7323).
fn stamps(mut options: &[u8]) -> Option<(u32, u32)> {
    loop {
        match *options {
            [] | [0, ..] => return None,
            [1, ref rest @ ..] => options = rest,
            [8, 10, a, b, c, d, e, f, g, h, ..] => {
                return Some((u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h])));
            }
            [_, length, ..] if length >= 2 => options = options.get(usize::from(length)..)?,
            _ => return None,
        }
    }
}

fn udp(packet: &Packet<'_>, norm_ports: &[u16]) -> Option<(What, u32)> {
    let (head, content) = packet.content.split_first_chunk::<8>()?;
    let ports = ports(head);
    let may_be_norm = norm_ports.contains(&ports.0) || norm_ports.contains(&ports.1);
    let norm = may_be_norm.then(|| norm(content, packet.length.saturating_sub(UDP))).flatten();
    let what = norm.map_or(What::Udp(ports), |norm| What::Norm(ports, norm));
    Some((what, UDP))
}

/// RFC 5740, 4.1: version and type, words of the header, sequence, source; then the instance in messages of
/// senders, or whose message is answered and its instance.
fn norm(content: &[u8], length: u32) -> Option<Norm> {
    let head: &[u8; 10] = content.first_chunk()?;
    let (version, kind) = (head[0] >> 4, head[0] & 0x0f);
    let header = u32::from(head[1]) * 4;
    let fits = version == NORM_VERSION
        && (1..=6).contains(&kind)
        && header >= 8
        && (length == 0 || header <= length);
    if !fits {
        return None;
    }
    let instance = match kind {
        1..=3 => [head[8], head[9]],
        4 | 5 => *content.get(12..14)?.first_chunk()?,
        _ => [0, 0],
    };
    Some(Norm {
        kind,
        sequence: u16::from_be_bytes([head[2], head[3]]),
        source: u32::from_be_bytes([head[4], head[5], head[6], head[7]]),
        instance: u16::from_be_bytes(instance),
    })
}

/// Kinds of a ping and of its answer differ in ICMP and ICMPv6.
fn echo(content: &[u8], (asks, answers): (u8, u8)) -> Option<(What, u32)> {
    let head: &[u8; 8] = content.first_chunk()?;
    let id = (u16::from_be_bytes([head[4], head[5]]), u16::from_be_bytes([head[6], head[7]]));
    let reply = head[0] == answers;
    (reply || head[0] == asks).then_some((What::Echo { reply, id }, 8))
}

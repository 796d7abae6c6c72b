//! Ethernet frames and IPv4 packets, as far as a cable needs to understand them.

use fanfare_proto::Ecn;
use std::net::Ipv4Addr;

/// Ethernet header: destination, source, type.
pub(crate) const ETHERNET: usize = 14;
const IPV4: [u8; 2] = [0x08, 0x00];
/// Shortest IPv4 header.
const HEADER: usize = 20;
pub(crate) const UDP_HEADER: usize = 8;
const PROTOCOL_IGMP: u8 = 2;
const PROTOCOL_UDP: u8 = 17;

/// Ethernet address of a host: locally administered, its number last.
pub(crate) fn mac(index: usize) -> [u8; 6] {
    let [high, low] = (index as u16).to_be_bytes();
    [0x02, b'f', b'f', b'l', high, low]
}

/// IPv4 address of a host: 10.77.x.y/16.
#[must_use]
pub(crate) fn address(index: usize) -> Ipv4Addr {
    let [high, low] = (index as u16 + 1).to_be_bytes();
    Ipv4Addr::new(10, 77, high, low)
}

/// Where a frame goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Addressee {
    /// All: multicast and broadcast.
    All,
    /// The host of this number, if there is one.
    Host(usize),
}

/// What a frame is to a cable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An IPv4 packet of so many bytes, behind the Ethernet header.
    Packet(Addressee, usize),
    /// What a host tells its own router about groups (IGMP): it goes no farther.
    Local,
    /// Not IPv4, or broken.
    Foreign,
}

/// Reads a frame. Bytes behind the packet are Ethernet's padding.
pub(crate) fn classify(frame: &[u8]) -> Kind {
    let Some((ethernet, packet)) = frame.split_at_checked(ETHERNET) else { return Kind::Foreign };
    if ethernet[12..] != IPV4 || packet.len() < HEADER || packet[0] >> 4 != 4 {
        return Kind::Foreign;
    }
    let (header, length) = (header_length(packet), usize::from(word(packet, 2)));
    if header < HEADER || length < header || packet.len() < length {
        return Kind::Foreign;
    }
    if packet[9] == PROTOCOL_IGMP {
        return Kind::Local;
    }
    let to = match (ethernet[0] & 1, &ethernet[..6]) {
        (1, _) => Addressee::All,
        (_, station) => {
            let index = usize::from(word(station, 4));
            Addressee::Host(if station == mac(index) { index } else { usize::MAX })
        }
    };
    Kind::Packet(to, length)
}

/// Ethernet header before a packet for the host `to`.
pub(crate) fn ethernet_before(packet: &[u8], from: usize, to: usize) -> [u8; ETHERNET] {
    let destination = match &packet[16..20] {
        // RFC 1112 6.4: the low 23 bits of the group.
        [high @ 224..=239, a, b, c] if *high < 240 => [0x01, 0x00, 0x5e, a & 0x7f, *b, *c],
        [255, ..] | [10, 77, 255, 255] => [0xff; 6],
        _ => mac(to),
    };
    let mut header = [0; ETHERNET];
    header[..6].copy_from_slice(&destination);
    header[6..12].copy_from_slice(&mac(from));
    header[12..].copy_from_slice(&IPV4);
    header
}

pub(crate) fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}
pub(crate) fn set_word(bytes: &mut [u8], at: usize, word: u16) {
    bytes[at..at + 2].copy_from_slice(&word.to_be_bytes());
}
pub(crate) fn header_length(packet: &[u8]) -> usize {
    usize::from(packet[0] & 0x0f) * 4
}

/// The ECN mark of a packet (RFC 3168 5).
pub(crate) fn ecn(packet: &[u8]) -> Option<Ecn> {
    match packet[1] & 0b11 {
        0b10 => Some(Ecn::Ect0),
        0b01 => Some(Ecn::Ect1),
        0b11 => Some(Ecn::Ce),
        _ => None,
    }
}

/// Marks a packet: congestion experienced.
pub(crate) fn mark(packet: &mut [u8]) {
    packet[1] |= 0b11;
    complete_header(packet);
}

/// Whether it is a whole UDP datagram.
pub(crate) fn is_udp(packet: &[u8]) -> bool {
    // The lower 14 bits of word 6: more fragments, and the fragment's offset.
    packet[9] == PROTOCOL_UDP
        && word(packet, 6) & 0x3fff == 0
        && packet.len() >= header_length(packet) + UDP_HEADER
}

/// Takes the checksum away from a UDP datagram: a receiver then takes it as it is (RFC 768).
pub(crate) fn without_checksum(packet: &mut [u8]) {
    let at = header_length(packet) + 6;
    set_word(packet, at, 0);
}

/// Sets the checksum of the IPv4 header.
pub(crate) fn complete_header(packet: &mut [u8]) {
    let header = header_length(packet);
    set_word(packet, 10, 0);
    let checksum = !sum(0, &packet[..header]);
    set_word(packet, 10, checksum);
}

/// Finishes a checksum that the kernel has left to the device: the field holds the sum of the
/// pseudo header.
pub(crate) fn complete_checksum(packet: &mut [u8], start: usize, offset: usize) {
    let Some(place) = start.checked_add(offset).filter(|at| at + 2 <= packet.len()) else { return };
    let checksum = !sum(0, &packet[start..]);
    // Zero would mean that there is none (RFC 768).
    set_word(packet, place, if checksum == 0 { 0xffff } else { checksum });
}

/// Sum of a UDP datagram's pseudo header, as the kernel leaves it in the checksum's place.
pub(crate) fn pseudo_sum(packet: &[u8], udp_length: u16) -> u16 {
    sum(u32::from(PROTOCOL_UDP) + u32::from(udp_length), &packet[12..20])
}

/// One's complement sum of 16-bit words (RFC 1071).
fn sum(start: u32, bytes: &[u8]) -> u16 {
    let mut sum = u64::from(start);
    let mut pairs = bytes.chunks_exact(2);
    for pair in pairs.by_ref() {
        sum += u64::from(u16::from_be_bytes([pair[0], pair[1]]));
    }
    if let [last] = pairs.remainder() {
        sum += u64::from(*last) << 8;
    }
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A UDP datagram from host 0 to 239.1.2.3, ECT(0), with this payload.
    pub(crate) fn datagram(payload: &[u8]) -> Vec<u8> {
        let length = (HEADER + UDP_HEADER + payload.len()) as u16;
        let mut packet = vec![0x45, 0b10, 0, 0, 0, 7, 0x40, 0, 1, PROTOCOL_UDP, 0, 0];
        packet.extend([10, 77, 0, 1, 239, 1, 2, 3, 0x10, 0, 0x20, 0]);
        packet.extend((length - HEADER as u16).to_be_bytes());
        packet.extend([0, 0]);
        packet.extend(payload);
        set_word(&mut packet, 2, length);
        complete_header(&mut packet);
        packet
    }
    fn frame(packet: &[u8], to: usize) -> Vec<u8> {
        [&ethernet_before(packet, 0, to)[..], packet].concat()
    }

    #[test]
    fn a_frame_for_a_group_is_for_all_and_padding_is_no_part_of_the_packet() {
        let packet = datagram(b"x");
        let mut padded = frame(&packet, 1);
        padded.resize(60, 0);
        assert_eq!(&padded[..6], &[0x01, 0x00, 0x5e, 1, 2, 3]);
        assert_eq!(classify(&padded), Kind::Packet(Addressee::All, packet.len()));
    }

    #[test]
    fn a_frame_for_one_host_names_it_and_a_strange_station_is_nobody() {
        let mut packet = datagram(b"x");
        packet[16..20].copy_from_slice(&address(300).octets());
        let mut framed = frame(&packet, 300);
        assert_eq!(classify(&framed), Kind::Packet(Addressee::Host(300), packet.len()));
        framed[0] = 0x04;
        assert_eq!(classify(&framed), Kind::Packet(Addressee::Host(usize::MAX), packet.len()));
    }

    #[test]
    fn what_is_short_or_lies_about_its_length_or_is_not_ipv4_is_foreign() {
        let framed = frame(&datagram(b"abc"), 1);
        for length in 0..framed.len() {
            assert_eq!(classify(&framed[..length]), Kind::Foreign, "{length}");
        }
        let mut other = framed.clone();
        other[12] = 0x86;
        assert_eq!(classify(&other), Kind::Foreign);
        let mut short_header = framed;
        short_header[ETHERNET] = 0x44;
        assert_eq!(classify(&short_header), Kind::Foreign);
    }

    #[test]
    fn talk_about_groups_stays_at_the_first_router() {
        let mut packet = datagram(b"x");
        packet[9] = PROTOCOL_IGMP;
        assert_eq!(classify(&frame(&packet, 1)), Kind::Local);
    }

    #[test]
    fn a_mark_changes_two_bits_and_the_checksum_fits_again() {
        let mut packet = datagram(b"payload");
        assert_eq!(ecn(&packet), Some(Ecn::Ect0));
        mark(&mut packet);
        assert_eq!(ecn(&packet), Some(Ecn::Ce));
        assert_eq!(sum(0, &packet[..HEADER]), 0xffff);
    }

    #[test]
    fn the_kernels_half_checksum_becomes_a_whole_one() {
        for payload in [&b"odd"[..], b"even"] {
            let mut packet = datagram(payload);
            let length = word(&packet, HEADER + 4);
            let half = pseudo_sum(&packet, length);
            set_word(&mut packet, HEADER + 6, half);
            complete_checksum(&mut packet, HEADER, 6);
            let pseudo = pseudo_sum(&packet, length);
            assert_eq!(sum(u32::from(pseudo), &packet[HEADER..]), 0xffff, "{payload:?}");
        }
    }
}

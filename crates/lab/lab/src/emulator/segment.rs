//! Super-packets: many UDP datagrams of one size in one frame. They are cut when a host sends them,
//! so that each datagram is lost or delayed separately. Datagrams that arrive at a host together
//! are joined again.

use crate::emulator::packet::{
    ETHERNET, UDP_HEADER, complete_header, header_length, is_udp, pseudo_sum, set_word, word,
};
use std::rc::Rc;

/// `struct virtio_net_hdr`, in the machine's byte order.
pub(crate) const VNET: usize = 10;
/// linux/virtio_net.h.
const NEEDS_CHECKSUM: u8 = 1;
const GSO_UDP: u8 = 5;
/// Longest IPv4 header with UDP's.
const HEADERS_MAX: usize = 60 + UDP_HEADER;
/// Datagrams in one super-packet: UDP_MAX_SEGMENTS of kernels before 6.9.
pub(crate) const SEGMENTS_MAX: usize = 64;
/// Bytes of one super-packet: IPv4's length has 16 bits.
const BYTES_MAX: usize = 65_535;

/// What the kernel says of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Offload {
    /// Payload of each datagram of a super-packet.
    pub(crate) segment: Option<usize>,
    /// Where, from the IP header on, a checksum begins, and where in it the sum belongs.
    pub(crate) checksum: Option<(usize, usize)>,
}

impl Offload {
    /// Reads the header before a frame.
    pub(crate) fn parse(header: &[u8; VNET]) -> Self {
        let native = |at: usize| usize::from(u16::from_ne_bytes([header[at], header[at + 1]]));
        let checksum = (header[0] & NEEDS_CHECKSUM != 0)
            .then(|| native(6).checked_sub(ETHERNET).map(|start| (start, native(8))))
            .flatten();
        Self { segment: (header[1] == GSO_UDP).then(|| native(4).max(1)), checksum }
    }
    /// The header before a super-packet of UDP datagrams whose IP header has `ip` bytes.
    fn super_packet(ip: usize, segment: usize) -> [u8; VNET] {
        let mut header = [0; VNET];
        (header[0], header[1]) = (NEEDS_CHECKSUM, GSO_UDP);
        let words = [ETHERNET + ip + UDP_HEADER, segment, ETHERNET + ip, 6];
        for (place, value) in header[2..].chunks_exact_mut(2).zip(words) {
            place.copy_from_slice(&(value as u16).to_ne_bytes());
        }
        header
    }
}

/// Cuts the packet of a super-packet into datagrams of `size` bytes of payload. They carry no UDP
/// checksum: the kernel has left it to the device, and nothing here spoils a byte unasked.
///
/// The packet's bytes are used up on the way.
pub(crate) fn cut(packet: &mut [u8], size: usize, mut each: impl FnMut(Rc<[u8]>)) {
    if !is_udp(packet) {
        return;
    }
    let (ip, id) = (header_length(packet), word(packet, 4));
    let headers = ip + UDP_HEADER;
    let mut head = [0; HEADERS_MAX];
    head[..headers].copy_from_slice(&packet[..headers]);
    let payload = packet.len() - headers;
    for (number, start) in (0..payload).step_by(size).enumerate() {
        let length = size.min(payload - start);
        set_word(&mut head, 2, (headers + length) as u16);
        set_word(&mut head, 4, id.wrapping_add(number as u16));
        set_word(&mut head, ip + 4, (UDP_HEADER + length) as u16);
        set_word(&mut head, ip + 6, 0);
        complete_header(&mut head[..headers]);
        // The headers go before the payload, over the tail of the datagram that is cut already.
        packet[start..start + headers].copy_from_slice(&head[..headers]);
        each(Rc::from(&packet[start..start + headers + length]));
    }
}

/// Datagrams that make one super-packet.
#[derive(Debug, Default)]
pub(crate) struct Join {
    /// How many of the packets that were offered belong to it.
    pub(crate) count: usize,
    /// Payload bytes of all.
    bytes: usize,
    /// It has its last datagram, which is shorter.
    closed: bool,
}

impl Join {
    /// How many of the first `packets` can go as one. At least one.
    pub(crate) fn of<'a>(mut packets: impl Iterator<Item = &'a [u8]>) -> Self {
        let Some(first) = packets.next() else { return Self::default() };
        let mut join = Self { count: 1, bytes: payload(first), closed: !is_udp(first) };
        while let Some(next) = packets.next().filter(|next| join.takes(first, next)) {
            join.count += 1;
            join.bytes += payload(next);
            join.closed = payload(next) < payload(first);
        }
        join
    }
    fn takes(&self, first: &[u8], next: &[u8]) -> bool {
        !self.closed
            && self.count < SEGMENTS_MAX
            && is_udp(next)
            && payload(next) <= payload(first)
            && payload(next) > 0
            && HEADERS_MAX + self.bytes + payload(next) <= BYTES_MAX
            && same_flow(first, next)
    }
    /// The headers of the super-packet: of the device, Ethernet's, and those of the datagram.
    pub(crate) fn headers(&self, ethernet: [u8; ETHERNET], first: &[u8], to: &mut Vec<u8>) {
        let ip = header_length(first);
        to.clear();
        to.extend(Offload::super_packet(ip, payload(first)));
        to.extend(ethernet);
        let begin = to.len();
        to.extend(&first[..ip + UDP_HEADER]);
        let head = &mut to[begin..];
        let udp = (UDP_HEADER + self.bytes) as u16;
        set_word(head, 2, ip as u16 + udp);
        complete_header(head);
        set_word(head, ip + 4, udp);
        let sum = pseudo_sum(head, udp);
        set_word(head, ip + 6, sum);
    }
}

/// Bytes behind the UDP header.
pub(crate) fn payload(packet: &[u8]) -> usize {
    packet.len().saturating_sub(header_length(packet) + UDP_HEADER)
}

/// Equal but for length, identification and checksums.
fn same_flow(a: &[u8], b: &[u8]) -> bool {
    let ip = header_length(a);
    a[..2] == b[..2] && a[6..10] == b[6..10] && a[12..ip + 4] == b[12..ip + 4]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emulator::packet::tests::datagram;

    fn pieces(payload: usize, size: usize) -> Vec<Rc<[u8]>> {
        let bytes: Vec<u8> = (0..payload).map(|n| n as u8).collect();
        let mut pieces = Vec::new();
        cut(&mut datagram(&bytes), size, |piece| pieces.push(piece));
        pieces
    }

    #[test]
    fn a_super_packet_is_cut_into_whole_datagrams_and_no_byte_is_lost() {
        let pieces = pieces(2_500, 1_000);
        assert_eq!(pieces.iter().map(|p| payload(p)).collect::<Vec<_>>(), [1_000, 1_000, 500]);
        let all: Vec<u8> = pieces.iter().flat_map(|p| p[28..].to_vec()).collect();
        assert!(all.iter().enumerate().all(|(n, byte)| *byte == n as u8) && all.len() == 2_500);
        for (number, piece) in pieces.iter().enumerate() {
            assert_eq!(usize::from(word(piece, 2)), piece.len());
            assert_eq!(usize::from(word(piece, 24)), payload(piece) + UDP_HEADER);
            assert_eq!(usize::from(word(piece, 4)), 7 + number);
            let mut again = piece.to_vec();
            complete_header(&mut again);
            assert_eq!(again[..], piece[..]);
        }
    }

    #[test]
    fn datagrams_of_one_flow_are_joined_up_to_a_shorter_one() {
        let pieces = pieces(2_500, 1_000);
        let more = [&pieces[0], &pieces[1], &pieces[2], &pieces[0]];
        let join = Join::of(more.iter().map(|p| &p[..]));
        assert_eq!(join.count, 3);
        let mut headers = Vec::new();
        join.headers([0; ETHERNET], &pieces[0], &mut headers);
        let header: &[u8; VNET] = headers[..VNET].try_into().unwrap();
        let told = Offload::parse(header);
        assert_eq!(told, Offload { segment: Some(1_000), checksum: Some((20, 6)) });
        assert_eq!(word(&headers[VNET + ETHERNET..], 2), 28 + 2_500);
    }

    #[test]
    fn a_lost_one_in_between_does_not_keep_the_others_apart() {
        let pieces = pieces(5_000, 1_000);
        let left = [&pieces[0], &pieces[2], &pieces[4]];
        assert_eq!(Join::of(left.iter().map(|p| &p[..])).count, 3);
    }

    #[test]
    fn another_port_another_mark_or_another_protocol_is_another_frame() {
        let one = datagram(&[0; 100]);
        for (at, value) in [(20, 9), (1, 0b11), (9, 6), (19, 9)] {
            let mut other = one.clone();
            other[at] = value;
            assert_eq!(Join::of([&one[..], &other[..]].into_iter()).count, 1, "{at}");
        }
    }

    #[test]
    fn a_super_packet_has_at_most_64_datagrams_and_16_bits_of_length() {
        let (small, large) = (datagram(&[0; 10]), datagram(&[0; 9_000]));
        assert_eq!(Join::of(std::iter::repeat_n(&small[..], 100)).count, 64);
        assert_eq!(Join::of(std::iter::repeat_n(&large[..], 100)).count, 7);
    }
}

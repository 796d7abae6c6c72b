use std::net::{IpAddr, Ipv4Addr};

use fanfare_messaging::monitor::observe::{Norm, What};
use fanfare_wire::units::Time;
use proptest::prelude::*;

use super::*;

const PORTS: [u16; 1] = [6003];

fn ethernet(kind: u16, packet: &[u8]) -> Vec<u8> {
    let mut bytes = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    bytes.extend(kind.to_be_bytes());
    bytes.extend(packet);
    bytes
}

fn ipv4(protocol: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x45, 0, 0, (20 + content.len()) as u8, 0, 0, 0, 0, 64, protocol, 0, 0];
    bytes.extend([10, 0, 0, 1, 10, 0, 0, 2]);
    bytes.extend(content);
    bytes
}

fn tcp(options: &[u8], payload: usize) -> Vec<u8> {
    let mut bytes = vec![0, 80, 0x9c, 0x40, 0, 0, 0, 1, 0, 0, 0, 2];
    bytes.extend([((20 + options.len()) as u8 / 4) << 4, 0x12, 0, 9, 0, 0, 0, 0]);
    bytes.extend(options);
    bytes.extend(vec![7; payload]);
    bytes
}

fn see(bytes: &[u8]) -> Result<Sighting, Refused> {
    let frame = Frame { at: Time::ZERO, bytes, length: bytes.len() as u32, segment: 0 };
    dissect(LinkType::Ethernet, &PORTS, frame)
}

#[test]
fn a_segment_with_time_stamps_is_read() {
    let options = [1, 1, 8, 10, 0, 0, 0, 5, 0, 0, 0, 6];
    let seen = see(&ethernet(0x0800, &ipv4(6, &tcp(&options, 4)))).unwrap();
    let What::Tcp(ports, segment) = seen.what else { panic!("{seen:?}") };
    assert_eq!((ports, segment.number, segment.acknowledged), ((80, 40_000), 1, 2));
    assert_eq!((segment.length, segment.stamps), (4, Some((5, 6))));
    assert!(segment.syn && segment.ack && !segment.fin && !segment.rst);
    assert_eq!(seen.ends.0, IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)));
    assert_eq!(seen.macs.unwrap().0, [2, 0, 0, 0, 0, 1]);
}

#[test]
fn what_ethernet_fills_up_is_no_data() {
    let mut bytes = ethernet(0x0800, &ipv4(6, &tcp(&[], 0)));
    bytes.resize(60, 0);
    let seen = see(&bytes).unwrap();
    assert!(matches!(seen.what, What::Tcp(_, segment) if segment.length == 0));
}

#[test]
fn norm_is_known_by_its_port_and_its_head() {
    let mut udp = vec![0x13, 0x88, 0x17, 0x73, 0, 24, 0, 0];
    udp.extend([0x12, 4, 0, 9, 0, 0, 0, 7, 0, 3, 0, 0, 0, 0, 0, 0]);
    let seen = see(&ethernet(0x0800, &ipv4(17, &udp))).unwrap();
    let norm = Norm { kind: 2, sequence: 9, source: 7, instance: 3 };
    assert_eq!(seen.what, What::Norm((5000, 6003), norm));
    udp[8] = 0x22;
    let seen = see(&ethernet(0x0800, &ipv4(17, &udp))).unwrap();
    assert_eq!(seen.what, What::Udp((5000, 6003)), "another version");
}

#[test]
fn joined_packets_count_as_many_with_the_headers_that_they_had() {
    let bytes = ethernet(0x0800, &ipv4(6, &tcp(&[], 0)));
    let frame = Frame { at: Time::ZERO, bytes: &bytes, length: 54 + 2500, segment: 1000 };
    let seen = dissect(LinkType::Ethernet, &PORTS, frame).unwrap();
    assert_eq!((seen.packets, seen.bytes), (3, 54 * 3 + 2500));
}

#[test]
fn tags_fragments_and_headers_of_ipv6_are_followed() {
    let inner = ipv4(17, &[0, 1, 0, 2, 0, 8, 0, 0]);
    let tag = |kind: u16| [0, 5, (kind >> 8) as u8, kind as u8].to_vec();
    let tagged = [tag(0x8100), tag(0x0800), inner.clone()].concat();
    assert_eq!(see(&ethernet(0x88a8, &tagged)).unwrap().what, What::Udp((1, 2)));
    let many = tag(0x8100).repeat(9);
    assert_eq!(see(&ethernet(0x8100, &many)), Err(Refused::Tags));
    let mut later = inner;
    later[7] = 9;
    assert_eq!(see(&ethernet(0x0800, &later)).unwrap().what, What::Fragment(17));
    let mut six = vec![0x60, 0, 0, 0, 0, 24, 0, 64];
    six.extend([0; 32]);
    six.extend([60, 0, 0, 0, 0, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 2, 0, 8, 0, 0]);
    assert_eq!(see(&ethernet(0x86dd, &six)).unwrap().what, What::Udp((1, 2)));
}

/// tcpdump and dumpcap on "any" interface, of frames with two tags (Linux 5.10 to 6.6): the outer one is
/// gone, the kind is that of the packet, and the inner tag stands before it.
#[test]
fn frames_of_every_order_of_tags_tell_the_same_of_their_packet() {
    let packet = ipv4(17, &[0, 1, 0, 2, 0, 12, 0, 0, 9, 9, 9, 9]);
    let mut six = vec![0x60, 0, 0, 0, 0, 8, 17, 64];
    six.extend([0; 32]);
    six.extend([0, 1, 0, 2, 0, 8, 0, 0]);
    for (kind, packet) in [(0x0800_u16, &packet), (0x86dd, &six)] {
        for priority in 0..16_u8 {
            let tag = |next: u16| [[priority << 4, 7], next.to_be_bytes()].concat();
            let of = |tags: &[u16]| {
                let next = tags.iter().skip(1).copied().chain([kind]);
                let tags: Vec<u8> = next.flat_map(tag).collect();
                [tags, packet.clone()].concat()
            };
            for tags in [
                &[][..],
                &[0x8100],
                &[0x88a8],
                &[0x9100],
                &[0x8100, 0x8100],
                &[0x88a8, 0x8100],
                &[0x9200, 0x88a8, 0x8100],
            ] {
                let rest = if tags.is_empty() { packet.clone() } else { of(tags) };
                let outer = tags.first().copied().unwrap_or(kind);
                let seen = see(&ethernet(outer, &rest)).unwrap();
                assert_eq!(seen.what, What::Udp((1, 2)), "{tags:x?}");
            }
            // The version of the packet itself stands in a tag of one priority.
            let hidden = [tag(kind), packet.clone()].concat();
            if (kind, priority) == (0x86dd, 6) {
                continue;
            }
            for (link, head) in [(LinkType::Cooked, 14), (LinkType::Cooked2, 0)] {
                let mut bytes = vec![0; if head == 0 { 20 } else { 16 }];
                bytes[head..head + 2].copy_from_slice(&kind.to_be_bytes());
                bytes.extend(&hidden);
                let length = bytes.len() as u32;
                let frame = Frame { at: Time::ZERO, bytes: &bytes, length, segment: 0 };
                let seen = dissect(link, &PORTS, frame).unwrap();
                assert_eq!(seen.what, What::Udp((1, 2)), "{link:?} {priority}");
            }
        }
    }
}

#[test]
fn what_cannot_be_is_refused_by_its_reason() {
    let cases = [
        (vec![], Refused::Cut),
        (ethernet(0x0806, &[0; 28]), Refused::NotIp),
        (ethernet(0x0800, &[]), Refused::Cut),
        (ethernet(0x0800, &[0x45; 19]), Refused::Cut),
        (ethernet(0x0800, &[0x44; 40]), Refused::BadIp),
        (ethernet(0x0800, &[0x90; 40]), Refused::BadIp),
        (ethernet(0x86dd, &[0x60; 39]), Refused::Cut),
    ];
    for (bytes, expected) in cases {
        assert_eq!(see(&bytes), Err(expected), "{bytes:?}");
    }
    let mut long = ipv4(6, &tcp(&[], 0));
    long[20 + 12] = 0xf0;
    assert_eq!(
        see(&ethernet(0x0800, &long)).unwrap().what,
        What::Other(6),
        "data offset past the end"
    );
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(
        bytes in prop::collection::vec(any::<u8>(), 0..120),
        length in any::<u32>(), segment in any::<u16>(), number in 0..300_u32,
    ) {
        if let Some(link) = LinkType::of_number(number) {
            let frame = Frame { at: Time::ZERO, bytes: &bytes, length, segment };
            let _ = dissect(link, &PORTS, frame);
        }
    }

    #[test]
    fn a_frame_that_is_broken_in_one_place_is_read_or_refused(
        place in 0..66_usize, value in any::<u8>(), cut in 0..66_usize,
    ) {
        let options = [1, 1, 8, 10, 0, 0, 0, 5, 0, 0, 0, 6];
        let mut bytes = ethernet(0x0800, &ipv4(6, &tcp(&options, 0)));
        bytes[place] = value;
        let _ = see(&bytes);
        let _ = see(&bytes[..cut]);
    }
}

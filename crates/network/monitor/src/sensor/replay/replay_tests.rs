use std::io::Write as _;

use flate2::{Compression, write::GzEncoder};
use proptest::prelude::*;

use super::*;

fn pcap(little: bool, magic: u32, link: u32, packets: &[(u32, u32, &[u8])]) -> Vec<u8> {
    let word = |value: u32| if little { value.to_le_bytes() } else { value.to_be_bytes() };
    let mut bytes = Vec::new();
    for value in [magic, 0x0002_0004, 0, 0, 65_535, link] {
        bytes.extend(word(value));
    }
    for (seconds, part, packet) in packets {
        for value in [*seconds, *part, packet.len() as u32, 99] {
            bytes.extend(word(value));
        }
        bytes.extend(*packet);
    }
    bytes
}

type Frames = Vec<(u64, Vec<u8>, u32)>;

fn read(bytes: &[u8]) -> (Frames, Result<u64, Broken>) {
    let mut seen = Vec::new();
    let result = replay(&mut &bytes[..], &mut |_, frame| {
        seen.push((frame.at.as_nanos(), frame.bytes.to_vec(), frame.length));
    });
    (seen, result)
}

#[test]
fn both_byte_orders_and_both_units_of_time_are_read() {
    for little in [false, true] {
        for (magic, nanos) in [(0xa1b2_c3d4, 5000), (0xa1b2_3c4d, 5)] {
            let (seen, result) = read(&pcap(little, magic, 1, &[(2, 5, &[1, 2, 3])]));
            assert_eq!(result, Ok(1));
            assert_eq!(seen, [(2_000_000_000 + nanos, vec![1, 2, 3], 99)]);
        }
    }
}

#[test]
fn blocks_are_read_with_the_units_of_their_interface_and_others_passed_over() {
    let mut bytes = block(
        0x0a0d_0d0a,
        &[0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255],
    );
    bytes.extend(block(1, &[101, 0, 0, 0, 0, 0, 0, 0, 9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0]));
    bytes.extend(block(0xbad, &[0; 8]));
    let packet = [0, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 3, 0, 0, 0, 50, 0, 0, 0, 1, 2, 3, 0];
    bytes.extend(block(6, &packet));
    assert_eq!(read(&bytes), (vec![(7, vec![1, 2, 3], 50)], Ok(1)));
    bytes.extend(block(6, &packet[..12]));
    let (seen, result) = read(&bytes);
    assert!(seen.len() == 1 && result.unwrap_err().why.contains("too short"));
}

#[test]
fn a_file_that_is_none_or_cut_says_where_and_what_is_whole_is_read() {
    let whole = pcap(true, 0xa1b2_c3d4, 1, &[(0, 0, &[1, 2]), (0, 1, &[3, 4])]);
    let (seen, result) = read(&whole[..whole.len() - 1]);
    let broken = result.unwrap_err();
    assert_eq!((seen.len(), broken.at), (1, 58));
    assert!(broken.why.contains("within a packet"), "{broken}");
    assert!(read(&[]).1.unwrap_err().why.contains("empty"));
    assert!(read(b"#!/bin/sh\n12345678901234").1.unwrap_err().why.contains("no file of packets"));
    let mut long = pcap(true, 0xa1b2_c3d4, 1, &[(0, 0, &[])]);
    long[32..36].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(read(&long).1.unwrap_err().why.contains("4294967295 bytes"));
}

/// A block of pcapng, in little order.
fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let mut body = body.to_vec();
    body.resize(body.len().next_multiple_of(4), 0);
    let length = (body.len() as u32 + 12).to_le_bytes();
    [&kind.to_le_bytes()[..], &length, &body, &length].concat()
}

fn section() -> Vec<u8> {
    let unknown = [0xff; 8];
    block(0x0a0d_0d0a, &[&[0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0][..], &unknown].concat())
}

/// An interface with this link type, and options.
fn interface(link: u16, options: &[u8]) -> Vec<u8> {
    block(1, &[&link.to_le_bytes()[..], &[0, 0, 0, 0, 4, 0], options].concat())
}

/// A packet of an interface, five units of time after zero.
fn packet(interface: u32, bytes: &[u8]) -> Vec<u8> {
    let length = bytes.len() as u32;
    let words = [interface, 0, 5, length, length].map(u32::to_le_bytes);
    block(6, &[words.as_flattened(), bytes].concat())
}

/// Link types and bytes.
type Linked = Vec<(u32, Vec<u8>)>;

/// Those of all packets.
fn links(bytes: &[u8]) -> (Linked, Result<u64, Broken>) {
    let mut seen = Vec::new();
    let result = replay(&mut &bytes[..], &mut |origin, frame| {
        seen.push((origin.link, frame.bytes.to_vec()))
    });
    (seen, result)
}

#[test]
fn an_interface_of_an_unknown_kind_spoils_nothing_of_the_others() {
    // nflog, usbmon, bluetooth, and one that nobody has.
    for unknown in [239, 220, 201, 65_000_u16] {
        let first = [section(), interface(unknown, &[]), interface(1, &[]), packet(1, b"a")];
        assert_eq!(links(&first.concat()), (vec![(1, b"a".to_vec())], Ok(1)), "{unknown}");
        let last = [section(), interface(1, &[]), interface(unknown, &[])];
        let packets = [packet(0, b"a"), packet(1, b"b"), packet(0, b"c")];
        let (seen, result) = links(&[last.concat(), packets.concat()].concat());
        let kinds: Vec<u32> = seen.iter().map(|(link, _)| *link).collect();
        assert_eq!((kinds, result), (vec![1, unknown.into(), 1], Ok(3)), "{unknown}");
        let pcap = pcap(true, 0xa1b2_c3d4, unknown.into(), &[(0, 0, &[1])]);
        assert_eq!(links(&pcap), (vec![(unknown.into(), vec![1])], Ok(1)), "{unknown}");
    }
}

#[test]
fn blocks_that_are_longer_than_any_packet_are_passed_over_wherever_they_stand() {
    const SECRETS: u32 = 10;
    const COMMENT: u32 = 0x0bad;
    const NAMES: u32 = 4;
    for (kind, length) in [(SECRETS, 820_000), (COMMENT, 262_145), (NAMES, 5_000_000)] {
        let long = block(kind, &vec![7; length]);
        let begin = [section(), interface(1, &[])].concat();
        for parts in [
            [section(), long.clone(), interface(1, &[]), packet(0, b"a")].concat(),
            [begin.clone(), long.clone(), packet(0, b"a")].concat(),
            [begin.clone(), packet(0, b"a"), long.clone()].concat(),
        ] {
            assert_eq!(links(&parts), (vec![(1, b"a".to_vec())], Ok(1)), "{kind}");
        }
        let mut cut = [begin, packet(0, b"a"), long].concat();
        cut.truncate(cut.len() - 100);
        let (seen, result) = links(&cut);
        assert!(seen.len() == 1 && result.unwrap_err().why.contains("it ends within a"), "{kind}");
    }
}

#[test]
fn times_of_an_interface_have_its_units_and_its_offset() {
    let option = |code: u16, value: &[u8]| {
        let mut bytes = [code.to_le_bytes(), (value.len() as u16).to_le_bytes()].concat();
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    };
    let offset = |seconds: i64| option(14, &seconds.to_le_bytes());
    let cases = [
        (vec![], 5000),
        (option(9, &[9]), 5),
        (option(9, &[3]), 5_000_000),
        (option(9, &[0x80 | 1]), 2_500_000_000),
        (offset(7), 7_000_005_000),
        ([option(2, b"eth0"), option(9, &[9]), offset(2)].concat(), 2_000_000_005),
        (offset(-7), 0),
        // Behind the end of the options nothing is one.
        ([option(0, &[]), option(9, &[9])].concat(), 5000),
    ];
    for (options, expected) in cases {
        let (seen, _) = read(&[section(), interface(1, &options), packet(0, b"a")].concat());
        assert_eq!(seen, [(expected, b"a".to_vec(), 1)], "{options:?}");
    }
}

#[test]
fn packets_of_the_first_pcapng_files_and_those_without_a_time_are_read() {
    let words = [0_u32, 5, 2, 9].map(u32::to_le_bytes);
    let old = block(2, &[&[0, 0, 1, 0][..], words.as_flattened(), b"ab"].concat());
    let (seen, _) = read(&[section(), interface(1, &[]), old].concat());
    assert_eq!(seen, [(5000, b"ab".to_vec(), 9)]);
    let simple = block(3, &[&2_u32.to_le_bytes()[..], b"ab"].concat());
    let (seen, _) = read(&[section(), interface(1, &[]), simple].concat());
    assert_eq!(seen, [(0, b"ab".to_vec(), 2)]);
}

#[test]
fn what_gzip_has_packed_is_unpacked_and_what_others_have_is_named() {
    let packed = |bytes: &[u8]| {
        let mut packer = GzEncoder::new(Vec::new(), Compression::default());
        packer.write_all(bytes).unwrap();
        packer.finish().unwrap()
    };
    let old = pcap(false, 0xa1b2_3c4d, 1, &[(2, 5, &[1, 2, 3])]);
    let new = [section(), interface(1, &[]), packet(0, b"a")].concat();
    for whole in [&old, &new] {
        assert_eq!(read(&packed(whole)), read(whole));
        // Packed in two parts, as a program does that appends.
        let (start, end) = whole.split_at(20);
        assert_eq!(read(&[packed(start), packed(end)].concat()), read(whole));
        let cut = packed(whole);
        assert!(read(&cut[..cut.len() - 12]).1.is_err());
    }
    assert!(read(&packed(&[])).1.unwrap_err().why.contains("empty"));
    for (magic, tool) in [
        ([0x28, 0xb5, 0x2f, 0xfd], "zstd -dc"),
        ([4, 0x22, 0x4d, 0x18], "lz4 -dc"),
        ([0xfd, 0x37, 0x7a, 0x58], "xz -dc"),
    ] {
        assert!(read(&magic).1.unwrap_err().why.contains(tool), "{tool}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(start in 0..3_usize, rest in prop::collection::vec(any::<u8>(), 0..200)) {
        let magic: [&[u8]; 3] = [
            &[0xd4, 0xc3, 0xb2, 0xa1],
            &[0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a],
            &[],
        ];
        let _ = read(&[magic[start], &rest].concat());
    }
}

use super::*;
use proptest::prelude::*;

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
    let block = |kind: u32, body: &[u8]| {
        let length = (body.len() as u32 + 12).to_le_bytes();
        [&kind.to_le_bytes()[..], &length, body, &length].concat()
    };
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
    assert!(read(&pcap(true, 0xa1b2_c3d4, 105, &[])).1.unwrap_err().why.contains("link type 105"));
    let mut long = pcap(true, 0xa1b2_c3d4, 1, &[(0, 0, &[])]);
    long[32..36].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(read(&long).1.unwrap_err().why.contains("4294967295 bytes"));
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

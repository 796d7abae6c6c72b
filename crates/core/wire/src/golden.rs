//! Datagrams captured from libnorm, in `testdata/`, and tests that hold for every one of them.
//!
//! Format: one datagram in hexadecimal on each line. Lines with `#` say what follows and where it
//! is from.

use crate::Message;
use alloc::{format, string::String, vec::Vec};

/// All captures, by kind of message.
const CAPTURES: [&str; 9] = [
    include_str!("../testdata/info.hex"),
    include_str!("../testdata/data.hex"),
    include_str!("../testdata/flush.hex"),
    include_str!("../testdata/squelch.hex"),
    include_str!("../testdata/cc.hex"),
    include_str!("../testdata/repair_adv.hex"),
    include_str!("../testdata/application.hex"),
    include_str!("../testdata/nack.hex"),
    include_str!("../testdata/ack.hex"),
];

/// Bytes of a line of hexadecimal digits, spaces allowed.
pub(crate) fn hex(line: &str) -> Vec<u8> {
    let digits: Vec<u8> = line
        .chars()
        .filter(|c| !c.is_whitespace())
        .map(|c| c.to_digit(16).expect("hexadecimal") as u8)
        .collect();
    assert!(digits.len().is_multiple_of(2), "half a byte in {line}");
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// The datagrams of one file.
fn datagrams(capture: &str) -> Vec<Vec<u8>> {
    capture.lines().filter(|line| !line.starts_with('#')).map(hex).collect()
}

/// A message encoded again.
pub(crate) fn encoded(message: &Message<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    message.encode(&mut out);
    out
}

/// Checks that each datagram of a capture reads as the line given for it, and encodes to the same
/// bytes again.
pub(crate) fn check(capture: &str, lines: &[&str]) {
    let datagrams = datagrams(capture);
    let read: Vec<String> = datagrams
        .iter()
        .map(|datagram| {
            let message = Message::parse(datagram).expect("libnorm sent it");
            assert_eq!(encoded(&message), *datagram, "{message}");
            format!("{message}")
        })
        .collect();
    assert_eq!(read, lines);
}

fn all() -> Vec<Vec<u8>> {
    CAPTURES.into_iter().flat_map(datagrams).collect()
}

/// Reads everything that is read on demand; a loop that does not end would hang here.
fn walk(datagram: &[u8]) {
    if let Ok(message) = Message::parse(datagram) {
        let _ = format!("{message}");
        let again = encoded(&message);
        assert!(Message::parse(&again).is_ok(), "{message}");
    }
}

/// The header, whatever its length, must be whole. Behind it a cut shortens what has no length of
/// its own: the payload of INFO and DATA, the content of APPLICATION, and, between two items, the
/// lists of FLUSH, SQUELCH, CC, NACK and REPAIR_ADV. All other cuts are refused.
#[test]
fn a_truncated_datagram_is_refused_or_reads_as_just_the_bytes_that_are_left() {
    for datagram in all() {
        let header = usize::from(datagram[1]) * 4;
        for length in 0..datagram.len() {
            let cut = &datagram[..length];
            match Message::parse(cut) {
                Ok(message) => {
                    assert!(length >= header, "{length} of {datagram:02x?}");
                    assert!(!matches!(message, Message::Ack(_)), "{message}");
                    assert_eq!(encoded(&message), cut, "{message}");
                }
                Err(_) if length < header => {}
                Err(error) => {
                    let payload = matches!(datagram[0] & 0x0f, 1 | 2);
                    assert!(!payload, "{error} at {length} of {datagram:02x?}");
                }
            }
        }
    }
}

#[test]
fn no_change_of_one_byte_makes_parsing_panic_or_loop() {
    for datagram in all() {
        for position in 0..datagram.len() {
            let mut changed = datagram.clone();
            for value in 0..=255 {
                changed[position] = value;
                walk(&changed);
            }
        }
    }
}

#[test]
fn a_header_length_that_lies_is_refused_or_moves_the_border_to_the_payload() {
    for mut datagram in all() {
        for words in 0..=255 {
            datagram[1] = words;
            if let Ok(message) = Message::parse(&datagram) {
                assert!(usize::from(words) * 4 <= datagram.len(), "{message}");
            }
        }
    }
}

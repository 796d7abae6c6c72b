//! Frames on a host's cable as a pcap file.

use crate::emulator::clock::Clock;
use fanfare_proto::Time;
use std::io::{self, Write};

/// pcap with nanoseconds, version 2.4, Ethernet (the format of libpcap's savefiles).
const MAGIC: u32 = 0xa1b2_3c4d;
const VERSION: [u16; 2] = [2, 4];
const SNAPLEN: u32 = 262_144;
const ETHERNET: u32 = 1;

/// A frame and when it passed: when the host sent it, or when it was due at the host.
#[derive(Debug, Clone)]
pub(crate) struct Captured {
    pub(crate) at: Time,
    pub(crate) frame: Vec<u8>,
}

/// What a capture file begins with.
pub(crate) fn write_header(to: &mut impl Write) -> io::Result<()> {
    let mut header = Vec::with_capacity(24);
    header.extend(MAGIC.to_ne_bytes());
    VERSION.iter().for_each(|word| header.extend(word.to_ne_bytes()));
    for word in [0, 0, SNAPLEN, ETHERNET] {
        header.extend(word.to_ne_bytes());
    }
    to.write_all(&header)
}

/// One frame.
pub(crate) fn write_frame(
    to: &mut impl Write,
    clock: &Clock,
    captured: &Captured,
) -> io::Result<()> {
    let (wall, length) = (clock.wall(captured.at), captured.frame.len() as u32);
    let words = [wall.as_secs() as u32, wall.subsec_nanos(), length, length];
    let header: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    to.write_all(&header)?;
    to.write_all(&captured.frame)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capture_has_a_header_and_each_frame_with_its_time_and_length() {
        let mut file = Vec::new();
        write_header(&mut file).unwrap();
        let captured = Captured { at: Time::from_nanos(5), frame: vec![7; 60] };
        write_frame(&mut file, &Clock::start(), &captured).unwrap();
        assert_eq!(file.len(), 24 + 16 + 60);
        assert_eq!(file[..4], MAGIC.to_ne_bytes());
        assert_eq!(file[24 + 8..24 + 12], 60_u32.to_ne_bytes());
    }
}

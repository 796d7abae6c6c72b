//! When each packet passed a host's cable, by the emulator's clock: from a capture while the lab runs.

use std::{
    collections::HashMap,
    io::{ErrorKind, Read},
    thread::{self, JoinHandle},
};

use fanfare_command::Failure;
use fanfare_lab::{Lab, RunningLab};

/// Of pcap: its head, and that of each frame; the latter's time is in nanoseconds (see `fanfare lab capture`).
const FILE_HEAD: usize = 24;
const FRAME_HEAD: usize = 16;
/// Ethernet's header.
const ETHERNET: usize = 14;

/// What is looked at of a packet: addresses, protocol, length, number, and the beginning of what IP carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Packet {
    pub(super) ends: ([u8; 4], [u8; 4]),
    length: u16,
    number: u16,
    begin: [u8; 12],
}

/// A packet, and when it passed, seconds since 1970.
pub(super) type Passed = (f64, Packet);

/// Reads until the lab goes down.
pub(super) fn follow(lab: &Lab, node: &str) -> Result<JoinHandle<Vec<Passed>>, Failure> {
    let failed = |error| crate::ending::failure(&error);
    let (running, _) = RunningLab::find(Some(lab.name())).map_err(failed)?;
    let source = running.capture(node).map_err(failed)?;
    Ok(thread::spawn(move || read(source)))
}

fn read(mut source: impl Read) -> Vec<Passed> {
    let (mut bytes, mut buffer, mut all) = (Vec::new(), vec![0; 1 << 16], Vec::new());
    let mut skip = FILE_HEAD;
    loop {
        match source.read(&mut buffer) {
            Ok(0) => return all,
            Ok(length) => bytes.extend_from_slice(&buffer[..length]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
            Err(_) => return all,
        }
        let taken = skip.min(bytes.len());
        bytes.drain(..taken);
        skip -= taken;
        if skip == 0 {
            let taken = frames(&bytes, &mut all);
            bytes.drain(..taken);
        }
    }
}

/// Takes whole frames; says how many bytes these are.
fn frames(bytes: &[u8], all: &mut Vec<Passed>) -> usize {
    let word = |at: usize| -> Option<u32> {
        Some(u32::from_ne_bytes(*bytes.get(at..at + 4)?.first_chunk()?))
    };
    let mut at = 0;
    while let (Some(seconds), Some(nanos), Some(length)) = (word(at), word(at + 4), word(at + 8)) {
        let begin = at + FRAME_HEAD;
        let Some(frame) = bytes.get(begin..begin + length as usize) else { break };
        let when = f64::from(seconds) + f64::from(nanos) / 1e9;
        all.extend(packet(frame.get(ETHERNET..).unwrap_or_default()).map(|packet| (when, packet)));
        at = begin + length as usize;
    }
    at
}

/// IPv4 without options is all that hosts send here.
fn packet(bytes: &[u8]) -> Option<Packet> {
    let (head, rest) = bytes.split_first_chunk::<20>()?;
    let pair = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
    let mut begin = [0; 12];
    rest.iter().zip(&mut begin).for_each(|(from, to)| *to = *from);
    let four = |at: usize| [head[at], head[at + 1], head[at + 2], head[at + 3]];
    (head[0] == 0x45).then(|| Packet {
        ends: (four(12), four(16)),
        length: pair(2),
        number: pair(4),
        begin,
    })
}

/// Round trips over the path without the time at its far end: for each packet that came back here, how long it
/// took, and how long the last one did that had come there before it left. When it came (seconds since 1970),
/// and seconds. Only packets of `least` bytes count on the way there.
pub(super) fn round_trips(
    near: &[Passed],
    far: &[Passed],
    ends: ([u8; 4], [u8; 4]),
    least: u16,
) -> Vec<(f64, f64)> {
    let at_near: HashMap<Packet, f64> = near.iter().map(|(at, packet)| (*packet, *at)).collect();
    let (mut last, mut trips) = (None, Vec::new());
    for (at, packet) in far {
        let Some(here) = at_near.get(packet) else { continue };
        if packet.ends == ends && packet.length >= least {
            last = Some(at - here);
        } else if packet.ends == (ends.1, ends.0)
            && let Some(there) = last
        {
            trips.push((*here, there + (here - at)));
        }
    }
    trips.sort_by(|one, other| one.0.total_cmp(&other.0));
    trips
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(ends: (u8, u8), number: u16) -> Vec<u8> {
        let mut bytes = vec![0; 24];
        bytes[0] = 0x45;
        bytes[2..4].copy_from_slice(&24_u16.to_be_bytes());
        bytes[4..6].copy_from_slice(&number.to_be_bytes());
        (bytes[15], bytes[19]) = ends;
        bytes
    }

    #[test]
    fn frames_are_read_as_they_come_and_a_part_of_one_waits() {
        let mut bytes = Vec::new();
        for number in [1, 2] {
            let packet = ip((1, 2), number);
            let length = (ETHERNET + packet.len()) as u32;
            for word in [7, 500_000_000, length, length] {
                bytes.extend(u32::to_ne_bytes(word));
            }
            bytes.extend([0; ETHERNET]);
            bytes.extend(packet);
        }
        let mut all = Vec::new();
        assert_eq!(frames(&bytes[..bytes.len() - 1], &mut all), bytes.len() / 2);
        assert_eq!((all.len(), all[0].0, all[0].1.number), (1, 7.5, 1));
        let whole: Vec<u8> = [&[0; FILE_HEAD][..], &bytes].concat();
        assert_eq!(read(&whole[..]).len(), 2);
    }

    #[test]
    fn a_round_trip_leaves_out_how_long_the_far_end_took() {
        let packet = |ends, number| packet(&ip(ends, number)).unwrap();
        let (there, back) = (packet((1, 2), 1), packet((2, 1), 9));
        let near = [(10.0, there), (10.5, back)];
        let far = [(10.1, there), (10.3, back)];
        let trips = round_trips(&near, &far, ([0, 0, 0, 1], [0, 0, 0, 2]), 20);
        assert_eq!(trips.len(), 1);
        assert!((trips[0].0 - 10.5).abs() < 1e-9 && (trips[0].1 - 0.3).abs() < 1e-9, "{trips:?}");
        assert!(round_trips(&near, &far, ([0, 0, 0, 1], [0, 0, 0, 2]), 25).is_empty());
    }
}

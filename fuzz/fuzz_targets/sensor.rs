//! Frames as a network carries them, capture files, and answers of SNMP agents: nothing is read past its
//! end, nothing panics, and what observers keep has bounds.
#![no_main]

use fanfare_messaging::monitor::{Time, observe::Observer};
use fanfare_monitor::sensor::{
    dissect::{Frame, LinkType, dissect},
    replay, snmp,
};
use libfuzzer_sys::fuzz_target;

const PORTS: [u16; 2] = [6003, 6004];

fuzz_target!(|input: &[u8]| {
    let Some((&kind, rest)) = input.split_first() else { return };
    let mut observer = Observer::new();
    let mut see = |link, frame: Frame<'_>| {
        if let Ok(sighting) = dissect(link, &PORTS, frame) {
            observer.on_sighting(&sighting);
        }
    };
    match kind {
        0 => {
            let mut packet = |origin: replay::Origin, frame: Frame<'_>| {
                if let Some(link) = LinkType::of_number(origin.link) {
                    see(link, frame);
                }
            };
            drop(replay::replay(&mut &rest[..], &mut packet));
        }
        1 => {
            let _ = snmp::parse(rest);
        }
        // Frames of one link behind each other, each with its length before it.
        kind => {
            let numbers = [1, 12, 101, 113, 276];
            let Some(link) = LinkType::of_number(numbers[usize::from(kind) % 5]) else { return };
            let (mut rest, mut at) = (rest, 0);
            while let Some((&length, after)) = rest.split_first() {
                let (bytes, after) = after.split_at(usize::from(length).min(after.len()));
                let length = bytes.len() as u32 * (1 + u32::from(kind));
                at += 1_000_000;
                let segment = u16::from(kind) * 8;
                see(link, Frame { at: Time::from_nanos(at), bytes, length, segment });
                rest = after;
            }
            assert!(observer.flows().iter().count() <= 16_384);
        }
    }
    let (bytes, packets) = observer.flows().sum();
    assert!(bytes >= packets || bytes == 0);
});

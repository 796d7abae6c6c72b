//! A stranger repeats what the sender says, with one bit turned and the sender's address on it.

use std::time::Duration;

use fanfare_proto::{Time, rng::Rng};

use super::{
    super::{Expect, SendOptions},
    LIMIT, World,
};

/// Packets a second, and the share of all packets that is lost.
const RATE: u64 = 1000;
const LOSS: f64 = 0.05;

/// The last that the sender has said of each kind.
struct Stranger {
    rng: Rng,
    heard: [Vec<u8>; 3],
    sent: u64,
}

impl Stranger {
    fn hear(&mut self, packet: &[u8]) {
        let kind = packet.first().map_or(0, |byte| usize::from(byte & 15));
        if let Some(last) = self.heard.get_mut(kind.wrapping_sub(1)) {
            *last = packet.to_vec();
        }
    }

    fn say(&mut self) -> Vec<u8> {
        let kinds: Vec<&Vec<u8>> = self.heard.iter().filter(|last| !last.is_empty()).collect();
        if kinds.is_empty() {
            return Vec::new();
        }
        let mut packet = kinds[self.rng.below(kinds.len() as u64) as usize].clone();
        let bit = self.rng.below(packet.len() as u64 * 8) as usize;
        packet[bit / 8] ^= 1 << (bit % 8);
        packet
    }
}

/// Three receivers, and a stranger until `until`; the time that it took.
fn run(bytes: usize, seed: u64, until: Duration) -> Time {
    let mut rng = Rng::new(seed);
    let content: Vec<u8> = (0..bytes).map(|_| rng.next_u64() as u8).collect();
    let options = SendOptions { expect: Expect::Count(3), ..SendOptions::default() };
    let mut world = World::with(std::slice::from_ref(&content), options, LOSS, seed);
    (0..3).for_each(|_| world.join(false));
    let mut stranger = Stranger { rng: Rng::new(!seed), heard: Default::default(), sent: 0 };
    while !world.sender.job.is_done() && world.now < LIMIT {
        world.send();
        world.said.iter().for_each(|packet| stranger.hear(packet));
        let meta = world.sender.meta();
        let due = world.now.since(Time::ZERO).min(until).as_micros() as u64 * RATE / 1_000_000;
        while stranger.sent < due {
            stranger.sent += 1;
            let packet = stranger.say();
            for receiver in &mut world.receivers {
                if !world.rng.random_bool(LOSS) {
                    receiver.hear(world.now, meta, &packet);
                }
            }
        }
        world.receive();
        world.pass_time();
    }
    let at = world.now;
    for receiver in 0..3 {
        let path = world.scratches[1 + receiver].path().join("000");
        let here = std::fs::read(path).unwrap_or_default();
        assert!(here == content, "seed {seed}, receiver {receiver}: {} bytes", here.len());
    }
    at
}

#[test]
fn files_are_right_in_the_end_where_a_stranger_repeats_packets_with_a_bit_turned() {
    // 1,000 packets a second for ten seconds, 5 % loss; a file without a manifest, and one with; 12 seeds each
    // Their sender may still count a receiver that has all as one that has a part, and a receiver may tell of objects
    // that never were: that is not mended yet.
    let attack = Duration::from_secs(10);
    for seed in super::adversary::seeds(12) {
        for bytes in [60_000, 1_300_000] {
            let ended = run(bytes, seed, attack);
            let bound = Time::ZERO + attack + Duration::from_secs(60);
            assert!(ended < bound, "seed {seed}, {bytes} bytes: {ended}");
        }
    }
}

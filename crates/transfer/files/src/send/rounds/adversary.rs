//! One more host, which knows the protocol and means no good: it hears everything, and replays, changes,
//! invents and delays. With `spoofs` it also puts others' addresses on what it sends.
//!
//! Whole senders and receivers of files in virtual time, as in `world`. By seed it chooses its means.
//! `FANFARE_SEEDS=100000 cargo test -p fanfare-files --lib adversary` tries more seeds, and so does a range
//! such as `50000..100000`; `FANFARE_SEED=7` tries one.

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use fanfare_proto::{RecvMeta, Time, rng::Rng};

use super::{
    super::{Expect, SendOptions},
    LIMIT, World,
};
use crate::event::Outcome;

/// Datagrams remembered for replays.
const HEARD_MAX: usize = 64;
/// Receivers, and the first of their ids.
const RECEIVERS: usize = 3;
const FIRST: u32 = 100;
/// Of so many worlds at most one may be incomplete, of which half have an adversary that spoofs.
const INCOMPLETE: usize = 20;
const OWN: [u8; 4] = [10, 0, 0, 66];
/// Offsets in what a sender says (RFC 5740 4.2) and in feedback (4.3).
const SOURCE: usize = 4;
const INSTANCE: usize = 8;
const OBJECT: usize = 14;

/// One thing that it does: a datagram, if it has heard what that takes.
type Means = fn(&mut Adversary) -> Option<Vec<u8>>;

/// What it can do; each seed has some of it.
const MEANS: [Means; 13] = [
    |a| a.any(|_| true),
    |a| a.any(|_| true).map(|packet| a.flip(packet)),
    |a| a.any(is_data).map(|packet| a.patch(packet, INSTANCE, 2)),
    |a| a.any(is_senders).map(|packet| a.patch(packet, SOURCE, 4)),
    |a| a.any(is_data).map(|packet| a.patch(packet, OBJECT, 2)),
    |a| a.any(is_data).map(|packet| a.other_content(packet)),
    |a| a.any(is_senders).map(|packet| a.patch(packet, 12, 2)),
    |a| a.command(2, &[0]),
    |a| a.command(3, &[5, 0x03, 0xe8, 0, 0, 0, 0]),
    Adversary::giving_up,
    Adversary::requests,
    |a| a.any(is_feedback).map(|packet| a.in_anothers_name(packet)),
    |a| a.any(|packet| kind(packet) == 3).map(|packet| a.patch(packet, 14, 6)),
];

fn kind(packet: &[u8]) -> u8 {
    packet.first().map_or(0, |byte| byte & 15)
}

fn is_data(packet: &[u8]) -> bool {
    kind(packet) == 2
}

fn is_senders(packet: &[u8]) -> bool {
    (1..=3).contains(&kind(packet))
}

fn is_feedback(packet: &[u8]) -> bool {
    (4..=5).contains(&kind(packet))
}

/// The host.
struct Adversary {
    rng: Rng,
    means: Vec<usize>,
    spoofs: bool,
    /// Datagrams a second.
    rate: u64,
    sent: u64,
    heard: Vec<(SocketAddr, Vec<u8>)>,
    /// What it holds back for a while.
    later: BTreeMap<(Time, u64), (SocketAddr, Vec<u8>)>,
}

impl Adversary {
    fn new(seed: u64, spoofs: bool) -> Self {
        let mut rng = Rng::new(!seed);
        let mut means: Vec<usize> = (0..MEANS.len()).filter(|_| rng.random_bool(0.4)).collect();
        if means.is_empty() {
            means.push(rng.below(MEANS.len() as u64) as usize);
        }
        let rate = [20, 200, 1000][rng.below(3) as usize];
        let (heard, later) = (Vec::new(), BTreeMap::new());
        Self { rng, means, spoofs, rate, sent: 0, heard, later }
    }

    fn hear(&mut self, source: SocketAddr, packet: &[u8]) {
        let one = (source, packet.to_vec());
        if self.heard.len() < HEARD_MAX {
            self.heard.push(one);
        } else {
            let at = self.rng.below(HEARD_MAX as u64) as usize;
            self.heard[at] = one;
        }
    }

    fn any(&mut self, which: impl Fn(&[u8]) -> bool) -> Option<Vec<u8>> {
        let fit: Vec<usize> = (0..self.heard.len()).filter(|n| which(&self.heard[*n].1)).collect();
        let at = fit.get(self.rng.below(fit.len().max(1) as u64) as usize)?;
        Some(self.heard[*at].1.clone())
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.rng.next_u64() as u8).collect()
    }

    fn patch(&mut self, mut packet: Vec<u8>, at: usize, count: usize) -> Vec<u8> {
        let new = self.bytes(count);
        if let Some(place) = packet.get_mut(at..at + count) {
            place.copy_from_slice(&new);
        }
        packet
    }

    fn flip(&mut self, mut packet: Vec<u8>) -> Vec<u8> {
        let at = self.rng.below(packet.len().max(1) as u64) as usize;
        let bit = 1 << self.rng.below(8);
        packet.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= bit);
        packet
    }

    fn other_content(&mut self, packet: Vec<u8>) -> Vec<u8> {
        let at = packet.len().saturating_sub(32);
        self.patch(packet, at, 32)
    }

    /// A command in the sender's name: 2 is EOT, 3 SQUELCH, 7 an application's.
    fn command(&mut self, flavor: u8, rest: &[u8]) -> Option<Vec<u8>> {
        let like = self.any(is_senders)?;
        let mut packet = like.get(..12)?.to_vec();
        (packet[0], packet[1]) = (0x13, 3 + (rest.len() as u8).div_ceil(4));
        packet.push(flavor);
        packet.extend(rest);
        packet.resize(packet.len().next_multiple_of(4), 0);
        Some(packet)
    }

    /// "I go on without all of you."
    fn giving_up(&mut self) -> Option<Vec<u8>> {
        // "FNFR", version, given up, milliseconds, nodes, bytes of content, the nodes.
        let (all, spread) = (RECEIVERS as u8, 100);
        let mut content = vec![b'F', b'N', b'F', b'R', 1, all, 0, spread, 0, all, 0, 0];
        content.extend((0..RECEIVERS as u32).flat_map(|n| (FIRST + n).to_be_bytes()));
        let mut packet = self.command(7, &[0; 3])?;
        packet.truncate(16);
        (packet[1], packet[12]) = (4, 7);
        packet.extend(content);
        Some(packet)
    }

    /// A request for all of an object, by a receiver or an invented one.
    fn requests(&mut self) -> Option<Vec<u8>> {
        let data = self.any(is_data)?;
        let node = FIRST + self.rng.below(50) as u32;
        let mut packet = vec![0x14, 6, 0, 0];
        packet.extend(node.to_be_bytes());
        packet.extend(data.get(4..10)?);
        packet.extend([0; 10]);
        packet.extend([1, 8, 0, 8, *data.get(13)?, 0]);
        packet.extend(data.get(14..16)?);
        packet.extend([0; 4]);
        Some(packet)
    }

    fn in_anothers_name(&mut self, packet: Vec<u8>) -> Vec<u8> {
        let node = FIRST + self.rng.below(8) as u32;
        let mut packet = packet;
        if let Some(place) = packet.get_mut(SOURCE..SOURCE + 4) {
            place.copy_from_slice(&node.to_be_bytes());
        }
        packet
    }

    /// What it says until `now`, with the address that is on it.
    fn say(&mut self, now: Time) -> Vec<(SocketAddr, Vec<u8>)> {
        let due = now.since(Time::ZERO).as_micros() as u64 * self.rate / 1_000_000;
        while self.sent < due {
            self.sent += 1;
            let means = MEANS[self.means[self.rng.below(self.means.len() as u64) as usize]];
            let Some(packet) = means(self) else { continue };
            let held = if self.rng.random_bool(0.3) { self.rng.below(2_000) } else { 0 };
            let source = match self.spoofs && self.rng.random_bool(0.7) {
                true => [1, 1, 1, 100, 101, 102][self.rng.below(6) as usize],
                false => OWN[3],
            };
            let source = SocketAddr::from(([OWN[0], OWN[1], OWN[2], source], 6003));
            let at = now + Duration::from_millis(held);
            self.later.insert((at, self.sent), (source, packet));
        }
        let left = self.later.split_off(&(now + Duration::from_nanos(1), 0));
        std::mem::replace(&mut self.later, left).into_values().collect()
    }
}

fn contents(seed: u64) -> Vec<Vec<u8>> {
    let mut rng = Rng::new(seed);
    let mut one = |size: u64| (0..size).map(|_| rng.next_u64() as u8).collect();
    [0, 1 + seed % 3000, 30_000].map(&mut one).into()
}

/// A transfer with such a host beside it for two seconds.
fn attacked(seed: u64, spoofs: bool) -> World {
    let options = SendOptions { expect: Expect::Count(RECEIVERS), ..SendOptions::default() };
    let loss = [0.0, 0.02, 0.1][(seed % 3) as usize];
    let mut world = World::with(&contents(seed), options, loss, seed);
    (0..RECEIVERS).for_each(|_| world.join(false));
    let mut adversary = Adversary::new(seed, spoofs);
    let until = Time::ZERO + Duration::from_secs(2);
    while !world.sender.job.is_done() && world.now < LIMIT {
        world.send();
        world.receive();
        if world.now < until {
            let address = world.sender.meta().source;
            world.said.iter().for_each(|said| adversary.hear(address, said));
            world.answered.iter().for_each(|(source, said)| adversary.hear(*source, said));
            for (source, packet) in adversary.say(world.now) {
                let meta = RecvMeta { source, ecn: None, unicast: false, waited: Duration::ZERO };
                world.sender.hear(world.now, meta, &packet);
                for receiver in &mut world.receivers {
                    receiver.hear(world.now, meta, &packet);
                }
            }
        } else {
            world.latest = Duration::from_millis(20);
        }
        world.pass_time();
    }
    world
}

/// What went wrong, if anything did.
fn fault(world: &mut World, seed: u64) -> Option<Fault> {
    if !world.sender.job.is_done() {
        let next = world.sender.session.poll_timeout();
        let idle = world.sender.session.sender().is_idle();
        let report = world.sender.job.report(&mut world.sender.session);
        let views: Vec<_> =
            report.receivers.iter().map(|r| (r.view.id, r.view.state, &r.outcome)).collect();
        return Some(Fault::Grave(format!("stuck: idle {idle}, next {next:?}, {views:?}")));
    }
    let contents = contents(seed);
    for (receiver, scratch) in world.scratches[1..].iter().enumerate() {
        for entry in std::fs::read_dir(scratch.path()).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().to_string_lossy().into_owned();
            if !name.starts_with(".fanfare")
                && !contents.contains(&std::fs::read(entry.path()).unwrap())
            {
                return Some(Fault::Grave(format!("a wrong file {name} at {receiver}")));
            }
        }
    }
    // An announcement with another's address can change a file's name, and not what is in it.
    let held = |receiver: usize| {
        let entries = std::fs::read_dir(world.scratches[1 + receiver].path()).unwrap();
        let files: Vec<Vec<u8>> =
            entries.filter_map(|entry| std::fs::read(entry.unwrap().path()).ok()).collect();
        contents.iter().all(|content| files.contains(content))
    };
    let all: Vec<bool> = (0..RECEIVERS).map(held).collect();
    let results = world.report().receivers;
    for result in &results {
        let known = result.view.id.0.checked_sub(FIRST).filter(|n| *n < RECEIVERS as u32);
        let complete = matches!(result.outcome, Outcome::Complete);
        if complete && !known.is_some_and(|n| all[n as usize]) {
            return Some(Fault::Grave(format!("a false receipt of {}", result.view.id)));
        }
        if known.is_some() && !complete {
            let what = format!("{} is {:?}", result.view.id, result.outcome);
            return Some(Fault::Incomplete(what));
        }
    }
    let receipts = results.iter().filter(|result| matches!(result.outcome, Outcome::Complete));
    let missing = || Fault::Incomplete("a receipt is missing".to_owned());
    (receipts.count() < RECEIVERS).then(missing)
}

/// Bytes of memory that this process has.
fn memory() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    pages.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}

pub(super) fn seeds(few: u64) -> std::ops::Range<u64> {
    let text = |name| std::env::var(name).unwrap_or_default();
    if let Ok(seed) = text("FANFARE_SEED").parse::<u64>() {
        return seed..seed + 1;
    }
    let (wanted, number) = (text("FANFARE_SEEDS"), |text: &str| text.parse::<u64>().ok());
    match wanted.split_once("..").and_then(|(from, to)| Some(number(from)?..number(to)?)) {
        Some(range) => range,
        None => 0..number(&wanted).unwrap_or(few),
    }
}

/// What became of one world.
#[derive(Debug, PartialEq, Eq)]
enum Fault {
    /// A wrong file, a false receipt, or a sender that never ends: must not be.
    Grave(String),
    /// A receiver lacks something, and the sender says so.
    Incomplete(String),
}

#[test]
fn whatever_an_adversary_sends_no_file_is_wrong_no_receipt_false_and_no_sender_stuck_afterwards() {
    let (before, mut grave, mut incomplete, mut worlds) = (memory(), Vec::new(), Vec::new(), 0);
    for seed in seeds(40) {
        for spoofs in [false, true] {
            let mut world = attacked(seed, spoofs);
            let took = world.now.since(Time::ZERO);
            worlds += 1;
            let told = |what: &str| format!("seed {seed}, spoofs {spoofs}, {took:?}: {what}");
            match fault(&mut world, seed) {
                Some(Fault::Grave(what)) => {
                    println!("grave: {}", told(&what));
                    grave.push(told(&what));
                }
                Some(Fault::Incomplete(what)) => incomplete.push(told(&what)),
                None => {}
            }
        }
    }
    println!("{} of {worlds} incomplete:\n{}", incomplete.len(), incomplete.join("\n"));
    assert!(grave.is_empty(), "{} faults:\n{}", grave.len(), grave.join("\n"));
    // Without keys a host with others' addresses can make a transfer fail at a receiver. It is rare.
    assert!(incomplete.len() * INCOMPLETE <= worlds, "{} of {worlds}", incomplete.len());
    // One world at a time: what is left of a thousand is no more than what one needs.
    let grown = memory().saturating_sub(before);
    assert!(grown < 256 << 20, "{grown} bytes");
}

#[test]
fn worlds_that_once_went_wrong_do_so_no_more() {
    // Found among 100,000 seeds: senders without an end, and wrong files. In 64,400 a receiver hears the
    // adversary first, takes it for the sender, and waits for an object that there is not.
    for seed in [476, 1061, 2720, 3395, 3503, 9158, 9659, 53_345, 64_400, 99_998] {
        for spoofs in [false, true] {
            let found = fault(&mut attacked(seed, spoofs), seed);
            assert!(
                !matches!(found, Some(Fault::Grave(_))),
                "seed {seed}, spoofs {spoofs}: {found:?}"
            );
        }
    }
}

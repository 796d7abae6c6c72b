//! A sender whose objects take turns: what it has let others overtake is not missing, and what has
//! overtaken is requested at once.

use super::{CONFIRMED, GRTT, Harness, Script, content, key, raw};
use crate::{config::ReceiverConfig, stats::DropReason, time::Duration};
use alloc::{string::String, vec::Vec};
use fanfare_wire::{ObjectTransportId, ext::ExtTurn};

/// Where the flags of NORM_DATA are.
const FLAGS: usize = 12;
/// The long object's bytes: blocks of 4, 3 and 3.
const LONG: usize = 95;

fn open(first: u16, count: u8) -> ExtTurn {
    ExtTurn::Open { first: ObjectTransportId(first), count }
}
fn reach(object: u16) -> ExtTurn {
    ExtTurn::Reach(ObjectTransportId(object))
}

/// What a sender says, and a receiver that hears it.
struct Pair {
    rig: Harness,
    script: Script,
}

impl Pair {
    fn new() -> Self {
        Self { rig: Harness::new(ReceiverConfig::default()), script: Script::new() }
    }
    fn turns(&mut self, turns: &[ExtTurn]) {
        self.script.area = turns.iter().flat_map(|turn| turn.to_bytes()).collect();
    }
    /// Symbols of a block of the long object.
    fn long(&mut self, object: u16, block: u32, symbols: &[u16], turns: &[ExtTurn]) {
        self.turns(turns);
        for symbol in symbols {
            self.rig.hear(&self.script.data(object, LONG, block, *symbol));
        }
    }
    /// A short object, all INFO.
    fn short(&mut self, object: u16, turns: &[ExtTurn]) {
        self.turns(turns);
        self.rig.hear(&self.script.info(object, 0, b"here"));
    }
    fn flush(&mut self, object: u16) {
        self.script.area.clear();
        self.rig.hear(&self.script.flush(object, raw(0, 0), &[]));
    }
    fn asked(&mut self) -> Vec<String> {
        self.rig.pass(GRTT * 5);
        self.rig.asked()
    }
}

#[test]
fn what_was_overtaken_is_not_requested_and_comes_whole() {
    let mut pair = Pair::new();
    pair.long(0, 0, &[0, 1, 2, 3], &[]);
    pair.short(1, &[open(0, 1)]);
    assert!(pair.asked().is_empty());
    pair.long(0, 1, &[0, 1, 2], &[reach(1)]);
    pair.long(0, 2, &[0, 1, 2], &[reach(1)]);
    assert_eq!(pair.rig.bytes(0), Some(&content(0, LONG)[..]));
    pair.flush(1);
    assert!(pair.asked().is_empty());
}

#[test]
fn without_a_word_of_turns_the_rest_counts_as_lost() {
    let mut pair = Pair::new();
    pair.long(0, 0, &[0, 1, 2, 3], &[]);
    pair.short(1, &[]);
    assert_eq!(pair.asked(), ["block 0/1", "block 0/2"]);
}

#[test]
fn a_lost_short_object_is_requested_while_the_long_one_goes_on() {
    let mut pair = Pair::new();
    pair.long(0, 0, &[0, 1], &[]);
    pair.long(0, 0, &[2], &[reach(1)]);
    assert_eq!(pair.asked(), ["object 1"]);
}

#[test]
fn what_is_lost_of_the_long_object_is_requested_after_its_block_as_always() {
    let mut pair = Pair::new();
    pair.long(0, 0, &[0, 1, 3], &[]);
    pair.short(1, &[open(0, 1)]);
    assert!(pair.asked().is_empty());
    pair.long(0, 1, &[0], &[reach(1)]);
    assert_eq!(pair.asked(), ["0/0/4"]);
    pair.long(0, 2, &[0], &[reach(1)]);
    pair.rig.pass(GRTT * 20);
    assert_eq!(pair.asked(), ["0/0/4", "0/1/3", "0/1/4"]);
}

#[test]
fn what_waits_and_has_not_begun_is_not_requested() {
    let mut pair = Pair::new();
    pair.long(0, 0, &[0, 1], &[]);
    pair.short(3, &[open(0, 3)]);
    assert!(pair.asked().is_empty());
    pair.long(0, 0, &[2, 3], &[open(1, 2), reach(3)]);
    assert!(pair.asked().is_empty());
    pair.flush(3);
    assert_eq!(pair.asked(), ["block 0/1", "block 0/2", "object 1", "object 2"]);
}

#[test]
fn a_later_object_that_names_it_no_more_ends_it() {
    let mut pair = Pair::new();
    pair.long(0, 0, &[0, 1, 2, 3], &[]);
    pair.short(1, &[open(0, 1)]);
    pair.short(2, &[]);
    assert_eq!(pair.asked(), ["block 0/1", "block 0/2"]);
}

#[test]
fn a_repair_changes_nothing_of_it() {
    let mut pair = Pair::new();
    pair.long(0, 0, &[0, 1, 3], &[]);
    pair.short(1, &[open(0, 1)]);
    pair.long(0, 1, &[0], &[reach(1)]);
    assert_eq!(pair.asked(), ["0/0/4"]);
    pair.script.area.clear();
    let mut repair = pair.script.data(0, LONG, 0, 4);
    repair[FLAGS] |= fanfare_wire::ObjectFlags::REPAIR;
    pair.rig.hear(&repair);
    pair.rig.pass(GRTT * 20);
    assert!(pair.asked().is_empty());
}

#[test]
fn of_a_sender_that_falls_silent_no_more_is_requested_than_it_may_have_sent() {
    let mut pair = Pair::new();
    pair.long(0, 0, &[0, 1, 2, 3], &[]);
    pair.long(0, 1, &[0], &[reach(1)]);
    pair.rig.asked();
    pair.rig.pass(Duration::from_secs(3));
    let asked = pair.rig.asked();
    assert!(asked.contains(&"0/1/3".into()) && asked.contains(&"object 1".into()), "{asked:?}");
    assert!(!asked.iter().any(|item| item.contains("0/2")), "{asked:?}");
}

#[test]
fn whatever_is_said_of_turns_a_flush_ends_it_and_the_objects_come_whole() {
    let mut rng = crate::rng::Rng::new(3);
    for _ in 0..300 {
        let mut pair = Pair::new();
        for _ in 0..20 {
            let mut any = || rng.below(12) as u16;
            let lies = [open(any(), any() as u8 + 1), reach(any())];
            let (object, count) = (any() % 3, usize::from(any() % 3));
            pair.long(object, u32::from(any() % 2), &[0], &lies[..count]);
            pair.rig.pass(GRTT);
        }
        pair.rig.asked();
        pair.flush(20);
        pair.rig.pass(GRTT * 20);
        assert!(!pair.rig.asked().is_empty(), "block 2 of each is missing");
        for object in 0..3 {
            for (block, len) in [(0, 4), (1, 3), (2, 3)] {
                (0..len).for_each(|symbol| pair.long(object, block, &[symbol], &[]));
            }
            assert_eq!(pair.rig.bytes(object), Some(&content(object, LONG)[..]));
        }
    }
}

#[test]
fn what_cannot_be_is_counted_and_does_no_harm() {
    let mut pair = Pair::new();
    pair.long(0, 0, &[0, 1, 2, 3], &[]);
    pair.short(1, &[open(0, 1)]);
    for lie in [[open(30_000, 255), reach(20_000)], [open(9, 200), reach(0x8000)]] {
        pair.long(0, 1, &[0], &lie);
    }
    assert_eq!(pair.rig.stats.dropped(DropReason::Turn), 4);
    pair.rig.pass(CONFIRMED);
    pair.long(0, 1, &[1, 2], &[reach(1)]);
    pair.long(0, 2, &[0, 1, 2], &[reach(1)]);
    assert_eq!(pair.rig.bytes(0), Some(&content(0, LONG)[..]));
    assert!(pair.rig.told().contains(&"complete 1".into()));
    assert!(pair.rig.senders.held(key(5), 0).is_none(), "nothing else is known");
}

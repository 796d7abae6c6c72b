//! Cards on the same link, and which of them is a gateway: many addresses come through it.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};
use core::net::IpAddr;

use super::sighting::{Mac, Sighting};

/// Cards that are told apart.
const CARDS_MAX: usize = 4096;
/// Addresses of one that are kept; more are counted only.
const ADDRESSES_MAX: usize = 16;
/// With as many addresses a card may be a gateway (seed 002's code has five) …
const GATEWAY_LEAST: u64 = 5;
/// … when these are so many times what the middle one of all has.
const GATEWAY_TIMES: u64 = 3;

/// What is known of one card.
#[derive(Debug, Clone, Default)]
pub struct Card {
    /// Addresses that it sent from.
    pub addresses: BTreeSet<IpAddr>,
    /// More than these.
    pub more: u64,
    /// Packets that it sent.
    pub packets: u64,
    /// Hops of what it sent, the fewest: 0 is a neighbour's own.
    pub hops: u8,
}

impl Card {
    fn count(&self) -> u64 {
        self.addresses.len() as u64 + self.more
    }
}

/// All cards.
#[derive(Debug, Default)]
pub struct Neighbours {
    cards: BTreeMap<Mac, Card>,
}

impl Neighbours {
    pub(super) fn on_sighting(&mut self, seen: &Sighting) {
        let Some((from, _)) = seen.macs else { return };
        // Groups and broadcasts send nothing; loopback has no cards.
        if from[0] & 1 == 1 || from == [0; 6] || seen.ends.0.is_unspecified() {
            return;
        }
        if self.cards.len() >= CARDS_MAX && !self.cards.contains_key(&from) {
            return;
        }
        let fresh = Card { hops: u8::MAX, ..Card::default() };
        let card = self.cards.entry(from).or_insert(fresh);
        card.packets += u64::from(seen.packets);
        card.hops = card.hops.min(hops(seen.ttl));
        if card.addresses.len() < ADDRESSES_MAX {
            card.addresses.insert(seen.ends.0);
        } else if !card.addresses.contains(&seen.ends.0) {
            card.more += 1;
        }
    }

    /// All, and whether each is a gateway.
    #[must_use]
    pub fn cards(&self) -> Vec<(Mac, &Card, bool)> {
        let mut counts: Vec<u64> = self.cards.values().map(Card::count).collect();
        counts.sort_unstable();
        // Of an even number the lower: a gateway and one neighbour are two.
        let middle = counts.get(counts.len().saturating_sub(1) / 2).copied().unwrap_or(0);
        let is_gateway = |card: &Card| {
            let count = card.count();
            count >= GATEWAY_LEAST && count > GATEWAY_TIMES * middle
        };
        self.cards.iter().map(|(mac, card)| (*mac, card, is_gateway(card))).collect()
    }
}

/// Systems begin with 64, 128 or 255; multicast often with 1, and then says nothing.
fn hops(ttl: u8) -> u8 {
    match ttl {
        0..=1 => 0,
        2..=64 => 64 - ttl,
        65..=128 => 128 - ttl,
        129.. => 255 - ttl,
    }
}

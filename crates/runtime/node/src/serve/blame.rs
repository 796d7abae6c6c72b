//! Who has passed on wrong bytes: each symbol's way is remembered until its file is known to be right.

use std::collections::BTreeMap;

use crate::serve::{
    message::{HOSTS_MAX, Set},
    peek::Symbol,
};

/// Symbols whose ways are remembered together. No run is shorter, but at a block's end.
pub(crate) const CHUNK: u16 = 16;
/// Chunks that are remembered: of 20 GB. Of older ones nobody is suspected.
const CHUNKS_MAX: usize = 1 << 20;
/// One host is suspected when its wrong share is so many times that of any other.
const CLEARLY: f64 = 1.5;
/// And when this much of what it passed on proved wrong, since neighbours of wrong bytes look wrong, too.
const WRONG_MIN: u32 = 3;

/// Symbols of a block that are checked by one hash: the first, and the one after the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    /// The block.
    pub block: u32,
    /// Its first symbol that is checked.
    pub from: u16,
    /// The one after the last.
    pub to: u16,
}

/// Object, block, and chunk in it; `None`: what was made for repair, of the whole block.
type Place = (u16, u32, Option<u16>);

/// What is known of the ways.
#[derive(Debug)]
pub struct Blame {
    ways: BTreeMap<Place, Set>,
    passed: [u32; HOSTS_MAX],
    wrong: [u32; HOSTS_MAX],
    accused: Set,
    /// Something that others passed on proved wrong, and nobody is found yet.
    suspects: bool,
}

impl Default for Blame {
    fn default() -> Self {
        let none = [0; HOSTS_MAX];
        Self {
            ways: BTreeMap::new(),
            passed: none,
            wrong: none,
            accused: Set::default(),
            suspects: false,
        }
    }
}

impl Blame {
    /// This host has passed on a symbol.
    pub fn on_passed(&mut self, host: usize, symbol: Symbol) {
        let chunk = (!symbol.repair).then_some(symbol.number / CHUNK);
        let place = (symbol.object, symbol.block, chunk);
        if self.ways.len() >= CHUNKS_MAX && !self.ways.contains_key(&place) {
            self.ways.pop_first();
        }
        let way = self.ways.entry(place).or_default();
        if !way.has(host) && host < HOSTS_MAX {
            *way = way.with(host);
            self.passed[host] += 1;
        }
    }

    /// These pieces of an object proved wrong, each by a hash of its own. Who is to blame for it, if that is
    /// clear now.
    pub fn on_wrong(&mut self, object: u16, pieces: &[Vec<Chunk>]) -> Option<usize> {
        let (mut alone, mut any) = (Set::default(), Set::default());
        for piece in pieces {
            let (mut ways, mut around) = (Set::default(), Set::default());
            for chunk in piece {
                // Where a repair was used, anything wrong in the block makes all of it wrong.
                let repair = self.way((object, chunk.block, None));
                if repair != Set::default() {
                    ways.0 |= repair.0;
                    around.0 |= self.block(object, chunk.block).0;
                }
                for number in chunk.from / CHUNK..=chunk.to.saturating_sub(1) / CHUNK {
                    ways.0 |= self.way((object, chunk.block, Some(number))).0;
                }
            }
            any.0 |= ways.0;
            if (ways.0 | around.0).is_power_of_two() {
                alone.0 |= ways.0;
            }
            for host in (0..HOSTS_MAX).filter(|host| ways.has(*host)) {
                self.wrong[host] += 1;
            }
        }
        // It is asked for again, and may come by other ways.
        for chunk in pieces.iter().flatten() {
            for number in chunk.from / CHUNK..=chunk.to.saturating_sub(1) / CHUNK {
                self.ways.remove(&(object, chunk.block, Some(number)));
            }
            self.ways.remove(&(object, chunk.block, None));
        }
        let found = (0..HOSTS_MAX).find(|host| alone.has(*host)).or_else(|| self.clearest());
        let found = found.filter(|host| !self.accused.has(*host));
        let suspects = found.is_none() && (self.suspects || any != Set::default());
        if suspects && !self.suspects {
            // So far many passed on each piece. From now on the sender gives each host whole blocks.
            (self.passed, self.wrong) = ([0; HOSTS_MAX], [0; HOSTS_MAX]);
        }
        self.suspects = suspects;
        self.accused = self.accused.with(found?);
        found
    }

    /// Whether wrong bytes came, and it is not clear yet from whom.
    #[must_use]
    pub fn suspects(&self) -> bool {
        self.suspects
    }

    /// Who has been found.
    #[must_use]
    pub fn accused(&self) -> Set {
        self.accused
    }

    fn way(&self, place: Place) -> Set {
        self.ways.get(&place).copied().unwrap_or_default()
    }

    /// Who has passed on anything of a block.
    fn block(&self, object: u16, block: u32) -> Set {
        let places = (object, block, None)..=(object, block, Some(u16::MAX));
        let ways = self.ways.range(places).map(|(_, way)| way.0);
        Set(ways.fold(0, |all, way| all | way))
    }

    /// The host whose wrong share stands out.
    fn clearest(&self) -> Option<usize> {
        let share = |host: usize| f64::from(self.wrong[host]) / f64::from(self.passed[host].max(1));
        let mut hosts: Vec<usize> = (0..HOSTS_MAX)
            .filter(|host| self.wrong[*host] > 0 && !self.accused.has(*host))
            .collect();
        hosts.sort_by(|a, b| share(*b).total_cmp(&share(*a)));
        let (first, second) = (*hosts.first()?, hosts.get(1).map_or(0.0, |host| share(*host)));
        (self.wrong[first] >= WRONG_MIN && share(first) >= CLEARLY * second).then_some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbol(block: u32, number: u16) -> Symbol {
        Symbol { object: 1, block, number, repair: false, size: None }
    }

    fn piece(block: u32, from: u16, to: u16) -> Vec<Chunk> {
        vec![Chunk { block, from, to }]
    }

    #[test]
    fn who_alone_has_passed_on_what_is_wrong_is_to_blame_at_once() {
        let mut blame = Blame::default();
        for number in 0..64 {
            blame.on_passed(usize::from(number / 32), symbol(0, number));
        }
        assert_eq!(blame.on_wrong(1, &[piece(0, 32, 60)]), Some(1));
        assert!(blame.accused().has(1) && !blame.accused().has(0));
        assert_eq!(blame.on_wrong(1, &[piece(0, 32, 60)]), None, "it was forgotten");
    }

    #[test]
    fn of_several_who_passed_on_what_is_wrong_the_one_whose_share_stands_out_is_to_blame() {
        let mut blame = Blame::default();
        // Host 0 and another one in each block.
        for block in 0..12 {
            for number in 0..32 {
                let other = 1 + block as usize % 4;
                blame.on_passed(if number < 16 { 0 } else { other }, symbol(block, number));
            }
            // The others pass on much more.
            for number in 32..48 {
                blame.on_passed(1 + (block as usize + 1) % 4, symbol(block, number));
            }
        }
        let wrong: Vec<_> = (0..2).map(|block| piece(block, 0, 32)).collect();
        assert_eq!(blame.on_wrong(1, &wrong), None, "too few to be clear");
        let wrong: Vec<_> = (2..8).map(|block| piece(block, 0, 32)).collect();
        assert_eq!(blame.on_wrong(1, &wrong), Some(0));
    }

    #[test]
    fn what_was_mended_with_repairs_blames_who_passed_on_the_whole_block_and_nobody_else() {
        let mut blame = Blame::default();
        let repair = Symbol { repair: true, ..symbol(0, 200) };
        blame.on_passed(2, repair);
        blame.on_passed(1, symbol(0, 40));
        assert_eq!(blame.on_wrong(1, &[piece(0, 0, 16)]), None, "perhaps symbol 40 is wrong");
        assert!(blame.suspects());
        for number in 0..16 {
            blame.on_passed(1, symbol(0, number));
        }
        blame.on_passed(1, repair);
        assert_eq!(blame.on_wrong(1, &[piece(0, 0, 16)]), Some(1));
        assert!(!blame.suspects());
    }
}

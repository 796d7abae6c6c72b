//! What a node still lacks that requested symbols of a block explicitly, as an observer counts it.

use crate::repair::rank::Rank;
use alloc::collections::BTreeSet;
use fanfare_proto::{NodeId, RunSet};

/// One request by name.
#[derive(Debug, Clone)]
pub(crate) struct Outstanding {
    /// Who asked; [`NodeId::NONE`] where that does not matter.
    pub(crate) of: NodeId,
    names: RunSet,
    /// It ends when so many parity symbols have been heard; what was named and heard is taken off.
    pub(crate) enough: u16,
    pub(crate) at_first: u16,
    /// What sums of its names heard since have brought.
    sums: Rank,
}

impl Outstanding {
    /// Of these names, until `enough` parity symbols have been heard.
    pub(crate) fn new(names: RunSet, enough: u16) -> Self {
        Self { of: NodeId::NONE, names, enough, at_first: enough, sums: Rank::default() }
    }

    /// It lacks these as well.
    pub(crate) fn extend(&mut self, names: &RunSet) {
        let before = count(&self.names);
        names.iter().for_each(|(first, end)| self.names.insert(first, end));
        self.enough = self.enough.saturating_add(count(&self.names) - before);
    }

    /// Nothing is left of it.
    pub(crate) fn is_served(&self) -> bool {
        self.enough == 0 || self.names.iter().next().is_none()
    }

    /// What was requested by name and has neither been heard nor followed.
    pub(crate) fn names(&self) -> &RunSet {
        &self.names
    }

    /// A sum of these symbols brings one symbol, unless as many have come as it lacks of them: then it is false.
    pub(crate) fn on_sum(&mut self, of: &RunSet) -> bool {
        let new = self.sums.add(&self.lacked(of));
        if new {
            self.enough = self.enough.saturating_sub(1);
            self.resolve();
        }
        new
    }

    /// One of its names was heard.
    pub(crate) fn on_name(&mut self, name: u64) {
        self.names.remove(name, name + 1);
        // Otherwise it followed from the sums.
        if self.sums.on_known(name) {
            self.enough = self.enough.saturating_sub(1);
        }
        self.resolve();
    }

    /// From as many sums as symbols all of these follow.
    fn resolve(&mut self) {
        for name in self.sums.take_determined() {
            self.names.remove(name, name + 1);
        }
    }

    fn lacked(&self, of: &RunSet) -> BTreeSet<u64> {
        let all = of.iter().flat_map(|(first, end)| first..end);
        all.filter(|name| self.names.contains(*name)).collect()
    }

    /// Whether something of these was in no sum that it has.
    pub(crate) fn is_fresh(&self, of: &RunSet) -> bool {
        self.lacked(of).iter().any(|name| !self.sums.spans(*name))
    }

    /// Whether a sum of these symbols (of which it may have some) would bring it something.
    pub(crate) fn gains(&self, of: &RunSet) -> bool {
        self.sums.gains(&self.lacked(of))
    }
}

/// Symbols in a set: a block's are fewer than 2^16.
pub(crate) fn count(set: &RunSet) -> u16 {
    set.iter().map(|(first, end)| end - first).sum::<u64>() as u16
}

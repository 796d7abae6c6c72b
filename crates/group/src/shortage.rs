//! What one who asked for symbols of a block by name still lacks, as those reckon who heard it.

use fanfare_proto::RunSet;

/// One request by name.
#[derive(Debug, Clone)]
pub(crate) struct Shortage {
    names: RunSet,
    /// It ends when so many parity symbols have been heard; what was named and heard is taken off.
    pub(crate) enough: u16,
    pub(crate) at_first: u16,
    /// Of its names those that were in sums heard since, and how many of these sums said something new.
    spanned: RunSet,
    sums: u16,
}

impl Shortage {
    /// Of these names, until `enough` parity symbols have been heard.
    pub(crate) fn new(names: RunSet, enough: u16) -> Self {
        Self { names, enough, at_first: enough, spanned: RunSet::default(), sums: 0 }
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

    /// What was asked for by name and has neither been heard nor followed.
    pub(crate) fn names(&self) -> &RunSet {
        &self.names
    }

    /// A sum of these symbols brings one symbol, unless as many have come as it lacks of them.
    pub(crate) fn on_sum(&mut self, of: &RunSet) {
        let mut any = false;
        for name in of.iter().flat_map(|(first, end)| first..end) {
            if self.names.contains(name) {
                self.spanned.insert(name, name + 1);
                any = true;
            }
        }
        if any && self.sums < count(&self.spanned) {
            self.sums += 1;
            self.enough = self.enough.saturating_sub(1);
        }
        self.resolve();
    }

    /// One of its names was heard.
    pub(crate) fn on_name(&mut self, name: u64) {
        self.names.remove(name, name + 1);
        self.spanned.remove(name, name + 1);
        match self.sums > count(&self.spanned) {
            // It followed from the sums.
            true => self.sums -= 1,
            false => self.enough = self.enough.saturating_sub(1),
        }
        self.resolve();
    }

    /// From as many sums as symbols all of these follow.
    fn resolve(&mut self) {
        if self.sums > 0 && self.sums == count(&self.spanned) {
            for (first, end) in self.spanned.iter() {
                self.names.remove(first, end);
            }
            (self.spanned, self.sums) = (RunSet::default(), 0);
        }
    }

    /// Whether something of these was in no sum that it has.
    pub(crate) fn is_fresh(&self, of: &RunSet) -> bool {
        let lacked = of.iter().flat_map(|(first, end)| first..end);
        lacked.into_iter().any(|name| self.names.contains(name) && !self.spanned.contains(name))
    }

    /// Whether a sum of these symbols (of which it may have some) would bring it something.
    pub(crate) fn gains(&self, of: &RunSet) -> bool {
        let lacked = of.iter().flat_map(|(first, end)| first..end);
        let mut lacked = lacked.filter(|name| self.names.contains(*name)).peekable();
        let any = lacked.peek().is_some();
        let more = lacked.filter(|name| !self.spanned.contains(*name)).count() as u16;
        any && count(&self.spanned) + more > self.sums
    }
}

/// Symbols in a set: a block's are fewer than 2^16.
pub(crate) fn count(set: &RunSet) -> u16 {
    set.iter().map(|(first, end)| end - first).sum::<u64>() as u16
}

//! What is known of every node: from itself, and from others who passed it on.

use alloc::{collections::BTreeMap, string::String, vec::Vec};

use fanfare_wire::NodeId;
use fanfare_wire::units::{Duration, Time};

use crate::monitor::{
    expiry::Expiry,
    facts::{Block, Facts, parse_name},
    note::Told,
};

/// Nodes known at once; more are counted.
const SUBJECTS_MAX: usize = 4096;
/// What came through others is at least so far from what it is about, whatever it claims.
const CLOSENESS_MIN: u8 = 1;

/// About whom, and what.
pub(crate) type Key = (NodeId, Block);

/// One sector, as it was told last.
#[derive(Debug, Clone)]
pub struct Known {
    /// As the block says.
    pub content: Vec<u8>,
    /// Grows with each change.
    pub version: u8,
    /// Through how many others it came.
    pub hop: u8,
    /// How near who measured it was.
    pub closeness: u8,
    /// When it was so.
    pub since: Time,
    /// When it was told last.
    pub heard: Time,
    expiry: Expiry,
    /// When this node passed it on, and when another was heard to do so.
    pub(crate) said: Option<Time>,
    pub(crate) passed_on: bool,
    /// Changes since it was said.
    pub(crate) changes: u32,
}

impl Known {
    /// Nothing has been heard of it for longer than it is silent as a rule.
    #[must_use]
    pub fn is_old(&self, now: Time) -> bool {
        self.expiry.is_old(now)
    }

    /// How long ago it was so.
    #[must_use]
    pub fn age(&self, now: Time) -> Duration {
        now.since(self.since)
    }
}

/// Everything that is known.
#[derive(Debug, Default)]
pub struct World {
    sectors: BTreeMap<Key, Known>,
    /// Sectors that found no room.
    pub(crate) dropped: u64,
}

/// What a told sector meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Merged {
    /// Its subject was not known, or had gone.
    New,
    Changed,
    /// It is as it was.
    Same,
    /// What is here is newer, or nearer.
    Older,
    NoRoom,
}

impl World {
    /// Something was told by a note whose next one comes within `next`.
    pub(crate) fn merge(&mut self, now: Time, from: NodeId, next: Duration, told: &Told) -> Merged {
        let direct = told.subject == from;
        let closeness = if direct { 0 } else { told.closeness.max(CLOSENESS_MIN) };
        let hop = if direct { 0 } else { told.hop.saturating_add(1).max(1) };
        let since = now.before(told.age);
        let key = (told.subject, told.block);
        let Some(known) = self.sectors.get_mut(&key) else {
            return self.insert(now, key, next, (told, closeness, hop));
        };
        let newer = told.version.wrapping_sub(known.version).cast_signed();
        let nearer = closeness <= known.closeness || known.is_old(now);
        // Who speaks of itself may have begun anew.
        let wins = direct || (nearer && (newer > 0 || (newer == 0 && since > known.since)));
        if !wins {
            // Who is as far from it, or farther, tells it to others; who is nearer told it here.
            known.passed_on |= newer == 0 && told.hop >= known.hop;
            return Merged::Older;
        }
        let returned = known.is_old(now);
        let changed = known.content != told.content;
        known.expiry.on_heard(now, next);
        known.passed_on = false;
        known.changes = known.changes.saturating_add(u32::from(changed));
        (known.version, known.hop, known.closeness) = (told.version, hop, closeness);
        (known.since, known.heard) = (since, now);
        if changed {
            known.content.clone_from(&told.content);
        }
        match (returned, changed) {
            (true, _) => Merged::New,
            (false, true) => Merged::Changed,
            (false, false) => Merged::Same,
        }
    }

    fn insert(
        &mut self,
        now: Time,
        key: Key,
        next: Duration,
        (told, closeness, hop): (&Told, u8, u8),
    ) -> Merged {
        if self.sectors.len() >= SUBJECTS_MAX * Block::ALL.len() {
            self.dropped += 1;
            return Merged::NoRoom;
        }
        let known = Known {
            content: told.content.clone(),
            version: told.version,
            hop,
            closeness,
            since: now.before(told.age),
            heard: now,
            expiry: Expiry::new(now, next),
            said: None,
            passed_on: false,
            changes: 1,
        };
        self.sectors.insert(key, known);
        Merged::New
    }

    /// What this node says of itself. True when it is another than before.
    pub(crate) fn set_own(&mut self, now: Time, key: Key, content: Vec<u8>) -> bool {
        let expiry = Expiry::new(now, Duration::from_secs(600));
        let fresh = Known {
            content,
            version: 0,
            hop: 0,
            closeness: 0,
            since: now,
            heard: now,
            expiry,
            said: None,
            passed_on: false,
            changes: 1,
        };
        let Some(known) = self.sectors.get_mut(&key) else {
            self.sectors.insert(key, fresh);
            return true;
        };
        let changed = known.content != fresh.content;
        (known.since, known.heard, known.expiry) = (now, now, expiry);
        if changed {
            known.content = fresh.content;
            known.version = known.version.wrapping_add(1);
            known.changes = known.changes.saturating_add(1);
        }
        changed
    }

    /// Forgets what is over; gives nodes of which nothing is left.
    pub(crate) fn expire(&mut self, now: Time, own: NodeId) -> Vec<NodeId> {
        let over: Vec<Key> = self
            .sectors
            .iter()
            .filter(|((subject, _), known)| *subject != own && known.expiry.is_over(now))
            .map(|(key, _)| *key)
            .collect();
        over.iter().for_each(|key| drop(self.sectors.remove(key)));
        let mut gone: Vec<NodeId> = over.into_iter().map(|(subject, _)| subject).collect();
        gone.dedup();
        gone.retain(|subject| self.of(*subject).next().is_none());
        gone
    }

    pub(crate) fn sectors(&self) -> impl Iterator<Item = (&Key, &Known)> {
        self.sectors.iter()
    }

    pub(crate) fn get_mut(&mut self, key: &Key) -> Option<&mut Known> {
        self.sectors.get_mut(key)
    }

    /// One sector.
    #[must_use]
    pub fn get(&self, subject: NodeId, block: Block) -> Option<&Known> {
        self.sectors.get(&(subject, block))
    }

    /// Everything about one node.
    pub fn of(&self, subject: NodeId) -> impl Iterator<Item = (Block, &Known)> {
        let all = self.sectors.range((subject, Block::Node)..=(subject, Block::Group));
        all.map(|((_, block), known)| (*block, known))
    }

    /// Nodes that are known, by id.
    #[must_use]
    pub fn nodes(&self) -> Vec<NodeId> {
        let mut nodes: Vec<NodeId> = self.sectors.keys().map(|(subject, _)| *subject).collect();
        nodes.dedup();
        nodes
    }

    /// The numbers of a node.
    #[must_use]
    pub fn facts(&self, node: NodeId) -> Option<Facts> {
        Facts::parse(&self.get(node, Block::Node)?.content)
    }

    /// Its name.
    #[must_use]
    pub fn name(&self, node: NodeId) -> Option<String> {
        parse_name(&self.get(node, Block::Name)?.content)
    }
}

#[cfg(test)]
#[path = "world_tests.rs"]
mod tests;

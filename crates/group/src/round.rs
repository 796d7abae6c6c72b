//! What others ask of this node itself in one round: short messages of which they lack different ones are sent as
//! sums, as many as the node that asks for most lacks.
//!
//! The session's sender gathers requests, and says when their round is over; this keeps who asked for what. What
//! somebody asks for that may not read sums goes as it is, and so does what was in sums often and is asked for still.

use alloc::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    vec::Vec,
};
use fanfare_proto::{Duration, NodeId};

/// Nodes whose requests are told from each other. In larger groups most overhear that others ask.
const NODES_MAX: usize = 128;
/// Messages noted of each: as many as ten sums have.
const ASKED_MAX: usize = 1024;
/// So many rounds a message is answered for with sums: who asks for it still may lack other terms of them for
/// good. At 50 % loss of both ways one in 30 is asked for so often.
const ROUNDS_MAX: u8 = 5;

/// A message that is to be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pending {
    /// Its number, which does not wrap.
    pub(crate) index: u64,
    /// Its bytes as a term, and those of the datagram that it has for itself.
    pub(crate) bytes: usize,
    pub(crate) alone: usize,
    pub(crate) age: Duration,
}

/// Sums that are to be sent, all of the same messages.
#[derive(Debug)]
struct Answer {
    of: Vec<u64>,
    left: usize,
}

/// The requests of a round, and the answers to those before.
#[derive(Debug, Default)]
pub(crate) struct Round {
    asked: BTreeMap<NodeId, BTreeSet<u64>>,
    /// What was left to the session, as long as it has not sent it.
    left: BTreeSet<u64>,
    /// In how many rounds each was answered for with sums.
    rounds: BTreeMap<u64, u8>,
    answers: VecDeque<Answer>,
}

impl Round {
    /// A node asks for these. Gives how many there was no room for: they go as they are.
    pub(crate) fn on_request(&mut self, node: NodeId, names: impl Iterator<Item = u64>) -> u64 {
        let full = self.asked.len() >= NODES_MAX && !self.asked.contains_key(&node);
        let mut names = names.peekable();
        if full || names.peek().is_none() {
            return names.count() as u64;
        }
        let asked = self.asked.entry(node).or_default();
        let mut dropped = 0;
        for name in names {
            if asked.len() < ASKED_MAX {
                asked.insert(name);
            } else {
                dropped += u64::from(!asked.contains(&name));
            }
        }
        dropped
    }

    /// Whether anything is asked for in this round.
    pub(crate) fn is_open(&self) -> bool {
        !self.asked.is_empty()
    }

    /// The round is over, and these are to be sent. Gives those for which sums will go; `reads` says who reads them,
    /// and `frame` the bytes of one, where one frame holds it.
    pub(crate) fn close(
        &mut self,
        pending: &[Pending],
        reads: impl Fn(NodeId) -> bool,
        frame: impl Fn(&[Pending]) -> Option<usize>,
    ) -> Vec<u64> {
        let asked = core::mem::take(&mut self.asked);
        let still: BTreeSet<u64> = pending.iter().map(|one| one.index).collect();
        self.left.retain(|index| still.contains(index));
        // Where one has not found room, nobody knows how many are enough.
        let fits = |one: &&Pending| {
            let rounds = self.rounds.get(&one.index).copied().unwrap_or(0);
            let mut by = asked.iter().filter(|(_, names)| names.contains(&one.index)).peekable();
            let known = by.peek().is_some() && by.all(|(node, _)| reads(*node));
            known && rounds < ROUNDS_MAX && !self.left.contains(&one.index)
        };
        let fit: Vec<Pending> = pending.iter().filter(fits).copied().collect();
        let mut taken = Vec::new();
        for window in windows(&fit, &frame) {
            let lacks = |names: &BTreeSet<u64>| {
                window.iter().filter(|one| names.contains(&one.index)).count()
            };
            let most = asked.values().map(lacks).max().unwrap_or(0);
            let alone: usize = window.iter().map(|one| one.alone).sum();
            let pays = |sum: usize| window.len() > 1 && most * sum < alone;
            if frame(&window).is_some_and(pays) {
                let of: Vec<u64> = window.iter().map(|one| one.index).collect();
                taken.extend(of.iter().copied());
                self.answers.push_back(Answer { of, left: most });
            }
        }
        self.left.extend(still.iter().filter(|index| !taken.contains(index)));
        for index in &taken {
            let rounds = self.rounds.entry(*index).or_default();
            *rounds = rounds.saturating_add(1);
        }
        taken
    }

    /// Whether a sum is to be sent.
    pub(crate) fn answers(&self) -> bool {
        !self.answers.is_empty()
    }

    /// The messages of the next sum, once.
    pub(crate) fn poll(&mut self) -> Option<Vec<u64>> {
        let next = self.answers.front_mut()?;
        next.left = next.left.saturating_sub(1);
        let of = next.of.clone();
        if next.left == 0 {
            self.answers.pop_front();
        }
        Some(of)
    }

    /// It cannot be sent any more.
    pub(crate) fn on_gone(&mut self, index: u64) {
        self.rounds.remove(&index);
        self.left.remove(&index);
        self.answers.iter_mut().for_each(|answer| answer.of.retain(|other| *other != index));
    }
}

/// In parts that one frame can have a sum of. A sum is as long as its longest term, so that only those share one that
/// are about as long.
fn windows(of: &[Pending], frame: &impl Fn(&[Pending]) -> Option<usize>) -> Vec<Vec<Pending>> {
    let mut lengths: BTreeMap<u32, Vec<Vec<Pending>>> = BTreeMap::new();
    for one in of {
        let windows = lengths.entry(one.bytes.max(1).ilog2()).or_default();
        if let Some(last) = windows.last_mut() {
            last.push(*one);
            if frame(last).is_some() {
                continue;
            }
            last.pop();
        }
        windows.push(Vec::from([*one]));
    }
    lengths.into_values().flatten().collect()
}

//! What others ask of this node itself: short messages of which they lack different ones are sent as sums, as many
//! as the one lacks that lacks most.
//!
//! The session's sender gathers requests, and says when their round is over; this keeps who asked for what. What
//! one alone asks for waits for another round, in which others may ask, as long as there is something else to
//! send. What somebody asks for that may not read sums goes as it is, and so does what was asked for again and again.

use alloc::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    vec::Vec,
};
use fanfare_proto::{Duration, NodeId, Time};

/// Nodes whose requests are told from each other. In larger groups most overhear that others ask.
const NODES_MAX: usize = 128;
/// Messages noted of each: as many as ten sums have.
const ASKED_MAX: usize = 1024;
/// So many rounds a message is in sums: who asks for it still may lack other terms of them for good.
const ROUNDS_MAX: u8 = 8;

/// Sums that wait to be sent: while there are more, what is asked for goes as it is, which is sent once whoever asks.
const ANSWERS_MAX: usize = 256;
/// A sum more goes with so many: who misses one of them has nothing of all until it has another. With none, and
/// 30 % loss, messages came half as late again; with one for four fewer were sent at 10 %.
const SPARE: usize = 6;

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

/// When a round is over, and what it goes by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Closing {
    pub(crate) now: Time,
    /// How long what one alone lacks may wait: no time where there is nothing else to send.
    pub(crate) patience: Duration,
    /// What is asked so soon after it was sent may have been asked before it came: a GRTT.
    pub(crate) holdoff: Duration,
}

/// What becomes of what was to be sent.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Closed {
    /// It is the session's no more: sums will go for it.
    pub(crate) taken: Vec<u64>,
    /// It is the session's again.
    pub(crate) given: Vec<u64>,
}

/// What a node lacks, for which it is owed as many sums.
#[derive(Debug)]
struct Owed {
    since: Time,
    of: BTreeSet<u64>,
}

/// Sums that are to be sent, all of the same messages, and what they bring to whom.
#[derive(Debug)]
struct Answer {
    of: Vec<u64>,
    left: usize,
    serves: BTreeMap<NodeId, BTreeSet<u64>>,
}

/// What a node has been sent.
#[derive(Debug)]
struct Served {
    until: Time,
    node: NodeId,
    of: BTreeSet<u64>,
}

/// The requests of a round, and the answers to those before.
#[derive(Debug, Default)]
pub(crate) struct Round {
    asked: BTreeMap<NodeId, BTreeSet<u64>>,
    owed: BTreeMap<NodeId, Owed>,
    /// What was left to the session, as long as it has not sent it.
    left: BTreeSet<u64>,
    /// In how many rounds each was taken.
    rounds: BTreeMap<u64, u8>,
    answers: VecDeque<Answer>,
    /// What was sent within a GRTT.
    served: VecDeque<Served>,
    /// What was asked for again before that can have come.
    late: BTreeSet<u64>,
}

impl Round {
    /// A node asks for these. Gives how many there was no room for: they go as they are.
    pub(crate) fn on_request(
        &mut self,
        now: Time,
        node: NodeId,
        names: impl Iterator<Item = u64>,
    ) -> u64 {
        self.served.retain(|served| served.until > now);
        let under_way = |name: &u64| {
            let answered = self.answers.iter().flat_map(|answer| &answer.serves);
            let sent = self.served.iter().map(|served| (&served.node, &served.of));
            answered.chain(sent).any(|(to, of)| *to == node && of.contains(name))
        };
        let (late, names): (Vec<u64>, Vec<u64>) = names.partition(under_way);
        self.late.extend(late);
        let names = names.into_iter();
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

    /// Whether anything was asked for since the last round.
    pub(crate) fn is_open(&self) -> bool {
        !self.asked.is_empty() || !self.late.is_empty()
    }

    /// When what waits has waited so long.
    pub(crate) fn due(&self, patience: Duration) -> Option<Time> {
        self.owed.values().map(|owed| owed.since + patience).min()
    }

    /// The session is to send these again, or what waits has waited long enough. `reads` says who reads sums, `pending`
    /// what a message takes, if it can still be sent, and `frame` the bytes of a sum, where one frame holds it.
    pub(crate) fn close(
        &mut self,
        closing: Closing,
        repairs: &[u64],
        reads: impl Fn(NodeId) -> bool,
        pending: impl Fn(u64) -> Option<Pending>,
        frame: impl Fn(&[Pending]) -> Option<usize>,
    ) -> Closed {
        self.served.retain(|served| served.until > closing.now);
        let taken = self.take(closing.now, repairs, reads, &pending);
        let owed: BTreeSet<u64> = self.owed.values().flat_map(|owed| &owed.of).copied().collect();
        let (all, gone): (Vec<_>, Vec<_>) =
            owed.into_iter().map(|index| pending(index).ok_or(index)).partition(Result::is_ok);
        gone.into_iter().filter_map(Result::err).for_each(|index| self.on_gone(index));
        let all: Vec<Pending> = all.into_iter().flatten().collect();
        let mut given = Vec::new();
        for window in windows(&all, &frame) {
            given.extend(self.answer(closing, &window, &frame));
        }
        self.left.extend(&given);
        self.owed.retain(|_, owed| !owed.of.is_empty());
        Closed { taken, given }
    }

    /// What all who ask for it can have in sums they are owed from now on.
    fn take(
        &mut self,
        now: Time,
        repairs: &[u64],
        reads: impl Fn(NodeId) -> bool,
        pending: &impl Fn(u64) -> Option<Pending>,
    ) -> Vec<u64> {
        let repairs: BTreeSet<u64> = repairs.iter().copied().collect();
        self.left.retain(|index| repairs.contains(index));
        if self.left.len() == repairs.len() {
            // No round has ended: what is asked for in it is still being gathered.
            return Vec::new();
        }
        let asked = core::mem::take(&mut self.asked);
        let late = core::mem::take(&mut self.late);
        let answers: usize = self.answers.iter().map(|answer| answer.left).sum();
        let fits = |index: &u64| {
            let rounds = self.rounds.get(index).copied().unwrap_or(0);
            // What nobody is known to have asked for: there was no room for somebody.
            let mut by = asked.iter().filter(|(_, names)| names.contains(index)).peekable();
            let known =
                (by.peek().is_some() || late.contains(index)) && by.all(|(node, _)| reads(*node));
            let room = rounds < ROUNDS_MAX && answers < ANSWERS_MAX;
            known && room && !self.left.contains(index) && pending(*index).is_some()
        };
        let (fit, left): (Vec<u64>, Vec<u64>) = repairs.into_iter().partition(fits);
        for index in &fit {
            let rounds = self.rounds.entry(*index).or_default();
            *rounds = rounds.saturating_add(1);
        }
        for (node, names) in asked {
            let names = fit.iter().filter(|index| names.contains(*index));
            let new = || Owed { since: now, of: BTreeSet::new() };
            self.owed.entry(node).or_insert_with(new).of.extend(names);
        }
        // Who is owed what goes by itself has it then.
        self.owed.values_mut().for_each(|owed| owed.of.retain(|index| !left.contains(index)));
        self.left.extend(left);
        fit
    }

    /// Sums of what one frame holds, for all who are owed any of it. Gives what is to be sent as it is.
    fn answer(
        &mut self,
        Closing { now, patience, holdoff }: Closing,
        window: &[Pending],
        frame: &impl Fn(&[Pending]) -> Option<usize>,
    ) -> Vec<u64> {
        let within: BTreeSet<u64> = window.iter().map(|one| one.index).collect();
        let full = self.owed.len() > NODES_MAX;
        let (mut lack, mut overdue) = (BTreeMap::new(), false);
        for (node, owed) in &self.owed {
            let of: BTreeSet<u64> = owed.of.intersection(&within).copied().collect();
            if !of.is_empty() {
                lack.insert(*node, of);
                overdue |= full || owed.since + patience <= now;
            }
        }
        if lack.len() < 2 && !overdue {
            return Vec::new();
        }
        let most = lack.values().map(BTreeSet::len).max().unwrap_or(0);
        for (node, of) in &lack {
            if let Some(owed) = self.owed.get_mut(node) {
                owed.of.retain(|index| !of.contains(index));
            }
            // What it has asked for meanwhile is answered, too.
            if let Some(asked) = self.asked.get_mut(node) {
                self.late.extend(of.iter().filter(|index| asked.remove(index)));
            }
        }
        let sums = most + most / SPARE;
        let alone: usize = window.iter().map(|one| one.alone).sum();
        let pays = |bytes: usize| window.len() > 1 && sums * bytes < alone;
        let of: Vec<u64> = within.into_iter().collect();
        if frame(window).is_some_and(pays) {
            self.answers.push_back(Answer { of, left: sums, serves: lack });
            return Vec::new();
        }
        self.on_served(now + holdoff, lack);
        of
    }

    fn on_served(&mut self, until: Time, serves: BTreeMap<NodeId, BTreeSet<u64>>) {
        self.served.extend(serves.into_iter().map(|(node, of)| Served { until, node, of }));
    }

    /// Whether a sum is to be sent.
    pub(crate) fn answers(&self) -> bool {
        !self.answers.is_empty()
    }

    /// The messages of the next sum, once.
    pub(crate) fn poll(&mut self, until: Time) -> Option<Vec<u64>> {
        let next = self.answers.front_mut()?;
        next.left = next.left.saturating_sub(1);
        if next.left > 0 {
            return Some(next.of.clone());
        }
        let Answer { of, serves, .. } = self.answers.pop_front()?;
        self.on_served(until, serves);
        Some(of)
    }

    /// It cannot be sent any more.
    pub(crate) fn on_gone(&mut self, index: u64) {
        self.rounds.remove(&index);
        self.left.remove(&index);
        self.owed.values_mut().for_each(|owed| drop(owed.of.remove(&index)));
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

//! Requests for this node's own short messages. Requesters lack different ones, so the answer is
//! sums: as many as the requester lacks that lacks most.
//!
//! The session's sender aggregates requests and says when a round is over. This file remembers who
//! requested what. If only one node requested a message, it waits for another round in which others
//! may request it, as long as there is something else to send. A message goes as it is if a
//! requester cannot decode sums, or if it was requested again and again.

use alloc::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    vec::Vec,
};
use fanfare_proto::{Duration, NodeId, Time};

/// Nodes whose requests are told from each other. In larger groups most overhear that others ask.
const NODES_MAX: usize = 128;
/// Messages noted of each: as many as ten sums have.
const ASKED_MAX: usize = 1024;
/// So many rounds a message is in sums: who requests it still may lack other terms of them for good.
const ROUNDS_MAX: u8 = 8;

/// Sums that wait to be sent: while there are more, what is requested goes as it is, which is sent once whoever asks.
const ANSWERS_MAX: usize = 256;
/// A sum more goes with so many: who misses one of them has nothing of all until it has another. With none, and
/// 30 % loss, messages came a fifth later; with one for four fewer were sent at 10 %.
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
    pub(crate) hold: Duration,
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
pub(crate) struct RepairRound {
    asked: BTreeMap<NodeId, BTreeSet<u64>>,
    owed: BTreeMap<NodeId, Owed>,
    /// What was left to the session, as long as it has not sent it.
    left: BTreeSet<u64>,
    /// In how many rounds each was taken.
    rounds: BTreeMap<u64, u8>,
    answers: VecDeque<Answer>,
    /// What was sent within a GRTT.
    served: VecDeque<Served>,
    /// What was requested again before that can have come.
    late: BTreeSet<u64>,
}

impl RepairRound {
    /// A node requests these. Gives how many there was no room for: they go as they are.
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
        let mut names = names;
        let heeded: Vec<u64> = names.by_ref().take(ASKED_MAX).collect();
        let (late, heeded): (Vec<u64>, Vec<u64>) = heeded.into_iter().partition(under_way);
        self.late.extend(late);
        let dropped = names.count() as u64;
        let full = self.asked.len() >= NODES_MAX && !self.asked.contains_key(&node);
        if full || heeded.is_empty() {
            return dropped + heeded.len() as u64;
        }
        let asked = self.asked.entry(node).or_default();
        let new: Vec<u64> = heeded.into_iter().filter(|name| !asked.contains(name)).collect();
        let room = ASKED_MAX - asked.len();
        let more = new.len().saturating_sub(room);
        asked.extend(new.into_iter().take(room));
        dropped + more as u64
    }

    /// Whether anything was requested since the last round.
    pub(crate) fn is_open(&self) -> bool {
        !self.asked.is_empty() || !self.late.is_empty()
    }

    /// Whether the session has yet to send something that was left to it, as far as is known.
    pub(crate) fn has_left(&self) -> bool {
        !self.left.is_empty()
    }

    /// The session is to send these: what else was left to it has been sent.
    pub(crate) fn on_pending(&mut self, repairs: &BTreeSet<u64>) {
        self.left.retain(|index| repairs.contains(index));
    }

    /// When what waits has waited so long.
    pub(crate) fn due(&self, hold: Duration) -> Option<Time> {
        self.owed.values().map(|owed| owed.since + hold).min()
    }

    /// The session is to send these again, or what waits has waited long enough. `reads` says who reads sums, `pending`
    /// what a message takes, if it can still be sent, and `frame` the bytes of a sum, where one frame holds it.
    pub(crate) fn close(
        &mut self,
        closing: Closing,
        repairs: &BTreeSet<u64>,
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

    /// What all who request it can have in sums they are owed from now on.
    fn take(
        &mut self,
        now: Time,
        repairs: &BTreeSet<u64>,
        reads: impl Fn(NodeId) -> bool,
        pending: &impl Fn(u64) -> Option<Pending>,
    ) -> Vec<u64> {
        self.on_pending(repairs);
        if self.left.len() == repairs.len() {
            // No round has ended: what is requested in it is still being gathered.
            return Vec::new();
        }
        let asked = core::mem::take(&mut self.asked);
        let late = core::mem::take(&mut self.late);
        let answers: usize = self.answers.iter().map(|answer| answer.left).sum();
        let fits = |index: &u64| -> bool {
            let rounds = self.rounds.get(index).copied().unwrap_or(0);
            // What nobody is known to have requested: there was no room for somebody.
            let mut by = asked.iter().filter(|(_, names)| names.contains(index)).peekable();
            let known =
                (by.peek().is_some() || late.contains(index)) && by.all(|(node, _)| reads(*node));
            let room = rounds < ROUNDS_MAX && answers < ANSWERS_MAX;
            known && room && !self.left.contains(index) && pending(*index).is_some()
        };
        let (fit, left): (Vec<u64>, Vec<u64>) = repairs.iter().copied().partition(fits);
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
        Closing { now, hold, holdoff }: Closing,
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
                overdue |= full || owed.since + hold <= now;
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
            // What it has requested meanwhile is answered, too.
            if let Some(asked) = self.asked.get_mut(node) {
                self.late.extend(of.iter().filter(|index| asked.remove(index)));
            }
        }
        let sums = most + most / SPARE;
        let alone: usize = window.iter().map(|one| one.alone).sum();
        let waiting: usize = self.answers.iter().map(|answer| answer.left).sum();
        let room = waiting + sums <= ANSWERS_MAX;
        let pays = |bytes: usize| room && window.len() > 1 && sums * bytes < alone;
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
        self.owed.values_mut().for_each(|owed| owed.of.retain(|other| *other != index));
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

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    const GRTT: Duration = Duration::from_millis(50);
    const HOLD: Duration = Duration::from_millis(750);

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }
    fn ask(round: &mut RepairRound, ms: u64, node: u32, names: &[u64]) -> u64 {
        round.on_request(at(ms), NodeId(node), names.iter().copied())
    }
    /// Of messages of 1000 bytes, but those from 100 on of 200 bytes. Nodes from 50 on read no sums.
    fn pending(index: u64) -> Option<Pending> {
        let bytes = if index < 100 { 1000 } else { 200 };
        (index < 1_000_000).then_some(Pending { index, bytes, alone: bytes + 10, age: GRTT })
    }
    fn frame(of: &[Pending]) -> Option<usize> {
        let longest = of.iter().map(|one| one.bytes).max()?;
        (of.len() <= 20).then_some(longest + 30)
    }
    fn closed(round: &mut RepairRound, ms: u64, hold: Duration, repairs: &[u64]) -> Closed {
        let closing = Closing { now: at(ms), hold, holdoff: GRTT };
        round.close(closing, &repairs.iter().copied().collect(), |node| node.0 < 50, pending, frame)
    }
    fn close(round: &mut RepairRound, ms: u64, repairs: &[u64]) -> (Vec<u64>, Vec<u64>) {
        let Closed { taken, given } = closed(round, ms, HOLD, repairs);
        (taken, given)
    }
    fn sums(round: &mut RepairRound, ms: u64) -> Vec<Vec<u64>> {
        core::iter::from_fn(|| round.poll(at(ms) + GRTT)).collect()
    }

    #[test]
    fn as_many_sums_are_sent_as_the_neediest_of_three_requesters_lacks() {
        let mut round = RepairRound::default();
        ask(&mut round, 0, 1, &[5, 6]);
        ask(&mut round, 1, 2, &[7]);
        ask(&mut round, 2, 3, &[6, 8]);
        assert_eq!(close(&mut round, 300, &[5, 6, 7, 8]), (vec![5, 6, 7, 8], vec![]));
        assert_eq!(sums(&mut round, 300), vec![vec![5, 6, 7, 8]; 2]);
        assert!(!round.answers() && round.due(HOLD).is_none());
    }

    #[test]
    fn spare_sums_are_sent_when_many_lack_much() {
        let mut round = RepairRound::default();
        ask(&mut round, 0, 1, &[0, 1, 2, 3, 4, 5]);
        ask(&mut round, 0, 2, &[6, 7, 8, 9]);
        let all: Vec<u64> = (0..10).collect();
        close(&mut round, 300, &all);
        assert_eq!(sums(&mut round, 300).len(), 6 + 1);
    }

    #[test]
    fn a_message_requested_by_one_node_waits_for_others_and_then_goes_as_it_is() {
        let mut round = RepairRound::default();
        ask(&mut round, 0, 1, &[5, 6]);
        assert_eq!(close(&mut round, 300, &[5, 6]), (vec![5, 6], vec![]));
        assert_eq!((round.due(HOLD), round.answers()), (Some(at(1050)), false));
        ask(&mut round, 400, 2, &[9]);
        assert_eq!(close(&mut round, 700, &[9]), (vec![9], vec![]));
        assert_eq!(sums(&mut round, 700), vec![vec![5, 6, 9]; 2]);
        ask(&mut round, 800, 1, &[10]);
        close(&mut round, 900, &[10]);
        assert_eq!(close(&mut round, 1649, &[]), (vec![], vec![]));
        assert_eq!(close(&mut round, 1650, &[]), (vec![], vec![10]));
        assert_eq!(round.due(HOLD), None);
    }

    #[test]
    fn requests_do_not_wait_when_there_is_nothing_else_to_send() {
        let mut round = RepairRound::default();
        ask(&mut round, 0, 1, &[5, 6]);
        let Closed { taken, given } = closed(&mut round, 300, Duration::ZERO, &[5, 6]);
        assert_eq!((taken, given), (vec![5, 6], vec![5, 6]));
    }

    #[test]
    fn requests_of_nodes_that_cannot_decode_sums_are_left_to_the_session() {
        let mut round = RepairRound::default();
        ask(&mut round, 0, 1, &[5, 6]);
        ask(&mut round, 0, 2, &[7]);
        ask(&mut round, 0, 50, &[6]);
        // Nobody is known to have requested the last.
        assert_eq!(close(&mut round, 300, &[5, 6, 7, 8]).0, [5, 7]);
        assert_eq!(sums(&mut round, 300), [vec![5, 7]]);
        // It has yet to be sent, and stays so whoever asks.
        ask(&mut round, 400, 3, &[6]);
        assert_eq!(close(&mut round, 500, &[6]), (vec![], vec![]));
    }

    #[test]
    fn sums_that_cost_no_less_than_the_messages_are_not_sent() {
        let mut round = RepairRound::default();
        ask(&mut round, 0, 1, &[5, 6]);
        ask(&mut round, 0, 2, &[5, 6]);
        assert_eq!(close(&mut round, 300, &[5, 6]), (vec![5, 6], vec![5, 6]));
        assert!(!round.answers());
    }

    #[test]
    fn only_what_is_about_as_long_and_fits_shares_a_sum() {
        let mut round = RepairRound::default();
        let (a, b): (Vec<u64>, Vec<u64>) = ((80..104).collect(), (104..108).collect());
        ask(&mut round, 0, 1, &[&a[12..22], &b].concat());
        ask(&mut round, 0, 2, &[&a[..12], &a[22..]].concat());
        let all = [a, b].concat();
        close(&mut round, 300, &all);
        let lengths: BTreeSet<(u64, usize)> =
            sums(&mut round, 300).iter().map(|of| (of[0], of.len())).collect();
        // Twenty of the long ones, and the short ones.
        assert_eq!(lengths, [(80, 20), (100, 8)].into());
    }

    #[test]
    fn a_request_sent_before_the_answer_arrived_is_not_answered_again() {
        let mut round = RepairRound::default();
        ask(&mut round, 0, 1, &[5]);
        ask(&mut round, 0, 2, &[7]);
        close(&mut round, 300, &[5, 7]);
        ask(&mut round, 310, 1, &[5]);
        assert_eq!(sums(&mut round, 320).len(), 1);
        ask(&mut round, 360, 2, &[7]);
        assert_eq!(close(&mut round, 600, &[5, 7]), (vec![5, 7], vec![]));
        assert!(!round.answers() && round.due(HOLD).is_none());
        ask(&mut round, 700, 1, &[5]);
        close(&mut round, 900, &[5]);
        assert!(round.due(HOLD).is_some());
    }

    #[test]
    fn a_message_requested_again_and_again_goes_as_it_is() {
        let mut round = RepairRound::default();
        let taken = (0..12).map(|n| {
            ask(&mut round, n * 1000, 1, &[5]);
            ask(&mut round, n * 1000, 2, &[7 + n]);
            let taken = close(&mut round, n * 1000 + 300, &[5, 7 + n]).0.contains(&5);
            sums(&mut round, n * 1000 + 300);
            taken
        });
        assert_eq!(taken.filter(|taken| *taken).count(), usize::from(ROUNDS_MAX));
        round.on_gone(5);
        assert!(!round.rounds.contains_key(&5));
    }

    #[test]
    fn requests_beyond_the_limit_are_counted_and_sums_do_not_pile_up() {
        let mut round = RepairRound::default();
        let all: Vec<u64> = (0..2000).collect();
        assert_eq!(ask(&mut round, 0, 1, &all), 2000 - ASKED_MAX as u64);
        assert_eq!(ask(&mut round, 0, 1, &all[..10]), 0);
        assert_eq!(ask(&mut round, 0, 1, &[5000]), 1);
        (2..NODES_MAX as u32 + 1).for_each(|node| assert_eq!(ask(&mut round, 0, node, &[3]), 0));
        assert_eq!(ask(&mut round, 0, 1000, &[3, 4]), 2);
        let mut round = RepairRound::default();
        for n in 0..1000_u64 {
            ask(&mut round, n, 1, &[2 * n % 90]);
            ask(&mut round, n, 2, &[(2 * n + 1) % 90]);
            close(&mut round, n, &[2 * n % 90, (2 * n + 1) % 90]);
        }
        assert!(round.answers.iter().map(|answer| answer.left).sum::<usize>() <= ANSWERS_MAX);
        assert!(round.served.len() <= 2 * 50);
    }

    #[test]
    fn purged_messages_are_in_no_sum() {
        let mut round = RepairRound::default();
        ask(&mut round, 0, 1, &[5]);
        ask(&mut round, 0, 2, &[7]);
        ask(&mut round, 0, 3, &[8]);
        close(&mut round, 300, &[5, 7, 8]);
        round.on_gone(7);
        assert_eq!(sums(&mut round, 300), [[5, 8]]);
    }
}

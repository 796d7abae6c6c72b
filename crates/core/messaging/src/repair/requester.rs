//! Requests objects of a silent origin from the group: soon when another node has them, and less
//! and less often when nobody answers.

use alloc::collections::BTreeMap;
use fanfare_proto::{Duration, Incarnation, Time, TimerQueue};

/// Shortest time between two questions; what one takes to be answered, if that is longer.
const INTERVAL_MIN: Duration = Duration::from_secs(1);
/// The same after an answer, where messages are used in order: what is missing then is waited for. It is
/// more than an answer takes in a network of vehicles that is not full.
const INTERVAL_IN_ORDER: Duration = Duration::from_millis(100);
/// Longest: like the longest interval of announcements, which bring news sooner.
const INTERVAL_MAX: Duration = Duration::from_secs(64);
/// Origins requested.
const ORIGINS_MAX: usize = 1024;

#[derive(Debug)]
struct Origin {
    /// Its own word was heard.
    heard: Time,
    /// Anything was heard of it, or it was requested.
    used: Time,
    /// How long it may be silent without being missed, and what an answer takes.
    patience: Duration,
    interval: Duration,
    next: Time,
    /// When that was requested last which answers had passed over.
    passed: Option<Time>,
}

impl Origin {
    /// The first question comes when it has been silent.
    fn begin(&mut self, from: Time, least: Duration) {
        self.interval = self.patience.max(least);
        self.next = from + self.interval;
    }
}

/// One for all origins.
#[derive(Debug)]
pub(crate) struct Requester {
    /// Shortest time from an answer to the next question.
    after_answer: Duration,
    origins: BTreeMap<Incarnation, Origin>,
    /// Origins that gave way to others.
    dropped: u64,
    /// When each is requested next; of those that rest nothing.
    timer_queue: TimerQueue<Incarnation, Time>,
}

impl Requester {
    /// `in_order`: messages are used in their order, so that all wait for the first that is missing.
    pub(crate) fn new(in_order: bool) -> Self {
        let after_answer = if in_order { INTERVAL_IN_ORDER } else { INTERVAL_MIN };
        let (origins, timer_queue) = (BTreeMap::new(), TimerQueue::default());
        Self { after_answer, origins, dropped: 0, timer_queue }
    }

    /// The origin itself was heard: the session knows when to ask. `origin_timeout` is what an answer takes.
    pub(crate) fn on_heard(&mut self, now: Time, origin: Incarnation, patience: Duration) {
        let known = self.entry(now, origin, patience);
        known.heard = now;
        known.begin(now, INTERVAL_MIN);
        self.note(origin);
    }

    /// Keeps the timetable.
    fn note(&mut self, origin: Incarnation) {
        let next = self.origins.get(&origin).map(|known| known.next);
        self.timer_queue.set(origin, next.filter(|next| *next < Time::FAR_FUTURE));
    }

    fn entry(&mut self, now: Time, origin: Incarnation, patience: Duration) -> &mut Origin {
        if self.origins.len() >= ORIGINS_MAX && !self.origins.contains_key(&origin) {
            // The one that was of no use for longest, first of those that rest.
            let least =
                self.origins.iter().min_by_key(|(_, o)| (o.next < Time::FAR_FUTURE, o.used));
            if let Some(gone) = least.map(|(origin, _)| *origin) {
                self.forget(gone);
                self.dropped += 1;
            }
        }
        let interval = patience.max(INTERVAL_MIN);
        let (heard, next) = (Time::ZERO, now + interval);
        let new = || Origin { heard, used: now, patience, interval, next, passed: None };
        let known = self.origins.entry(origin).or_insert_with(new);
        (known.patience, known.used) = (patience, now);
        known
    }

    /// Nothing of it is requested any more.
    pub(crate) fn forget(&mut self, origin: Incarnation) {
        self.origins.remove(&origin);
        self.note(origin);
    }

    /// Origins that gave way.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Others brought something that was missing: there is somebody to ask. The next question waits
    /// until nothing more comes.
    pub(crate) fn on_progress(&mut self, now: Time, origin: Incarnation, patience: Duration) {
        let least = self.after_answer;
        self.entry(now, origin, patience).begin(now, least);
        self.note(origin);
    }

    /// Others answer, and have passed something over: whether it is requested now. Where nobody has it,
    /// all that they go on to send would bring a request.
    pub(crate) fn asks_before(&mut self, now: Time, origin: Incarnation) -> bool {
        let Some(known) = self.origins.get_mut(&origin) else { return false };
        let due = known.passed.is_none_or(|at| now.since(at) >= INTERVAL_IN_ORDER);
        known.passed = if due { Some(now) } else { known.passed };
        due
    }

    /// Somebody says that it has what is missing here.
    pub(crate) fn on_promise(&mut self, now: Time, origin: Incarnation, patience: Duration) {
        let known = self.entry(now, origin, patience);
        let soon = known.patience.max(INTERVAL_MIN);
        // A question that is under way need not be asked twice.
        if known.interval > soon * 2 {
            known.interval = soon;
            known.next = known.next.min(now);
        }
        self.note(origin);
    }

    /// Whether the origin has not been heard for as long as it takes to ask.
    pub(crate) fn is_silent(&self, now: Time, origin: Incarnation) -> bool {
        let silent = |known: &Origin| now.since(known.heard) >= known.patience.max(INTERVAL_MIN);
        self.origins.get(&origin).is_none_or(silent)
    }

    /// Origins to request now.
    pub(crate) fn poll(&mut self, now: Time) -> Option<Incarnation> {
        let due = self.timer_queue.iter().take_while(|(next, _)| *next <= now);
        let origin = due.map(|(_, origin)| origin).min()?;
        let known = self.origins.get_mut(&origin)?;
        known.interval = (known.interval * 2).min(INTERVAL_MAX);
        known.next = now + known.interval;
        self.note(origin);
        Some(origin)
    }

    /// Nothing of it is missing: there is nothing to ask until something is heard of it.
    pub(crate) fn rest(&mut self, origin: Incarnation) {
        if let Some(known) = self.origins.get_mut(&origin) {
            known.next = Time::FAR_FUTURE;
        }
        self.note(origin);
    }

    pub(crate) fn next_timeout(&self) -> Option<Time> {
        self.timer_queue.first().map(|(next, _)| next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use fanfare_proto::{InstanceId, NodeId};

    const ORIGIN: Incarnation = (NodeId(1), InstanceId(1));
    const PATIENCE: Duration = Duration::from_secs(2);

    fn incarnation(node: u32) -> Incarnation {
        (NodeId(node), InstanceId(1))
    }
    fn at(s: u64) -> Time {
        Time::ZERO + Duration::from_secs(s)
    }
    fn questions(requester: &mut Requester, until: u64) -> Vec<u64> {
        let mut asked = Vec::new();
        while let Some(now) = requester.next_timeout().filter(|now| *now < at(until)) {
            assert_eq!(requester.poll(now), Some(ORIGIN));
            asked.push(now.as_nanos() / 1_000_000_000);
        }
        asked
    }

    #[test]
    fn unanswered_requests_become_rare() {
        let mut requester = Requester::new(false);
        requester.on_heard(at(0), ORIGIN, PATIENCE);
        assert_eq!(questions(&mut requester, 300), [2, 6, 14, 30, 62, 126, 190, 254]);
    }

    #[test]
    fn no_request_is_sent_while_data_arrives_and_one_soon_after() {
        let mut requester = Requester::new(false);
        requester.on_heard(at(0), ORIGIN, PATIENCE);
        questions(&mut requester, 100);
        requester.on_progress(at(100), ORIGIN, PATIENCE);
        requester.on_progress(at(101), ORIGIN, PATIENCE);
        assert_eq!(questions(&mut requester, 110), [103, 107]);
    }

    #[test]
    fn where_messages_are_used_in_order_the_next_question_comes_a_tenth_of_a_second_after_an_answer()
     {
        let patience = Duration::from_millis(50);
        let next = |in_order: bool| {
            let mut requester = Requester::new(in_order);
            requester.on_heard(at(0), ORIGIN, patience);
            assert_eq!(requester.next_timeout(), Some(at(1)), "the publisher itself was heard");
            requester.on_progress(at(1), ORIGIN, patience);
            requester.next_timeout().map(|next| next.since(at(1)))
        };
        assert_eq!(next(true), Some(Duration::from_millis(100)));
        assert_eq!(next(false), Some(Duration::from_secs(1)));
    }

    #[test]
    fn what_answers_pass_over_is_requested_at_once_and_then_ten_times_a_second_at_most() {
        let mut requester = Requester::new(true);
        assert!(!requester.asks_before(at(1), ORIGIN), "nothing of it was ever missing");
        requester.on_progress(at(1), ORIGIN, PATIENCE);
        let asked = (0..300).map(|ms| at(1) + Duration::from_millis(ms));
        assert_eq!(asked.filter(|now| requester.asks_before(*now, ORIGIN)).count(), 3);
    }

    #[test]
    fn a_node_with_the_missing_object_is_asked_at_once() {
        let mut requester = Requester::new(false);
        requester.on_heard(at(0), ORIGIN, PATIENCE);
        questions(&mut requester, 100);
        requester.on_promise(at(100), ORIGIN, PATIENCE);
        assert_eq!(questions(&mut requester, 110), [100, 104]);
    }

    #[test]
    fn the_origins_unused_for_longest_are_dropped_when_there_are_too_many() {
        let mut requester = Requester::new(false);
        for n in 0..=ORIGINS_MAX as u32 {
            requester.on_heard(at(u64::from(n)), incarnation(n), PATIENCE);
        }
        assert_eq!((requester.origins.len(), requester.dropped()), (ORIGINS_MAX, 1));
        assert!(!requester.origins.contains_key(&incarnation(0)));
        requester.rest(incarnation(900));
        requester.on_heard(at(5000), incarnation(5000), PATIENCE);
        assert!(!requester.origins.contains_key(&incarnation(900)), "it rests");
        requester.forget(incarnation(5000));
        assert_eq!(requester.origins.len(), ORIGINS_MAX - 1);
    }

    #[test]
    fn a_node_that_lacks_nothing_waits_until_it_hears_more() {
        let mut requester = Requester::new(false);
        requester.on_heard(at(0), ORIGIN, PATIENCE);
        requester.rest(ORIGIN);
        assert_eq!(requester.next_timeout(), None);
        assert!(requester.is_silent(at(2), ORIGIN) && !requester.is_silent(at(1), ORIGIN));
        requester.on_heard(at(5), ORIGIN, PATIENCE);
        assert_eq!(requester.next_timeout(), Some(at(7)));
    }
}

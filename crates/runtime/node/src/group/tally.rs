//! What is known of the messages that a member publishes: sent, held by whom, lacked by whom, or of no
//! use any more.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use fanfare_messaging::Standing;
use fanfare_proto::{NodeId, ObjectKey};

use super::Fate;

/// Until then all who are there have been called on and have answered: each takes up to a second, and
/// there is a way there and back.
const ROLL: Duration = Duration::from_millis(2500);

/// What is known of one message, as long as it can be repaired.
#[derive(Debug)]
struct Course {
    /// How many messages it is, and how many were published before it.
    messages: u64,
    before: u64,
    /// Then nobody needs it any more.
    expires: Option<Instant>,
    sent: bool,
    standings: BTreeMap<NodeId, Standing>,
}

impl Course {
    fn is_held(&self) -> bool {
        self.standings.values().any(|standing| *standing == Standing::Holds)
    }

    /// Those who have said that they want it and lack something of it.
    fn lacking(&self) -> impl Iterator<Item = NodeId> {
        let lacks = |(node, standing): (&NodeId, &Standing)| {
            (*standing == Standing::Lacks).then_some(*node)
        };
        self.standings.iter().filter_map(lacks)
    }

    fn is_awaited(&self, now: Instant) -> bool {
        let of_use = self.expires.is_none_or(|end| now < end);
        of_use && (!self.is_held() || self.lacking().next().is_some())
    }
}

/// What a change was, for who wants to see it.
#[derive(Debug, PartialEq, Eq)]
pub enum News {
    /// An object of so many messages, and their bytes, is on its way.
    Published(ObjectKey, u32, u64),
    /// It has been sent.
    Sent(ObjectKey),
    /// This member has it.
    Held(ObjectKey, NodeId),
}

/// All messages.
#[derive(Debug, Default)]
pub struct Tally {
    /// How long each is of use.
    expiry: Option<Duration>,
    /// A message takes the place of all before it.
    replaces: bool,
    courses: BTreeMap<ObjectKey, Course>,
    /// Of which more is to be heard, the oldest first.
    awaited: BTreeSet<(u64, ObjectKey)>,
    newest: Option<(ObjectKey, Instant)>,
    holders: BTreeSet<NodeId>,
    /// Lacked what can no longer be repaired.
    deprived: BTreeSet<NodeId>,
    /// Has said nothing of some of them when time was up.
    silent: BTreeSet<NodeId>,
    messages: u64,
    bytes: u64,
    /// Of those that can no longer be repaired.
    held: u64,
    replaced: u64,
    changes: u64,
}

impl Tally {
    /// Of nothing yet. Messages are of no use after `expiry`; with `replaces`, an older one neither.
    #[must_use]
    pub fn new(expiry: Option<Duration>, replaces: bool) -> Self {
        Self { expiry, replaces, ..Self::default() }
    }

    /// So many messages of so many bytes have been published in this object.
    pub fn on_published(&mut self, now: Instant, key: ObjectKey, what: (u64, u64)) {
        let expires = self.expiry.map(|expiry| now + expiry);
        let ((messages, bytes), before) = (what, self.messages);
        let standings = BTreeMap::new();
        self.courses.insert(key, Course { messages, before, expires, sent: false, standings });
        self.awaited.insert((before, key));
        self.newest = Some((key, now));
        self.messages += messages;
        self.bytes += bytes;
        self.changes += 1;
    }

    /// Something is new of these objects. Gives what there is to see of it.
    pub fn on_fates(&mut self, now: Instant, fates: &[Fate]) -> Vec<News> {
        let mut news = Vec::new();
        // First of all that are on their way: which is the newest decides what is replaced.
        for Fate { key, messages, bytes, .. } in fates {
            if !self.courses.contains_key(key) {
                self.on_published(now, *key, (u64::from(*messages), *bytes));
                news.push(News::Published(*key, *messages, *bytes));
            }
        }
        news.extend(fates.iter().flat_map(|fate| self.on_fate(now, fate)));
        news
    }

    fn on_fate(&mut self, now: Instant, fate: &Fate) -> Vec<News> {
        let mut news = Vec::new();
        let Some(course) = self.courses.get_mut(&fate.key) else { return news };
        if fate.sent && !course.sent {
            course.sent = true;
            news.push(News::Sent(fate.key));
        }
        for (node, standing) in &fate.standings {
            course.standings.insert(*node, *standing);
            if *standing == Standing::Holds {
                self.holders.insert(*node);
                news.push(News::Held(fate.key, *node));
            }
        }
        self.changes += 1;
        self.settle(now, fate.key);
        if fate.gone {
            self.on_gone(fate.key);
        }
        news
    }

    fn settle(&mut self, now: Instant, key: ObjectKey) {
        let Some(course) = self.courses.get(&key) else { return };
        let place = (course.before, key);
        match course.is_awaited(now) {
            true => self.awaited.insert(place),
            false => self.awaited.remove(&place),
        };
    }

    fn on_gone(&mut self, key: ObjectKey) {
        let Some(course) = self.courses.remove(&key) else { return };
        self.awaited.remove(&(course.before, key));
        let is_newest = self.newest.is_some_and(|(newest, _)| newest == key);
        if course.is_held() {
            self.held += course.messages;
        } else if self.replaces && !is_newest {
            self.replaced += course.messages;
        }
        if !self.replaces {
            self.deprived.extend(course.lacking());
        }
    }

    /// Time has passed, and these nodes are known: nobody waits for who is gone, nor for what is of no
    /// use any more.
    pub fn on_members(&mut self, now: Instant, members: &BTreeSet<NodeId>) {
        let concerned: Vec<ObjectKey> = self.awaited.iter().map(|(_, key)| *key).collect();
        for key in concerned {
            if let Some(course) = self.courses.get_mut(&key) {
                // What it held it may hold still.
                let lacks = |standing: &Standing| *standing == Standing::Lacks;
                course.standings.retain(|node, what| members.contains(node) || !lacks(what));
            }
            self.settle(now, key);
        }
    }

    /// Whether the oldest of which more is to be heard has been sent: then that is for others to say.
    pub fn is_for_others_to_say(&self) -> bool {
        let oldest = self.awaited.first().and_then(|(_, key)| self.courses.get(key));
        oldest.is_some_and(|course| course.sent)
    }

    /// Changes so far.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Whether each has been sent once, or is held, or of no use any more.
    pub fn is_sent(&self) -> bool {
        let is_awaited = |key, course: &Course| self.awaited.contains(&(course.before, key));
        let is_out = |course: &Course| course.sent || course.is_held();
        self.courses.iter().all(|(key, course)| is_out(course) || !is_awaited(*key, course))
    }

    /// Whether all who are known have said that they hold, or do not want, all that can be had: not before
    /// who is there had time to say so for the first time.
    pub fn is_settled(&self, now: Instant, members: &BTreeSet<NodeId>) -> bool {
        let early = self.newest.is_some_and(|(_, at)| now.saturating_duration_since(at) < ROLL);
        let expired = |course: &Course| course.expires.is_some_and(|end| end <= now);
        let told = |course: &Course| members.iter().all(|node| course.standings.contains_key(node));
        self.awaited.is_empty()
            && !early
            && self.courses.values().all(|course| expired(course) || told(course))
    }

    /// Time is up, and these nodes are known to say what they hold. One that has said nothing of a message is not
    /// known to hold it, and counts as lacking it.
    pub fn on_time_up(&mut self, now: Instant, members: &BTreeSet<NodeId>) {
        self.silent = members.iter().copied().filter(|node| self.is_silent(now, *node)).collect();
    }

    /// More time has passed: those who have said it meanwhile, or have gone, lack nothing.
    pub fn on_more_time(&mut self, now: Instant, members: &BTreeSet<NodeId>) {
        let mut silent = std::mem::take(&mut self.silent);
        silent.retain(|node| members.contains(node) && self.is_silent(now, *node));
        self.silent = silent;
    }

    fn is_silent(&self, now: Instant, node: NodeId) -> bool {
        let expired = |course: &Course| course.expires.is_some_and(|end| end <= now);
        let of_use = |course: &Course| !expired(course) && !self.is_replaced(course);
        let mut courses = self.courses.values().filter(|course| of_use(course));
        courses.any(|course| !course.standings.contains_key(&node))
    }

    /// True if a newer message has taken its place.
    fn is_replaced(&self, course: &Course) -> bool {
        let newest = self.newest.and_then(|(key, _)| self.courses.get(&key));
        self.replaces && newest.is_some_and(|newest| course.before < newest.before)
    }

    /// Messages, those of them that are held, and those whose place a newer one took before that.
    pub fn counts(&self) -> (u64, u64, u64) {
        let held = self.courses.values().filter(|course| course.is_held());
        let held: u64 = held.map(|course| course.messages).sum();
        (self.messages, self.held + held, self.replaced)
    }

    /// Bytes of all that was published.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How many nodes hold anything.
    pub fn holders(&self) -> u64 {
        self.holders.len() as u64
    }

    /// Who wants something and lacks it.
    pub fn lacking(&self) -> BTreeSet<NodeId> {
        let lacking = self.courses.values().flat_map(Course::lacking);
        lacking.chain(self.deprived.union(&self.silent).copied()).collect()
    }
}

#[cfg(test)]
mod tests {
    use fanfare_proto::{InstanceId, ObjectTransportId};

    use super::*;

    fn key(object: u16) -> ObjectKey {
        let object = ObjectTransportId(object);
        ObjectKey { sender: NodeId(1), instance: InstanceId(1), object }
    }
    fn fate(object: u16, standings: &[(u32, Standing)]) -> Fate {
        let standings = standings.iter().map(|(node, standing)| (NodeId(*node), *standing));
        let (messages, bytes, standings) = (1, 10, standings.collect());
        Fate { key: key(object), messages, bytes, sent: true, gone: false, standings }
    }
    fn members(nodes: &[u32]) -> BTreeSet<NodeId> {
        nodes.iter().copied().map(NodeId).collect()
    }
    /// So many messages, published and sent.
    fn tally(count: u16, expiry: Option<Duration>, replaces: bool) -> (Tally, Instant) {
        let (mut tally, now) = (Tally::new(expiry, replaces), Instant::now());
        (0..count).for_each(|object| tally.on_published(now, key(object), (1, 10)));
        (tally, now)
    }

    #[test]
    fn it_is_not_settled_before_each_who_is_known_has_spoken_of_every_message() {
        let (mut tally, now) = tally(2, None, false);
        for object in [0, 1] {
            tally.on_fate(now, &fate(object, &[(7, Standing::Holds)]));
        }
        assert!(!tally.is_settled(now, &members(&[7])), "others may speak yet");
        let later = now + ROLL;
        assert!(tally.is_settled(later, &members(&[7])));
        assert!(!tally.is_settled(later, &members(&[7, 8])));
        tally.on_fate(later, &fate(0, &[(8, Standing::Holds)]));
        tally.on_fate(later, &fate(1, &[(8, Standing::Lacks)]));
        assert!(!tally.is_settled(later, &members(&[7, 8])));
        assert_eq!(tally.lacking(), members(&[8]));
        tally.on_fate(later, &fate(1, &[(8, Standing::Holds)]));
        assert!(tally.is_settled(later, &members(&[7, 8])));
        assert_eq!((tally.counts(), tally.holders()), ((2, 2, 0), 2));
    }

    #[test]
    fn messages_that_travel_together_are_known_from_when_they_are_on_their_way_and_all_count() {
        let (mut tally, now) = (Tally::new(None, false), Instant::now());
        let batch = Fate { messages: 300, bytes: 30_000, sent: false, ..fate(0, &[]) };
        let news = tally.on_fates(now, std::slice::from_ref(&batch));
        assert_eq!(news, [News::Published(key(0), 300, 30_000)]);
        assert!(!tally.is_sent());
        let news = tally.on_fates(now, &[Fate { sent: true, ..batch }]);
        assert_eq!(news, [News::Sent(key(0))]);
        tally.on_fate(now, &fate(0, &[(7, Standing::Holds)]));
        assert_eq!((tally.counts(), tally.bytes()), ((300, 300, 0), 30_000));
    }

    #[test]
    fn nobody_waits_for_who_has_left() {
        let (mut tally, now) = tally(1, None, false);
        tally.on_fate(now, &fate(0, &[(7, Standing::Holds), (8, Standing::Lacks)]));
        tally.on_members(now, &members(&[7]));
        assert!(tally.is_settled(now + ROLL, &members(&[7])) && tally.lacking().is_empty());
        let mut gone = members(&[]);
        tally.on_members(now, &gone);
        gone.insert(NodeId(9));
        assert_eq!(tally.counts(), (1, 1, 0), "what it held it may hold still");
    }

    #[test]
    fn what_a_newer_message_replaces_is_waited_for_no_longer() {
        let (mut tally, now) = tally(3, None, true);
        for object in [0, 1] {
            let gone = Fate { sent: false, gone: true, ..fate(object, &[]) };
            assert_eq!(tally.on_fate(now, &gone), []);
        }
        assert!(!tally.is_sent());
        let news = tally.on_fate(now, &fate(2, &[(7, Standing::Holds)]));
        assert_eq!(news, [News::Sent(key(2)), News::Held(key(2), NodeId(7))]);
        assert!(tally.is_sent() && tally.is_settled(now + ROLL, &members(&[7])));
        assert_eq!(tally.counts(), (3, 1, 2));
    }

    #[test]
    fn of_messages_that_are_known_and_replaced_at_once_all_but_the_newest_are_replaced() {
        let (mut tally, now) = (Tally::new(None, true), Instant::now());
        let gone = |object| Fate { gone: true, ..fate(object, &[]) };
        tally.on_fates(now, &[gone(0), gone(1), fate(2, &[(7, Standing::Holds)])]);
        assert_eq!(tally.counts(), (3, 1, 2));
    }

    #[test]
    fn what_has_expired_is_waited_for_no_longer_and_does_not_count_as_held() {
        let (mut tally, now) = tally(1, Some(Duration::from_secs(5)), false);
        tally.on_fate(now, &fate(0, &[(7, Standing::Lacks)]));
        let later = now + Duration::from_secs(5);
        tally.on_members(later, &members(&[7, 8]));
        assert!(tally.is_settled(later, &members(&[7, 8])));
        assert_eq!(tally.counts(), (1, 0, 0));
    }

    #[test]
    fn what_is_long_past_is_counted_and_forgotten_also_when_numbers_wrap() {
        let (mut tally, now) = (Tally::new(None, false), Instant::now());
        for number in 0..70_000_u32 {
            let object = number as u16;
            tally.on_published(now, key(object), (1, 1));
            tally.on_fate(now, &fate(object, &[(7, Standing::Holds)]));
            tally.on_fate(now, &Fate { gone: true, ..fate(object, &[]) });
        }
        assert_eq!((tally.counts(), tally.courses.len()), ((70_000, 70_000, 0), 0));
    }

    #[test]
    fn who_has_said_nothing_when_time_is_up_lacks_it_until_it_says_that_it_does_not() {
        let (mut tally, now) = (Tally::new(None, false), Instant::now());
        tally.on_published(now, key(0), (1, 10));
        let holds = |node| Fate {
            key: key(0),
            messages: 1,
            bytes: 10,
            sent: true,
            gone: false,
            standings: vec![(NodeId(node), Standing::Holds)],
        };
        tally.on_fates(now, &[holds(7)]);
        assert!(tally.lacking().is_empty());
        tally.on_time_up(now, &members(&[7, 8, 9]));
        assert_eq!(tally.lacking(), members(&[8, 9]));
        tally.on_fates(now, &[holds(8)]);
        tally.on_more_time(now, &members(&[7, 8, 9, 10]));
        assert_eq!(tally.lacking(), members(&[9]), "who comes now had no time");
        tally.on_more_time(now, &members(&[7, 8]));
        assert!(tally.lacking().is_empty(), "it has gone");
    }
}

//! Messages of `pub` on their way: published as there is room, then waited for.

use std::{
    collections::BTreeSet,
    io::{BufRead, BufReader, Read},
    sync::mpsc::RecvTimeoutError,
    time::{Duration, Instant},
};

use fanfare_command::json::{Held, Line, Published, Sent};
use fanfare_node::{
    group::{
        Body, BodyError, Group, GroupError, GroupStatus, Watch,
        tally::{News, Tally},
    },
    proto::{Bitrate, NodeId},
};

use super::options::Plan;
use crate::group::events;
use fanfare_command::{Failure, Output};

/// How often to ask what has become of the messages.
const POLL: Duration = Duration::from_millis(100);
/// Lines from one look at the clock to the next, while there are more at hand.
const LOOK_EACH: u32 = 64;
/// How often others are asked to say what they hold, at first, and in the end while that does not help.
const ASK_MIN: Duration = Duration::from_secs(2);
const ASK_MAX: Duration = Duration::from_secs(16);
/// Nothing at all has been sent for so long: that will not change by waiting. A segment at 100 bit/s takes
/// as long.
pub(super) const STALL: Duration = Duration::from_secs(120);

/// Repairs are waited for as long as they go on, but no longer than so many times what sending everything takes: a
/// subscriber may go on asking for ever.
const REPAIRS_MAX: u32 = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Done,
    TimedOut,
    /// Nothing is sent any more.
    Stalled,
    Interrupted,
}

/// When something was sent, or became known, last.
struct Progress {
    begun: Instant,
    at: Instant,
    seen: u64,
    /// Time at which everything had been sent once.
    sent: Option<Instant>,
    /// Least time in which everything could have been sent since then.
    least: Option<Duration>,
}

impl Progress {
    fn new(now: Instant) -> Self {
        Self { begun: now, at: now, seen: 0, sent: None, least: None }
    }

    /// Notes that so much has been `seen` by now.
    fn note(&mut self, now: Instant, seen: u64) {
        if seen != self.seen {
            (self.at, self.seen) = (now, seen);
        }
    }

    /// Notes that `bytes` may be sent at this rate by now. A subscriber that loses nearly everything slows the
    /// first sending down until it is known that the rate is not why: that time says nothing of repairs.
    fn note_rate(&mut self, rate: Bitrate, bytes: u64) {
        if self.sent.is_some() && rate.as_bps() > 0 {
            let time = Duration::from_secs_f64(bytes as f64 / rate.as_bytes_per_second());
            self.least = Some(self.least.map_or(time, |least| least.min(time)));
        }
    }

    /// True if nothing has been sent or become known for so long.
    fn has_stopped(&self, now: Instant, limit: Duration) -> bool {
        now.saturating_duration_since(self.at) >= limit
    }

    /// True if `wait` is over. It begins when everything `is_sent`, and again with each repair.
    fn is_over(&mut self, now: Instant, is_sent: bool, wait: Duration) -> bool {
        if !is_sent {
            return false;
        }
        let sent = *self.sent.get_or_insert(now);
        let took = sent.saturating_duration_since(self.begun);
        let repairs = self.least.map_or(took, |least| least.min(took)) * REPAIRS_MAX;
        now >= (self.at.max(sent) + wait).min(sent + wait + repairs)
    }
}

/// Nodes that are there, and that the messages concern.
#[derive(Debug)]
struct PresentNodes {
    all: BTreeSet<NodeId>,
    /// Those that say what they hold.
    telling: BTreeSet<NodeId>,
}

/// Messages on their way.
pub(super) struct Sending<'a> {
    group: &'a Group,
    output: &'a Output,
    plan: &'a Plan,
    tally: Tally,
    began: Instant,
    looked: Instant,
    /// When to ask others next to say what they hold, and how long after that again.
    ask: (Instant, Duration),
}

impl<'a> Sending<'a> {
    pub(super) fn new(group: &'a Group, output: &'a Output, plan: &'a Plan) -> Self {
        let tally = Tally::new(plan.options.expiry, plan.options.replaces);
        let began = Instant::now();
        let ask = (began + ASK_MIN, ASK_MIN);
        Self { group, output, plan, tally, began, looked: began, ask }
    }

    fn is_watched(&self) -> bool {
        self.plan.watch == Watch::Holders
    }

    pub(super) fn publish(&mut self, body: Body) -> Result<(), Failure> {
        let (size, topic) = (body.len(), self.plan.topic.clone());
        let key = self.group.publish(topic, body, self.plan.options, self.plan.watch)?;
        self.tally.on_published(Instant::now(), key, (1, size));
        self.show(&News::Published(key, 1, size));
        Ok(())
    }

    fn show(&self, news: &News) {
        self.output.event(&match *news {
            News::Published(key, messages, size) => {
                let topic = self.plan.topic.as_str().to_owned();
                let messages = Some(messages).filter(|messages| *messages > 1);
                Line::Published(Published { topic, id: key.object.0, size, messages })
            }
            News::Sent(key) => Line::Sent(Sent { id: key.object.0 }),
            News::Held(key, node) => Line::Held(Held { id: key.object.0, node: node.0 }),
        });
    }

    /// Each line is a message. Where they come fast, many travel together.
    pub(super) fn publish_lines(&mut self, source: Box<dyn Read>) -> Result<(), Failure> {
        let (mut lines, max) = (BufReader::new(source), self.plan.message_max);
        let Plan { topic, options, watch, .. } = self.plan;
        let (sender, mut line) = (self.group.sender(topic.clone(), *options, *watch), Vec::new());
        for count in 0_u32.. {
            line.clear();
            let limit = max.saturating_add(2);
            let read = (&mut lines).take(limit).read_until(b'\n', &mut line);
            if read.map_err(BodyError::Unreadable)? == 0 {
                break;
            }
            if line.last() == Some(&b'\n') {
                line.pop();
            }
            if line.len() as u64 > max {
                return Err(BodyError::TooLarge { max }.into());
            }
            sender.send(&line)?;
            // Whoever feeds line by line wants to see what becomes of them.
            let looks = count % LOOK_EACH == 0 || lines.buffer().is_empty();
            if looks && self.looked.elapsed() >= POLL {
                self.look()?;
                self.show_events(Duration::ZERO)?;
            }
        }
        sender.flush()?;
        self.look()?;
        Ok(())
    }

    /// Asks what has become of the messages, and gives who is there.
    fn look(&mut self) -> Result<PresentNodes, GroupError> {
        self.looked = Instant::now();
        let seen = self.tally.changes();
        let news = self.tally.on_fates(self.looked, &self.group.fates()?);
        news.into_iter().filter(|_| self.output.tells_events()).for_each(|news| self.show(&news));
        if self.tally.changes() != seen {
            self.ask.1 = ASK_MIN;
        }
        if self.is_watched() && self.tally.is_for_others_to_say() && self.ask.0 <= self.looked {
            self.group.ask_standings()?;
            self.ask = (self.looked + self.ask.1, ASK_MAX.min(self.ask.1 * 2));
        }
        let status = self.group.status()?;
        let elsewhere = |node: &NodeId| status.listeners_elsewhere.contains(node);
        let members = || status.members.iter().filter(|(node, _)| !elsewhere(node));
        let all = members().map(|(node, _)| *node).collect();
        // Who has told whom it hears is a group node, and says what it holds; a plain NORM node does not.
        let telling = members().filter(|(_, hears_us)| hears_us.is_some());
        Ok(PresentNodes { all, telling: telling.map(|(node, _)| *node).collect() })
    }

    /// Shows what happens for so long, and all that has.
    fn show_events(&self, time: Duration) -> Result<(), GroupError> {
        let end = Instant::now() + time;
        loop {
            match self.group.next_event(end.saturating_duration_since(Instant::now())) {
                Ok(event) => {
                    events::show(&event, self.output);
                }
                Err(RecvTimeoutError::Timeout) => return Ok(()),
                Err(RecvTimeoutError::Disconnected) => return Err(GroupError::Ended),
            }
        }
    }

    /// Until all is held by all who want it (or sent, when nobody needs to answer), or time is up.
    pub(super) fn wait(&mut self) -> End {
        let mut progress = Progress::new(self.began);
        loop {
            let Ok(there) = self.look() else { return End::Interrupted };
            let (now, members) = (Instant::now(), &there.all);
            self.tally.on_members(now, members);
            let done = match self.is_watched() {
                true => self.tally.is_settled(now, members),
                false => self.tally.is_sent(),
            };
            if done {
                return End::Done;
            }
            if let Ok(status) = self.group.status() {
                progress.note(now, self.seen(&status));
                progress.note_rate(status.rate, self.tally.bytes());
            }
            if progress.is_over(now, self.tally.is_sent(), self.plan.wait) {
                if self.is_watched() {
                    self.tally.on_time_up(now, &there.telling);
                }
                return End::TimedOut;
            }
            if progress.has_stopped(now, STALL.max(self.plan.wait)) {
                return End::Stalled;
            }
            if self.show_events(POLL).is_err() {
                return End::Interrupted;
            }
        }
    }

    /// Number of messages sent, and of changes that became known.
    fn seen(&self, status: &GroupStatus) -> u64 {
        let session = &status.session;
        let repairs = session.parity_repair_sent + session.explicit_repair_sent;
        session.source_sent + session.proactive_sent + repairs + self.tally.changes()
    }

    /// Answers requests for so long; false when it is stopped.
    pub(super) fn stay(&mut self, time: Duration) -> bool {
        let end = Instant::now() + time;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            if self.show_events(left.min(POLL)).is_err() {
                return false;
            }
            let Ok(there) = self.look() else { return false };
            self.tally.on_members(Instant::now(), &there.all);
            self.tally.on_more_time(Instant::now(), &there.telling);
        }
    }

    /// What is known of the messages.
    pub(super) fn into_tally(self) -> Tally {
        self.tally
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_has_an_end_only_where_nothing_goes_on() {
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        let mut progress = Progress::new(begun);
        progress.note(at(119), 1);
        assert!(!progress.has_stopped(at(238), STALL), "a segment at a slow rate");
        assert!(progress.has_stopped(at(239), STALL));
    }

    #[test]
    fn acknowledgements_are_waited_for_as_long_as_repairs_go_on_and_no_more_than_four_times_the_sending()
     {
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        let wait = Duration::from_secs(10);
        let mut progress = Progress::new(begun);
        progress.note(at(20), 100);
        assert!(!progress.is_over(at(99), false, wait), "not everything was sent");
        assert!(!progress.is_over(at(100), true, wait));
        progress.note(at(109), 101);
        assert!(!progress.is_over(at(118), true, wait) && progress.is_over(at(119), true, wait));
        (0..60).for_each(|n| progress.note(at(110 + 10 * n), 102 + n));
        assert!(!progress.is_over(at(509), true, wait));
        assert!(progress.is_over(at(510), true, wait), "they go on for ever");
    }

    #[test]
    fn a_sending_that_one_subscriber_slowed_down_does_not_lengthen_the_wait_for_repairs() {
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        let wait = Duration::from_secs(10);
        let mut progress = Progress::new(begun);
        progress.note_rate(Bitrate::mbps(100), 2_000_000);
        assert!(!progress.is_over(at(100), true, wait));
        progress.note_rate(Bitrate::mbps(16), 2_000_000);
        progress.note_rate(Bitrate::mbps(8), 2_000_000);
        (0..60).for_each(|n| progress.note(at(101 + n), 100 + n));
        assert!(!progress.is_over(at(113), true, wait));
        assert!(progress.is_over(at(114), true, wait), "four times the second that it takes");
    }
}

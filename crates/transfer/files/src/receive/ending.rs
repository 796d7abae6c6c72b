//! When receiving is over: everything has come, time is up, or the user wants to stop.

use std::time::Duration;

use crate::content::receipt::{State, Status};
use fanfare_proto::{NodeId, Session, Time};

use super::{
    Phase, ReceiveJob,
    options::Until,
    record::Record,
    senders::{SILENCE, awaits},
};
use crate::{
    event::{ReceiveEnd, ReceiveReport},
    file_storage::FileStorage,
};

/// After the last of a counted number of files: time to acknowledge them when asked.
const LINGER: Duration = Duration::from_secs(3);
/// Who serves others stays until the sender ends, and no longer than this: a sender may vanish.
const SERVE_MAX: Duration = Duration::from_secs(3600);
/// A good-bye can be lost: when everything has come and nothing at all has been heard for so long,
/// the sender is gone. One that reads many small files from a busy disk was silent for more than
/// four seconds, and was taken for gone with most of them still to come.
const QUIET: Duration = Duration::from_secs(15);
/// A sender that is at work is heard within this time, and one that was killed is not waited for longer.
const AT_WORK: Duration = Duration::from_secs(4);
/// Time for the last word when the user stops it.
const FAREWELL: Duration = Duration::from_millis(300);

impl ReceiveJob {
    pub(super) fn check_end(
        &mut self,
        now: Time,
        session: &mut Session,
        storage: &mut FileStorage,
    ) {
        self.awaits_more = self.is_settled_with_something() && self.is_more_to_come(session);
        let quiet = self.is_quiet(now, session);
        let over = match self.options.until {
            Until::Stopped => false,
            Until::SenderEnded if quiet => true,
            Until::SenderEnded => self
                .records
                .iter()
                .filter(|(_, record)| record.gone && record.is_settled() && record.has_anything())
                .any(|(life, record)| {
                    !awaits(session, life, record) && !self.is_another_at_work(now, session, life.0)
                }),
            Until::Files(count) => self.report.files >= count,
        };
        let timed_out = self.timeout_at().is_some_and(|at| now >= at);
        self.phase = match (over, timed_out) {
            (true, _) if self.has_senders_gone() || quiet => Phase::Done(ReceiveEnd::Complete),
            (true, _) => {
                let linger = if self.options.serves { SERVE_MAX } else { LINGER };
                Phase::Lingering(ReceiveEnd::Complete, now + linger)
            }
            (false, true) => Phase::Done(ReceiveEnd::TimedOut),
            (false, false) if self.silent_at(session).is_some_and(|at| now >= at) => {
                storage.keep_partials();
                Phase::Done(ReceiveEnd::SenderSilent)
            }
            (false, false) => return,
        };
    }

    /// Longest silence of the sender of a transfer that has begun.
    pub(super) fn silence(&self) -> Duration {
        self.options.silence.unwrap_or(SILENCE)
    }

    /// The stream that was wanted will not come.
    pub(super) fn end_out_of_place(&mut self) {
        if matches!(self.phase, Phase::Receiving) && !self.has_begun() {
            self.phase = Phase::Done(ReceiveEnd::OutOfPlace);
        }
    }

    fn has_begun(&self) -> bool {
        self.records.values().any(Record::has_begun)
    }

    /// Time at which it is over because nothing new has come, or nothing at all.
    fn timeout_at(&self) -> Option<Time> {
        let start = self.options.start_timeout.filter(|_| !self.has_begun());
        let start = start.map(|timeout| self.begun + timeout);
        let news = self.options.timeout.map(|timeout| self.last_news + timeout);
        [start, news].into_iter().flatten().min()
    }

    /// Everything begun is settled, something has come, and nothing more is heard of those who sent it.
    /// What others say does not count: anybody can say something.
    fn is_quiet(&self, now: Time, session: &mut Session) -> bool {
        self.is_settled_with_something()
            && !self.awaits_more
            && now.since(self.last_heard_of(session)) >= QUIET
    }

    /// True if another sender is in the middle of what it sends. At one address there may be several; one that
    /// was started again is not heard under its old id any more.
    fn is_another_at_work(&self, now: Time, session: &mut Session, ended: NodeId) -> bool {
        let receiver = session.receiver();
        let is_heard =
            |sender| receiver.heard(sender).is_some_and(|heard| now.since(heard) < AT_WORK);
        self.records
            .iter()
            .filter(|((sender, _), record)| *sender != ended && !record.gone && record.has_begun())
            .any(|((sender, instance), record)| {
                let is_open = !record.is_settled() && is_heard(*sender);
                is_open && !self.is_shadow(*sender, *instance)
            })
    }

    /// Whether one of those who sent something has said, when it called the roll, that more is to come
    /// than it has begun. Its silence does not mean that it has ended.
    fn is_more_to_come(&self, session: &mut Session) -> bool {
        self.records.iter().any(|(life, record)| awaits(session, life, record))
    }

    fn last_heard_of(&self, session: &mut Session) -> Time {
        let receiver = session.receiver();
        let involved = self.records.iter().filter(|(_, record)| record.has_anything());
        let heard = involved.filter_map(|((sender, _), _)| receiver.heard(*sender)).max();
        heard.map_or(self.last_news, |heard| heard.max(self.last_news))
    }

    fn is_settled_with_something(&self) -> bool {
        self.records.values().any(Record::has_anything)
            && self.records.iter().all(|((sender, instance), record)| {
                record.is_settled() || self.is_shadow(*sender, *instance)
            })
    }

    pub(super) fn has_senders_gone(&self) -> bool {
        let mut involved = self.records.values().filter(|record| record.has_anything()).peekable();
        involved.peek().is_some() && involved.all(|record| record.gone)
    }

    /// The user wants to stop: senders are told, what has come so far stays.
    pub(crate) fn stop(&mut self, now: Time, session: &mut Session, storage: &mut FileStorage) {
        if !matches!(self.phase, Phase::Receiving) {
            return;
        }
        storage.keep_partials();
        self.deletions.stop();
        self.trees.stop();
        let mut status = Status::ready(&self.options.name, self.directory.free());
        status.state = State::Leaving;
        let (status, mut receiver) = (status.encode(), session.receiver());
        for sender in self.records.keys() {
            receiver.set_status_to(*sender, status.clone(), false);
        }
        receiver.set_status(status, true);
        let farewell = if self.records.is_empty() { Duration::ZERO } else { FAREWELL };
        self.phase = Phase::Lingering(ReceiveEnd::Interrupted, now + farewell);
    }

    pub(crate) fn is_done(&self) -> bool {
        matches!(self.phase, Phase::Done(_))
    }

    pub(crate) fn next_timeout(&self) -> Option<Time> {
        let timeout = self.timeout_at();
        let may_end_quietly =
            self.options.until == Until::SenderEnded && self.is_settled_with_something();
        let wait = match self.awaits_more {
            false => Some(QUIET),
            true => self.options.timeout.is_none().then_some(self.silence()),
        };
        let quiet = wait.filter(|_| may_end_quietly).map(|wait| self.last_heard + wait);
        let reminder = self.reminders.values().map(|reminder| reminder.at).min();
        let timeout = [timeout, quiet, reminder].into_iter().flatten().min();
        match self.phase {
            // Nobody in view: nothing to report, no need to wake.
            Phase::Receiving if self.records.values().all(Record::is_settled) => timeout,
            Phase::Receiving => {
                Some(timeout.map_or(self.next_progress, |t| t.min(self.next_progress)))
            }
            Phase::Lingering(_, until) => Some(until),
            Phase::Done(_) => None,
        }
    }

    /// What it came to.
    pub(crate) fn report(&self) -> ReceiveReport {
        let end = match self.phase {
            Phase::Done(end) | Phase::Lingering(end, _) => end,
            Phase::Receiving => ReceiveEnd::Interrupted,
        };
        ReceiveReport {
            end,
            refused_senders: self.binding.refused,
            without_mode: self.directory.without_mode(),
            ..self.report.clone()
        }
    }
}

//! Reports this receiver's status to a sender: in answer to a roll call, when the status changes,
//! and while the receiver works on a watermark.

use crate::receiver::timing::uniform;
use crate::{
    rng::Rng,
    roll_call::RollCall,
    time::{Duration, Time},
    timer::Timer,
};
use fanfare_wire::NodeId;

/// Shortest interval of unrequested reports.
const INTERVAL_MIN: Duration = Duration::from_secs(1);

/// When to report to one sender.
#[derive(Debug, Default)]
pub(crate) struct Status {
    due: Option<Time>,
    /// When it was last said that we are at work.
    worked: Option<Time>,
}

impl Status {
    /// The roll is called; who is named has been heard and keeps silent.
    pub(crate) fn on_roll_call(
        &mut self,
        now: Time,
        call: &RollCall<'_>,
        node: NodeId,
        rng: &mut Rng,
    ) {
        if !call.knows(node) {
            self.report(now + uniform(call.spread, rng));
        }
    }
    /// There is news that cannot wait longer than until `at`.
    pub(crate) fn report(&mut self, at: Time) {
        self.due = Some(self.due.map_or(at, |due| due.min(at)));
    }
    /// A watermark was reached that is not yet confirmed: says that we are at work, now and then. An answer
    /// to the roll does not say so.
    pub(crate) fn at_work(&mut self, at: Time) {
        if self.worked.is_none_or(|worked| at.since(worked) >= INTERVAL_MIN) {
            self.worked = Some(at);
            self.report(at);
        }
    }
    /// Whether to report now.
    pub(crate) fn poll(&mut self, now: Time) -> bool {
        let due = self.due.is_some_and(|due| due <= now);
        if due {
            self.due = None;
        }
        due
    }
    pub(crate) fn next_timeout(&self) -> Option<(Time, Timer)> {
        self.due.map(|at| (at, Timer::AckBackoff))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roll_call;
    use alloc::vec::Vec;

    fn answers(known: &[NodeId]) -> Option<Time> {
        let mut call = Vec::new();
        roll_call::encode(Duration::from_millis(250), (known, 0), b"", 100, &mut call);
        let mut status = Status::default();
        let call = RollCall::parse(&call).unwrap();
        status.on_roll_call(Time::ZERO, &call, NodeId(7), &mut Rng::new(1));
        status.next_timeout().map(|(at, _)| at)
    }

    #[test]
    fn a_receiver_that_is_not_listed_answers_within_the_spread() {
        let at = answers(&[NodeId(8)]).unwrap();
        assert!(at < Time::ZERO + Duration::from_millis(250));
    }

    #[test]
    fn a_receiver_that_is_listed_does_not_answer() {
        assert_eq!(answers(&[NodeId(8), NodeId(7)]), None);
    }

    #[test]
    fn an_answer_to_the_roll_call_does_not_delay_a_busy_report() {
        let mut status = Status::default();
        status.report(Time::ZERO);
        assert!(status.poll(Time::ZERO));
        let soon = Time::ZERO + Duration::from_millis(20);
        status.at_work(soon);
        assert!(status.poll(soon));
    }

    #[test]
    fn busy_reports_are_a_second_apart() {
        let mut status = Status::default();
        let sent = (0..3000).step_by(100).filter(|&ms| {
            let now = Time::ZERO + Duration::from_millis(ms);
            status.at_work(now);
            status.poll(now)
        });
        assert_eq!(sent.collect::<Vec<_>>(), [0, 1000, 2000]);
    }
}

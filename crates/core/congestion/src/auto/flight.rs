//! The first messages, before anything is known of the path but its round trip. To a receiver that is
//! near they go at once. As long as nothing is heard of them the link may be a slow one, and few more
//! go.

use fanfare_wire::units::time::{Duration, Time};

/// So many messages to who is near: twice RFC 6928's initial window, as the first report comes when
/// half of them have gone.
const NEAR: u32 = 20;
/// A report of fewer of them proves nothing: shapers let a few messages pass at once.
const NEAR_ENOUGH: u32 = 10;
/// In each doubling of the time without an answer so many more go.
const NEAR_MORE: f64 = 10.0;
/// To everybody else what goes at the first rate until a report of the first few can have come, and no
/// less than RFC 6928's initial window. More would not fit where a link has 10 packets of queue.
const FAR: u32 = 10;
const FAR_ENOUGH: u32 = 3;
const FAR_MORE: f64 = 2.0;

/// A receiver answers sooner, a round trip apart, though its process may wait for a processor.
const ANSWER: Duration = Duration::from_millis(100);
/// An answer is late after so many times that.
const LATE: u32 = 2;

/// The flight, from its first message on.
#[derive(Debug)]
pub(super) struct Flight {
    messages: u32,
    /// A report of so many of them tells of the path.
    telling: u32,
    more: f64,
    /// For how long an answer may be awaited.
    patience: Duration,
    /// Bytes a second at which it goes.
    rate: f64,
    sent: u32,
    begun: Option<Time>,
    /// Time at which enough of them had gone.
    enough: Option<Time>,
    /// Time at which the last of them went.
    gone: Option<Time>,
    /// Time at which the first probe went behind a message of it. Before that nobody can have answered.
    asked: Option<Time>,
    /// When the last message went.
    last: Time,
    /// True once a report tells what became of enough of them, and what follows is as fast.
    answered: bool,
    resumed: bool,
    /// That report came so late that the link may have been busy with the flight until then.
    late: bool,
}

impl Flight {
    /// It goes at `rate` bytes a second.
    pub(super) fn near(rate: f64) -> Self {
        Self::of((NEAR, NEAR_ENOUGH, NEAR_MORE), ANSWER, rate)
    }

    /// To a receiver with this round trip; from one message to the next it takes `interval` at first.
    pub(super) fn far(rtt: Duration, interval: Duration, rate: f64) -> Self {
        let patience = ANSWER + rtt;
        let meanwhile = patience.as_nanos() / interval.as_nanos().max(1);
        let messages = u32::try_from(meanwhile).unwrap_or(u32::MAX).max(FAR);
        Self::of((messages, FAR_ENOUGH, FAR_MORE), patience, rate)
    }

    fn of((messages, telling, more): (u32, u32, f64), patience: Duration, rate: f64) -> Self {
        let (begun, enough, gone, asked) = (None, None, None, None);
        let (answered, resumed) = (false, false);
        let (sent, last) = (0, Time::ZERO);
        Self {
            messages,
            telling,
            more,
            patience,
            rate,
            sent,
            begun,
            enough,
            gone,
            asked,
            last,
            answered,
            resumed,
            late: false,
        }
    }

    /// Messages that go in each doubling of the time without an answer.
    pub(super) fn more(&self) -> f64 {
        self.more
    }

    /// A full message was sent.
    pub(super) fn on_sent(&mut self, now: Time) {
        self.begun.get_or_insert(now);
        self.last = now;
        self.sent = self.sent.saturating_add(1);
        if self.sent == self.telling {
            self.enough = Some(now);
        }
        if self.sent >= self.messages {
            self.gone.get_or_insert(now);
        }
    }

    /// A probe goes out.
    pub(super) fn on_probe(&mut self, now: Time) {
        if self.begun.is_some() {
            self.asked.get_or_insert(now);
        }
    }

    /// A report is about what was sent until `until`.
    pub(super) fn on_report(&mut self, now: Time, until: Time) {
        let answered = self.enough.is_some_and(|enough| until >= enough);
        if answered && !self.answered {
            self.late = self.unanswered(now).is_some_and(|since| since > self.patience * LATE);
        }
        self.answered |= answered;
        self.on_little(until);
    }

    /// All that was sent until `until` has come, and may be too little to report on. Where there was
    /// less to send than tells of the path, the next messages are a first flight again.
    pub(super) fn on_little(&mut self, until: Time) {
        if self.enough.is_none() && self.begun.is_some() && until > self.last {
            (self.sent, self.begun, self.asked) = (0, None, None);
        }
    }

    /// The rate at which it goes, bytes a second, when it has yet to go.
    pub(super) fn to_go(&self) -> Option<f64> {
        self.begun.is_none().then_some(self.rate)
    }

    /// The rate at which it went, once, when it is answered.
    pub(super) fn on_resumed(&mut self) -> Option<f64> {
        let first = self.answered && !core::mem::replace(&mut self.resumed, self.answered);
        first.then_some(self.rate)
    }

    /// True if the link may have been busy with the flight until the first report of it came.
    pub(super) fn was_late(&self) -> bool {
        self.late
    }

    /// True if a report tells what became of enough of them.
    pub(super) fn is_answered(&self) -> bool {
        self.answered
    }

    /// For how long nothing is heard, though all have gone, or as many as there are to send.
    pub(super) fn unanswered(&self, now: Time) -> Option<Duration> {
        let begun = self.begun.filter(|_| !self.answered)?;
        let since = now.since(self.gone.unwrap_or(begun).max(self.asked?));
        (self.gone.is_some() || since > self.patience).then_some(since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanfare_wire::units::time::at;

    #[test]
    fn a_flight_that_has_gone_waits_for_a_report_about_itself() {
        let mut flight = Flight::near(1e6);
        flight.on_sent(at(100));
        flight.on_probe(at(100));
        (1..=NEAR).for_each(|n| flight.on_sent(at(100 + u64::from(n))));
        flight.on_report(at(108), at(108));
        assert_eq!(flight.unanswered(at(219)), Some(Duration::from_millis(100)));
        flight.on_report(at(110), at(110));
        assert_eq!(flight.unanswered(at(219)), None);
    }

    #[test]
    fn a_first_report_that_took_twice_as_long_as_one_may_was_late() {
        for (reported, late) in [(290, false), (330, true)] {
            let mut flight = Flight::near(1e6);
            (1..=NEAR).for_each(|n| flight.on_sent(at(100 + u64::from(n))));
            flight.on_probe(at(110));
            flight.on_report(at(reported), at(110));
            assert_eq!((flight.is_answered(), flight.was_late()), (true, late), "{reported}");
            flight.on_report(at(5000), at(120));
            assert_eq!(flight.was_late(), late, "{reported}");
        }
    }

    #[test]
    fn to_who_is_far_goes_what_can_before_an_answer() {
        let ms = Duration::from_millis;
        let messages = |rtt| Flight::far(ms(rtt), ms(25), 1e6).messages;
        assert_eq!([messages(50), messages(250), messages(600)], [10, 14, 28]);
    }

    #[test]
    fn fewer_messages_than_a_flight_wait_for_a_report_too() {
        let mut flight = Flight::near(1e6);
        assert_eq!(flight.unanswered(at(900)), None);
        flight.on_sent(at(1000));
        assert_eq!(flight.unanswered(at(9000)), None, "nobody was asked");
        flight.on_probe(at(1000));
        assert_eq!(flight.unanswered(at(1100)), None);
        assert_eq!(flight.unanswered(at(1110)), Some(Duration::from_millis(110)));
    }

    #[test]
    fn fewer_messages_than_a_flight_that_were_all_reported_are_followed_by_a_first_flight() {
        let mut flight = Flight::near(1e6);
        (0..8).for_each(|n| flight.on_sent(at(1000 + n)));
        flight.on_probe(at(1007));
        flight.on_report(at(1005), at(1005));
        assert_eq!((flight.to_go(), flight.unanswered(at(1200)).is_some()), (None, true));
        flight.on_report(at(1008), at(1008));
        assert_eq!((flight.to_go(), flight.unanswered(at(9000))), (Some(1e6), None));
        flight.on_sent(at(9000));
        flight.on_probe(at(9000));
        (1..10).for_each(|n| flight.on_sent(at(9000 + n)));
        assert_eq!(flight.unanswered(at(9200)), Some(Duration::from_millis(200)));
        flight.on_report(at(9010), at(9010));
        assert_eq!((flight.is_answered(), flight.to_go()), (true, None));
    }
}

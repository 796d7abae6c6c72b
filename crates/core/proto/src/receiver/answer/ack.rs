//! The watermark: acknowledges that everything up to a point has arrived (RFC 5740 5.5.3).

use crate::receiver::position::ObjectIndex;
use crate::{
    time::{Duration, Time},
    timer::Timer,
};
use fanfare_wire::fec::RawPayloadId;

/// The point that a flush asked this receiver to acknowledge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Watermark {
    pub(crate) object: ObjectIndex,
    /// As it stood in the flush: the answer repeats it byte for byte.
    pub(crate) payload_id: RawPayloadId,
}

/// Answers watermarks.
#[derive(Debug, Default)]
pub(crate) struct WatermarkAck {
    asked: Option<Watermark>,
    /// Drawn when it was asked: receivers that complete together do not answer together.
    delay: Duration,
    due: Option<Time>,
}

impl WatermarkAck {
    /// A flush that names this receiver. `reached`: all that it requests is here.
    pub(crate) fn on_flush(&mut self, now: Time, asked: Watermark, reached: bool, delay: Duration) {
        if self.asked != Some(asked) {
            self.due = None;
        }
        if self.due.is_none() {
            self.delay = delay;
        }
        self.asked = Some(asked);
        self.on_progress(now, reached);
    }

    /// The watermark not yet answered.
    pub(crate) fn waiting(&self) -> Option<Watermark> {
        if self.due.is_some() { None } else { self.asked }
    }

    /// More is here now; `reached` says whether it is enough.
    pub(crate) fn on_progress(&mut self, now: Time, reached: bool) {
        if reached && self.due.is_none() && self.asked.is_some() {
            self.due = Some(now + self.delay);
        }
    }

    /// What was here is missing again: an acknowledgement not yet sent waits once more.
    pub(crate) fn revoke(&mut self) {
        self.due = None;
    }

    /// The acknowledgement to send now. It goes out again when it is requested again.
    pub(crate) fn poll(&mut self, now: Time) -> Option<Watermark> {
        if self.due? > now {
            return None;
        }
        self.due = None;
        self.asked.take()
    }

    pub(crate) fn next_timeout(&self) -> Option<(Time, Timer)> {
        self.due.map(|at| (at, Timer::AckBackoff))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::receiver::tests::raw;

    const DELAY: Duration = Duration::from_millis(10);

    fn asked(object: u64) -> Watermark {
        Watermark { object: ObjectIndex(object), payload_id: raw(0, 3) }
    }

    #[test]
    fn a_watermark_that_is_reached_is_answered_once_after_the_delay() {
        let mut ack = WatermarkAck::default();
        ack.on_flush(Time::ZERO, asked(1), true, DELAY);
        assert_eq!((ack.poll(Time::ZERO), ack.waiting()), (None, None));
        assert_eq!(ack.poll(Time::ZERO + DELAY), Some(asked(1)));
        assert_eq!((ack.poll(Time::ZERO + DELAY * 2), ack.next_timeout()), (None, None));
    }

    #[test]
    fn a_watermark_reached_later_is_answered_then() {
        let mut ack = WatermarkAck::default();
        ack.on_flush(Time::ZERO, asked(1), false, DELAY);
        assert_eq!((ack.next_timeout(), ack.waiting()), (None, Some(asked(1))));
        ack.on_progress(Time::ZERO + DELAY, true);
        assert_eq!(ack.next_timeout().unwrap().0, Time::ZERO + DELAY * 2);
    }

    #[test]
    fn a_new_watermark_replaces_the_one_before() {
        let mut ack = WatermarkAck::default();
        ack.on_flush(Time::ZERO, asked(1), true, DELAY);
        ack.on_flush(Time::ZERO, asked(2), false, DELAY);
        assert_eq!((ack.poll(Time::ZERO + DELAY), ack.waiting()), (None, Some(asked(2))));
    }
}

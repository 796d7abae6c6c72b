//! The watermark: acknowledging that everything up to a point is here (RFC 5740 5.5.3).

use super::position::ObjectIndex;
use crate::{
    session::Timer,
    time::{Duration, Time},
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
    /// A flush that names this receiver. `reached`: all that it asks for is here.
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

    /// The acknowledgement to send now. It goes out again when it is asked for again.
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

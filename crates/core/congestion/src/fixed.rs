//! A fixed rate, as the application set it.

use super::{Feedback, RateController};
use fanfare_wire::units::{rate::Bitrate, time::Time};

/// A constant rate, for links set aside for it.
#[derive(Debug, Clone, Copy)]
pub struct Fixed {
    rate: Bitrate,
}

impl Fixed {
    /// Sends at `rate`.
    #[must_use]
    pub fn new(rate: Bitrate) -> Self {
        Self { rate }
    }
}

impl RateController for Fixed {
    fn on_feedback(&mut self, _now: Time, _feedback: &Feedback) {}
    fn on_rate_set(&mut self, _now: Time, rate: Bitrate) {
        self.rate = rate;
    }
    fn rate(&self) -> Bitrate {
        self.rate
    }
}

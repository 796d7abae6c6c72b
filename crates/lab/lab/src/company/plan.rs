//! What is to be measured.

use std::time::Duration;

use super::{fault::Fault, radio::Radio};
use crate::{peer::messaging::MessagingSystem, trials::Trials};

/// What is to be measured.
#[derive(Debug, Clone)]
pub struct Company {
    /// Which systems.
    pub systems: Vec<MessagingSystem>,
    /// Whether a missing system is left out instead of refused.
    pub leave_out_missing: bool,
    /// On which radios.
    pub radios: Vec<Radio>,
    /// How many vehicles there are: fewer for a quick look.
    pub vehicles: usize,
    /// How long messages are published.
    pub duration: Duration,
    /// How long they then have left.
    pub rest: Duration,
    /// Decides losses and paths.
    pub seed: u64,
    /// How trials are run.
    pub trials: Trials,
}

impl Company {
    /// How long messages are published on this radio, and how long they then have left: a fault needs time
    /// before it and after it.
    #[must_use]
    pub fn times(&self, radio: Radio) -> [Duration; 2] {
        match radio.fault() {
            Some(fault) => {
                [self.duration.max(fault.duration_min()), self.rest.max(Fault::REST_MIN)]
            }
            None => [self.duration, self.rest],
        }
    }
}

//! Which loss is congestion: not the share that is lost whatever the rate.
//!
//! More loss than is known to be random is congestion until a lower rate has not lessened it.

/// Messages in whose course the share falls, and rises, to what is seen.
const MEMORY: (f64, f64) = (400.0, 1000.0);
/// No more than this is taken for random: a link that loses a quarter needs more than a controller.
const SHARE_MAX: f64 = 0.2;
/// The share may be that much greater than is known, times its root, before it looks like
/// congestion; and never less than half a percent.
const MARGIN: f64 = 0.15;
const MARGIN_MIN: f64 = 0.005;
/// So many more messages lost than share and margin explain are no chance: at 10 % loss that
/// happens by itself once in e^8 messages (sequential test of two shares).
const SURPRISE: f64 = 8.0;
/// Messages after which a lower rate's loss is known.
const PROBATION: f64 = 60.0;

/// The share lost at random, and a test of what goes beyond.
#[derive(Debug, Default)]
pub(super) struct RandomLoss {
    share: f64,
    excess: f64,
    /// Messages seen at a lower rate, while that is tried, and how many of them were lost.
    trial: Option<(f64, f64)>,
}

impl RandomLoss {
    /// Of `messages` a share was lost; `lowered` when they were sent after the rate was lowered.
    /// True when there is too much loss for chance: lower the rate.
    pub(super) fn on_report(&mut self, messages: f64, lost: f64, lowered: bool) -> bool {
        if let Some((seen, missing)) = &mut self.trial {
            if lowered {
                *seen += messages;
                *missing += messages * lost;
            }
            if *seen >= PROBATION {
                self.share = self.share.max(*missing / *seen).min(SHARE_MAX);
                self.trial = None;
            }
            return false;
        }
        let memory = if lost < self.share { MEMORY.0 } else { MEMORY.1 };
        self.share += (lost - self.share) * (messages / memory).min(1.0);
        self.share = self.share.min(SHARE_MAX);
        let margin = MARGIN_MIN.max(MARGIN * libm::sqrt(self.share));
        self.excess = (self.excess + messages * (lost - self.share - margin)).max(0.0);
        if self.excess <= SURPRISE {
            return false;
        }
        self.excess = 0.0;
        self.trial = Some((0.0, 0.0));
        true
    }

    /// Whether a lower rate is being tried.
    pub(super) fn is_trying(&self) -> bool {
        self.trial.is_some()
    }

    /// How much of a loss in `messages` is more than chance explains: two deviations above.
    pub(super) fn beyond(&self, messages: f64, lost: f64) -> f64 {
        let p = self.share;
        let chance = 2.0 * libm::sqrt(p * (1.0 - p) / messages.max(1.0)) + 1.0 / messages.max(1.0);
        (lost - p - chance).max(0.0)
    }
}

//! Which loss is congestion: not the share that is lost whatever the rate.

/// Weight of a message in the share once so many were counted.
const MEMORY: f64 = 1000.0;
/// Messages that are taken to have come through before any was counted.
const PRIOR: f64 = 50.0;
/// No more than this is taken for random: a link that loses a quarter needs more than a controller.
const SHARE_MAX: f64 = 0.25;
/// The share may be that much greater than was found before it looks like congestion: chance, and
/// a share that was learned from too few.
const MARGIN: f64 = 0.05;
/// So many more messages lost than the share and the margin explain are no chance: at 10 % loss
/// that happens by itself once in e^9 messages (sequential test of two shares).
const SURPRISE: f64 = 8.0;

/// The share lost at random, and a test of what goes beyond.
#[derive(Debug, Default)]
pub(super) struct RandomLoss {
    share: f64,
    counted: f64,
    excess: f64,
}

impl RandomLoss {
    /// Of `messages` a share was lost. True when there is too much loss for chance.
    pub(super) fn on_report(&mut self, messages: f64, lost: f64, queued: bool) -> bool {
        let expected = self.share + MARGIN;
        self.excess = (self.excess + messages * (lost - expected)).max(0.0);
        if !queued {
            self.counted = (self.counted + messages).min(MEMORY);
            self.share += (lost - self.share) * (messages / (self.counted + PRIOR)).min(1.0);
            self.share = self.share.min(SHARE_MAX);
        }
        let surprised = self.excess > SURPRISE;
        if surprised {
            self.excess = 0.0;
        }
        surprised
    }

    /// Messages lost at random.
    pub(super) fn share(&self) -> f64 {
        self.share
    }

    /// How much of a loss in `messages` is more than chance explains: two deviations above.
    pub(super) fn beyond(&self, messages: f64, lost: f64) -> f64 {
        let p = self.share;
        let chance = 2.0 * libm::sqrt(p * (1.0 - p) / messages.max(1.0)) + 1.0 / messages.max(1.0);
        (lost - p - chance).max(0.0)
    }
}

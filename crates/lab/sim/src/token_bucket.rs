//! A token bucket: what was not used for a while may pass at once.

use fanfare_proto::{Bitrate, Time};

/// Bytes that may pass now. They grow at a rate, up to the size of the bucket.
#[derive(Debug)]
pub(crate) struct TokenBucket {
    size: f64,
    tokens: f64,
    reckoned: Time,
}

impl TokenBucket {
    /// A full bucket of so many bytes.
    pub(crate) fn new(size: u64) -> Self {
        Self { size: size as f64, tokens: size as f64, reckoned: Time::ZERO }
    }

    /// Bytes that may pass at `now`, where they grow at `rate`.
    pub(crate) fn fill(&mut self, now: Time, rate: Bitrate) -> f64 {
        let gained = rate.as_bytes_per_second() * now.since(self.reckoned).as_secs_f64();
        self.tokens = (self.tokens + gained).min(self.size);
        self.reckoned = self.reckoned.max(now);
        self.tokens
    }

    /// So many bytes pass, and are gone at `gone`: what is gained until then they take, too.
    pub(crate) fn take(&mut self, bytes: usize, gone: Time) {
        self.tokens = (self.tokens - bytes as f64).max(0.0);
        self.reckoned = self.reckoned.max(gone);
    }
}

//! Whether the other end is there: quiet, heard again, lost.

use std::time::Duration;

use fanfare_proto::Time;

/// How long silence may last.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// One end speaks after so much silence.
    pub keep_alive: Duration,
    /// After so much silence the connection counts as lost.
    pub lost: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        // NATs keep a UDP mapping for 30 s at least (RFC 4787 asks for 2 minutes, many do less).
        Self { keep_alive: Duration::from_secs(10), lost: Duration::from_secs(30) }
    }
}

/// What has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Nothing was heard for two keep-alives.
    Quiet,
    /// It is heard again, after so long.
    Heard(Duration),
}

/// Watches one connection.
#[derive(Debug)]
pub struct Liveness {
    patience: Patience,
    heard: Time,
    count: u64,
    quiet: bool,
}

impl Liveness {
    /// From now on.
    #[must_use]
    pub fn new(patience: Patience, now: Time) -> Self {
        Self { patience, heard: now, count: 0, quiet: false }
    }

    /// So many datagrams have been received so far.
    pub fn look(&mut self, now: Time, received: u64) -> Option<Change> {
        if received != self.count {
            let silence = now.since(self.heard);
            (self.count, self.heard) = (received, now);
            return std::mem::take(&mut self.quiet).then_some(Change::Heard(silence));
        }
        let late = now.since(self.heard) >= 2 * self.patience.keep_alive;
        (late && !std::mem::replace(&mut self.quiet, late)).then_some(Change::Quiet)
    }

    /// For how long nothing has been heard.
    #[must_use]
    pub fn silence(&self, now: Time) -> Duration {
        now.since(self.heard)
    }

    /// Nothing is heard at present.
    #[must_use]
    pub const fn is_quiet(&self) -> bool {
        self.quiet
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_of_two_keep_alives_is_told_once_and_so_is_its_end() {
        let at = |seconds| Time::ZERO + Duration::from_secs(seconds);
        let mut liveness = Liveness::new(Patience::default(), Time::ZERO);
        assert_eq!(liveness.look(at(5), 1), None);
        assert_eq!(liveness.look(at(24), 1), None);
        assert_eq!(liveness.look(at(25), 1), Some(Change::Quiet));
        assert_eq!(liveness.look(at(26), 1), None);
        assert_eq!(liveness.look(at(27), 2), Some(Change::Heard(Duration::from_secs(22))));
        assert_eq!(liveness.look(at(28), 2), None);
    }
}

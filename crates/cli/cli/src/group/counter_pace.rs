//! Pace at which a bridge or a gateway looks at its counters, and tells them.

use std::time::{Duration, Instant};

use fanfare_node::proto::Time;

/// Time between two looks at the counters: what is dropped is told within a second.
const LOOK: Duration = Duration::from_millis(200);
/// Time between two lines of `--json` with them, while they change.
const TELL: Duration = Duration::from_secs(1);

/// Times of the last look and of the last line.
#[derive(Debug)]
pub(crate) struct CounterPace {
    begun: Instant,
    looked: Option<Instant>,
    told: Option<Instant>,
}

impl CounterPace {
    pub(crate) fn new() -> Self {
        Self { begun: Instant::now(), looked: None, told: None }
    }

    /// The time of a look, if one is due: that is it.
    pub(crate) fn look(&mut self) -> Option<Time> {
        let now = due(&mut self.looked, LOOK)?;
        Some(Time::ZERO + (now - self.begun))
    }

    /// True if a line is due: that is it.
    pub(crate) fn tells(&mut self) -> bool {
        due(&mut self.told, TELL).is_some()
    }
}

fn due(last: &mut Option<Instant>, pause: Duration) -> Option<Instant> {
    let now = Instant::now();
    let is_due = last.is_none_or(|last| now - last >= pause);
    is_due.then(|| *last.insert(now))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_look_and_the_first_line_are_due_at_once_and_others_are_not() {
        let mut pace = CounterPace::new();
        assert!(pace.look().is_some() && pace.tells());
        assert!(pace.look().is_none() && !pace.tells());
    }
}

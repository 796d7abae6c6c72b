//! The end of a stream: viewers that are there learn of it before the sender goes.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use fanfare_node::group::{Group, GroupError, tally::Tally};

/// Longest wait, beyond the time to repair, for those who have not said so.
const LONGEST: Duration = Duration::from_secs(10);
/// Time between two questions to those who have not said that they know.
const ASK: Duration = Duration::from_millis(500);

/// Record of who knows of the end.
pub(super) struct StreamFarewell {
    begun: Instant,
    stay: Duration,
    tally: Tally,
    looked: Option<Instant>,
}

impl StreamFarewell {
    /// The source has ended now; for so long what is lacking is repaired.
    pub(super) fn new(stay: Duration) -> Self {
        Self { begun: Instant::now(), stay, tally: Tally::new(None, true), looked: None }
    }

    /// True if it is time to go.
    ///
    /// # Errors
    /// The member has ended.
    pub(super) fn is_over(&mut self, group: &Group) -> Result<bool, GroupError> {
        let now = Instant::now();
        if self.looked.is_some_and(|then| now - then < ASK) {
            return Ok(false);
        }
        self.looked = Some(now);
        self.tally.on_fates(now, &group.fates()?);
        if now - self.begun < self.stay {
            return Ok(false);
        }
        let status = group.status()?;
        let mut there: BTreeSet<_> = status.members.into_iter().map(|(node, _)| node).collect();
        status.listeners_elsewhere.iter().for_each(|node| _ = there.remove(node));
        let late = now - self.begun >= self.stay + LONGEST;
        if late || there.is_empty() || self.tally.is_settled(now, &there) {
            return Ok(true);
        }
        group.ask_standings()?;
        Ok(false)
    }
}

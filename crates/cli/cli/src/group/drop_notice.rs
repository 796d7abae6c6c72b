//! Time to say that messages are being dropped: at the first one, and then now and then.

use fanfare_node::proto::{Duration, Time};

/// A second notice comes no sooner: a bridge that drops thousands a second says how many, and no line for each.
const AGAIN: Duration = Duration::from_secs(5);

/// Memory of what was said of a count that only grows.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DropNotice {
    told: u64,
    last: Option<Time>,
}

impl DropNotice {
    /// The count as it is now. Gives how many are new where that is to be said now: the first at once, more
    /// of them after 5 s.
    pub(crate) fn on_count(&mut self, now: Time, count: u64) -> Option<u64> {
        let new = count.saturating_sub(self.told);
        if new == 0 || self.last.is_some_and(|last| now.since(last) < AGAIN) {
            return None;
        }
        (self.told, self.last) = (count, Some(now));
        Some(new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_told_at_once_and_all_others_with_their_number_each_five_seconds() {
        let mut notice = DropNotice::default();
        let counts = (0..20_000).map(|ms| (ms, if ms < 10 { 0 } else { ms - 9 }));
        let told: Vec<(u64, u64)> = counts
            .filter_map(|(ms, count)| {
                let now = Time::ZERO + Duration::from_millis(ms);
                Some((ms, notice.on_count(now, count)?))
            })
            .collect();
        assert_eq!(told, [(10, 1), (5_010, 5_000), (10_010, 5_000), (15_010, 5_000)]);
        let late = Time::ZERO + Duration::from_secs(60);
        assert_eq!(notice.on_count(late, 19_991), Some(4_990));
        assert_eq!(notice.on_count(late + AGAIN, 19_991), None);
    }
}

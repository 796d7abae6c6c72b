//! Short messages take less time on a slow link than long ones. Their delays are told as if they were as
//! long as the longest: otherwise a short one would set a base delay that long ones cannot reach, and they
//! would seem to queue.

/// Of so many messages the longest counts: a path may take only shorter ones any more.
const LATE: u32 = 64;

/// What is to become of the base delay.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Change {
    /// It stands.
    None,
    /// The longest message takes so many seconds more than the longest did, or less.
    Longer(f64),
    /// It was found by messages that were not told as if they were long.
    Anew,
}

/// The longest message of late.
#[derive(Debug, Default)]
pub(super) struct Size {
    longest: usize,
    /// The longest of the last `count`.
    of_late: usize,
    count: u32,
    /// The link's rate is known.
    known: bool,
}

impl Size {
    /// A message of `bytes` came over a link of `rate` bytes a second, 0 while that is not known. Seconds
    /// that one as long as the longest takes more, as far as that can be told.
    pub(super) fn on_message(&mut self, bytes: usize, rate: f64) -> (f64, Change) {
        let before = self.longest;
        self.count += 1;
        self.of_late = self.of_late.max(bytes);
        self.longest = before.max(bytes);
        if self.count == LATE {
            self.longest = self.of_late;
            (self.count, self.of_late) = (0, 0);
        }
        if rate <= 0.0 {
            return (0.0, Change::None);
        }
        let change = if !core::mem::replace(&mut self.known, true) {
            Change::Anew
        } else if self.longest != before {
            Change::Longer((self.longest as f64 - before as f64) / rate)
        } else {
            Change::None
        };
        ((self.longest.saturating_sub(bytes)) as f64 / rate, change)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_message_counts_as_if_it_were_long() {
        let mut size = Size::default();
        assert_eq!(size.on_message(1000, 1e5), (0.0, Change::Anew));
        assert_eq!(size.on_message(200, 1e5), (0.008, Change::None));
        // What was heard before counts as long as the new longest.
        assert_eq!(size.on_message(1400, 1e5), (0.0, Change::Longer(0.004)));
        assert_eq!(size.on_message(1000, 1e5), (0.004, Change::None));
    }

    #[test]
    fn before_the_links_rate_is_known_each_message_counts_as_it_is_and_then_the_base_is_found_anew()
    {
        let mut size = Size::default();
        for bytes in [200, 1400, 200] {
            assert_eq!(size.on_message(bytes, 0.0), (0.0, Change::None));
        }
        assert_eq!(size.on_message(1400, 1e5), (0.0, Change::Anew));
        assert_eq!(size.on_message(1400, 1e5), (0.0, Change::None));
    }

    #[test]
    fn when_a_path_takes_only_shorter_messages_any_more_they_are_the_longest() {
        let mut size = Size::default();
        size.on_message(1400, 1e5);
        let shorter = (0..2 * LATE).filter(|_| size.on_message(1200, 1e5).1 != Change::None);
        assert_eq!(shorter.count(), 1);
        assert_eq!(size.on_message(1200, 1e5), (0.0, Change::None));
    }
}

//! Short messages take less time on a slow link than long ones. Their delays are told as if they were as
//! long as the longest: otherwise a short one would set a base delay that long ones cannot reach, and they
//! would seem to queue.

/// Where the link's rate is not known yet, a message shorter than this part of the longest tells nothing.
const ALIKE: f64 = 0.9;

/// Of so many messages the longest counts: a path may take only shorter ones any more.
const LATE: u32 = 64;

/// How much longer the longest message is than it was.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Longer {
    /// Not at all, or by next to nothing.
    No,
    /// It takes so many seconds more, or less.
    By(f64),
    /// How much more or less it takes is not known.
    Unknown,
}

/// The longest message of late.
#[derive(Debug, Default)]
pub(super) struct Size {
    longest: usize,
    /// The longest of the last `count`.
    of_late: usize,
    count: u32,
}

impl Size {
    /// A message of `bytes` came over a link of `rate` bytes a second, 0 while that is not known. Seconds
    /// that one as long as the longest takes more, if that can be told.
    pub(super) fn on_message(&mut self, bytes: usize, rate: f64) -> (Option<f64>, Longer) {
        let before = self.longest;
        self.count += 1;
        self.of_late = self.of_late.max(bytes);
        self.longest = before.max(bytes);
        if self.count == LATE {
            self.longest = self.of_late;
            (self.count, self.of_late) = (0, 0);
        }
        let (least, most) = (before.min(self.longest), before.max(self.longest));
        let longer = if before == 0 || least == most {
            Longer::No
        } else if rate > 0.0 {
            Longer::By((self.longest as f64 - before as f64) / rate)
        } else if (least as f64) < ALIKE * most as f64 {
            Longer::Unknown
        } else {
            Longer::No
        };
        let more = if rate > 0.0 {
            Some(self.longest.saturating_sub(bytes) as f64 / rate)
        } else {
            (bytes as f64 >= ALIKE * self.longest as f64).then_some(0.0)
        };
        (more, longer)
    }
}

impl Size {
    /// Bytes of the longest message of late.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_message_counts_as_if_it_were_long() {
        let mut size = Size::default();
        assert_eq!(size.on_message(1000, 1e5), (Some(0.0), Longer::No));
        assert_eq!(size.on_message(200, 1e5), (Some(0.008), Longer::No));
        // What was heard before counts as long as the new longest.
        assert_eq!(size.on_message(1400, 1e5), (Some(0.0), Longer::By(0.004)));
        assert_eq!(size.on_message(1000, 1e5), (Some(0.004), Longer::No));
    }

    #[test]
    fn before_the_links_rate_is_known_only_messages_of_about_the_longest_count() {
        let mut size = Size::default();
        assert_eq!(size.on_message(200, 0.0), (Some(0.0), Longer::No));
        assert_eq!(size.on_message(1400, 0.0), (Some(0.0), Longer::Unknown));
        assert_eq!(size.on_message(200, 0.0), (None, Longer::No));
        assert_eq!(size.on_message(1410, 0.0), (Some(0.0), Longer::No));
    }

    #[test]
    fn when_a_path_takes_only_shorter_messages_any_more_they_are_the_longest() {
        for rate in [0.0, 1e5] {
            let mut size = Size::default();
            size.on_message(1400, rate);
            let shorter = (0..2 * LATE).filter(|_| size.on_message(1200, rate).1 != Longer::No);
            assert_eq!(shorter.count(), 1, "{rate}");
            assert_eq!(size.on_message(1200, rate), (Some(0.0), Longer::No), "{rate}");
        }
    }
}

//! Hosts that are group nodes: their configuration, their subscriptions, and what they publish.

use fanfare_messaging::{GroupConfig, Options, Subscription, Topic};
use fanfare_proto::Duration;

/// Messages at times of their own of one publication, at most.
const PIECES_MAX: u64 = 100_000;

/// What makes a host a group node.
#[derive(Debug, Clone)]
pub(crate) struct GroupPlan {
    pub(crate) config: GroupConfig,
    pub(crate) subscriptions: Vec<Subscription>,
}

/// Messages that a host publishes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Publication {
    /// About what.
    pub topic: Topic,
    /// Bytes of each.
    pub size: u64,
    /// How many.
    pub count: u64,
    /// So many messages of `size` travel as one each time; 1: alone.
    pub together: u32,
    /// None after this time of the run.
    pub until: Duration,
    /// One such time after the other; without it one after the other as fast as they may be sent.
    pub every: Option<Duration>,
    /// What is said with each.
    pub options: Options,
}

impl Publication {
    /// `count` messages of `size` bytes.
    #[must_use]
    pub fn new(topic: Topic, size: u64, count: u64) -> Self {
        let (until, every) = (Duration::MAX, None);
        Self { topic, size, count, together: 1, until, every, options: Options::default() }
    }
    /// Gives what is published when, the first at `at`. Of what comes after `limit`, the end of the run, there is one
    /// piece at most: it says that there would be more.
    pub(crate) fn pieces(&self, at: Duration, limit: Duration) -> Vec<(Duration, Self)> {
        let Some(every) = self.every else { return vec![(at, self.clone())] };
        let one = Self { count: 1, every: None, ..self.clone() };
        let count = self.count.min(PIECES_MAX) as u32;
        let last = limit.saturating_add(every);
        let times = (0..count).map(|n| at + every * n);
        let times = times.take_while(|at| *at < self.until && *at <= last);
        times.map(|at| (at, one.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_what_is_published_after_the_end_of_a_run_one_piece_is_made() {
        let topic = Topic::new("a").unwrap();
        let every = Some(Duration::from_secs(10));
        let endless = Publication { every, ..Publication::new(topic, 60, u64::MAX) };
        let second = Duration::from_secs(1);
        let times = |until: Duration, limit: Duration| -> Vec<u64> {
            let one = Publication { until, ..endless.clone() };
            one.pieces(second, limit).iter().map(|(at, _)| at.as_secs()).collect()
        };
        assert_eq!(times(Duration::MAX, second * 25), [1, 11, 21, 31]);
        assert_eq!(times(second * 15, second * 25), [1, 11]);
        assert_eq!(times(Duration::MAX, Duration::MAX).len() as u64, PIECES_MAX);
    }
}

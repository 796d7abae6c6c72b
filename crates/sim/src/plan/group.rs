//! Hosts that are group nodes: their configuration, their subscriptions, and what they publish.

use fanfare_group::{GroupConfig, Options, Subscription, Topic};
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
    /// What is published when, the first at `at`.
    pub(crate) fn pieces(&self, at: Duration) -> Vec<(Duration, Self)> {
        let Some(every) = self.every else { return vec![(at, self.clone())] };
        let one = Self { count: 1, every: None, ..self.clone() };
        let count = self.count.min(PIECES_MAX) as u32;
        let times = (0..count).map(|n| at + every * n).take_while(|at| *at < self.until);
        times.map(|at| (at, one.clone())).collect()
    }
}

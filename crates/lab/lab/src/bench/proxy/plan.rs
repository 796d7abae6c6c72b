//! Over which road something is measured, and how often.

use std::{path::PathBuf, time::Duration};

use crate::lab::road::{Course, QUEUE_LEAST, Road};

/// A link is dialled, ssh logs in and keys are typed before a download: so much longer than it.
const BEFORE: Duration = Duration::from_secs(180);

/// A road between two hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProxyRoad {
    /// What a download has, bit/s.
    pub rate: u64,
    /// What an upload has, bit/s.
    pub back: u64,
    /// One way, in milliseconds.
    pub delay_ms: u32,
    /// Every 15 s nothing passes for 100 ms, and the delay is 10 ms more or less after that.
    pub handovers: bool,
}

/// Runs over it.
#[derive(Debug, Clone)]
pub struct RoadPlan {
    /// The road.
    pub road: ProxyRoad,
    /// Shares that are lost in either direction, percent.
    pub losses: Vec<f64>,
    /// How long each run takes.
    pub seconds: u32,
    /// How often each is measured, with another seed each time.
    pub repetitions: u32,
    /// Side by side at most.
    pub jobs: usize,
    /// The programs that are measured.
    pub fanfare: PathBuf,
}

impl RoadPlan {
    /// The road of a run.
    pub(in crate::bench) fn road(&self, loss: f64, seed: u64) -> Road {
        let ProxyRoad { rate, back, delay_ms, handovers } = self.road;
        let course = if handovers { Course::Handovers(seed) } else { Course::Still };
        let lasts = BEFORE + Duration::from_secs(self.seconds.into());
        let queue = Road::product(rate, delay_ms).max(QUEUE_LEAST);
        Road { rate, back, delay_ms, loss, queue, course, lasts }
    }
}

//! What is to be measured, over which road.

use std::path::PathBuf;

use super::way::Way;

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

/// What is to be measured.
#[derive(Debug, Clone)]
pub struct ProxyBench {
    /// The road.
    pub road: ProxyRoad,
    /// Shares that are lost in either direction, percent.
    pub losses: Vec<f64>,
    /// How.
    pub ways: Vec<Way>,
    /// How many downloads at once, each number by itself.
    pub connections: Vec<u32>,
    /// Whether keys are typed by ssh, too.
    pub echo: bool,
    /// How long each run takes.
    pub seconds: u32,
    /// How often each is measured, with another seed each time.
    pub repetitions: u32,
    /// Side by side at most.
    pub jobs: usize,
    /// The programs that are measured.
    pub fanfare: PathBuf,
}

impl ProxyBench {
    /// The program beside the one that is measured.
    pub(in crate::bench) fn proxy(&self) -> PathBuf {
        self.fanfare.with_file_name("fanfare-proxy")
    }
}

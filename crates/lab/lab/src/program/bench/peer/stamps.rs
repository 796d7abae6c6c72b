//! What messages hold: when they were published, and their number. What a subscriber makes of that.

use std::{
    thread,
    time::{Duration, Instant},
};

use rustix::time::{ClockId, clock_gettime};

/// By a clock that all processes of a machine share.
pub(super) fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Writes the next messages, each when it is its turn.
pub(super) struct Stamper {
    number: u64,
    begun: Instant,
    paced: u64,
    content: Vec<u8>,
}

impl Stamper {
    pub(super) fn new(size: usize, paced: u64) -> Self {
        Self { number: 0, begun: Instant::now(), paced, content: vec![b'x'; size.max(16)] }
    }

    /// Whether it is early for the next one.
    pub(super) fn pause(&self) -> Option<Duration> {
        let at =
            Duration::from_nanos(self.number.checked_mul(1_000_000_000)?.checked_div(self.paced)?);
        Some(at.saturating_sub(self.begun.elapsed())).filter(|pause| !pause.is_zero())
    }

    /// Waits for its turn, and writes it.
    pub(super) fn wait(&mut self) -> &[u8] {
        if let Some(pause) = self.pause() {
            thread::sleep(pause);
        }
        self.write()
    }

    pub(super) fn write(&mut self) -> &[u8] {
        self.content[..8].copy_from_slice(&now_ns().to_be_bytes());
        self.content[8..16].copy_from_slice(&self.number.to_be_bytes());
        self.number += 1;
        &self.content
    }
}

/// A repaired message is late from here on.
const LATE_NS: u64 = 5_000_000;

/// What has come.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    received: u64,
    first_ns: u64,
    last_ns: u64,
    delays: Vec<u32>,
    next: u64,
    unordered: u64,
    /// The slowest so far: how long, and which.
    worst: (u64, u64),
    late: u64,
}

impl Arrivals {
    /// A message, `now`.
    pub(super) fn on_message(&mut self, now: u64, content: &[u8]) {
        let number = |bytes: Option<&[u8]>| {
            bytes.and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_be_bytes)
        };
        let (stamp, index) = (number(content.get(..8)), number(content.get(8..16)));
        self.unordered += u64::from(index != self.next);
        self.next = index + 1;
        if self.received == 0 || stamp < self.first_ns {
            self.first_ns = stamp;
        }
        self.received += 1;
        let delay = now.saturating_sub(stamp);
        self.worst = self.worst.max((delay, index));
        self.late += u64::from(delay > LATE_NS);
        self.last_ns = now;
        self.delays.push(u32::try_from(now.saturating_sub(stamp)).unwrap_or(u32::MAX));
    }

    pub(super) fn count(&self) -> u64 {
        self.received
    }

    /// The last line of a subscriber.
    pub(super) fn tell(mut self) {
        self.delays.sort_unstable();
        let at = |share: f64| {
            let index = (self.delays.len() as f64 * share) as usize;
            self.delays.get(index.min(self.delays.len().saturating_sub(1))).copied().unwrap_or(0)
        };
        let line = serde_json::json!({
            "received": self.received, "first_ns": self.first_ns, "last_ns": self.last_ns,
            "p50_ns": at(0.5), "p99_ns": at(0.99), "max_ns": at(1.0), "unordered": self.unordered,
            "worst": self.worst.1, "late": self.late,
        });
        fanfare_command::print_line(&line.to_string());
    }
}

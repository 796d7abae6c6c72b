//! The results of one hop.

use core::ops::Range;
use std::collections::BTreeMap;

use fanfare_proto::{Bitrate, Duration, Time};

use crate::{
    packet::{FlowId, Packet},
    place::Place,
    results::{histogram::Histogram, series::Series},
};

/// Counters of one hop, and how it went over time. Packets are counted with all their headers.
#[derive(Debug, Clone)]
pub struct HopReport {
    /// Where it begins.
    pub from: Place,
    /// Where it ends.
    pub to: Place,
    /// Its rate at the end of the run.
    pub rate: Option<Bitrate>,
    /// Packets that were to pass.
    pub came: u64,
    /// Packets that left for the other end.
    pub carried: u64,
    /// Packets that have reached the other end, or will: second copies too.
    pub arrived: u64,
    /// Second copies.
    pub duplicated: u64,
    /// Dropped by the queue.
    pub dropped: u64,
    /// Marked by the queue.
    pub marked: u64,
    /// Lost on the way.
    pub lost: u64,
    /// Larger than the MTU.
    pub too_large: u64,
    /// Came while it was down, or across a partition.
    pub down: u64,
    /// Most bytes that ever waited.
    pub most_bytes: u64,
    /// Most packets that ever waited.
    pub most_packets: usize,
    /// Time from entering the queue to reaching the line, of every packet carried from the plan's
    /// warm-up on.
    pub delay: Histogram,
    /// Bytes carried.
    pub bytes: Series,
    /// Packets carried, over time.
    pub packets: Series,
    /// Bytes carried, by flow.
    pub bytes_of: BTreeMap<FlowId, Series>,
    /// Packets dropped by the queue, over time.
    pub drops: Series,
    /// Packets marked by the queue, over time.
    pub marks: Series,
    /// Longest queueing delay of each step, microseconds.
    pub longest_us: Series,
}

impl HopReport {
    pub(crate) fn new(from: Place, to: Place, rate: Option<Bitrate>) -> Self {
        Self {
            from,
            to,
            rate,
            came: 0,
            carried: 0,
            arrived: 0,
            duplicated: 0,
            dropped: 0,
            marked: 0,
            lost: 0,
            too_large: 0,
            down: 0,
            most_bytes: 0,
            most_packets: 0,
            delay: Histogram::default(),
            bytes: Series::default(),
            packets: Series::default(),
            bytes_of: BTreeMap::new(),
            drops: Series::default(),
            marks: Series::default(),
            longest_us: Series::default(),
        }
    }

    pub(crate) fn on_queued(&mut self, packets: usize, bytes: u64) {
        self.most_packets = packets.max(self.most_packets);
        self.most_bytes = bytes.max(self.most_bytes);
    }
    pub(crate) fn on_drop(&mut self, now: Time) {
        self.dropped += 1;
        self.drops.add(now, 1);
    }
    pub(crate) fn on_mark(&mut self, now: Time) {
        self.marked += 1;
        self.marks.add(now, 1);
    }
    /// A packet reaches the line.
    pub(crate) fn on_line(&mut self, now: Time, packet: &Packet, warm: Time) {
        let waited = now.since(packet.entered);
        if now >= warm {
            self.delay.add(waited);
        }
        self.longest_us.raise(now, waited.as_micros() as u64);
        self.carried += 1;
        self.bytes.add(now, packet.bytes as u64);
        self.packets.add(now, 1);
        self.bytes_of.entry(packet.flow).or_default().add(now, packet.bytes as u64);
    }

    /// Share of the rate, as it was at the end, that was used in a window; zero without a rate.
    #[must_use]
    pub fn utilisation(&self, window: &Range<Duration>) -> f64 {
        self.rate.map_or(0.0, |rate| self.bytes.bps(window) / rate.as_bps().max(1) as f64)
    }
    /// Share of the packets that came in a window that the queue dropped.
    #[must_use]
    pub fn drop_share(&self, window: &Range<Duration>) -> f64 {
        let dropped = self.drops.sum(window) as f64;
        let carried = self.packets.sum(window) as f64;
        if dropped > 0.0 { dropped / (dropped + carried) } else { 0.0 }
    }
}

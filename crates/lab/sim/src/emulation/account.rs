//! What happened to every packet of one link.

use fanfare_proto::Duration;

use super::PathCounts;
use crate::{place::Place, results::hop_report::HopReport};

/// What one link did to packets, and how many are in it now: every packet that came is in exactly
/// one of these numbers ([`LinkAccount::is_balanced`]).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LinkAccount {
    /// Where it begins.
    pub from: String,
    /// Where it ends.
    pub to: String,
    /// Packets that were to pass.
    pub came: u64,
    /// Packets that have passed, or are on their way behind the line.
    pub arrived: u64,
    /// Of these, second copies.
    pub duplicated: u64,
    /// Lost on the way.
    pub lost: u64,
    /// Found the queue full, or were dropped from it.
    pub dropped: u64,
    /// Marked by the queue.
    pub marked: u64,
    /// Larger than the MTU.
    pub too_large: u64,
    /// Came while it was down, or across a partition, or for a host that was not there.
    pub down: u64,
    /// In the queue or on the line now.
    pub waiting: u64,
    /// IP bytes of packets that were put on the line, losses included.
    pub bytes: u64,
}

impl LinkAccount {
    pub(super) fn new(from: String, to: String) -> Self {
        Self { from, to, ..Self::default() }
    }
    pub(super) fn of(report: &HopReport, waiting: usize, name: &dyn Fn(Place) -> String) -> Self {
        Self {
            from: name(report.from),
            to: name(report.to),
            came: report.came,
            arrived: report.arrived,
            duplicated: report.duplicated,
            lost: report.lost,
            dropped: report.dropped,
            marked: report.marked,
            too_large: report.too_large,
            down: report.down,
            waiting: waiting as u64,
            bytes: report.bytes.sum(&(Duration::ZERO..Duration::MAX)),
        }
    }
    /// One packet took a path of its own: what the network's counts say of it. A path's line and
    /// queue are reckoned, not run, so nothing is ever waiting there.
    pub(super) fn on_path(&mut self, bytes: usize, before: &PathCounts, after: &PathCounts) {
        let arrived = after.arrived - before.arrived;
        let duplicated = after.duplicated - before.duplicated;
        let lost = after.lost - before.lost;
        let dropped = after.queue_full - before.queue_full;
        self.came += 1;
        self.arrived += arrived + duplicated;
        self.duplicated += duplicated;
        self.lost += lost;
        self.dropped += dropped;
        self.down += u64::from(arrived + lost + dropped == 0);
        self.bytes += (arrived + lost) * bytes as u64;
    }

    /// Whether every packet that came is accounted for.
    #[must_use]
    pub fn is_balanced(&self) -> bool {
        let gone = self.lost + self.dropped + self.too_large + self.down;
        self.came + self.duplicated == self.arrived + gone + self.waiting
    }
}

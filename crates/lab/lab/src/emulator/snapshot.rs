//! What the emulator has counted so far.

use crate::emulator::lateness::LatenessReport;
use fanfare_sim::LinkAccount;
use serde::{Deserialize, Serialize};

/// Packets and their IP bytes: header and payload, as the simulator counts them. A table that counts
/// Ethernet's header has 14 bytes more for each packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Amount {
    /// Packets.
    pub packets: u64,
    /// IP bytes.
    pub bytes: u64,
}

impl Amount {
    pub(crate) fn add(&mut self, packets: usize, bytes: usize) {
        self.packets += packets as u64;
        self.bytes += bytes as u64;
    }
}

/// What a host's cable has carried.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NodeCounts {
    /// The host's name.
    pub node: String,
    /// IP packets that it sent.
    pub sent: Amount,
    /// IP packets that it was given.
    pub received: Amount,
    /// Frames that go no farther than its own router (IGMP).
    pub local: u64,
    /// Frames that are not IPv4.
    pub foreign: u64,
    /// Packets for an address that nobody has.
    pub unknown: u64,
    /// Packets that it sent while it was unplugged.
    pub unplugged: u64,
    /// Packets for it that its kernel did not take.
    pub refused: u64,
    /// Packets for it whose wrong bit a checksum would find.
    pub spoiled: u64,
}

/// What became of packets on one link ([`fanfare_sim::LinkAccount`], once more: the simulator's own
/// stays free of serialization).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LinkCounts {
    /// Where it begins.
    pub from: String,
    /// Where it ends.
    pub to: String,
    /// Packets that were to pass.
    pub came: u64,
    /// Passed, second copies too.
    pub arrived: u64,
    /// Second copies.
    pub duplicated: u64,
    /// Lost on the way.
    pub lost: u64,
    /// Dropped by the queue.
    pub dropped: u64,
    /// Marked by the queue.
    pub marked: u64,
    /// Larger than the MTU.
    pub too_large: u64,
    /// Came while it was down.
    pub down: u64,
    /// Waiting now.
    pub waiting: u64,
    /// IP bytes on its line.
    pub bytes: u64,
    /// Every packet that came is in one of these numbers.
    pub balanced: bool,
}

impl From<LinkAccount> for LinkCounts {
    fn from(account: LinkAccount) -> Self {
        let balanced = account.is_balanced();
        let LinkAccount { from, to, came, arrived, duplicated, lost, dropped, .. } = account;
        let LinkAccount { marked, too_large, down, waiting, bytes, .. } = account;
        Self {
            from,
            to,
            came,
            arrived,
            duplicated,
            lost,
            dropped,
            marked,
            too_large,
            down,
            waiting,
            bytes,
            balanced,
        }
    }
}

/// Everything at one moment.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Snapshot {
    /// Since the lab came up.
    pub seconds: f64,
    /// Each host.
    pub nodes: Vec<NodeCounts>,
    /// Each link that had packets.
    pub links: Vec<LinkCounts>,
    /// Packets that reached a host while it was not there.
    pub unheard: u64,
    /// How late the emulator was.
    pub lateness: LatenessReport,
    /// It goes before ordinary programs (SCHED_FIFO).
    pub first: bool,
    /// CPU time that the emulator has taken.
    pub cpu_seconds: f64,
    /// Captured packets that nobody fetched in time.
    pub uncaptured: u64,
}

impl Snapshot {
    /// Whether every packet is accounted for on every link.
    #[must_use]
    pub fn is_balanced(&self) -> bool {
        self.links.iter().all(|link| link.balanced)
    }
}

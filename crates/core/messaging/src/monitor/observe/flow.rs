//! Who sends how much to whom.

use alloc::{collections::BTreeMap, vec::Vec};
use core::net::IpAddr;

use fanfare_wire::units::Time;

use super::sighting::{Sighting, What};

/// Flows that are told apart; those that were quiet longest are counted as one.
const FLOWS_MAX: usize = 16_384;

/// What belongs together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowKey {
    /// Number of the protocol above IP.
    pub protocol: u8,
    /// From and to.
    pub ends: (IpAddr, IpAddr),
    /// The lower port of both: mostly that of the service.
    pub port: u16,
    /// Sender and instance of a NORM session: multicast is counted once for each.
    pub session: Option<(u32, u16)>,
}

/// What was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flow {
    /// On the line.
    pub bytes: u64,
    /// On the line.
    pub packets: u64,
    /// When one was seen last.
    pub last: Time,
}

/// All flows.
#[derive(Debug, Default)]
pub struct Flows {
    flows: BTreeMap<FlowKey, Flow>,
    /// Bytes and packets of flows that were folded.
    other: (u64, u64),
    /// Flows folded.
    folded: u64,
}

impl Flows {
    pub(super) fn on_sighting(&mut self, seen: &Sighting) {
        let key = key(seen);
        if self.flows.len() >= FLOWS_MAX && !self.flows.contains_key(&key) {
            self.fold();
        }
        let flow = self.flows.entry(key).or_insert(Flow { bytes: 0, packets: 0, last: seen.at });
        flow.bytes += u64::from(seen.bytes);
        flow.packets += u64::from(seen.packets);
        flow.last = seen.at;
    }

    /// A quarter goes at once: looking for the quietest costs as much as all of them.
    fn fold(&mut self) {
        let mut times: Vec<Time> = self.flows.values().map(|flow| flow.last).collect();
        times.sort_unstable();
        let bound = times[times.len() / 4];
        let mut left = times.len() / 4 + 1;
        let (other, folded) = (&mut self.other, &mut self.folded);
        self.flows.retain(|_, flow| {
            let goes = flow.last <= bound && left > 0;
            if goes {
                left -= 1;
                *other = (other.0 + flow.bytes, other.1 + flow.packets);
                *folded += 1;
            }
            !goes
        });
    }

    /// All that are told apart.
    pub fn iter(&self) -> impl Iterator<Item = (&FlowKey, &Flow)> {
        self.flows.iter()
    }

    /// Bytes and packets of flows that are not told apart any more, and their number.
    #[must_use]
    pub fn other(&self) -> (u64, u64, u64) {
        (self.other.0, self.other.1, self.folded)
    }

    /// Bytes and packets of everything.
    #[must_use]
    pub fn sum(&self) -> (u64, u64) {
        let add = |sum: (u64, u64), flow: &Flow| (sum.0 + flow.bytes, sum.1 + flow.packets);
        self.flows.values().fold(self.other, add)
    }
}

fn key(seen: &Sighting) -> FlowKey {
    let (protocol, ports, session) = match seen.what {
        What::Tcp(ports, _) => (6, ports, None),
        What::Udp(ports) => (17, ports, None),
        What::Norm(ports, norm) => {
            let session = norm.is_of_sender().then_some((norm.source, norm.instance));
            (17, ports, session)
        }
        What::Echo { .. } => (if seen.ends.0.is_ipv4() { 1 } else { 58 }, (0, 0), None),
        What::Fragment(protocol) | What::Other(protocol) => (protocol, (0, 0), None),
    };
    // What goes to a group is for its port; the other is anybody's.
    let port = if seen.ends.1.is_multicast() { ports.1 } else { ports.0.min(ports.1) };
    FlowKey { protocol, ends: seen.ends, port, session }
}

//! The hosts of a plan, as a driver needs them that has a real one for each.

use crate::{
    network::Host,
    place::Place,
    plan::{Change, Plan},
};
use fanfare_proto::{Duration, SessionConfig};

/// A host of the plan, for which a driver has a real one.
#[derive(Debug, Clone)]
pub struct EmulatedHost {
    /// Its number.
    pub host: Host,
    /// Its name.
    pub name: String,
    /// Its group: a packet for all goes to the other hosts of the group.
    pub group: u8,
    /// The largest IP packet that its own links take.
    pub mtu: usize,
    /// What a session there would be.
    pub session: SessionConfig,
    /// What it would be given to send: when, and how many bytes.
    pub sends: Vec<(Duration, u64)>,
    /// When it comes (`true`) and when it is gone.
    pub presence: Vec<(Duration, bool)>,
}

impl Plan {
    /// The hosts of the plan, in order.
    #[must_use]
    pub fn emulated_hosts(&self) -> Vec<EmulatedHost> {
        let entry = |number: usize| {
            let host = Host(number as u16);
            let place = Place::Host(host);
            let entry = &self.hosts[number];
            let own = self.hops.iter().filter(|edge| edge.from == place || edge.to == place);
            EmulatedHost {
                host,
                name: self.labels.get(&place).cloned().unwrap_or_else(|| place.to_string()),
                group: entry.group,
                mtu: own.map(|edge| edge.hop.mtu).max().unwrap_or(crate::hop::MTU),
                session: entry.config.clone(),
                sends: self.sends_of(host),
                presence: self.presence_of(host),
            }
        };
        (0..self.hosts.len()).map(entry).collect()
    }
    /// When the plan ends at the latest.
    #[must_use]
    pub fn limit(&self) -> Duration {
        self.limit
    }

    fn sends_of(&self, host: Host) -> Vec<(Duration, u64)> {
        let send = |(at, change): &(Duration, Change)| match change {
            Change::Send(from, object) if *from == host => Some((*at, object.size)),
            _ => None,
        };
        self.changes.iter().filter_map(send).collect()
    }
    fn presence_of(&self, host: Host) -> Vec<(Duration, bool)> {
        let change = |(at, change): &(Duration, Change)| match change {
            Change::Start(which) if *which == host => Some((*at, true)),
            Change::Crash(which) if *which == host => Some((*at, false)),
            _ => None,
        };
        let start = self.hosts[usize::from(host.0)].start;
        let mut all = vec![(start, true)];
        all.extend(self.changes.iter().filter_map(change));
        all.sort_by_key(|(at, _)| *at);
        all
    }
}

//! Gateways: hosts of different groups that are one machine.

use fanfare_messaging::{Filter, Gateway, GatewayConfig, GatewayStats, GroupIndex, Route};
use fanfare_proto::{Bitrate, NodeId, Time};

use crate::network::Host;

/// A machine that joins groups: a host in each, and what it carries between them.
#[derive(Debug, Clone)]
pub struct GatewayPlan {
    /// Its host in each group; each is a group node.
    pub hosts: Vec<Host>,
    /// Messages of which topics cross, whichever way.
    pub filters: Vec<Filter>,
    /// Most that it takes of each group from each other.
    pub rate: Bitrate,
    /// Its times.
    pub config: GatewayConfig,
}

impl GatewayPlan {
    /// Everything crosses, at up to 1 Mbit/s each way.
    #[must_use]
    pub fn new(hosts: impl IntoIterator<Item = Host>) -> Self {
        let (filters, config) = (Filter::new("#").into_iter().collect(), GatewayConfig::default());
        Self { hosts: hosts.into_iter().collect(), filters, rate: Bitrate::mbps(1), config }
    }

    /// From which group into which.
    pub(crate) fn ways(&self) -> impl Iterator<Item = (GroupIndex, GroupIndex)> + '_ {
        let sides = 0..self.hosts.len() as u8;
        let pairs = sides.clone().flat_map(move |from| sides.clone().map(move |to| (from, to)));
        pairs.filter(|(from, to)| from != to).map(|(from, to)| (GroupIndex(from), GroupIndex(to)))
    }

    pub(crate) fn start(&self, now: Time, seed: u64) -> Gateway<()> {
        let (filters, rate) = (&self.filters, self.rate);
        let route = |(from, to)| Route { from, to, filters: filters.clone(), rate };
        let nodes: Vec<NodeId> = self.hosts.iter().map(|host| host.node_id()).collect();
        Gateway::new(now, &nodes, self.ways().map(route).collect(), self.config, seed)
    }
}

/// What came of a gateway, in its last life.
#[derive(Debug, Clone)]
pub struct GatewayReport {
    /// Its hosts, in the order of its sides.
    pub hosts: Vec<Host>,
    /// Counters of each direction.
    pub ways: Vec<((GroupIndex, GroupIndex), GatewayStats)>,
}

impl GatewayReport {
    /// A counter over all directions.
    #[must_use]
    pub fn sum(&self, counter: impl Fn(&GatewayStats) -> u64) -> u64 {
        self.ways.iter().map(|(_, stats)| counter(stats)).sum()
    }
}

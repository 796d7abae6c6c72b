//! What a gateway of a node is to do.

use fanfare_node::{
    messaging::{Filter, GatewayConfig, GroupIndex, Route},
    proto::Bitrate,
};

/// A gateway between groups of a node.
#[derive(Debug, Clone)]
pub struct GatewayPlan {
    /// Its groups' places among the node's; each is a side.
    pub groups: Vec<usize>,
    /// What leaves each of them.
    pub topics: Vec<Vec<Filter>>,
    /// Most that each of the others brings to each of them.
    pub rates: Vec<Bitrate>,
    /// How long it waits for others.
    pub times: GatewayConfig,
}

impl GatewayPlan {
    /// What crosses, each way.
    #[must_use]
    pub fn routes(&self) -> Vec<Route> {
        let mut routes = Vec::new();
        for (from, filters) in self.topics.iter().enumerate().filter(|(_, all)| !all.is_empty()) {
            for (to, rate) in self.rates.iter().enumerate().filter(|(to, _)| *to != from) {
                let (from, to) = (GroupIndex(from as u8), GroupIndex(to as u8));
                routes.push(Route { from, to, filters: filters.clone(), rate: *rate });
            }
        }
        routes
    }
}

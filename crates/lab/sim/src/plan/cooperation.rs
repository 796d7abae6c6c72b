//! Plans with group nodes, and with gateways between groups.

use fanfare_messaging::{GroupConfig, Subscription};

use super::{GatewayPlan, GroupPlan, Plan};
use crate::network::Hosts;

impl Plan {
    /// Makes group nodes of hosts added so far.
    #[must_use]
    pub fn cooperate(mut self, hosts: impl Into<Hosts>, config: GroupConfig) -> Self {
        self.choose(hosts.into()).for_each(|host| {
            host.group_plan = Some(GroupPlan { config, subscriptions: Vec::new() });
        });
        self
    }
    /// Lets group nodes among these hosts subscribe from the start.
    #[must_use]
    pub fn subscribe(mut self, hosts: impl Into<Hosts>, subscription: &Subscription) -> Self {
        self.choose(hosts.into()).filter_map(|host| host.group_plan.as_mut()).for_each(|plan| {
            plan.subscriptions.push(subscription.clone());
        });
        self
    }
}

impl Plan {
    /// Makes one machine of group nodes added so far. It lives while all of them are up.
    #[must_use]
    pub fn gateway(mut self, gateway: GatewayPlan) -> Self {
        for filter in &gateway.filters {
            let all = Subscription { copies: true, ..Subscription::new(filter.clone()) };
            for host in &gateway.hosts {
                self = self.subscribe(*host, &all);
                // What its node itself publishes crosses, too.
                self.choose((*host).into())
                    .filter_map(|host| host.group_plan.as_mut())
                    .for_each(|plan| plan.config.hears_itself = true);
            }
        }
        self.gateways.push(gateway);
        self
    }
}

//! Hosts that are group nodes: what they are told, what they subscribe to, what they publish.

use super::Plan;
use crate::network::Hosts;
use fanfare_group::{GroupConfig, Options, Subscription, Topic};
use fanfare_proto::Duration;

/// What makes a host a group node.
#[derive(Debug, Clone)]
pub(crate) struct GroupPlan {
    pub(crate) config: GroupConfig,
    pub(crate) subscriptions: Vec<Subscription>,
}

/// Messages that a host publishes, one after the other as fast as it may send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Publication {
    /// About what.
    pub topic: Topic,
    /// Bytes of each.
    pub size: u64,
    /// How many.
    pub count: u64,
    /// None after this time of the run.
    pub until: Duration,
    /// What is said with each.
    pub options: Options,
}

impl Publication {
    /// `count` messages of `size` bytes.
    #[must_use]
    pub fn new(topic: Topic, size: u64, count: u64) -> Self {
        Self { topic, size, count, until: Duration::MAX, options: Options::default() }
    }
}

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

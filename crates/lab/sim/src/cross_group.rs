//! How messages spread where gateways join groups: who had them in time, over all groups.
//!
//! A kind is the first level of a topic. For each message and each other host that subscribes to
//! it, in any group. The hosts of one gateway are one machine: each has what the others have. A
//! host is connected if there was a path to it when the message was published, over gateways and
//! everything that moves.

mod paths;

use std::collections::BTreeMap;

use fanfare_messaging::{GatewayStats, Topic};
use fanfare_proto::{Duration, InstanceId, NodeId, Time};

use crate::{
    network::Host,
    results::{
        metrics::Metric,
        report::{HostReport, Report},
    },
};

/// The cut-offs of the evaluation that is compared.
const SOON: Duration = Duration::from_secs(5);
const LATER: Duration = Duration::from_secs(10);

/// Of one kind of messages, where the publisher's group is the subscriber's, and where it is not.
#[derive(Debug, Default)]
struct Tally {
    wanted: u64,
    soon: u64,
    later: u64,
    arrived: u64,
    connected: u64,
    /// Of those connected, within the later cut-off.
    connected_later: u64,
    /// Seconds, of those that came within the later cut-off.
    waited: f64,
}

impl Tally {
    fn count(&mut self, connected: bool, waited: Option<Duration>) {
        self.wanted += 1;
        self.connected += u64::from(connected);
        self.connected_later += u64::from(connected && waited.is_some_and(|w| w <= LATER));
        let Some(waited) = waited else { return };
        self.arrived += 1;
        self.soon += u64::from(waited <= SOON);
        if waited <= LATER {
            self.later += 1;
            self.waited += waited.as_secs_f64();
        }
    }

    fn metrics(&self, place: &str, kind: &str) -> Vec<Metric> {
        let share = |part: u64| part as f64 / self.wanted.max(1) as f64;
        vec![
            (format!("{place}_within_5s_share:{kind}"), share(self.soon)),
            (format!("{place}_within_10s_share:{kind}"), share(self.later)),
            (format!("{place}_arrived_share:{kind}"), share(self.arrived)),
            (format!("{place}_connected_share:{kind}"), share(self.connected)),
            (
                format!("{place}_connected_within_10s_share:{kind}"),
                self.connected_later as f64 / self.connected.max(1) as f64,
            ),
            (
                format!("{place}_latency_within_10s_ms:{kind}"),
                1e3 * self.waited / self.later.max(1) as f64,
            ),
        ]
    }
}

/// By what a message is known everywhere: publisher, life, topic, and the number on it.
type Name<'a> = (NodeId, InstanceId, &'a Topic, u64);

impl Report {
    /// Figures of a run with gateways; none of any other.
    pub(crate) fn joined_metrics(&self) -> Vec<Metric> {
        if self.gateways.is_empty() {
            return Vec::new();
        }
        let published: Vec<_> = self.published_names().collect();
        let paths: Vec<_> =
            published.iter().map(|(_, from, at)| self.joined_to(*at, from.host)).collect();
        let mut tallies: BTreeMap<(&str, &str), Tally> = BTreeMap::new();
        for host in self.hosts.iter().filter(|host| !host.filters.is_empty()) {
            let machine = self.machine(host.host);
            let arrivals = self.arrivals_at(&machine);
            for ((name, from, at), paths) in published.iter().zip(&paths) {
                let wants = host.filters.iter().any(|filter| filter.matches(name.2));
                if machine.contains(&from.host) || !wants {
                    continue;
                }
                let kind = name.2.as_str().split('/').next().unwrap_or_default();
                let place = if from.group == host.group { "own" } else { "other" };
                let waited = arrivals.get(name).map(|arrived| arrived.since(*at));
                for place in [place, "joined"] {
                    let tally = tallies.entry((place, kind)).or_default();
                    tally.count(paths.contains(&host.host), waited);
                }
            }
        }
        let mut metrics: Vec<Metric> =
            tallies.iter().flat_map(|((place, kind), tally)| tally.metrics(place, kind)).collect();
        let sum = |counter: fn(&GatewayStats) -> u64| -> f64 {
            self.gateways.iter().map(|gateway| gateway.sum(counter)).sum::<u64>() as f64
        };
        metrics.push((String::from("gateways_carried"), sum(|stats| stats.carried)));
        metrics.push((String::from("gateways_doubled"), sum(|stats| stats.doubled)));
        metrics.push((String::from("gateways_expired"), sum(|stats| stats.expired)));
        metrics.push((String::from("gateways_dropped"), sum(|stats| stats.dropped)));
        metrics
    }

    /// Every message: its name, who published it and when.
    fn published_names(&self) -> impl Iterator<Item = (Name<'_>, &HostReport, Time)> {
        self.hosts.iter().flat_map(|host| {
            host.publications.iter().map(move |message| {
                let name =
                    (message.key.sender, message.key.instance, &message.topic, message.number);
                (name, host, message.at)
            })
        })
    }

    /// The hosts that are one machine with this one, itself among them.
    fn machine(&self, host: Host) -> Vec<Host> {
        let joined = self.gateways.iter().map(|gateway| &gateway.hosts);
        let joined = joined.filter(|hosts| hosts.contains(&host)).flatten().copied();
        joined.chain([host]).collect()
    }

    /// When each message was first handed over at any of these hosts.
    fn arrivals_at(&self, hosts: &[Host]) -> BTreeMap<Name<'_>, Time> {
        let mut arrivals = BTreeMap::new();
        for (at, message) in hosts.iter().flat_map(|host| &self.host(*host).messages) {
            let own = (message.key.sender, message.key.instance, message.description.number);
            let origin = message.description.options.origin;
            let (node, instance, number) = origin.map_or(own, |o| (o.node, o.instance, o.number));
            let name = (node, instance, &message.description.topic, number);
            let first: &mut Time = arrivals.entry(name).or_insert(*at);
            *first = (*first).min(*at);
        }
        arrivals
    }
}

#[cfg(test)]
mod tests {
    use fanfare_messaging::{Filter, GroupConfig, Subscription, Topic};
    use fanfare_proto::{Duration, ReceiverConfig, SenderConfig, SessionConfig};

    use crate::{GatewayPlan, Host, Hosts, Plan, Publication, Until, plan::Change};

    #[test]
    fn figures_of_joined_groups_tell_own_and_other_groups_apart() {
        // 0 and 1 in a group, 2 and 3 in another; 1 and 2 are one machine, which wants messages itself.
        let node = || SessionConfig {
            sender: Some(SenderConfig::default()),
            receiver: Some(ReceiverConfig::default()),
            ..SessionConfig::default()
        };
        let topic = Topic::new("position/1").unwrap();
        let one = |host| Change::Publish(Host(host), Publication::new(topic.clone(), 100, 1));
        let report = (0..4)
            .fold(Plan::new(1), |plan, _| plan.host(node()))
            .cooperate(Hosts::All, GroupConfig::default())
            .group(Hosts::Span(Host(2), Host(3)), 1)
            .subscribe(Hosts::Span(Host(0), Host(1)), &Subscription::new(Filter::new("#").unwrap()))
            .subscribe(Host(3), &Subscription::new(Filter::new("#").unwrap()))
            .gateway(GatewayPlan::new([Host(1), Host(2)]))
            .at(Duration::from_secs(30), one(0))
            .at(Duration::from_secs(40), one(3))
            .until(Until::Limit, Duration::from_secs(60))
            .run();
        let metrics = report.joined_metrics();
        let metric = |name: &str| metrics.iter().find(|(n, _)| n == name).unwrap().1;
        assert_eq!(metric("joined_within_5s_share:position"), 1.0);
        assert_eq!(metric("own_arrived_share:position"), 1.0);
        assert_eq!(metric("other_arrived_share:position"), 1.0);
        assert_eq!(metric("other_connected_share:position"), 1.0);
        assert_eq!(metric("other_connected_within_10s_share:position"), 1.0);
        assert!(metric("other_latency_within_10s_ms:position") > 500.0, "1 s for each of two ways");
        assert!(metric("own_latency_within_10s_ms:position") < 500.0);
        assert_eq!((metric("gateways_carried"), metric("gateways_doubled")), (2.0, 0.0));
    }
}

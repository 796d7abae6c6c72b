//! How each kind of message spread in a group whose nodes move: how many nodes had it in time,
//! compared with the nodes that it could have reached; and the bytes on the air, compared with the
//! bytes needed.
//!
//! A kind is the first level of a topic. For each message and each other host that subscribes to
//! it:
//! - connected: there was a path to the host when the message was published
//! - within 5 s: of the connected hosts, those that it reached within 5 s
//! - reachable: it could have been carried there in the time of the run
//! - delivered: of the reachable hosts, those that it reached
//!
//! Needed are the bytes of the content, as often as they must be sent when nothing is lost
//! ([`Contacts::transmissions`]). On the air are all bytes of all packets with their headers. No
//! system sends content without packets, so the comparison is also made with the IP and UDP headers
//! of the content.

use std::collections::BTreeMap;

use fanfare_messaging::GroupStats;
use fanfare_proto::{Duration, ObjectKey, Time, rng::Rng};

use crate::{
    link::HEADER_BYTES,
    network::Host,
    node::PublishedMessage,
    path_loss::Contacts,
    results::{
        metrics::Metric,
        report::{HostReport, Report},
        traffic::Kind,
    },
};

/// A position report that is older is of no use (the first cut-off of the Anglova experiments).
const IN_TIME: Duration = Duration::from_secs(5);
/// Paths that open later than this before the end of a run do not count: whoever meets then needs the
/// time to learn of it, and the longest interval of announcements is 64 s.
const SETTLING: Duration = Duration::from_secs(64);

/// Longest content of a packet: what Ethernet carries behind IPv4 and UDP headers.
const PACKET_MAX: u64 = 1500 - HEADER_BYTES as u64;

/// What an all-knowing network must send when nothing is lost.
#[derive(Debug, Default)]
struct Needed {
    /// Of contents alone.
    bytes: u64,
    packets: u64,
    /// Of whole messages; and where packets are lost as they are.
    sendings: u64,
    sendings_with_losses: u64,
}

impl Needed {
    /// A message of `size` bytes, `times` over; and so often with losses.
    fn add(&mut self, size: u64, (times, with_losses): (u64, u64)) {
        self.sendings += times;
        self.sendings_with_losses += with_losses;
        self.bytes += size * times;
        self.packets += size.div_ceil(PACKET_MAX).max(1) * times;
    }
}

/// Of one kind of messages: pairs of a message and somebody who wants it.
#[derive(Debug, Default)]
struct Tally {
    wanted: u64,
    arrived: u64,
    connected: u64,
    in_time: u64,
    reachable: u64,
    delivered: u64,
    /// Seconds from publishing to handing over, of those in time and of all.
    waited_in_time: f64,
    waited: f64,
}

impl Report {
    /// Figures by kind of message, where group nodes move; none of any other run.
    pub(crate) fn dissemination_metrics(&self) -> Vec<Metric> {
        // What crosses to other media is told of as joined.
        let Some((hosts, contacts)) = self.contacts.first() else { return Vec::new() };
        let until =
            Time::from_nanos(self.ended.as_nanos().saturating_sub(SETTLING.as_nanos() as u64));
        let arrivals: Vec<BTreeMap<ObjectKey, Time>> =
            self.hosts.iter().map(HostReport::arrivals).collect();
        let mut tallies: BTreeMap<&str, Tally> = BTreeMap::new();
        let mut needed = Needed::default();
        let mut rng = Rng::new(self.seed);
        for publisher in &self.hosts {
            let Some(from) = hosts.iter().position(|host| *host == publisher.host) else {
                continue;
            };
            for message in &publisher.publications {
                let wanting: Vec<(usize, Host)> = self.wanting(message, publisher.host, hosts);
                let kind = message.topic.as_str().split('/').next().unwrap_or_default();
                let paths = Paths::of(contacts, message.at, until, from);
                let tally = tallies.entry(kind).or_default();
                for &(number, host) in &wanting {
                    let arrived = arrivals[usize::from(host.0)].get(&message.key).copied();
                    tally.count(&paths, number, arrived.map(|at| at.since(message.at)));
                }
                let to = wanting.iter().map(|(number, _)| 1 << number).sum();
                let span = (message.at, until);
                let sent = contacts.transmissions(span, from, to);
                let lossy = contacts.transmissions_with_losses(span, from, to, &mut rng);
                needed.add(message.size, (sent as u64, lossy as u64));
            }
        }
        let mut metrics: Vec<Metric> =
            tallies.iter().flat_map(|(kind, tally)| tally.metrics(kind)).collect();
        metrics.extend(self.air_metrics(&needed));
        metrics
    }

    /// What the air carried, in all and by kind of packet, beside what is needed.
    fn air_metrics(&self, needed: &Needed) -> Vec<Metric> {
        let on_air =
            self.sum(|stats| stats.bytes_sent + HEADER_BYTES as u64 * stats.datagrams_sent);
        let to = |needed: u64| on_air as f64 / needed.max(1) as f64;
        let framed = needed.bytes + HEADER_BYTES as u64 * needed.packets;
        let mut metrics = vec![
            (String::from("air_bytes"), on_air as f64),
            (String::from("air_to_needed"), to(needed.bytes)),
            (String::from("air_to_needed_packets"), to(framed)),
            (String::from("needed_bytes"), needed.bytes as f64),
            (String::from("needed_packets"), needed.packets as f64),
            (String::from("needed_sendings"), needed.sendings as f64),
            (String::from("needed_sendings_with_losses"), needed.sendings_with_losses as f64),
        ];
        for (name, messages, bytes) in self.air_by_kind() {
            let bytes = bytes + HEADER_BYTES as u64 * messages;
            metrics.push((format!("air_packets:{name}"), messages as f64));
            metrics.push((format!("air_bytes:{name}"), bytes as f64));
        }
        metrics
    }

    /// Packets of each kind that was sent, and their UDP payload bytes. What group nodes say in
    /// NORM_CMD(APPLICATION) and NORM_REPORT is told apart.
    fn air_by_kind(&self) -> Vec<(&'static str, u64, u64)> {
        let group = |counter: fn(&GroupStats) -> u64| -> u64 {
            self.hosts.iter().flat_map(|host| &host.group_lives).map(counter).sum()
        };
        let mut kinds = vec![
            ("repair", group(|s| s.repair_frames_sent), group(|s| s.repair_bytes_sent)),
            ("compact", group(|s| s.compact_frames_sent), group(|s| s.compact_bytes_sent)),
            ("state", group(|s| s.states_sent), group(|s| s.state_bytes_sent)),
            ("note", group(|s| s.notes_sent), group(|s| s.note_bytes_sent)),
            ("nack-frame", group(|s| s.nack_frames_sent), group(|s| s.nack_bytes_sent)),
        ];
        let of_group = [Kind::Application, Kind::Report];
        let norm = Kind::ALL.into_iter().filter(|kind| !of_group.contains(kind));
        kinds.extend(norm.map(|kind| {
            let count = self.traffic.of(kind);
            (kind.name(), count.messages, count.bytes)
        }));
        kinds.retain(|(_, messages, _)| *messages > 0);
        kinds
    }

    /// Other hosts that subscribe to it, with their numbers on the radio.
    fn wanting(
        &self,
        message: &PublishedMessage,
        publisher: Host,
        hosts: &[Host],
    ) -> Vec<(usize, Host)> {
        let wants = |host: &Host| {
            let filters = &self.host(*host).filters;
            *host != publisher && filters.iter().any(|filter| filter.matches(&message.topic))
        };
        let all = hosts.iter().copied().enumerate();
        all.filter(|(_, host)| wants(host)).collect()
    }
}

impl HostReport {
    /// When each message was first handed over.
    fn arrivals(&self) -> BTreeMap<ObjectKey, Time> {
        let mut arrivals = BTreeMap::new();
        for (at, message) in &self.messages {
            arrivals.entry(message.key).or_insert(*at);
        }
        arrivals
    }
}

/// Whom a message could reach.
struct Paths {
    connected: u128,
    reachable: u128,
}

impl Paths {
    fn of(contacts: &Contacts, at: Time, until: Time, from: usize) -> Self {
        let connected = contacts.connected(at, from);
        Self { connected, reachable: connected | contacts.reached((at, until), from) }
    }
}

impl Tally {
    fn count(&mut self, paths: &Paths, number: usize, waited: Option<Duration>) {
        let is = |set: u128| u64::from(set >> number & 1 == 1);
        let in_time = waited.filter(|waited| *waited <= IN_TIME);
        self.wanted += 1;
        self.arrived += u64::from(waited.is_some());
        self.connected += is(paths.connected);
        self.in_time += is(paths.connected) * u64::from(in_time.is_some());
        self.reachable += is(paths.reachable);
        self.delivered += is(paths.reachable) * u64::from(waited.is_some());
        self.waited += waited.map_or(0.0, |waited| waited.as_secs_f64());
        self.waited_in_time += in_time.map_or(0.0, |waited| waited.as_secs_f64());
    }

    fn metrics(&self, kind: &str) -> Vec<Metric> {
        let named =
            |name: &str, part: f64, all: u64| (format!("{name}:{kind}"), part / all.max(1) as f64);
        vec![
            named("connected_share", self.connected as f64, self.wanted),
            named("within_5s_share", self.in_time as f64, self.connected),
            named("reachable_share", self.reachable as f64, self.wanted),
            named("delivered_share", self.delivered as f64, self.reachable),
            named("latency_ms", 1e3 * self.waited, self.arrived),
            named("latency_within_5s_ms", 1e3 * self.waited_in_time, self.in_time),
        ]
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use fanfare_messaging::{Filter, GroupConfig, Subscription, Topic};
    use fanfare_proto::{Bitrate, Duration, ReceiverConfig, SenderConfig, SessionConfig};

    use crate::{
        Hosts, Plan, Publication, Until,
        medium::Medium,
        network::Host,
        path_loss::{Mobility, Reach, parse},
        plan::Change,
    };

    #[test]
    fn who_could_be_reached_and_what_it_took_is_told_by_kind_of_message() {
        // 1 and 2 hear each other; 3 hears 2 from 60 s on.
        let text = "0 nem:1 pathloss nem:2,90 nem:3,200\n60 nem:2 pathloss nem:1,90 nem:3,90\n";
        let mobility = Mobility::Recorded(Arc::new(parse(text).unwrap()));
        let node = || SessionConfig {
            sender: Some(SenderConfig::default()),
            receiver: Some(ReceiverConfig::default()),
            ..SessionConfig::default()
        };
        let publish = |topic| Publication::new(Topic::new(topic).unwrap(), 100, 1);
        let medium = Medium::new(Bitrate::kbps(600)).nodes((0..3).map(Host));
        let report = Plan::new(1)
            .host(node())
            .host(node())
            .host(node())
            .cooperate(Hosts::All, GroupConfig::default())
            .subscribe(Hosts::All, &Subscription::new(Filter::new("#").unwrap()))
            .medium(medium.reach(Reach { mobility, limit: 100.0, combined: false }))
            .at(Duration::from_secs(10), Change::Publish(Host(0), publish("a/1")))
            .at(Duration::from_secs(90), Change::Publish(Host(0), publish("b")))
            .until(Until::Limit, Duration::from_secs(200))
            .run();
        let metrics = report.dissemination_metrics();
        let metric = |name: &str| metrics.iter().find(|(n, _)| n == name).unwrap().1;
        assert_eq!((metric("connected_share:a"), metric("within_5s_share:a")), (0.5, 1.0));
        assert_eq!((metric("reachable_share:a"), metric("delivered_share:a")), (1.0, 1.0));
        assert_eq!((metric("connected_share:b"), metric("delivered_share:b")), (1.0, 1.0));
        assert!(metric("latency_ms:a") > 20_000.0, "half of them waited for 50 s");
        // Of each message two transmissions of 100 bytes.
        let needed = metric("air_bytes") / metric("air_to_needed");
        assert!((needed - 400.0).abs() < 1e-6, "{needed}");
        let framed = metric("air_bytes") / metric("air_to_needed_packets");
        assert!((framed - 4.0 * 128.0).abs() < 1e-6, "{framed}");
        // Each byte of the air is of one kind.
        let kinds = metrics.iter().filter(|(name, _)| name.starts_with("air_bytes:"));
        let sum: f64 = kinds.map(|(_, bytes)| bytes).sum();
        assert!((sum - metric("air_bytes")).abs() < 1e-6, "{sum}");
    }
}

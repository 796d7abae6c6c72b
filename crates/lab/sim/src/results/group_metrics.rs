//! Figures of groups: messages published and delivered, and the overhead beside their bytes.

use core::ops::Range;

use fanfare_messaging::Topic;
use fanfare_proto::{Duration, Time};

use crate::results::{
    metrics::Metric,
    report::{HostReport, Report},
};

/// Ethernet, IPv4 and UDP headers: what a capture counts with each datagram.
const FRAME_HEADERS: u64 = 14 + 20 + 8;

impl Report {
    /// Figures of a run with group nodes; none of any other. What was sent is of `window`, and counted from its
    /// beginning is when the last message was handed over.
    pub(crate) fn group_metrics(&self, window: &Range<Duration>) -> Vec<Metric> {
        let published: u64 = self.hosts.iter().map(|host| host.published.0).sum();
        if published == 0 {
            return Vec::new();
        }
        let (senders, peers): (Vec<&HostReport>, Vec<&HostReport>) =
            self.hosts.iter().partition(|host| host.published.0 > 0);
        let content: u64 = senders.iter().map(|host| host.published.1).sum();
        let delivered: usize = self.hosts.iter().map(|host| host.messages.len()).sum();
        // A publisher hears all but its own.
        let wanted: usize = self.hosts.iter().map(|host| self.wanted_by(host)).sum();
        let each = |bytes: u64| bytes as f64 / published as f64;
        let last = self.hosts.iter().flat_map(|host| &host.messages).map(|(at, _)| *at).max();
        let settled = last.map_or(Duration::ZERO, |at| at.since(Time::ZERO + window.start));
        let repairs = peers.iter().flat_map(|host| &host.group_lives).map(|life| life.repairs_sent);
        vec![
            (String::from("messages_published"), published as f64),
            (String::from("messages_delivered_share"), delivered as f64 / wanted.max(1) as f64),
            (String::from("sender_overhead_bytes"), each(frames(&senders).saturating_sub(content))),
            (String::from("peer_overhead_bytes"), each(frames(&peers))),
            (String::from("peer_repairs"), repairs.sum::<u64>() as f64 / published as f64),
            (String::from("settled_s"), settled.as_secs_f64()),
            (String::from("sent_bytes"), self.traffic.bytes.sum(window) as f64),
        ]
    }
}

impl Report {
    /// Messages of others that a host subscribes to.
    fn wanted_by(&self, host: &HostReport) -> usize {
        let others = self.hosts.iter().filter(|other| other.host != host.host);
        let wants = |topic: &Topic| host.filters.iter().any(|filter| filter.matches(topic));
        others.flat_map(|other| &other.publications).filter(|m| wants(&m.topic)).count()
    }
}

/// Bytes on the wire of all that these hosts sent.
fn frames(hosts: &[&HostReport]) -> u64 {
    let of = |host: &HostReport| {
        host.sum(|stats| stats.bytes_sent + FRAME_HEADERS * stats.datagrams_sent)
    };
    hosts.iter().map(|host| of(host)).sum()
}

#[cfg(test)]
mod tests {
    use fanfare_messaging::{Filter, GroupConfig, Subscription, Topic};
    use fanfare_proto::{Duration, ReceiverConfig, SenderConfig, SessionConfig};

    use crate::{Change, Host, Hosts, Link, Plan, Publication, Until};

    #[test]
    fn a_group_tells_its_messages_and_what_they_cost() {
        let node = || SessionConfig {
            sender: Some(SenderConfig::default()),
            receiver: Some(ReceiverConfig::default()),
            ..SessionConfig::default()
        };
        let publication = Publication::new(Topic::new("a").unwrap(), 10_000, 3);
        let report = Plan::new(1)
            .host(node())
            .host(node())
            .host(node())
            .cooperate(Hosts::All, GroupConfig::default())
            .subscribe(Host(1), &Subscription::new(Filter::new("#").unwrap()))
            .link(Link::default())
            .at(Duration::ZERO, Change::Publish(Host(0), publication))
            .until(Until::Limit, Duration::from_secs(9))
            .run();
        let metrics = report.group_metrics(&(Duration::from_millis(100)..Duration::from_secs(9)));
        let metric = |name: &str| metrics.iter().find(|(n, _)| n == name).unwrap().1;
        assert_eq!((metric("messages_published"), metric("messages_delivered_share")), (3.0, 1.0));
        // 8 symbols and an INFO with 62 bytes of headers each at least, 10,000 bytes apart.
        let overhead = metric("sender_overhead_bytes");
        assert!(overhead > 9.0 * 62.0 && overhead < 2_000.0, "{overhead}");
        // From 100 ms to 9 s; the sender was done after 30 ms, and all have announced themselves since.
        let (sent, all) = (metric("sent_bytes"), report.sum(|stats| stats.bytes_sent) as f64);
        assert!(sent > 100.0 && sent < all / 10.0, "{sent} of {all}");
        assert_eq!(metric("settled_s"), 0.0, "the last message came before the window");
    }
}

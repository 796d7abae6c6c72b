//! The hosts of a road, and the kernel's shapers between them, with their counters.

use super::{
    emulated::scenario,
    line::{POLICER_BURST, RoadLine},
    road::RoadCase,
};
use crate::{
    bench::star::Star,
    error::{LabError, Refusal},
    host::{Host, INTERFACE},
    lab::Lab,
    system::tool,
};

/// The largest IP packet of these networks.
const MTU: usize = 1500;
/// Bytes that a frame has before its IP packet.
const ETHERNET: u64 = 14;
/// Time that packets may wait before a bucket, milliseconds.
const WAIT_MS: u64 = 200;
/// The table of nft's rules and of its counter.
const TABLE: &str = "netdev roads";

/// Hosts and a network; gone when dropped. Each transfer has one of its own, so that buckets are full and
/// counters are zero.
#[derive(Debug)]
pub(super) struct RoadNetwork {
    road: RoadCase,
    hosts: RoadHosts,
}

#[derive(Debug)]
enum RoadHosts {
    Bridge(Star),
    Emulated(Box<Lab>),
}

/// Counters of what has passed and what has not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PacketCounters {
    /// Bytes of frames on the sender's cable, without those that a bucket on it dropped.
    pub(super) sent_bytes: u64,
    /// Packets that bucket, policer or queue dropped; of a LAN with loss, the mean of its receivers.
    pub(super) dropped: u64,
}

impl RoadNetwork {
    pub(super) fn up(road: &RoadCase) -> Result<Self, LabError> {
        let hosts = match road.line {
            RoadLine::Emulated { .. } => {
                RoadHosts::Emulated(Box::new(Lab::up(&scenario(road)?, 1)?))
            }
            line => RoadHosts::Bridge(bridge(road, line)?),
        };
        Ok(Self { road: *road, hosts })
    }

    fn hosts(&self) -> &[Host] {
        match &self.hosts {
            RoadHosts::Bridge(star) => star.hosts(),
            RoadHosts::Emulated(lab) => lab.hosts(),
        }
    }
    pub(super) fn sender(&self) -> &Host {
        &self.hosts()[0]
    }
    pub(super) fn receivers(&self) -> &[Host] {
        &self.hosts()[1..]
    }

    /// Reads the counters of the kernel, or of the emulator.
    pub(super) fn counted(&self) -> Result<PacketCounters, LabError> {
        let star = match &self.hosts {
            RoadHosts::Bridge(star) => star,
            RoadHosts::Emulated(lab) => return emulated(lab),
        };
        let dropped = match self.road.line {
            RoadLine::Bucket { .. } => bucket_dropped(self.sender().namespace(), INTERFACE)?,
            RoadLine::Policer { .. } => filter_dropped(star.hub())?,
            RoadLine::Lan { loss_percent: 0 } | RoadLine::Emulated { .. } => 0,
            RoadLine::Lan { .. } => {
                let each = star.receivers().iter().map(|host| filter_dropped(host.namespace()));
                each.sum::<Result<u64, LabError>>()? / star.receivers().len().max(1) as u64
            }
        };
        Ok(PacketCounters { sent_bytes: sent_bytes(self.sender())?, dropped })
    }
}

fn bridge(road: &RoadCase, line: RoadLine) -> Result<Star, LabError> {
    let star = Star::up(road.receivers, MTU, false)?;
    match line {
        RoadLine::Bucket { rate_bps, burst } => {
            star.limit_sender(rate_bps, burst, queue(rate_bps, burst))?;
        }
        RoadLine::Policer { rate_bps } => {
            split(star.sender())?;
            let rate = rate_bps / 8;
            let what = format!("limit rate over {rate} bytes/second burst {POLICER_BURST} bytes");
            filter(star.hub(), "port0", &what)?;
        }
        RoadLine::Lan { loss_percent } if loss_percent > 0 => {
            split(star.sender())?;
            let what =
                format!("meta l4proto {{ tcp, udp }} numgen random mod 100 < {loss_percent}");
            star.receivers()
                .iter()
                .try_for_each(|host| filter(host.namespace(), INTERFACE, &what))?;
        }
        RoadLine::Lan { .. } | RoadLine::Emulated { .. } => {}
    }
    Ok(star)
}

/// Bytes that may wait before a bucket, as tc makes it of `latency`.
pub(super) fn queue(rate_bps: u64, burst: u64) -> u64 {
    burst + rate_bps / 8 * WAIT_MS / 1000
}

/// Has the kernel cut super-packets before they leave: each packet is judged by itself.
fn split(host: &Host) -> Result<(), LabError> {
    let words = ["-n", host.namespace(), "link", "set", INTERFACE, "gso_max_segs", "1"];
    tool::ip(&words, "").map(drop)
}

/// Drops what these words of nft match, of all that comes in there, and counts it.
fn filter(namespace: &str, device: &str, what: &str) -> Result<(), LabError> {
    let rules = format!(
        "add table {TABLE}\n\
         add counter {TABLE} dropped\n\
         add chain {TABLE} in {{ type filter hook ingress device \"{device}\" priority 0; policy accept; }}\n\
         add rule {TABLE} in {what} counter name dropped drop\n"
    );
    tool::ip(&["netns", "exec", namespace, "nft", "-f", "-"], &rules).map(drop)
}

fn filter_dropped(namespace: &str) -> Result<u64, LabError> {
    let list = ["nft", "-j", "list", "counter", "netdev", "roads", "dropped"];
    let told = tool::ip(&[&["netns", "exec", namespace][..], &list].concat(), "")?;
    let found = json(&told)["nftables"]
        .as_array()
        .and_then(|all| all.iter().find_map(|each| each["counter"]["packets"].as_u64()));
    found.ok_or_else(|| no_counter("nft"))
}

/// Packets that the queue at this device dropped. A super-packet that did not fit counts as one.
pub(super) fn bucket_dropped(namespace: &str, device: &str) -> Result<u64, LabError> {
    let list = ["tc", "-s", "-j", "qdisc", "show", "dev", device];
    let told = tool::ip(&[&["netns", "exec", namespace][..], &list].concat(), "")?;
    json(&told)[0]["drops"].as_u64().ok_or_else(|| no_counter("tc"))
}

/// Bytes of frames that have left a host.
pub(super) fn sent_bytes(host: &Host) -> Result<u64, LabError> {
    let told = tool::ip(&["-n", host.namespace(), "-s", "-j", "link", "show", INTERFACE], "")?;
    json(&told)[0]["stats64"]["tx"]["bytes"].as_u64().ok_or_else(|| no_counter("ip"))
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_default()
}

fn no_counter(program: &str) -> LabError {
    let text = format!("{program} -j (no counter): it does not say what it counted. Update it");
    LabError::new(Refusal::System, "lab.counters", text)
}

fn emulated(lab: &Lab) -> Result<PacketCounters, LabError> {
    let snapshot = lab.snapshot()?;
    let sent = snapshot.nodes.iter().find(|node| node.node == "sender").map(|node| node.sent);
    let sent = sent.unwrap_or_default();
    let line = snapshot.links.iter().find(|link| link.from == "in" && link.to == "out");
    Ok(PacketCounters {
        sent_bytes: sent.bytes + sent.packets * ETHERNET,
        dropped: line.map_or(0, |line| line.dropped),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_before_a_bucket_is_its_burst_and_200_ms_of_its_rate() {
        assert_eq!(queue(56_000, 16_000), 16_000 + 1_400);
        assert_eq!(queue(100_000_000, 256_000), 256_000 + 2_500_000);
    }
}

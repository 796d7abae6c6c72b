//! Everything that a sensor has seen in a span of time, as JSON: what the monitor takes.

use std::{collections::BTreeMap, net::IpAddr};

use fanfare_messaging::monitor::observe::{Mac, Observer};
use serde::Serialize;

use crate::sensor::{Addresses, dissect::Refused, interfaces::Interface, snmp::AgentReport};

/// Pairs of addresses that are told, the busiest first; the sums have all.
const PATHS_MAX: usize = 64;
/// Sessions and cards that are told.
const SESSIONS_MAX: usize = 64;
const CARDS_MAX: usize = 64;

/// What a sensor tells.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Report {
    /// Its name.
    pub sensor: String,
    /// Seconds since the report before.
    pub span: f64,
    /// Seconds until the next, about.
    pub every: f64,
    /// Its machine.
    pub host: Host,
    /// The machine's interfaces, by name.
    pub interfaces: BTreeMap<String, Interface>,
    /// What packets told; nothing where they may not be seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets: Option<Packets>,
    /// Other machines, by address.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub agents: BTreeMap<String, AgentReport>,
    /// What is not seen, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

/// A machine.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Host {
    /// The busy share of its processors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processor: Option<f64>,
    /// The used share of its memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<f64>,
    /// What is left in its battery.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub battery: Option<f64>,
}

/// What packets told, since the sensor was started where no span is named.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Packets {
    /// On the line.
    pub seen: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// For which the kernel had no room.
    pub dropped: u64,
    /// Frames that told nothing, by reason.
    pub refused: BTreeMap<&'static str, u64>,
    /// Flows that are not told apart any more.
    pub folded: u64,
    /// Who sends to whom, the busiest of this span first.
    pub paths: Vec<Path>,
    /// Sessions of NORM, which Fanfare speaks.
    pub sessions: Vec<NormSession>,
    /// Cards on the link.
    pub cards: Vec<CardSeen>,
}

/// One pair of addresses.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Path {
    /// Who sends.
    pub from: String,
    /// To whom.
    pub to: String,
    /// Bytes so far.
    pub bytes: u64,
    /// Packets so far.
    pub packets: u64,
    /// Bits per second in this span.
    pub bps: u64,
    /// Bytes by kind: norm, tcp, udp, icmp, other.
    pub classes: BTreeMap<&'static str, u64>,
    /// The round trip now, seconds: from one to the other and back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt: Option<f64>,
    /// The least lately.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt_base: Option<f64>,
    /// Samples of it.
    #[serde(skip_serializing_if = "is_zero")]
    pub samples: u64,
    /// TCP segments with data.
    #[serde(skip_serializing_if = "is_zero")]
    pub segments: u64,
    /// Those that came again, lost before they came here.
    #[serde(skip_serializing_if = "is_zero")]
    pub lost_before: u64,
    /// Those that came again though they had come here.
    #[serde(skip_serializing_if = "is_zero")]
    pub lost_after: u64,
}

/// One sender of NORM.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NormSession {
    /// Its address, and its group.
    pub from: String,
    /// Likewise.
    pub to: String,
    /// Its id, as Fanfare writes it.
    pub node: String,
    /// Since when it runs.
    pub instance: u16,
    /// Messages that it numbered, and those that came here.
    pub sent: u64,
    /// Likewise.
    pub came: u64,
    /// Bytes of these.
    pub bytes: u64,
}

/// A card.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CardSeen {
    /// Its address.
    pub mac: String,
    /// Addresses of IP behind it.
    pub addresses: u64,
    /// Many are behind it.
    pub gateway: bool,
    /// The fewest hops of what it sent.
    pub hops: u8,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Makes reports of what an observer has seen.
#[derive(Debug, Default)]
pub struct Reporter {
    addresses: Addresses,
    /// Bytes of pairs at the last report.
    before: BTreeMap<(IpAddr, IpAddr), u64>,
    refused: BTreeMap<&'static str, u64>,
    /// Packets for which the kernel had no room.
    pub dropped: u64,
}

impl Reporter {
    /// Tells as much of addresses.
    #[must_use]
    pub fn new(addresses: Addresses) -> Self {
        Self { addresses, ..Self::default() }
    }

    /// A frame told nothing.
    pub fn on_refused(&mut self, why: Refused) {
        *self.refused.entry(why.name()).or_default() += 1;
    }

    /// Everything so far; rates are those of the last `seconds`.
    pub fn packets(&mut self, observer: &Observer, seconds: f64) -> Packets {
        let (bytes, seen) = observer.flows().sum();
        Packets {
            seen,
            bytes,
            dropped: self.dropped,
            refused: self.refused.clone(),
            folded: observer.flows().other().2,
            paths: self.paths(observer, seconds),
            sessions: self.sessions(observer),
            cards: self.cards(observer),
        }
    }

    fn paths(&mut self, observer: &Observer, seconds: f64) -> Vec<Path> {
        let mut pairs: BTreeMap<(IpAddr, IpAddr), Path> = BTreeMap::new();
        for (key, flow) in observer.flows().iter() {
            let path = pairs.entry(key.ends).or_insert_with(|| self.path(key.ends));
            path.bytes += flow.bytes;
            path.packets += flow.packets;
            *path.classes.entry(class(key.protocol, key.session.is_some())).or_default() +=
                flow.bytes;
        }
        let trips: BTreeMap<(IpAddr, IpAddr), (f64, f64, u64)> = observer
            .trips()
            .ways()
            .map(|(ends, way)| {
                let now = way.now().as_secs_f64();
                (*ends, (now, way.base().as_secs_f64(), way.count))
            })
            .collect();
        let losses: BTreeMap<_, _> = observer.losses().pairs().collect();
        for (ends, path) in &mut pairs {
            let before = self.before.insert(*ends, path.bytes).unwrap_or(0);
            if seconds > 0.0 {
                let bits = path.bytes.saturating_sub(before) as f64 * 8.0;
                path.bps = (bits / seconds).round() as u64;
            }
            // Both halves make the whole way; at an end one of them is nothing, or not there.
            let halves = [trips.get(ends), trips.get(&(ends.1, ends.0))];
            let sum = |of: fn(&(f64, f64, u64)) -> f64| -> f64 {
                halves.iter().flatten().map(|half| of(half)).sum()
            };
            if halves.iter().any(Option::is_some) {
                path.rtt = Some(sum(|half| half.0));
                path.rtt_base = Some(sum(|half| half.1));
                path.samples = halves.iter().flatten().map(|half| half.2).sum();
            }
            if let Some(loss) = losses.get(ends) {
                path.segments = loss.segments;
                (path.lost_before, path.lost_after) = (loss.before, loss.after);
            }
        }
        self.before.retain(|ends, _| pairs.contains_key(ends));
        let mut paths: Vec<Path> = pairs.into_values().collect();
        paths.sort_by_key(|path| std::cmp::Reverse((path.bps, path.bytes)));
        paths.truncate(PATHS_MAX);
        paths
    }

    fn path(&self, ends: (IpAddr, IpAddr)) -> Path {
        Path {
            from: self.addresses.tell(ends.0),
            to: self.addresses.tell(ends.1),
            bytes: 0,
            packets: 0,
            bps: 0,
            classes: BTreeMap::new(),
            rtt: None,
            rtt_base: None,
            samples: 0,
            segments: 0,
            lost_before: 0,
            lost_after: 0,
        }
    }

    fn sessions(&self, observer: &Observer) -> Vec<NormSession> {
        let all = observer.losses().sessions().take(SESSIONS_MAX);
        all.map(|((from, to, node, instance), session)| NormSession {
            from: self.addresses.tell(*from),
            to: self.addresses.tell(*to),
            node: format!("{node:08x}"),
            instance: *instance,
            sent: session.sent,
            came: session.came,
            bytes: session.bytes,
        })
        .collect()
    }

    fn cards(&self, observer: &Observer) -> Vec<CardSeen> {
        let all = observer.neighbours().cards().into_iter().take(CARDS_MAX);
        all.map(|(mac, card, gateway)| CardSeen {
            mac: self.mac(mac),
            addresses: card.addresses.len() as u64 + card.more,
            gateway,
            hops: card.hops,
        })
        .collect()
    }

    /// Its maker alone, where addresses are not told whole.
    fn mac(&self, mac: Mac) -> String {
        let told = if self.addresses == Addresses::Full { 6 } else { 3 };
        let bytes: Vec<String> = mac[..told].iter().map(|byte| format!("{byte:02x}")).collect();
        bytes.join(":")
    }
}

fn class(protocol: u8, is_session: bool) -> &'static str {
    match protocol {
        17 if is_session => "norm",
        6 => "tcp",
        17 => "udp",
        1 | 58 => "icmp",
        _ => "other",
    }
}

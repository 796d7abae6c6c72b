//! Why multicast does or does not work here, in plain words.
//!
//! [`examine`] looks at this machine, exchanges small probes with other doctors in the group, and
//! gives one [`Finding`] per check: what was seen and what to do. Looking and judging are apart:
//! each check is a pure function over what was gathered.
//!
//! ```no_run
//! use fanfare_monitor::doctor::{Examination, examine};
//! let examination = Examination { name: "lab-01".into(), ..Examination::default() };
//! let diagnosis = examine(&examination, &mut |finding| println!("{finding}"))?;
//! println!("{}", diagnosis.verdict());
//! # Ok::<(), fanfare_node::OpenError>(())
//! ```
//!
//! # Map, in reading order
//! - `finding`: what a check comes to. `interfaces`, `port`, `link`, `route`, `ttl`, `firewall`,
//!   `container`, `clock`: checks that need no sockets. `membership`, `querier`, `reverse_path`,
//!   `buffer`, `wire`: those that look before and after. `own_loop`, `peers`: those of the probes. `ways`: what is left to use.
//! - `probe`, `exchange`, `peer`: what doctors say to each other, without I/O.
//! - `system`, `listen`: where facts come from.

mod buffer;
mod clock;
mod container;
mod exchange;
mod finding;
mod firewall;
mod interfaces;
mod link;
mod listen;
mod membership;
mod own_loop;
mod peer;
mod peers;
mod port;
mod probe;
mod querier;
mod reverse_path;
mod route;
mod system;
mod ttl;
mod ways;
mod wire;

use std::{
    hash::{BuildHasher, RandomState},
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use fanfare_proto::Bitrate;
use fanfare_udp::{EndpointConfig, Interface, OpenError, choose_interface};

use buffer::BufferFacts;
use listen::{Heard, Ward};
use own_loop::LoopFacts;
use querier::QuerierFacts;
use reverse_path::ReversePathFacts;
use system::Counters;
use ways::WayFacts;
use wire::WireFacts;

pub use finding::{Finding, Level, Verdict};
pub use peer::{Hears, PeerReport};

/// What to examine.
#[derive(Debug, Clone)]
pub struct Examination {
    /// The group and its port. Default 239.255.42.1:6003.
    pub group: SocketAddr,
    /// Name or address of the interface. Default that which [`choose_interface`] finds.
    pub interface: Option<String>,
    /// The machine that must be heard, and hear this one; its doctor is to be run at the same time.
    /// Default none.
    pub with: Option<IpAddr>,
    /// What other doctors call this machine, up to 63 bytes. Default `unnamed`.
    pub name: String,
    /// How long to listen for other doctors; at least a second, two more when one comes late.
    /// Default 5 s. Beyond 125 s the absence of a querier is noticed.
    pub peer_wait: Duration,
    /// TTL of the probes. Default 1.
    pub ttl: u8,
    /// The rate that receive buffers should stand for 100 ms. Default 100 Mbit/s.
    pub rate: Bitrate,
    /// True if the program can be a relay. Default no.
    pub has_relay: bool,
}

impl Default for Examination {
    fn default() -> Self {
        Self {
            group: EndpointConfig::default().group,
            interface: None,
            with: None,
            name: "unnamed".to_owned(),
            peer_wait: Duration::from_secs(5),
            ttl: 1,
            rate: Bitrate::mbps(100),
            has_relay: false,
        }
    }
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnosis {
    /// All findings, in the order in which they were made.
    pub findings: Vec<Finding>,
    /// The other doctors that were heard, by name.
    pub peers: Vec<PeerReport>,
}

impl Diagnosis {
    /// All of it in one sentence.
    pub fn verdict(&self) -> Verdict {
        Verdict::of(&self.findings, self.peers.len())
    }
}

/// Findings as they are made.
struct Record<'a> {
    findings: Vec<Finding>,
    on_finding: &'a mut dyn FnMut(&Finding),
}

impl Record<'_> {
    fn add(&mut self, finding: Finding) {
        (self.on_finding)(&finding);
        self.findings.push(finding);
    }
}

/// Examines this machine; `on_finding` gets each finding as soon as it is made. Takes as long as
/// [`Examination::peer_wait`] says, during which other doctors in the group are answered.
///
/// As root it sees more: firewall rules and IGMP queries.
///
/// # Errors
/// What no check can be made of: an address that is no group, an interface that does not exist, a
/// system that does not list its interfaces. Anything else is a finding.
pub fn examine(
    examination: &Examination,
    on_finding: &mut dyn FnMut(&Finding),
) -> Result<Diagnosis, OpenError> {
    let group = examination.group.ip();
    let chosen = choose_interface(group, examination.interface.as_deref());
    let chosen = match chosen {
        Err(
            error @ (OpenError::NotMulticast { .. }
            | OpenError::NoSuchInterface { .. }
            | OpenError::Enumerate { .. }),
        ) => return Err(error),
        chosen => chosen,
    };
    let mut record = Record { findings: Vec::new(), on_finding };
    record.add(clock::judge(system::clocks()));
    record.add(container::judge(&system::container(group, chosen.as_ref().ok())));
    let ports = system::ports();
    let named = examination.interface.is_some();
    record.add(interfaces::judge_choice(group, chosen.as_ref(), (named, &ports)));
    let peers = match &chosen {
        Ok(interface) => {
            if !named {
                let others = interfaces::judge_others(group, interface, &ports);
                let hidden = interfaces::judge_hidden(group, interface, &ports);
                others.into_iter().chain(hidden).for_each(|finding| record.add(finding));
            }
            if let Some(finding) = port::judge(examination.group, &system::groups_at_ports()) {
                record.add(finding);
            }
            examine_interface(examination, interface, &mut record)
        }
        Err(OpenError::Ambiguous { .. }) => {
            record.add(route::judge(&system::route(group, None)));
            Vec::new()
        }
        Err(_) => Vec::new(),
    };
    let (by_group, by_unicast) = WayFacts::of_peers(&peers);
    let address = chosen.as_ref().ok().and_then(|interface| interface.address_towards(group));
    let is_bad = record.findings.iter().any(|finding| finding.level == Level::Bad);
    let has_relay = examination.has_relay;
    let dropped = chosen.as_ref().ok().and_then(|interface| {
        firewall::drops_to_hosts(&system::firewall(examination.group, interface))
    });
    let facts = WayFacts { is_bad, by_group, by_unicast, address, dropped, has_relay };
    ways::judge(&facts).into_iter().for_each(|finding| record.add(finding));
    Ok(Diagnosis { findings: record.findings, peers })
}

fn examine_interface(
    examination: &Examination,
    interface: &Interface,
    record: &mut Record<'_>,
) -> Vec<PeerReport> {
    let group = examination.group;
    record.add(link::judge(&system::link(interface)));
    record.add(interfaces::judge_mtu(group.ip(), interface));
    record.add(ttl::judge(examination.ttl));
    record.add(route::judge(&system::route(group.ip(), Some(interface))));
    record.add(firewall::judge(&system::firewall(group, interface)));
    let config = EndpointConfig {
        group,
        interface: Some(interface.clone()),
        ttl: examination.ttl,
        ..EndpointConfig::default()
    };
    let before = (Counters::read(group.ip()), system::packets_sent(interface));
    let who = (examination.name.as_str(), random());
    match Ward::open(&config, interface, who, examination.with) {
        Ok(ward) => {
            record.add(membership::judge(&system::membership(group.ip(), interface)));
            let heard = ward.listen(examination.peer_wait);
            judge_exchange(examination, interface, before, heard, record)
        }
        Err(error) => {
            let advice = "look at the message; ss -ulpn shows who has which port";
            record.add(Finding::bad("loop.no_socket", error.to_string(), advice));
            Vec::new()
        }
    }
}

fn judge_exchange(
    examination: &Examination,
    interface: &Interface,
    (before, sent_before): (Counters, Option<u64>),
    heard: Heard,
    record: &mut Record<'_>,
) -> Vec<PeerReport> {
    let group = examination.group;
    let after = Counters::read(group.ip());
    let (own_heard, sent) = heard.own;
    record.add(querier::judge(&QuerierFacts {
        loopback: interface.loopback,
        bridge: system::bridge(interface),
        listened: heard.queries,
    }));
    if group.is_ipv4() {
        record.add(reverse_path::judge(&ReversePathFacts {
            interface: interface.name.clone(),
            filter: system::rp_filter(interface),
            routes: system::routes(),
            dropped: before.reverse_path.zip(after.reverse_path),
        }));
    }
    record.add(buffer::judge(&BufferFacts {
        rate: examination.rate,
        limit: system::rmem_max(),
        asked: EndpointConfig::default().receive_buffer as u64,
        overruns: before.overruns.zip(after.overruns),
        own_overruns: heard.overruns,
    }));
    record.add(own_loop::judge(&LoopFacts {
        interface: interface.name.clone(),
        heard: own_heard,
        sent,
        refused: heard.refused,
    }));
    record.add(wire::judge(&WireFacts {
        interface: interface.name.clone(),
        loopback: interface.loopback,
        probes: sent,
        sent: sent_before.zip(system::packets_sent(interface)),
    }));
    match examination.with.filter(|with| !is_heard(&heard.peers, *with)) {
        Some(with) => {
            let own = interface.address_towards(group.ip());
            record.add(peers::judge_absent((group, with, own), heard.waited, &heard.peers));
        }
        None => {
            peers::judge(group, heard.waited, &heard.peers).into_iter().for_each(|f| record.add(f));
        }
    }
    if let Some(finding) = peers::judge_ignored(heard.ignored) {
        record.add(finding);
    }
    heard.peers
}

fn is_heard(peers: &[PeerReport], with: IpAddr) -> bool {
    peers.iter().any(|peer| peer.address.ip() == with)
}

/// Two runs must not take each other for themselves; nothing else hangs on it.
fn random() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

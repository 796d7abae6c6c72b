//! Looks at this machine: files of `/proc` and `/sys`, firewall tools, clocks. Judges nothing.

use std::{
    fs,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket},
    path::Path,
    process::Command,
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use fanfare_udp::{Interface, interfaces};

use super::clock::ClockFacts;
use super::container::ContainerFacts;
use super::firewall::FirewallFacts;
use super::membership::MembershipFacts;
use super::querier::Bridge;
use super::reverse_path::counter;
use super::route::RouteFacts;

/// Counters that must not grow while we test.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counters {
    pub(super) overruns: Option<u64>,
    pub(super) reverse_path: Option<u64>,
}

impl Counters {
    pub(super) fn read(group: IpAddr) -> Self {
        let overruns = match group {
            IpAddr::V4(_) => {
                read("/proc/net/snmp").and_then(|t| counter(&t, "Udp", "RcvbufErrors"))
            }
            IpAddr::V6(_) => read("/proc/net/snmp6").and_then(|t| counter_v6(&t)),
        };
        let reverse_path =
            read("/proc/net/netstat").and_then(|t| counter(&t, "TcpExt", "IPReversePathFilter"));
        Self { overruns, reverse_path }
    }
}

fn counter_v6(table: &str) -> Option<u64> {
    table.lines().find_map(|line| line.strip_prefix("Udp6RcvbufErrors"))?.trim().parse().ok()
}

/// Where the routing table sends the group, and what else there is.
pub(super) fn route(group: IpAddr, chosen: Option<&Interface>) -> RouteFacts {
    let all = interfaces().unwrap_or_default();
    let source = route_source(group);
    let routed = all.iter().find(|i| source.is_some_and(|s| i.addresses.contains(&s)));
    RouteFacts {
        group,
        chosen: chosen.map(|interface| interface.name.clone()),
        usable: usable(&all, group).map(|i| i.name.clone()).collect(),
        routed: routed.map(|interface| interface.name.clone()),
    }
}

fn usable(all: &[Interface], group: IpAddr) -> impl Iterator<Item = &Interface> {
    all.iter().filter(move |interface| interface.serves(group) && !interface.loopback)
}

/// Our address with which the routing table would send there. Connecting a UDP socket looks up the
/// route and sends nothing.
fn route_source(destination: IpAddr) -> Option<IpAddr> {
    let any: IpAddr = match destination {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    // The port is never used; 9 is discard (RFC 863).
    socket.connect((destination, 9)).ok()?;
    socket.local_addr().ok().map(|address| address.ip()).filter(|ip| !ip.is_unspecified())
}

/// Whether what this address sends comes by this interface: there is no other, or the route back
/// leads there.
pub(super) fn comes_by(interface: &Interface, source: IpAddr) -> bool {
    let all = interfaces().unwrap_or_default();
    usable(&all, source).count() <= 1
        || route_source(source).is_some_and(|own| interface.addresses.contains(&own))
}

pub(super) fn firewall(group: SocketAddr, interface: &Interface) -> FirewallFacts {
    let root = is_root();
    let tool = if group.is_ipv6() { "ip6tables" } else { "iptables" };
    FirewallFacts {
        group,
        interface: interface.name.clone(),
        root,
        nft: root.then(|| output("nft", &["list", "ruleset"])).flatten(),
        iptables: root.then(|| output(tool, &["-S"])).flatten(),
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn output(program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program).args(args).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

pub(super) fn membership(group: IpAddr, interface: &Interface) -> MembershipFacts {
    let path = if group.is_ipv4() { "/proc/net/igmp" } else { "/proc/net/igmp6" };
    MembershipFacts { group, interface: interface.name.clone(), table: read(path) }
}

/// `rp_filter` as it counts for this interface: the larger of its own and that for all.
pub(super) fn rp_filter(interface: &Interface) -> Option<u32> {
    let value = |name: &str| {
        read(&format!("/proc/sys/net/ipv4/conf/{name}/rp_filter"))?.trim().parse::<u32>().ok()
    };
    Some(value("all")?.max(value(&interface.name)?))
}

pub(super) fn routes() -> Option<String> {
    read("/proc/net/route")
}

/// The bridge that the interface is, or of which it is a port.
pub(super) fn bridge(interface: &Interface) -> Option<Bridge> {
    let of = |dir: String| {
        let flag = |name| read(&format!("{dir}/bridge/{name}")).map(|value| value.trim() != "0");
        let name = read(&format!("{dir}/uevent"))?
            .lines()
            .find_map(|line| line.strip_prefix("INTERFACE=").map(str::to_owned))?;
        Some(Bridge {
            name,
            snooping: flag("multicast_snooping")?,
            querier: flag("multicast_querier")?,
        })
    };
    let own = format!("/sys/class/net/{}", interface.name);
    of(own.clone()).or_else(|| of(format!("{own}/master")))
}

pub(super) fn rmem_max() -> Option<u64> {
    read("/proc/sys/net/core/rmem_max")?.trim().parse().ok()
}

pub(super) fn clocks() -> ClockFacts {
    // As long as the clock may take to tick, a thousand looks at most.
    let begun = Instant::now();
    let counted = (0..1000).map(|_| begun.elapsed()).find(|time| !time.is_zero());
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    ClockFacts { counted: counted.unwrap_or_default(), wall }
}

pub(super) fn container(group: IpAddr, interface: Option<&Interface>) -> ContainerFacts {
    let others = interfaces().unwrap_or_default().iter().filter(|i| i.up && !i.loopback).count();
    let number = |name: &str, file| {
        read(&format!("/sys/class/net/{name}/{file}"))?.trim().parse::<u32>().ok()
    };
    // A pair's ends name each other; a plain interface names itself.
    let is_veth = |i: &Interface| {
        !Path::new(&format!("/sys/class/net/{}/device", i.name)).exists()
            && !i.loopback
            && number(&i.name, "iflink") != number(&i.name, "ifindex")
    };
    ContainerFacts {
        marked: ["/.dockerenv", "/run/.containerenv"].iter().any(|path| Path::new(path).exists()),
        status: read("/proc/self/status"),
        interface: interface.map_or_else(String::new, |i| i.name.clone()),
        address: interface.and_then(|i| i.address_towards(group)),
        veth: interface.is_some_and(is_veth),
        others,
    }
}

fn read(path: &str) -> Option<String> {
    fs::read_to_string(path).ok()
}

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
use super::container::{ContainerFacts, DOCKER, PODMAN};
use super::firewall::{BridgePorts, FirewallFacts, Manager};
use super::link::LinkFacts;
use super::membership::MembershipFacts;
use super::querier::Bridge;
use super::reverse_path::counter;
use super::route::RouteFacts;

/// linux/if_arp.h: frames with Ethernet's addresses, Wi-Fi among them.
const ARPHRD_ETHER: &str = "1";

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
    let tool = if group.is_ipv6() { "ip6tables-save" } else { "iptables-save" };
    FirewallFacts {
        group,
        interface: interface.name.clone(),
        bridge: bridge_ports(interface),
        root,
        manager: manager(),
        address: interface.address_towards(group.ip()),
        nft: root.then(|| output("nft", &["-j", "list", "ruleset"])).flatten(),
        listed: root.then(|| output("nft", &["list", "ruleset"])).flatten(),
        iptables: root.then(|| output(tool, &[])).flatten(),
    }
}

fn is_root() -> bool {
    fanfare_udp::os::process::is_root()
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

/// The same bridge, and its ports.
fn bridge_ports(interface: &Interface) -> Option<BridgePorts> {
    let name = bridge(interface)?.name;
    if interface.name != name {
        return Some(BridgePorts { name, ports: vec![interface.name.clone()] });
    }
    let ports = fs::read_dir(format!("/sys/class/net/{name}/brif")).ok()?;
    let ports = ports.flatten().filter_map(|port| port.file_name().into_string().ok()).collect();
    Some(BridgePorts { name, ports })
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
    let others = interfaces().unwrap_or_default().iter().filter(|i| !i.loopback).count();
    ContainerFacts {
        engine: engine(),
        status: read("/proc/self/status"),
        interface: interface.map_or_else(String::new, |i| i.name.clone()),
        address: interface.and_then(|i| i.address_towards(group)),
        veth: interface.is_some_and(|i| !i.loopback && is_veth(&i.name)),
        others,
    }
}

/// What runs the container in which we are: podman and others tell it to systemd, too.
fn engine() -> Option<String> {
    let named = read("/run/systemd/container").map(|name| name.trim().to_owned());
    let marks = [("/.dockerenv", DOCKER), ("/run/.containerenv", PODMAN)];
    let marked = marks.iter().find(|(path, _)| Path::new(path).exists());
    named.filter(|name| !name.is_empty()).or_else(|| marked.map(|(_, name)| (*name).to_owned()))
}

/// Something of an interface.
fn of_interface(name: &str, file: &str) -> Option<String> {
    Some(read(&format!("/sys/class/net/{name}/{file}"))?.trim().to_owned())
}

/// A pair's ends name each other; a plain interface names itself.
fn is_veth(name: &str) -> bool {
    let has = |file: &str| Path::new(&format!("/sys/class/net/{name}/{file}")).exists();
    !has("device") && of_interface(name, "iflink") != of_interface(name, "ifindex")
}

/// Interfaces that a cable or a radio may be at: neither bridges, nor tunnels, nor such as go
/// nowhere.
pub(super) fn ports() -> Vec<Interface> {
    let is_port = |interface: &Interface| {
        let name = &interface.name;
        let has = |file: &str| Path::new(&format!("/sys/class/net/{name}/{file}")).exists();
        let is_ethernet = of_interface(name, "type").as_deref() == Some(ARPHRD_ETHER);
        // A port of a bridge or bond has no address of its own; the others go nowhere.
        let is_inner = has("bridge") || has("master");
        is_ethernet && !is_inner && !name.starts_with("dummy") && !name.starts_with("ifb")
    };
    let mut all = interfaces().unwrap_or_default();
    all.retain(|interface| !interface.loopback && is_port(interface));
    all
}

/// What kind of link it is.
pub(super) fn link(interface: &Interface) -> LinkFacts {
    let name = &interface.name;
    let has = |file: &str| Path::new(&format!("/sys/class/net/{name}/{file}")).exists();
    let uevent = of_interface(name, "uevent").unwrap_or_default();
    let kind = uevent.lines().find_map(|line| line.strip_prefix("DEVTYPE="));
    LinkFacts {
        interface: name.clone(),
        loopback: interface.loopback,
        wireless: has("wireless") || has("phy80211"),
        kind: kind.map(str::to_owned),
        is_ethernet: of_interface(name, "type").as_deref() == Some(ARPHRD_ETHER),
    }
}

/// Packets that have left by an interface, as its driver counts.
pub(super) fn packets_sent(interface: &Interface) -> Option<u64> {
    of_interface(&interface.name, "statistics/tx_packets")?.parse().ok()
}

/// Groups that programs of this machine are bound to, and their ports.
pub(super) fn groups_at_ports() -> Vec<SocketAddr> {
    let tables = ["/proc/net/udp", "/proc/net/udp6"].into_iter().filter_map(read);
    tables.flat_map(|table| super::port::groups_in(&table)).collect()
}

/// What manages the firewall rules here.
fn manager() -> Option<Manager> {
    let is_ufw_on = || {
        let settings = read("/etc/ufw/ufw.conf").unwrap_or_default();
        settings.lines().any(|line| line.trim().eq_ignore_ascii_case("enabled=yes"))
    };
    match Path::new("/run/firewalld.pid").exists() || Path::new("/run/firewalld").exists() {
        true => Some(Manager::Firewalld),
        false => is_ufw_on().then_some(Manager::Ufw),
    }
}

fn read(path: &str) -> Option<String> {
    fs::read_to_string(path).ok()
}

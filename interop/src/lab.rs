//! Hosts as network namespaces, joined by one bridge in a namespace of its own.
//!
//! Nothing changes the machine's own network: every interface is in a namespace named `ffl<process
//! id>x<lab number><role>`, like those of `fanfare lab`. Each host has `eth0` with
//! 10.77.0.(n+1)/24, optionally fd77::(n+1)/64, and a multicast route. The bridge floods multicast
//! (snooping off). UDP segmentation offload is off at each host's veth, so that every packet filter
//! sees single segments and loss is per segment.

use std::fs;
use std::io;
use std::process::Command;

use fanfare_lab::{INTERFACE, Namespace};

use crate::tool::{self, ToolError};

/// Of Ethernet, IPv4 and UDP.
const HEADERS: u64 = 14 + 20 + 8;

/// A host: one network namespace with one interface, `eth0`.
#[derive(Debug)]
pub struct Host {
    index: usize,
    namespace: Namespace,
    /// The bridge's namespace.
    bridge: String,
}

/// Some hosts on one bridge; gone when dropped.
#[derive(Debug)]
pub struct Lab {
    hosts: Vec<Host>,
    /// Kept until the hosts have gone.
    _bridge: Namespace,
}

/// Whether the hosts speak IPv6, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Only IPv4; IPv6 is switched off so that nothing but the experiment is on the wire.
    V4,
    /// IPv4 and IPv6.
    Dual,
}

impl Lab {
    /// Makes `count` hosts on a new bridge.
    ///
    /// # Errors
    /// When `ip` or `ethtool` is missing or the system refuses (not root).
    pub fn new(count: usize, family: Family) -> Result<Self, ToolError> {
        let stem = Namespace::stem();
        let bridge = add_namespace(&stem, "br", family)?;
        bridge.batch(
            "link add br0 type bridge mcast_snooping 0 stp_state 0\nlink set br0 up\nlink set lo up\n",
        )?;
        let make = |index| Host::make(&stem, index, &bridge, family);
        let hosts = (0..count).map(make).collect::<Result<_, _>>()?;
        Ok(Self { hosts, _bridge: bridge })
    }

    /// The hosts, the first one usually the sender.
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }
}

impl Host {
    /// The namespace's name, for `ip netns exec`.
    pub fn namespace(&self) -> &str {
        self.namespace.name()
    }

    /// The namespace of the bridge, where this host's other end of the wire is [`Host::port`].
    pub fn bridge(&self) -> &str {
        &self.bridge
    }

    /// The bridge's port towards this host.
    pub fn port(&self) -> String {
        format!("v{}", self.index)
    }

    /// Limits what reaches this host to `rate` bit/s, with `queue_ms` of waiting room.
    ///
    /// # Errors
    /// When the kernel has no token bucket filter.
    pub fn limit_line(&self, rate: u64, queue_ms: u64) -> Result<(), ToolError> {
        let (port, rate, queue) = (self.port(), format!("{rate}bit"), format!("{queue_ms}ms"));
        // Two frames: less cannot pass, more would be a second queue.
        let bucket = ["rate", &rate, "burst", "3100", "latency", &queue];
        let place = ["-n", &self.bridge, "qdisc", "add", "dev", &port, "root", "tbf"];
        tool::output("tc", &[&place[..], &bucket[..]].concat()).map(drop)
    }

    /// The IPv4 address.
    pub fn address(&self) -> String {
        format!("10.77.0.{}", self.index + 1)
    }

    /// A command that will run `program` in this host.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        self.namespace.command(program)
    }

    /// Bytes that have left this host, without the headers of Ethernet, IPv4 and UDP.
    ///
    /// # Errors
    /// As [`tool::output`].
    pub fn sent_bytes(&self) -> Result<u64, ToolError> {
        let counters =
            ["tx_bytes", "tx_packets"].map(|c| format!("/sys/class/net/eth0/statistics/{c}"));
        let text = self.output("cat", &[&counters[0], &counters[1]])?;
        let counted: Vec<u64> = text.split_whitespace().filter_map(|n| n.parse().ok()).collect();
        match counted[..] {
            [bytes, packets] => Ok(bytes.saturating_sub(packets * HEADERS)),
            _ => Err(ToolError::Failed { command: "cat tx_bytes tx_packets".into(), why: text }),
        }
    }

    /// Runs something with this host's network, on a thread of its own; sockets that it opens stay
    /// there.
    ///
    /// # Errors
    /// When the namespace cannot be entered.
    pub fn enter<T: Send>(&self, inside: impl FnOnce() -> T + Send) -> Result<T, ToolError> {
        Ok(self.namespace.enter(inside)?)
    }

    /// Runs a program in this host to its end and returns what it printed.
    ///
    /// # Errors
    /// As [`tool::output`].
    pub fn output(&self, program: &str, arguments: &[&str]) -> Result<String, ToolError> {
        let mut all = vec!["netns", "exec", self.namespace(), program];
        all.extend(arguments);
        tool::output("ip", &all)
    }

    fn make(
        stem: &str,
        index: usize,
        bridge: &Namespace,
        family: Family,
    ) -> Result<Self, ToolError> {
        let namespace = add_namespace(stem, &format!("h{index}"), family)?;
        let host = Self { index, namespace, bridge: bridge.name().to_owned() };
        let (name, port) = (host.namespace(), host.port());
        // Into two namespaces at once: in none of them.
        let veth = format!(
            "link add {INTERFACE} netns {name} type veth peer name {port} netns {}\n",
            bridge.name()
        );
        tool::output_with_input("ip", &["-batch", "-"], &veth)?;
        bridge.batch(&format!("link set {port} master br0 up\n"))?;
        let mut lines = format!("link set lo up\naddr add {}/24 dev {INTERFACE}\n", host.address());
        if family == Family::Dual {
            lines += &format!("addr add fd77::{}/64 dev {INTERFACE} nodad\n", index + 1);
        }
        lines += &format!("link set {INTERFACE} up\nroute add 224.0.0.0/4 dev {INTERFACE}\n");
        host.namespace.batch(&lines)?;
        tool::require("ethtool")?;
        host.output("ethtool", &["-K", INTERFACE, "tx-udp-segmentation", "off"])?;
        Ok(host)
    }
}

fn add_namespace(stem: &str, role: &str, family: Family) -> Result<Namespace, ToolError> {
    let namespace = Namespace::add(stem, role)?;
    if family == Family::V4 {
        let off = || fs::write("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
        namespace.enter(off)?.or_else(absent_is_off)?;
    }
    Ok(namespace)
}

/// A kernel without IPv6 has nothing to switch off.
fn absent_is_off(error: io::Error) -> Result<(), ToolError> {
    match error.kind() {
        io::ErrorKind::NotFound => Ok(()),
        _ => Err(tool::at("disable_ipv6")(error)),
    }
}

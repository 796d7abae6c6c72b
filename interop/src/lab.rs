//! Hosts as network namespaces, joined by one bridge in a namespace of its own.
//!
//! Nothing touches the machine's own network: every interface lives in a namespace named
//! `ffi<process id>x<lab number><role>`. Each host has `eth0` with 10.77.0.(n+1)/24, optionally
//! fd77::(n+1)/64, and a multicast route; the bridge floods multicast (snooping off). UDP
//! segmentation offload is off at each host's veth, so that every packet filter sees single
//! segments and loss is per segment.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::tool::{self, ToolError};

/// All namespaces of this crate begin with this.
const PREFIX: &str = "ffi";
static NEXT: AtomicU32 = AtomicU32::new(0);

/// A host: one network namespace with one interface, `eth0`.
#[derive(Clone, Debug)]
pub struct Host {
    index: usize,
    namespace: String,
    bridge: String,
}

/// Some hosts on one bridge; gone when dropped.
#[derive(Debug)]
pub struct Lab {
    hosts: Vec<Host>,
    bridge: String,
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
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let stem = format!("{PREFIX}{}x{number}", std::process::id());
        let bridge = format!("{stem}br");
        let hosts = (0..count)
            .map(|index| Host {
                index,
                namespace: format!("{stem}h{index}"),
                bridge: bridge.clone(),
            })
            .collect();
        let lab = Self { hosts, bridge };
        // From here on Drop removes whatever was made, should a step fail.
        lab.make_bridge(family)?;
        for host in &lab.hosts {
            host.make(family)?;
        }
        Ok(lab)
    }

    /// The hosts, the first one usually the sender.
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    fn make_bridge(&self, family: Family) -> Result<(), ToolError> {
        add_namespace(&self.bridge, family)?;
        batch(
            &self.bridge,
            "link add br0 type bridge mcast_snooping 0 stp_state 0\nlink set br0 up\nlink set lo up\n",
        )
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        for host in &self.hosts {
            remove(&host.namespace);
        }
        remove(&self.bridge);
    }
}

impl Host {
    /// The namespace's name, for `ip netns exec`.
    pub fn namespace(&self) -> &str {
        &self.namespace
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
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.namespace]).arg(program);
        command
    }

    /// Runs a program in this host to its end and returns what it printed.
    ///
    /// # Errors
    /// As [`tool::output`].
    pub fn output(&self, program: &str, arguments: &[&str]) -> Result<String, ToolError> {
        let mut all = vec!["netns", "exec", &self.namespace, program];
        all.extend(arguments);
        tool::output("ip", &all)
    }

    fn make(&self, family: Family) -> Result<(), ToolError> {
        let (name, bridge, port) = (&self.namespace, &self.bridge, self.port());
        add_namespace(name, family)?;
        let veth =
            format!("link add eth0 netns {name} type veth peer name {port} netns {bridge}\n");
        tool::output_with_input("ip", &["-batch", "-"], &veth)?;
        batch(bridge, &format!("link set {port} master br0 up\n"))?;
        let mut lines = format!("link set lo up\naddr add {}/24 dev eth0\n", self.address());
        if family == Family::Dual {
            lines += &format!("addr add fd77::{}/64 dev eth0 nodad\n", self.index + 1);
        }
        lines += "link set eth0 up\nroute add 224.0.0.0/4 dev eth0\n";
        batch(name, &lines)?;
        self.require("ethtool")?;
        self.output("ethtool", &["-K", "eth0", "tx-udp-segmentation", "off"]).map(drop)
    }

    // `ip netns exec` hides a missing program behind its own exit code, so look first.
    fn require(&self, program: &str) -> Result<(), ToolError> {
        require(program)
    }
}

/// Looks for a program in PATH (and the system directories that a plain user's PATH lacks).
///
/// # Errors
/// [`ToolError::Missing`] when it is nowhere.
pub fn require(program: &str) -> Result<(), ToolError> {
    let path = std::env::var("PATH").unwrap_or_default();
    let found = path
        .split(':')
        .chain(["/usr/sbin", "/sbin"])
        .any(|directory| Path::new(directory).join(program).is_file());
    if found { Ok(()) } else { Err(ToolError::Missing { program: program.to_owned() }) }
}

/// Removes the namespaces of runs that are no longer alive; returns their names.
///
/// # Errors
/// When `ip` is missing.
pub fn cleanup() -> Result<Vec<String>, ToolError> {
    let listed = tool::output("ip", &["netns", "list"])?;
    let mut removed = Vec::new();
    for name in listed.lines().filter_map(|line| line.split_whitespace().next()) {
        if owner(name).is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            remove(name);
            removed.push(name.to_owned());
        }
    }
    Ok(removed)
}

/// The process id in a namespace name of ours; `None` for a name that isn't.
fn owner(name: &str) -> Option<u32> {
    name.strip_prefix(PREFIX)?.split_once('x')?.0.parse().ok()
}

fn add_namespace(name: &str, family: Family) -> Result<(), ToolError> {
    tool::output("ip", &["netns", "add", name])?;
    if family == Family::Dual {
        return Ok(());
    }
    let off = "net.ipv6.conf.all.disable_ipv6=1";
    tool::output("ip", &["netns", "exec", name, "sysctl", "-qw", off]).map(drop)
}

fn batch(namespace: &str, lines: &str) -> Result<(), ToolError> {
    tool::output_with_input("ip", &["-n", namespace, "-batch", "-"], lines).map(drop)
}

/// Ends what still runs in a namespace of ours and removes it; absent is as good.
fn remove(namespace: &str) {
    if let Ok(pids) = tool::output("ip", &["netns", "pids", namespace]) {
        for pid in pids.split_whitespace().filter_map(|text| text.parse().ok()) {
            if let Some(pid) = rustix::process::Pid::from_raw(pid) {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
        let _ = tool::output("ip", &["netns", "del", namespace]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_of_ours_tells_its_owner() {
        assert_eq!(owner("ffi4711x0h2"), Some(4711));
        assert_eq!(owner("ffi4711x12br"), Some(4711));
    }

    #[test]
    fn cleanup_never_touches_names_that_are_not_ours() {
        assert_eq!(owner("nx0"), None);
        assert_eq!(owner("ffix0"), None);
        assert_eq!(owner("ffi12"), None);
    }
}

//! A bridge with a host for the sender and one for each receiver. It is the kernel's own switch, so
//! super-packets stay whole.

use crate::{
    error::LabError,
    host::{Host, INTERFACE},
    system::namespace::Namespace,
    system::tool,
};
use std::fs;

/// Packet filters that look at what a bridge carries (br_netfilter); per network namespace.
const FILTERS: [&str; 3] = ["arptables", "ip6tables", "iptables"];

/// Hosts around a bridge; gone when dropped.
#[derive(Debug)]
pub(super) struct Star {
    hosts: Vec<Host>,
    // After the hosts, whose cables end in it.
    hub: Namespace,
}

impl Star {
    /// One sender, and so many receivers. `prune`: a group goes only to who has joined it.
    pub(super) fn up(receivers: usize, mtu: usize, prune: bool) -> Result<Self, LabError> {
        let stem = Namespace::stem();
        let hub = Namespace::add(&stem, "b")?;
        // Without a querier a bridge that snoops forgets who listens; with one it floods until answers to
        // its first question have had their time, here a tenth of a second.
        let snooping = match prune {
            true => "mcast_snooping 1 mcast_querier 1 mcast_query_response_interval 10",
            false => "mcast_snooping 0",
        };
        hub.batch(&format!(
            "link set lo up\n\
             link add bridge type bridge {snooping}\n\
             link set dev bridge mtu {mtu} up\n"
        ))?;
        // A switch has no packet filter. Where some program has the machine's bridges pass through it (docker
        // does), that costs a tenth of the time, of all that is measured; elsewhere there is nothing to turn off.
        hub.enter(|| {
            for filter in FILTERS {
                let _ = fs::write(format!("/proc/sys/net/bridge/bridge-nf-call-{filter}"), "0");
            }
        })?;
        let make = |number| Host::plug(&stem, number, receivers + 1, &hub, mtu);
        let hosts = (0..=receivers).map(make).collect::<Result<_, _>>()?;
        Ok(Self { hosts, hub })
    }
    /// Lets the sender's cable carry no more than `rate` bit/s of Ethernet frames. At most `queue` bytes
    /// wait before it; `burst` bytes may go at once.
    pub(super) fn limit_sender(&self, rate: u64, burst: u64, queue: u64) -> Result<(), LabError> {
        bucket("add", (self.sender().namespace(), INTERFACE), [rate, burst, queue])
    }
    /// The same limit for what each host sends.
    pub(super) fn limit_all(&self, rate: u64, burst: u64, queue: u64) -> Result<(), LabError> {
        let limit =
            |host: &Host| bucket("add", (host.namespace(), INTERFACE), [rate, burst, queue]);
        self.hosts.iter().try_for_each(limit)
    }
    /// Changes such a limit while it is in use.
    pub(super) fn change_sender(&self, rate: u64, burst: u64, queue: u64) -> Result<(), LabError> {
        bucket("change", (self.sender().namespace(), INTERFACE), [rate, burst, queue])
    }
    /// The same limit at the bridge, on the cable of the receiver of this number from 1 on: it holds for
    /// all who send there.
    pub(super) fn limit_receiver(
        &self,
        number: usize,
        rate: u64,
        burst: u64,
        queue: u64,
    ) -> Result<(), LabError> {
        bucket("add", (self.hub.name(), &format!("port{number}")), [rate, burst, queue])
    }
    pub(super) fn hosts(&self) -> &[Host] {
        &self.hosts
    }
    pub(super) fn sender(&self) -> &Host {
        &self.hosts[0]
    }
    pub(super) fn receivers(&self) -> &[Host] {
        &self.hosts[1..]
    }
    /// The namespace of the bridge, by its name.
    pub(super) fn hub(&self) -> &str {
        self.hub.name()
    }
    /// Runs something that sees the bridge's ends of all cables; sockets that it opens stay there.
    pub(super) fn at_hub<T: Send>(&self, inside: impl FnOnce() -> T + Send) -> Result<T, LabError> {
        self.hub.enter(inside)
    }
}

/// A token bucket at the device in this namespace: bit/s, bytes at once, bytes that may wait.
fn bucket(
    verb: &str,
    (namespace, device): (&str, &str),
    [rate, burst, queue]: [u64; 3],
) -> Result<(), LabError> {
    let (rate, burst, queue) = (format!("{rate}bit"), format!("{burst}b"), format!("{queue}b"));
    let at = ["-n", namespace, "qdisc", verb, "dev", device, "root"];
    let how = ["tbf", "rate", &rate, "burst", &burst, "limit", &queue];
    tool::tc(&[&at[..], &how[..]].concat())
}

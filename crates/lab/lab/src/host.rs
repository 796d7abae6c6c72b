//! A host: one network namespace with one interface, `eth0`.

use crate::{
    emulator::packet::{address, mac},
    emulator::tap::Tap,
    error::LabError,
    system::namespace::Namespace,
    system::tool,
};
use fanfare_proto::SessionConfig;
use fanfare_sim::EmulatedHost;
use std::{fmt::Write as _, fs, io, net::Ipv4Addr, process::Command};

/// The interface of every host.
pub const INTERFACE: &str = "eth0";
/// Frames that may wait for the emulator: at 2 Gbit/s in super-packets more than 100 ms, and what a
/// burst of small packets needs.
const WAITING_MAX: u32 = 4096;

/// A host of a lab that is up.
#[derive(Debug)]
pub struct Host {
    index: usize,
    entry: EmulatedHost,
    namespace: Namespace,
}

impl Host {
    /// Makes one of `count` hosts, and the other end of its cable.
    pub(crate) fn make(
        stem: &str,
        entry: EmulatedHost,
        count: usize,
    ) -> Result<(Self, Tap), LabError> {
        let index = usize::from(entry.host.0);
        let host = Self { index, namespace: Namespace::add(stem, &format!("h{index}"))?, entry };
        let tap = host.namespace.enter(|| quieten().and_then(|()| Tap::open(INTERFACE)))?;
        let tap =
            tap.map_err(|error| LabError::system(format!("host ({})", host.name()), &error))?;
        host.namespace.batch(&host.settings(count))?;
        // With a queue of its own before the device, the kernel may leave a frame to a thread of
        // ordinary priority, which on a busy machine comes to it tens of milliseconds later.
        tool::tc(&[
            "-n",
            host.namespace(),
            "qdisc",
            "replace",
            "dev",
            INTERFACE,
            "root",
            "noqueue",
        ])?;
        Ok((host, tap))
    }

    /// Makes one of `count` hosts on a bridge called `bridge` in `hub`: its cable is the kernel's.
    pub(crate) fn plug(
        stem: &str,
        index: usize,
        count: usize,
        hub: &Namespace,
        mtu: usize,
    ) -> Result<Self, LabError> {
        let entry = EmulatedHost {
            host: fanfare_sim::Host(u16::try_from(index).unwrap_or(u16::MAX)),
            name: format!("n{index}"),
            group: 0,
            mtu,
            session: SessionConfig::default(),
            sends: Vec::new(),
            presence: Vec::new(),
        };
        let host = Self { index, namespace: Namespace::add(stem, &format!("h{index}"))?, entry };
        host.namespace
            .enter(quieten)?
            .map_err(|error| LabError::system(format!("host ({})", host.name()), &error))?;
        let (socket, inside) = (format!("port{index}"), host.namespace());
        hub.batch(&format!(
            "link add {socket} type veth peer name {INTERFACE} netns {inside}\n\
             link set dev {socket} mtu {mtu} master bridge up\n"
        ))?;
        host.namespace.batch(&host.settings(count))?;
        Ok(host)
    }

    /// Addresses, the route of groups, and every other host's Ethernet address: nobody has to ask
    /// for it over a network that loses packets.
    fn settings(&self, count: usize) -> String {
        let mac = |index| mac(index).map(|byte| format!("{byte:02x}")).join(":");
        let (own, mtu) = (self.address(), self.entry.mtu);
        let mut lines = format!(
            "link set lo up\n\
             link set dev {INTERFACE} address {} mtu {mtu} txqueuelen {WAITING_MAX}\n\
             addr add {own}/16 broadcast 10.77.255.255 dev {INTERFACE}\n\
             link set {INTERFACE} up\n\
             route add 224.0.0.0/4 dev {INTERFACE}\n",
            mac(self.index)
        );
        for other in (0..count).filter(|other| *other != self.index) {
            // Writing to a string cannot fail.
            let _ = writeln!(
                lines,
                "neigh add {} lladdr {} dev {INTERFACE} nud permanent",
                address(other),
                mac(other)
            );
        }
        lines
    }

    /// Its name in the scenario.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.entry.name
    }
    /// Its address.
    #[must_use]
    pub fn address(&self) -> Ipv4Addr {
        address(self.index)
    }
    /// The network namespace that it is, for `ip netns exec`.
    #[must_use]
    pub fn namespace(&self) -> &str {
        self.namespace.name()
    }
    /// What the scenario says of it.
    #[must_use]
    pub fn entry(&self) -> &EmulatedHost {
        &self.entry
    }
    /// A command that will run `program` on this host.
    #[must_use]
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        self.namespace.command(program)
    }
    /// Runs something with this host's network, on a thread of its own; sockets that it opens stay
    /// there.
    ///
    /// # Errors
    /// When the namespace cannot be entered.
    pub fn enter<T: Send>(&self, inside: impl FnOnce() -> T + Send) -> Result<T, LabError> {
        self.namespace.enter(inside)
    }
    /// Frames that the emulator did not fetch in time: they are lost before the network begins.
    ///
    /// # Errors
    /// When `ip` fails.
    pub fn overruns(&self) -> Result<u64, LabError> {
        let listed =
            tool::ip(&["-n", self.namespace(), "-j", "-s", "link", "show", INTERFACE], "")?;
        let links: serde_json::Value = serde_json::from_str(&listed).unwrap_or_default();
        Ok(links[0]["stats64"]["tx"]["dropped"].as_u64().unwrap_or(0))
    }
}

/// Switches off what would put packets of the kernel's own on the wire, or refuse ours. To be called
/// inside.
fn quieten() -> io::Result<()> {
    for setting in ["all", "default"] {
        let set = |family: &str, name: &str, value: &str| {
            let path = format!("/proc/sys/net/{family}/conf/{setting}/{name}");
            // A kernel without IPv6 has nothing to switch off.
            if fs::exists(&path)? { fs::write(path, value) } else { Ok(()) }
        };
        set("ipv6", "disable_ipv6", "1")?;
        set("ipv4", "rp_filter", "0")?;
    }
    Ok(())
}

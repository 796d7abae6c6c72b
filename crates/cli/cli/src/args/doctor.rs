//! Options of `fanfare doctor`, and what they come to.

use std::{
    net::{IpAddr, SocketAddr, ToSocketAddrs as _},
    path::PathBuf,
    time::Duration,
};

use clap::Args;
use fanfare_command::{Exit, Failure, Help, units};
use fanfare_monitor::doctor::Examination;
use fanfare_node::{GroupSpec, GroupSpecError};

use super::network::{DEFAULT_GROUP, for_this_machine};
use crate::doctor::{DoctorPlan, Shown, Subject};

/// How long other doctors are waited for; and one that is named, which has to be started by hand.
const WAIT: Duration = Duration::from_secs(5);
const WAIT_WITH: Duration = Duration::from_secs(30);

const HELP: Help = Help::new(&[
    ("fanfare doctor", "the default group"),
    ("sudo fanfare doctor --interface eth1", "another network; root finds more"),
    ("fanfare doctor --with 10.0.0.7", "on both machines: the way between them"),
])
.exits(&[
    (Exit::Done, "no check is bad"),
    (Exit::Failed, "multicast does not work, or not well"),
    (Exit::Permission, "permission denied"),
    (Exit::Resource, "no port or socket"),
    (Exit::Interrupted, "interrupted by Ctrl-C"),
])
.files(&[
    ("/proc, /sys", "what this machine tells of its network; nothing is changed"),
    ("--node FILE", "of 'fanfare node'; see docs/reference/configuration.md"),
]);

/// Check whether multicast works here, and say why not
///
/// Prints a line for each check: ok, warn or bad, what was found, and what to do. The last line is
/// the verdict. Run it on two machines at the same time: each tells how well it receives the other.
/// As root it finds more.
#[derive(Debug, Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
pub(crate) struct DoctorArgs {
    /// Multicast group
    ///
    /// An address and a port. Also norm://INTERFACE;GROUP:PORT.
    #[arg(long, default_value = DEFAULT_GROUP, value_name = "GROUP:PORT")]
    group: String,
    /// Network interface [default: the route's]
    ///
    /// Its name or its address.
    #[arg(long, value_name = "NAME")]
    interface: Option<String>,
    /// Check all groups of this file of 'fanfare node'
    #[arg(long, value_name = "FILE", conflicts_with_all = ["group", "interface", "ttl"])]
    pub(crate) node: Option<PathBuf>,
    /// Test the way to this machine and back; run the doctor there, too
    ///
    /// Its name or its address. Fails when one of the two does not hear the other by multicast.
    #[arg(long, value_name = "HOST", conflicts_with = "node")]
    with: Option<String>,
    /// How long to listen for other doctors [default: 5s, or 30s with --with]
    #[arg(long, value_name = "TIME")]
    peer_wait: Option<String>,
    /// Time to live: how many routers packets may pass, plus one
    #[arg(long, default_value = "1", value_name = "N", hide_short_help = true)]
    ttl: String,
    /// Rate at which receive buffers should last for 100 ms
    #[arg(
        long,
        default_value = "100M",
        value_name = "RATE",
        allow_hyphen_values = true,
        hide_short_help = true
    )]
    rate: String,
    /// Name of this machine for the others [default: its host name]
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    name: Option<String>,
    /// Print one JSON object per line on standard output
    #[arg(long)]
    json: bool,
    /// Print only what is bad
    #[arg(long, short)]
    quiet: bool,
}

impl DoctorArgs {
    fn peer_wait(&self) -> Result<Duration, Failure> {
        match (&self.peer_wait, &self.with) {
            (Some(text), _) => units::time("peer wait", text),
            (None, Some(_)) => Ok(WAIT_WITH),
            (None, None) => Ok(WAIT),
        }
    }

    /// How findings are shown.
    pub(crate) fn shown(&self) -> Shown {
        Shown { json: self.json, quiet: self.quiet }
    }

    /// The one group of the command line.
    pub(crate) fn plan(&self) -> Result<DoctorPlan, Failure> {
        let group = for_this_machine(&self.group, self.interface.as_deref());
        let spec: GroupSpec = group.parse().map_err(|error| group_failure(&error))?;
        let place = (spec, self.interface.clone(), ttl(&self.ttl)?);
        Ok(DoctorPlan { subjects: vec![self.subject(None, place)?], shown: self.shown() })
    }

    /// A group, by group, interface and TTL; `name`: what a node's file calls it.
    pub(crate) fn subject(
        &self,
        name: Option<String>,
        (spec, interface, ttl): (GroupSpec, Option<String>, u8),
    ) -> Result<Subject, Failure> {
        let examination = Examination {
            has_relay: cfg!(feature = "relay"),
            group: spec.group,
            interface: interface.or(spec.interface),
            name: self.name.clone().unwrap_or_else(machine_name),
            with: self.with.as_deref().map(|host| address_of(host, spec.group)).transpose()?,
            peer_wait: self.peer_wait()?,
            ttl,
            rate: units::rate(&self.rate)?,
        };
        Ok(Subject { name, examination })
    }
}

/// The address of a machine that is of the group's family.
fn address_of(host: &str, group: SocketAddr) -> Result<IpAddr, Failure> {
    let wrong = |why: String| {
        let text = format!("with ({host}): {why}. Give the address of the other machine");
        Failure::usage("with.invalid", text)
    };
    let found = (host, group.port()).to_socket_addrs();
    let found = found.map_err(|error| wrong(format!("it cannot be found ({error})")))?;
    let mut ips = found.map(|address| address.ip()).filter(|ip| ip.is_ipv4() == group.is_ipv4());
    ips.next().ok_or_else(|| wrong("it has no address of the group's family".to_owned()))
}

fn ttl(text: &str) -> Result<u8, Failure> {
    text.parse().map_err(|_| {
        let text = format!("ttl ({text}): not from 0 to 255. Give 1 for the link");
        Failure::usage("ttl.invalid", text)
    })
}

fn group_failure(error: &GroupSpecError) -> Failure {
    let code = match error {
        GroupSpecError::NotMulticast { .. } => "group.not_multicast",
        _ => "group.invalid",
    };
    Failure::usage(code, error.to_string())
}

fn machine_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    if name.trim().is_empty() { "unnamed".to_owned() } else { name.trim().to_owned() }
}

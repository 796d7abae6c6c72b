//! Options of `fanfare doctor`, and what they come to.

use std::path::PathBuf;

use clap::Args;
use fanfare_command::{Exit, Failure, Help, units};
use fanfare_doctor::Examination;
use fanfare_node::{GroupSpec, GroupSpecError};

use crate::doctor::{DoctorPlan, Shown, Subject};

const HELP: Help = Help::new(&[
    ("fanfare doctor", "the default group"),
    ("sudo fanfare doctor --interface eth1", "another network; root finds more"),
    ("fanfare doctor --peer-wait 60s", "time to start it elsewhere, too"),
])
.exits(&[
    (Exit::Done, "no check is bad"),
    (Exit::Failed, "multicast does not work, or not well"),
    (Exit::Permission, "permission denied"),
    (Exit::Resource, "no port or socket"),
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
    #[arg(long, default_value = "239.255.42.1:6003", value_name = "GROUP:PORT")]
    group: String,
    /// Network interface [default: the route's]
    ///
    /// Its name or its address.
    #[arg(long, value_name = "NAME")]
    interface: Option<String>,
    /// Check all groups of this file of 'fanfare node'
    #[arg(long, value_name = "FILE", conflicts_with_all = ["group", "interface", "ttl"])]
    pub(crate) node: Option<PathBuf>,
    /// How long to listen for other doctors
    #[arg(long, default_value = "5s", value_name = "TIME")]
    peer_wait: String,
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
    /// How findings are shown.
    pub(crate) fn shown(&self) -> Shown {
        Shown { json: self.json, quiet: self.quiet }
    }

    /// The one group of the command line.
    pub(crate) fn plan(&self) -> Result<DoctorPlan, Failure> {
        let spec: GroupSpec = self.group.parse().map_err(|error| group_failure(&error))?;
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
            group: spec.group,
            interface: interface.or(spec.interface),
            name: self.name.clone().unwrap_or_else(machine_name),
            peer_wait: units::time("peer wait", &self.peer_wait)?,
            ttl,
            rate: units::rate(&self.rate)?,
        };
        Ok(Subject { name, examination })
    }
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

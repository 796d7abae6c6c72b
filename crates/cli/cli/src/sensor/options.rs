//! What is to be looked at.

use std::{net::SocketAddr, net::ToSocketAddrs as _, path::PathBuf, time::Duration};

use clap::{Args, ValueEnum};
use fanfare_command::{Exit, Failure, Help, OutputArgs, units};
use fanfare_monitor::sensor::Addresses;

const HELP: Help = Help::new(&[
    ("sudo fanfare sensor", "on all interfaces that are up"),
    ("sudo fanfare sensor --interface eth0 --to /run/fanfare/sensors", "for a monitor"),
    ("fanfare sensor --read trace.pcap", "of a capture file"),
])
.exits(&[
    (Exit::Done, "the file was read, or the time is over"),
    (Exit::Failed, "the file is broken, or an interface has gone"),
    (Exit::Permission, "packets may not be seen: the right CAP_NET_RAW is missing"),
    (Exit::Resource, "memory or threads missing on this machine"),
    (Exit::Interrupted, "stopped by Ctrl-C or SIGTERM"),
])
.files(&[("--to SOCKET", "where a monitor takes reports")]);

/// Tell what passes by on this machine's network, for the monitor
///
/// Looks at headers of packets, and at nothing of their content: who sends how much to whom, round
/// trips, loss, and sessions of NORM. Counters of interfaces, this machine's load, and SNMP agents
/// need no right. Once its sockets are open, the program gives up all rights.
#[derive(Debug, Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
pub(crate) struct SensorArgs {
    /// Interface whose packets are looked at; repeat it for more [default: all that are up]
    #[arg(short, long, value_name = "IF")]
    pub(crate) interface: Vec<String>,
    /// Read packets of this file (pcap or pcapng, also packed by gzip; - is standard input), tell what
    /// they say, and exit
    #[arg(long, value_name = "FILE", conflicts_with_all = ["interface", "without_packets", "to"])]
    pub(crate) read: Option<PathBuf>,
    /// Look at counters only, without any right
    #[arg(long, conflicts_with = "interface")]
    pub(crate) without_packets: bool,
    /// Port on which NORM is spoken; repeat it for more
    #[arg(
        long, value_name = "PORT", default_values = ["6003", "6004", "6005"], hide_short_help = true
    )]
    pub(crate) norm_port: Vec<u16>,
    /// Memory for packets of one interface that wait to be looked at
    #[arg(long, value_name = "SIZE", default_value = "8MiB", hide_short_help = true)]
    memory: String,
    /// Machine whose interfaces are read by SNMP v2c; repeat it for more
    #[arg(long, value_name = "ADDR")]
    snmp: Vec<String>,
    /// Community of these machines [default: $FANFARE_SNMP_COMMUNITY, or public]
    ///
    /// Other users of this machine see what is on command lines.
    #[arg(long, value_name = "TEXT", hide_short_help = true)]
    snmp_community: Option<String>,
    /// Read the community of these machines from this file
    #[arg(long, value_name = "FILE", conflicts_with = "snmp_community", hide_short_help = true)]
    snmp_community_file: Option<PathBuf>,
    /// How often machines are asked by SNMP
    #[arg(long, value_name = "TIME", default_value = "5s", hide_short_help = true)]
    snmp_every: String,
    /// How much of addresses is told
    #[arg(long, value_name = "HOW", default_value = "full", hide_short_help = true)]
    addresses: Told,
    /// How often there is a report
    #[arg(long, value_name = "TIME", default_value = "1s")]
    every: String,
    /// End after this time
    #[arg(long = "for", value_name = "TIME")]
    time: Option<String>,
    /// Local socket of a monitor that takes the reports
    #[arg(long, value_name = "SOCKET")]
    pub(crate) to: Option<PathBuf>,
    /// Name of this sensor [default: the machine's name]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Told {
    /// As they are
    Full,
    /// Only networks: 24 bits of IPv4, 48 of IPv6
    Prefix,
    /// Nothing
    Hidden,
}

impl SensorArgs {
    /// The community of SNMP agents.
    pub(crate) fn community(&self) -> Result<String, Failure> {
        let variable = || std::env::var("FANFARE_SNMP_COMMUNITY").ok();
        if let Some(path) = &self.snmp_community_file {
            let read = fanfare_command::text_file::read(path);
            return read.map(|text| text.trim().to_owned()).map_err(|error| {
                let path = path.display();
                let text = format!(
                    "snmp-community-file ({path}): cannot be read ({error}). Check its name"
                );
                Failure::usage("snmp.community", text)
            });
        }
        let given = self.snmp_community.clone().or_else(variable);
        Ok(given.unwrap_or_else(|| "public".to_owned()))
    }

    pub(crate) fn addresses(&self) -> Addresses {
        match self.addresses {
            Told::Full => Addresses::Full,
            Told::Prefix => Addresses::Prefix,
            Told::Hidden => Addresses::Hidden,
        }
    }

    pub(crate) fn every(&self) -> Result<Duration, Failure> {
        at_least_a_tenth("every", &self.every)
    }

    pub(crate) fn snmp_every(&self) -> Result<Duration, Failure> {
        at_least_a_tenth("snmp-every", &self.snmp_every)
    }

    pub(crate) fn time(&self) -> Result<Option<Duration>, Failure> {
        self.time.as_deref().map(|text| units::time("for", text)).transpose()
    }

    pub(crate) fn memory(&self) -> Result<usize, Failure> {
        let bytes = units::bytes("memory", &self.memory)?;
        match usize::try_from(bytes) {
            Ok(bytes) if (1 << 19..=1 << 26).contains(&bytes) => Ok(bytes),
            _ => {
                let text = format!("memory ({}): not from 512KiB to 64MiB. Use 8MiB", self.memory);
                Err(Failure::usage("sensor.invalid", text))
            }
        }
    }

    pub(crate) fn agents(&self) -> Result<Vec<SocketAddr>, Failure> {
        /// RFC 3417.
        const PORT: u16 = 161;
        let address = |text: &String| {
            let found = text.to_socket_addrs().or_else(|_| (text.as_str(), PORT).to_socket_addrs());
            found.ok().and_then(|mut all| all.next()).ok_or_else(|| {
                let text =
                    format!("snmp ({text}): no address that is known. Use 192.0.2.1 or a name");
                Failure::usage("sensor.invalid", text)
            })
        };
        self.snmp.iter().map(address).collect()
    }

    pub(crate) fn name(&self) -> String {
        let own = || std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
        let name = self.name.clone().or_else(own).unwrap_or_default();
        let name = name.trim();
        if name.is_empty() { "sensor".to_owned() } else { name.to_owned() }
    }
}

fn at_least_a_tenth(what: &str, text: &str) -> Result<Duration, Failure> {
    let time = units::time(what, text)?;
    if time < Duration::from_millis(100) {
        let text = format!("{what} ({text}): is less than 100ms. Use 1s");
        return Err(Failure::usage("sensor.invalid", text));
    }
    Ok(time)
}

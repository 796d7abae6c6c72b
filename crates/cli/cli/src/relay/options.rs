//! Options of `fanfare relay`, and what they come to.

use std::{
    net::{IpAddr, SocketAddr, ToSocketAddrs as _},
    path::PathBuf,
};

use clap::Args;
use fanfare_command::keys::follow;
use fanfare_command::{Exit, Failure, Help, OutputArgs, units};
use fanfare_node::{GroupSpec, Keys, Network, random_id, seal::Form};
use fanfare_relay::Config;

const HELP: Help = Help::new(&[
    ("fanfare relay --join 239.255.42.1:6003 --accept 10.0.1.5", "for a sender with --to"),
    ("fanfare relay --join 239.255.42.1:6003 --peer relay-b", "with another relay"),
    ("fanfare relay --join 239.255.42.1:6003@eth0 --join 239.255.42.1:6003@eth1", "two islands"),
])
.exits(&[
    (Exit::Permission, "permission denied, or a key is exposed"),
    (Exit::Resource, "an interface, port or descriptor is missing"),
    (Exit::Interrupted, "stopped by Ctrl-C or SIGTERM"),
])
.files(&[("--key FILE", "a key of a group; see 'fanfare key new'")])
.values();

/// Join islands that no multicast reaches
///
/// A relay hears the senders of one side, and passes on what they send to the groups and relays of
/// the other sides. Members that lose packets get them from its cache. Receipts go back unaltered.
#[derive(Debug, Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
pub(crate) struct RelayArgs {
    /// Multicast group of an island, and the interface there
    ///
    /// Several islands that are joined on interfaces of this machine: give it once for each.
    #[arg(long, value_name = "GROUP:PORT[@INTERFACE]", default_value = "239.255.42.1:6003")]
    join: Vec<String>,
    /// Another relay; :PORT where it is not the group's
    ///
    /// Both sides name each other. What a relay sends is taken only from those that are named.
    #[arg(long, value_name = "HOST", value_delimiter = ',')]
    peer: Vec<String>,
    /// Host that may send to this machine alone ('fanfare send --to')
    #[arg(long, value_name = "HOST", value_delimiter = ',')]
    accept: Vec<String>,
    /// Anybody in a private network may send to this machine alone
    #[arg(long, conflicts_with = "accept")]
    open: bool,
    /// Send at most this much to each side
    #[arg(long, value_name = "RATE", default_value = "1G", hide_short_help = true)]
    limit: String,
    /// Keep at most this much for repairs
    #[arg(long, value_name = "SIZE", default_value = "256MiB", hide_short_help = true)]
    cache: String,
    /// Port that it sends from, and the next ones for further groups
    ///
    /// A relay that is started anew is known by it.
    #[arg(long, value_name = "PORT", default_value_t = 7003, hide_short_help = true)]
    port: u16,
    /// Time to live: how many routers packets to groups may pass, plus one
    #[arg(long, value_name = "N", default_value_t = 1, hide_short_help = true)]
    ttl: u8,
    /// The key that seals the groups; the same on all machines
    ///
    /// Given twice, the first is used for sending and both are accepted.
    #[arg(long, value_name = "FILE")]
    key: Vec<PathBuf>,
    /// Number of this relay; of several that start together the lowest serves [default: random]
    #[arg(long, value_name = "N", hide_short_help = true)]
    id: Option<u32>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

impl RelayArgs {
    pub(crate) fn plan(&self) -> Result<(Vec<Network>, Config), Failure> {
        let keys = match self.key.is_empty() {
            true => None,
            false => Some(follow::keys(&self.key, Form::Long)?),
        };
        let networks: Vec<Network> = (0_u16..)
            .zip(&self.join)
            .map(|(n, text)| self.network(n, text, keys.as_ref()))
            .collect::<Result<_, _>>()?;
        let group = networks.first().map(Network::address);
        let group = group.ok_or_else(|| wrong("join", "", "name a group"))?;
        let mut peers = Vec::new();
        for name in &self.peer {
            peers.push(*addresses("peer", name, group)?.first().unwrap_or(&group));
        }
        let mut accept: Vec<IpAddr> = Vec::new();
        for name in &self.accept {
            accept.extend(addresses("accept", name, group)?.iter().map(SocketAddr::ip));
        }
        if networks.len() == 1 && peers.is_empty() && accept.is_empty() && !self.open {
            let text = format!(
                "join ({}): one island has nothing to be joined with. Add --peer, --accept, --open, or \
                 another --join",
                self.join.join(", ")
            );
            return Err(Failure::usage("relay.alone", text));
        }
        let id = self.id.unwrap_or_else(|| random_id().0);
        let (limit, cache) = (units::rate_of("limit", &self.limit)?.as_bps(), &self.cache);
        let cache = usize::try_from(units::bytes("cache", cache)?).unwrap_or(usize::MAX);
        let (open, groups) = (self.open, networks.iter().map(Network::address).collect());
        Ok((networks, Config { id, groups, peers, accept, open, limit, cache }))
    }

    fn network(&self, number: u16, text: &str, keys: Option<&Keys>) -> Result<Network, Failure> {
        let (group, interface) = match text.rsplit_once('@') {
            Some((group, interface)) => (group, Some(interface)),
            None => (text, None),
        };
        let spec: GroupSpec = group.parse().map_err(|error| wrong("join", text, error))?;
        let mut network =
            Network::new(spec).ttl(self.ttl).sending_port(self.port.saturating_add(number));
        if let Some(interface) = interface {
            network = network.interface(interface);
        }
        Ok(match keys {
            Some(keys) => network.sealed(keys.clone()),
            None => network,
        })
    }
}

fn wrong(what: &str, value: &str, why: impl std::fmt::Display) -> Failure {
    let why = why.to_string();
    let why = why.trim_end_matches('.');
    Failure::usage("relay.invalid", format!("{what} ({value}): {why}. See fanfare relay --help"))
}

/// Of the group's family.
fn addresses(what: &str, name: &str, group: SocketAddr) -> Result<Vec<SocketAddr>, Failure> {
    let with_port = name.to_socket_addrs().map(Iterator::collect::<Vec<_>>);
    let found = with_port
        .or_else(|_| (name, group.port()).to_socket_addrs().map(Iterator::collect))
        .map_err(|error| wrong(what, name, format!("no address is known for it ({error})")))?;
    let usable: Vec<SocketAddr> =
        found.into_iter().filter(|one: &SocketAddr| one.is_ipv4() == group.is_ipv4()).collect();
    match usable.is_empty() {
        true => Err(wrong(what, name, "it has no address of the group's family")),
        false => Ok(usable),
    }
}

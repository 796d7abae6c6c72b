//! What sending and receiving have in common: group, interface, names.

use std::{io::IsTerminal as _, net::IpAddr};

use clap::Args;
use fanfare_command::code_exchange::MEETING_PLACE;
use fanfare_node::{
    GroupSpec, GroupSpecError, Network, has_only_ipv6,
    proto::{InstanceId, Matrix, NodeId},
};

use super::key::KeyArgs;
use fanfare_command::Failure;

/// The group for files by default.
pub(crate) const DEFAULT_GROUP: &str = "239.255.42.1:6003";
/// Groups for messages by default: next to those for files, which would take messages for files.
pub(crate) const GROUP: &str = "239.255.42.2:6004";

/// Options of the network.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Network")]
pub(crate) struct NetArgs {
    /// Multicast group
    ///
    /// An address and a port. Also norm://ID,INTERFACE;GROUP:PORT, as ZeroMQ writes it.
    #[arg(long, default_value = DEFAULT_GROUP, value_name = "GROUP:PORT", help_heading = None)]
    group: String,
    /// Send to one receiver: the address is that of a machine, not of a group
    #[arg(long, hide_short_help = true)]
    unicast: bool,
    /// Network interface [default: the route's]
    ///
    /// Its name or its address.
    #[arg(long, value_name = "NAME", help_heading = None)]
    interface: Option<String>,
    /// Accept packets only from this sender address (source-specific multicast)
    #[arg(long, value_name = "IP", hide_short_help = true)]
    source: Option<String>,
    /// Time to live: how many routers packets may pass, plus one
    #[arg(long, default_value = "1", value_name = "N", hide_short_help = true)]
    ttl: String,
    /// Code point for routers that tell kinds of traffic apart (DSCP), 0 to 63
    #[arg(long, default_value = "0", value_name = "N", hide_short_help = true)]
    dscp: String,
    /// Whether programs on this machine receive the packets, too
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set, value_name = "BOOL", hide_short_help = true)]
    loopback: bool,
    /// Send each packet with a system call of its own
    #[arg(long, hide_short_help = true)]
    no_gso: bool,
    /// Node id in the session, 1 to 4294967294 [default: random]
    #[arg(long, value_name = "ID", hide_short_help = true)]
    node_id: Option<String>,
    /// Lose received datagrams with this probability
    #[arg(long, value_name = "P", hide = true)]
    test_drop: Option<f64>,
    /// Bytes of buffer asked for each socket that receives
    #[arg(long, value_name = "BYTES", hide = true)]
    test_receive_buffer: Option<usize>,
    /// Evaluation points of RFC 5510 instead of NRL's; both ends must agree
    #[arg(long, hide = true)]
    strict_rfc5510: bool,
    /// Instance id of the sender
    #[arg(long, value_name = "ID", hide = true)]
    instance_id: Option<u16>,
    #[command(flatten)]
    keys: KeyArgs,
}

/// What a node is called in sessions of files; members of groups do not tell each other.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Network")]
pub(crate) struct NameArgs {
    /// Name of this machine for the others [default: its host name]
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    name: Option<String>,
}

impl NameArgs {
    pub(crate) fn get(&self) -> String {
        self.name.clone().unwrap_or_else(machine_name)
    }
}

impl NetArgs {
    /// A node with everything set that concerns the network.
    pub(crate) fn builder(&self) -> Result<Network, Failure> {
        let mut builder = Network::new(self.group()?);
        if let Some(interface) = &self.interface {
            builder = builder.interface(interface);
        }
        if let Some(source) = &self.source {
            builder = builder.source(parse_source(source)?);
        }
        if let Some(id) = &self.node_id {
            builder = builder.node_id(parse_node_id("node id", id)?);
        }
        if let Some(id) = self.instance_id {
            builder = builder.instance_id(InstanceId(id));
        }
        if let Some(keys) = self.keys.keys()? {
            builder = builder.sealed(keys);
        }
        let drop = self.test_drop.unwrap_or(0.0);
        if !(0.0..=1.0).contains(&drop) {
            let text = format!("test drop ({drop}): not a probability. Give 0 to 1");
            return Err(Failure::usage("test_drop.invalid", text));
        }
        if let Some(bytes) = self.test_receive_buffer {
            builder = builder.receive_buffer(bytes);
        }
        let builder = builder.ttl(self.ttl()?).dscp(self.dscp()?);
        let builder = builder.loopback(self.loopback).gso(!self.no_gso);
        Ok(builder.test_drop(drop))
    }

    /// The same for a node that waits for its interface. As a service it waits, too, for one of which nobody
    /// knows yet: a VPN or a card on USB may come later. A person at a terminal may have mistyped the name.
    pub(crate) fn awaiting_builder(&self) -> Result<Network, Failure> {
        let network = self.builder()?;
        // systemd gives each start of a service this; a terminal of a desktop may inherit it.
        let is_service =
            std::env::var_os("INVOCATION_ID").is_some() && !std::io::stderr().is_terminal();
        Ok(match is_service {
            true => network.await_unknown_interface(),
            false => network.await_interface(),
        })
    }

    /// The same for another group; its interface and TTL are these where it has none of its own. The
    /// one sender that is heard here is not there.
    pub(crate) fn elsewhere(
        &self,
        group: &str,
        interface: Option<&str>,
        ttl: Option<&str>,
    ) -> Self {
        Self {
            group: group.to_owned(),
            interface: interface.map(str::to_owned).or_else(|| self.interface.clone()),
            ttl: ttl.unwrap_or(&self.ttl).to_owned(),
            source: None,
            ..self.clone()
        }
    }

    /// The interface as it is given.
    pub(crate) fn interface(&self) -> Option<String> {
        self.interface.clone()
    }

    /// This node's id, if one is given.
    pub(crate) fn node_id(&self) -> Option<&str> {
        self.node_id.as_deref()
    }

    /// The group as it is meant.
    pub(crate) fn group(&self) -> Result<GroupSpec, Failure> {
        let group = for_this_machine(&self.group, self.interface.as_deref());
        let spec = GroupSpec::parse_unicast_too(&group).map_err(|error| group_failure(&error))?;
        let ip = spec.group.ip();
        if !self.unicast && !ip.is_multicast() {
            let text = format!(
                "group ({}): {ip} is not a multicast address (224.0.0.0/4 or ff00::/8). \
                 For one receiver use --unicast.",
                self.group
            );
            return Err(Failure::usage("group.not_multicast", text));
        }
        Ok(spec)
    }

    /// Members of a group answer each other: its address is not one node's.
    pub(crate) fn require_multicast(&self) -> Result<(), Failure> {
        let refused = |what: String| {
            let text = format!(
                "{what} members of a group hear each other by multicast. Give a group such as {GROUP}, \
                 without --unicast"
            );
            Err(Failure::usage("group.not_multicast", text))
        };
        match GroupSpec::parse_unicast_too(&self.group).map(|spec| spec.group.ip()) {
            Ok(ip) if !ip.is_multicast() => {
                refused(format!("group ({}): {ip} is not a multicast address;", self.group))
            }
            _ if self.unicast => refused("unicast (true):".to_owned()),
            _ => Ok(()),
        }
    }

    pub(crate) fn ttl(&self) -> Result<u8, Failure> {
        self.ttl.parse().map_err(|_| {
            Failure::usage(
                "ttl.invalid",
                format!("ttl ({}): not from 0 to 255. Give 1 for the link", self.ttl),
            )
        })
    }

    fn dscp(&self) -> Result<u8, Failure> {
        self.dscp.parse().ok().filter(|point| *point <= 63).ok_or_else(|| {
            let text = format!("dscp ({}): not from 0 to 63. Give 46 for expedited", self.dscp);
            Failure::usage("dscp.invalid", text)
        })
    }

    pub(crate) fn matrix(&self) -> Matrix {
        if self.strict_rfc5510 { Matrix::Rfc5510 } else { Matrix::Nrl }
    }
}

/// The group of IPv6 in place of a default one, on a machine that has IPv6 alone: one of IPv4 reaches nobody
/// there. Others stay as they are.
pub(crate) fn for_this_machine(group: &str, interface: Option<&str>) -> String {
    match in_ipv6(group).filter(|_| has_only_ipv6(interface)) {
        Some(six) => six,
        None => group.to_owned(),
    }
}

/// The group of IPv6 that stands beside a default one: 239.255.42.N becomes ff15::42:N, for the site (RFC 4291
/// 2.7), at the same port.
pub(crate) fn in_ipv6(group: &str) -> Option<String> {
    let (last, port) = group.strip_prefix("239.255.42.")?.split_once(':')?;
    let is_default = [DEFAULT_GROUP, GROUP, MEETING_PLACE].contains(&group);
    is_default.then(|| format!("[ff15::42:{last}]:{port}"))
}

fn group_failure(error: &GroupSpecError) -> Failure {
    let code = match error {
        GroupSpecError::NotMulticast { .. } => "group.not_multicast",
        _ => "group.invalid",
    };
    Failure::usage(code, error.to_string())
}

fn parse_source(text: &str) -> Result<IpAddr, Failure> {
    text.parse().map_err(|_| {
        Failure::usage(
            "source.invalid",
            format!("source ({text}): not an IP address. Give the sender's"),
        )
    })
}

/// Decimal, or hexadecimal after `0x`.
pub(crate) fn parse_node_id(what: &str, text: &str) -> Result<NodeId, Failure> {
    let number = match text.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    };
    match number.map(NodeId) {
        Some(id) if id != NodeId::NONE && id != NodeId::ANY => Ok(id),
        _ => {
            let text =
                format!("{what} ({text}): not a number from 1 to 4294967294. Give one, or none");
            Err(Failure::usage("node_id.invalid", text))
        }
    }
}

fn machine_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name =
        if name.trim().is_empty() { std::env::var("HOSTNAME").unwrap_or_default() } else { name };
    if name.trim().is_empty() { "node".to_owned() } else { name.trim().to_owned() }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Only {
        #[command(flatten)]
        net: NetArgs,
    }

    fn net(args: &[&str]) -> NetArgs {
        Only::try_parse_from([&["x"], args].concat()).map(|only| only.net).unwrap()
    }

    #[test]
    fn a_unicast_address_is_taken_only_when_meant() {
        let failure = net(&["--group", "10.0.0.1:6003"]).group().unwrap_err();
        assert_eq!(
            failure.text,
            "group (10.0.0.1:6003): 10.0.0.1 is not a multicast address (224.0.0.0/4 or ff00::/8). \
             For one receiver use --unicast."
        );
        assert!(net(&["--group", "10.0.0.1:6003", "--unicast"]).group().is_ok());
    }

    #[test]
    fn a_code_point_has_six_bits() {
        for (given, wanted) in [("0", Some(0)), ("46", Some(46)), ("63", Some(63))] {
            assert_eq!(net(&["--dscp", given]).dscp().ok(), wanted);
        }
        for given in ["64", "256", "-1", "ef", ""] {
            let failure = net(&[&*format!("--dscp={given}")]).builder().unwrap_err();
            assert!(failure.text.contains("not from 0 to 63"), "{given}: {}", failure.text);
        }
    }

    #[test]
    fn members_of_a_group_have_no_address_of_one_node() {
        let refused = |args| net(args).require_multicast().unwrap_err().text;
        let why = "members of a group hear each other by multicast. Give a group such as \
                   239.255.42.2:6004, without --unicast";
        assert_eq!(refused(&["--unicast"]), format!("unicast (true): {why}"));
        let alone = refused(&["--group", "10.0.0.1:6003", "--unicast"]);
        assert_eq!(
            alone,
            format!("group (10.0.0.1:6003): 10.0.0.1 is not a multicast address; {why}")
        );
        assert!(net(&["--group", "239.1.2.3:6003"]).require_multicast().is_ok());
    }

    #[test]
    fn node_ids_are_decimal_or_hexadecimal_and_never_reserved_ones() {
        assert_eq!(parse_node_id("node id", "7").unwrap(), NodeId(7));
        assert_eq!(parse_node_id("node id", "0xff").unwrap(), NodeId(255));
        for text in ["0", "4294967295", "0xffffffff", "-1", "abc", ""] {
            assert!(parse_node_id("node id", text).is_err(), "{text}");
        }
    }
}

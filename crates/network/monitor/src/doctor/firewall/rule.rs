//! Rules of a firewall, and what they do to a packet.

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use super::facts::{BridgePorts, FirewallFacts};

/// The datagram that is led through the rules.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'a> {
    /// Where it goes; `None`: to some single host.
    pub(super) destination: Option<IpAddr>,
    /// Where it comes from, if that is known.
    pub(super) source: Option<IpAddr>,
    pub(super) ipv6: bool,
    /// It leaves this machine.
    pub(super) is_out: bool,
    /// IGMP and MLD have none.
    pub(super) port: Option<u16>,
    /// Its protocol as the tools may write it.
    pub(super) protocol: &'static [&'static str],
    pub(super) interface: &'a str,
    /// The bridge that the interface is, or belongs to.
    pub(super) bridge: Option<&'a BridgePorts>,
}

impl<'a> Wanted<'a> {
    /// What others send to the group.
    pub(super) fn data(facts: &'a FirewallFacts) -> Self {
        Self {
            destination: Some(facts.group.ip()),
            source: None,
            ipv6: facts.group.is_ipv6(),
            is_out: false,
            port: Some(facts.group.port()),
            protocol: &["udp", "17"],
            interface: &facts.interface,
            bridge: facts.bridge.as_ref(),
        }
    }

    /// What this machine sends to the group.
    pub(super) fn own_data(facts: &'a FirewallFacts) -> Self {
        Self { is_out: true, source: facts.address, ..Self::data(facts) }
    }

    /// What this machine sends to a single host.
    pub(super) fn to_host(facts: &'a FirewallFacts) -> Self {
        Self { destination: None, ..Self::own_data(facts) }
    }

    /// The question who is a member, which goes to all hosts. Who does not answer is forgotten.
    pub(super) fn query(facts: &'a FirewallFacts) -> Self {
        let ip = match facts.group {
            SocketAddr::V4(_) => IpAddr::from(Ipv4Addr::new(224, 0, 0, 1)),
            SocketAddr::V6(_) => IpAddr::from(Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1)),
        };
        let protocol: &[&str] =
            if ip.is_ipv4() { &["igmp", "2"] } else { &["ipv6-icmp", "icmpv6", "58"] };
        Self { destination: Some(ip), port: None, protocol, ..Self::data(facts) }
    }

    /// What tells switches and routers that this machine is a member (IGMPv3, RFC 3376; MLDv2, RFC 3810).
    pub(super) fn report(facts: &'a FirewallFacts) -> Self {
        let ip: IpAddr = match facts.group {
            SocketAddr::V4(_) => Ipv4Addr::new(224, 0, 0, 22).into(),
            SocketAddr::V6(_) => Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0x16).into(),
        };
        let is_v6 = facts.group.is_ipv6();
        Self {
            destination: Some(ip),
            is_out: true,
            // Reports of MLD come from an address of the link.
            source: facts.address.filter(|_| !is_v6),
            ..Self::query(facts)
        }
    }

    pub(super) fn is_v6(&self) -> bool {
        self.ipv6
    }
}

/// Chains by their full name.
pub(super) type Chains = BTreeMap<String, Chain>;

/// One chain of rules.
#[derive(Debug, Default)]
pub(super) struct Chain {
    /// Where packets enter it of themselves.
    pub(super) hook: Option<Hook>,
    pub(super) policy_drops: bool,
    pub(super) rules: Vec<Rule>,
}

/// Where in a packet's way a chain stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hook {
    Ingress,
    Prerouting,
    Input,
    Output,
    Postrouting,
    Egress,
}

impl Hook {
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "ingress" => Self::Ingress,
            "prerouting" => Self::Prerouting,
            "input" => Self::Input,
            "output" => Self::Output,
            "postrouting" => Self::Postrouting,
            "egress" => Self::Egress,
            _ => return None,
        })
    }

    /// Whether packets that leave this machine, or those that come to it, pass it.
    pub(super) fn sees(self, is_out: bool) -> bool {
        is_out == matches!(self, Self::Output | Self::Postrouting | Self::Egress)
    }
}

/// One rule, as far as our datagram is concerned.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) applies: Applies,
    pub(super) verdict: Verdict,
}

/// Whether a rule's conditions hold for our datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Applies {
    No,
    /// It depends on what we do not know, such as the sender's address.
    Maybe,
    Yes,
}

impl Applies {
    pub(super) fn inverse(self) -> Self {
        match self {
            Self::No => Self::Yes,
            Self::Maybe => Self::Maybe,
            Self::Yes => Self::No,
        }
    }
}

/// What a rule does.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Accept,
    Drop,
    Jump(String),
    /// As a jump that does not come back.
    Goto(String),
    Return,
    /// Counts, logs, marks: no matter.
    Other,
}

/// Whether an address, a prefix or a range of addresses, as both tools write them, holds the destination.
pub(super) fn covers(text: &str, wanted: IpAddr) -> bool {
    let text = text.trim_matches(['"', ',']);
    if let Some((from, to)) = text.split_once('-') {
        let (Ok(from), Ok(to)) = (from.parse::<IpAddr>(), to.parse::<IpAddr>()) else {
            return false;
        };
        return (from..=to).contains(&wanted);
    }
    let (address, length) = match text.split_once('/') {
        Some((address, length)) => (address, length.parse().unwrap_or(u32::MAX)),
        None => (text, u32::MAX),
    };
    match (address.parse(), wanted) {
        (Ok(IpAddr::V4(net)), IpAddr::V4(own)) => {
            let shift = 32_u32.saturating_sub(length);
            (net.to_bits() ^ own.to_bits()).checked_shr(shift).unwrap_or(0) == 0
        }
        (Ok(IpAddr::V6(net)), IpAddr::V6(own)) => {
            let shift = 128_u32.saturating_sub(length);
            (net.to_bits() ^ own.to_bits()).checked_shr(shift).unwrap_or(0) == 0
        }
        _ => false,
    }
}

/// Whether a port or a range, `6000-6010` or `6000:6010`, holds the one wanted.
pub(super) fn covers_port(text: &str, wanted: Option<u16>) -> bool {
    let text = text.trim_matches(['"', ',']);
    let (from, to) = text.split_once(['-', ':']).unwrap_or((text, text));
    let (Ok(from), Ok(to)) = (from.parse::<u16>(), to.parse::<u16>()) else { return false };
    wanted.is_some_and(|port| (from..=to).contains(&port))
}

/// Whether `pattern`, perhaps with a star or plus for its rest, names the interface.
pub(super) fn names(pattern: &str, interface: &str) -> bool {
    let pattern = pattern.trim_matches(['"', ',']);
    match pattern.strip_suffix(['*', '+']) {
        Some(start) => interface.starts_with(start),
        None => pattern == interface,
    }
}

//! Rules of a firewall, and what they do to a packet.

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use super::facts::FirewallFacts;

/// The datagram that is led through the rules.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub(super) destination: IpAddr,
    /// IGMP and MLD have none.
    pub(super) port: Option<u16>,
    /// Its protocol as the tools may write it.
    pub(super) protocol: &'static [&'static str],
    pub(super) interface: &'a str,
}

impl<'a> Wanted<'a> {
    /// What is sent to the group.
    pub(super) fn data(facts: &'a FirewallFacts) -> Self {
        Self {
            destination: facts.group.ip(),
            port: Some(facts.group.port()),
            protocol: &["udp", "17"],
            interface: &facts.interface,
        }
    }

    /// The question who is a member, which goes to all hosts. Who does not answer is forgotten.
    pub(super) fn query(facts: &'a FirewallFacts) -> Self {
        let (destination, protocol): (IpAddr, &[&str]) = match facts.group {
            SocketAddr::V4(_) => (Ipv4Addr::new(224, 0, 0, 1).into(), &["igmp", "2"]),
            SocketAddr::V6(_) => {
                (Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1).into(), &["ipv6-icmp", "icmpv6", "58"])
            }
        };
        Self { destination, port: None, protocol, interface: &facts.interface }
    }

    pub(super) fn is_v6(&self) -> bool {
        self.destination.is_ipv6()
    }
}

/// Chains by their full name.
pub(super) type Chains = BTreeMap<String, Chain>;

/// One chain of rules.
#[derive(Debug, Default)]
pub(super) struct Chain {
    /// Everything that comes to this machine passes it.
    pub(super) at_input: bool,
    pub(super) policy_drops: bool,
    pub(super) rules: Vec<Rule>,
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

/// What a rule does.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Accept,
    Drop,
    Jump(String),
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

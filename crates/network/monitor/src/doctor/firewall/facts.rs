//! What was seen of packet filters.

use std::net::{IpAddr, SocketAddr};

/// What was seen of packet filters.
#[derive(Debug, Clone)]
pub(crate) struct FirewallFacts {
    pub(crate) group: SocketAddr,
    pub(crate) interface: String,
    /// The interface is a bridge, or a port of one: tables of that family see what passes.
    pub(crate) bridge: Option<BridgePorts>,
    /// Only root may read rules.
    pub(crate) root: bool,
    /// What writes the rules here, besides people.
    pub(crate) manager: Option<Manager>,
    /// This machine's address on the interface.
    pub(crate) address: Option<IpAddr>,
    /// `nft -j list ruleset`, when that worked.
    pub(crate) nft: Option<String>,
    /// `nft list ruleset`, likewise: its JSON lacks devices of chains.
    pub(crate) listed: Option<String>,
    /// `iptables-save` or `ip6tables-save`, when that worked.
    pub(crate) iptables: Option<String>,
}

/// A Linux bridge, as far as rules can name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BridgePorts {
    pub(crate) name: String,
    /// Names of its ports. A datagram comes by one of them; where there are several, nobody knows by which.
    pub(crate) ports: Vec<String>,
}

/// A program that manages the rules: what is changed behind its back does not last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manager {
    Firewalld,
    Ufw,
}

impl Manager {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Firewalld => "firewalld",
            Self::Ufw => "ufw",
        }
    }

    pub(super) fn accept_data(self, group: SocketAddr) -> String {
        let (ip, port) = (group.ip(), group.port());
        match self {
            Self::Firewalld => {
                format!("firewall-cmd --permanent --add-port={port}/udp && firewall-cmd --reload")
            }
            Self::Ufw => format!("ufw allow in proto udp to {ip} port {port}"),
        }
    }

    pub(super) fn accept_queries(self, group: SocketAddr) -> String {
        let (protocol, all) = match group {
            SocketAddr::V4(_) => ("igmp", "224.0.0.0/4"),
            SocketAddr::V6(_) => ("ipv6-icmp", "ff00::/8"),
        };
        match self {
            Self::Firewalld => format!(
                "firewall-cmd --permanent --add-protocol={protocol} && firewall-cmd --reload"
            ),
            Self::Ufw => format!("ufw allow in proto {protocol} to {all}"),
        }
    }
}

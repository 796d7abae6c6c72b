//! Whom a rule is about.

use std::{net::IpAddr, str::FromStr};

use crate::PublicKey;

/// Somebody, as far as is known.
#[derive(Debug, Clone, Copy, Default)]
pub struct Who {
    /// Where its packets come from.
    pub address: Option<IpAddr>,
    /// Its node id.
    pub node: Option<u32>,
    /// Whose signature is on what it sends.
    pub key: Option<PublicKey>,
}

/// Whom a rule is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// Everybody.
    All,
    /// Who is in this network: an address, and how many bits of it count.
    Network(IpAddr, u8),
    /// Who has this node id. Without a key, anybody can say it is theirs.
    Node(u32),
    /// Whose this key is.
    Key(PublicKey),
}

impl Subject {
    /// Whether `who` is meant.
    #[must_use]
    pub fn fits(&self, who: &Who) -> bool {
        match self {
            Self::All => true,
            Self::Network(network, bits) => who.address.is_some_and(|address| {
                is_within(address.to_canonical(), (network.to_canonical(), *bits))
            }),
            Self::Node(node) => who.node == Some(*node),
            Self::Key(key) => who.key == Some(*key),
        }
    }

    /// Whether more than the address and the node id must be known to say.
    #[must_use]
    pub const fn needs_key(&self) -> bool {
        matches!(self, Self::Key(_))
    }
}

fn is_within(address: IpAddr, (network, bits): (IpAddr, u8)) -> bool {
    let same = |one: u128, other: u128, width: u8| {
        let shift = u32::from(width.saturating_sub(bits));
        bits == 0 || one >> shift == other >> shift
    };
    match (address, network) {
        (IpAddr::V4(one), IpAddr::V4(other)) => {
            same(u128::from(u32::from(one)), u128::from(u32::from(other)), 32)
        }
        (IpAddr::V6(one), IpAddr::V6(other)) => same(one.into(), other.into(), 128),
        _ => false,
    }
}

impl FromStr for Subject {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        if text == "all" {
            return Ok(Self::All);
        }
        if text.starts_with("ed25519:") {
            return text.parse().map(Self::Key).map_err(|_| "this is no public key");
        }
        if let Some(node) = text.strip_prefix("node:") {
            let number = match node.strip_prefix("0x") {
                Some(digits) => u32::from_str_radix(digits, 16),
                None => node.parse(),
            };
            return number.map(Self::Node).map_err(|_| "this is no node id");
        }
        let (address, bits) = text.split_once('/').map_or((text, None), |(a, b)| (a, Some(b)));
        let address: IpAddr = address.parse().map_err(
            |_| "use an address, a network such as 10.1.0.0/16, node:ID, ed25519:KEY, or all",
        )?;
        let width = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(width), str::parse).map_err(|_| "the bits are no number")?;
        match bits <= width {
            true => Ok(Self::Network(address, bits)),
            false => Err("an address has fewer bits"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(address: &str) -> Who {
        Who { address: Some(address.parse().unwrap()), node: Some(7), key: None }
    }

    #[test]
    fn networks_nodes_keys_and_all_fit_whom_they_name() {
        let fits = |subject: &str, who: &Who| subject.parse::<Subject>().unwrap().fits(who);
        let near = at("10.1.200.3");
        assert!(fits("10.1.0.0/16", &near) && fits("10.1.200.3", &near) && fits("all", &near));
        assert!(!fits("10.2.0.0/16", &near) && !fits("10.1.200.4", &near));
        assert!(fits("0.0.0.0/0", &near) && fits("10.1.0.0/16", &at("::ffff:10.1.2.3")));
        assert!(fits("fd00::/8", &at("fd12::1")) && !fits("fd00::/8", &near));
        assert!(fits("node:7", &near) && fits("node:0x7", &near) && !fits("node:8", &near));
        let key = crate::Identity::from_seed([1; 32]).public();
        assert!(!fits(&key.to_string(), &near));
        assert!(fits(&key.to_string(), &Who { key: Some(key), ..near }));
    }

    #[test]
    fn what_names_nobody_is_refused() {
        for wrong in ["", "host-7", "10.1.0.0/33", "10.1.0.0/x", "node:", "node:x", "ed25519:1"] {
            assert!(wrong.parse::<Subject>().is_err(), "{wrong}");
        }
    }
}

//! Drops packets on purpose, and counts them.
//!
//! Both are nft rules on `netdev ingress` hooks. What a host receives is dropped at its own `eth0`.
//! What it sends is dropped at the bridge's port (an `output` hook would make `sendto` fail with
//! EPERM, which no network does). Only UDP is dropped; ARP and IGMP pass. Each host has its own
//! random numbers, so receivers lose independently.

use crate::lab::Host;
use crate::tool::{self, ToolError};

/// Independent random loss of a host, in tenths of a percent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loss {
    /// Of what it receives.
    pub inbound_permille: u32,
    /// Of what it sends.
    pub outbound_permille: u32,
    /// Of what it receives and is ECN-capable: not lost, but marked as having met congestion.
    pub marked_permille: u32,
}

/// What a host has sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// UDP datagrams on its veth.
    pub packets: u64,
    /// IP bytes: headers and payload.
    pub ip_bytes: u64,
}

impl Sent {
    /// UDP payload bytes: IP bytes without 20 bytes of IPv4 and 8 of UDP header each.
    pub fn payload_bytes(&self) -> u64 {
        self.ip_bytes.saturating_sub(28 * self.packets)
    }
}

/// Sets a host's loss and starts counting what it sends; replaces earlier rules.
///
/// # Errors
/// When `nft` is missing or refuses.
pub fn apply(host: &Host, loss: Loss) -> Result<(), ToolError> {
    tool::require("nft")?;
    load(host.namespace(), &inbound_rules(loss))?;
    load(host.bridge(), &outbound_rules(&host.port(), loss.outbound_permille))
}

/// What the host has sent since [`apply`], counted at the bridge before outbound loss.
///
/// # Errors
/// When `nft` fails or prints no counter.
pub fn sent(host: &Host) -> Result<Sent, ToolError> {
    let table = format!("out_{}", host.port());
    let all = ["netns", "exec", host.bridge(), "nft", "list", "table", "netdev", &table];
    let listing = tool::output("ip", &all)?;
    parse_counter(&listing).ok_or_else(|| ToolError::Failed {
        command: format!("nft list table netdev {table}"),
        why: "no counter in its answer".into(),
    })
}

/// How many datagrams the inbound rule of `host` has dropped since [`apply`].
///
/// # Errors
/// When `nft` fails.
pub fn dropped(host: &Host) -> Result<u64, ToolError> {
    let listing = host.output("nft", &["list", "table", "netdev", "in_eth0"])?;
    // Without loss there is no rule, and nothing dropped.
    Ok(parse_counter(&listing).map_or(0, |counted| counted.packets))
}

fn load(namespace: &str, rules: &str) -> Result<(), ToolError> {
    let all = ["netns", "exec", namespace, "nft", "-f", "-"];
    tool::output_with_input("ip", &all, rules).map(drop)
}

fn inbound_rules(loss: Loss) -> String {
    format!(
        "table netdev in_eth0\ndelete table netdev in_eth0\n\
         table netdev in_eth0 {{ chain c {{ type filter hook ingress device eth0 priority 0;\n\
         {}\n{}\n}}\n}}\n",
        drop_rule(loss.inbound_permille),
        mark_rule(loss.marked_permille),
    )
}

fn outbound_rules(port: &str, permille: u32) -> String {
    format!(
        "table netdev out_{port}\ndelete table netdev out_{port}\n\
         table netdev out_{port} {{ chain c {{ type filter hook ingress device {port} priority 0;\n\
         meta l4proto udp counter\n{}\n}}\n}}\n",
        drop_rule(permille)
    )
}

fn drop_rule(permille: u32) -> String {
    match permille {
        0 => String::new(),
        p => format!("meta l4proto udp numgen random mod 1000 < {p} counter drop"),
    }
}

fn mark_rule(permille: u32) -> String {
    match permille {
        0 => String::new(),
        p => format!("ip ecn ect0 numgen random mod 1000 < {p} ip ecn set ce"),
    }
}

fn parse_counter(listing: &str) -> Option<Sent> {
    let rest = listing.split_once("counter packets ")?.1;
    let mut words = rest.split_whitespace();
    let packets = words.next()?.parse().ok()?;
    let bytes = words.nth(1)?.parse().ok()?;
    Some(Sent { packets, ip_bytes: bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_read_from_nfts_listing() {
        let listing = "table netdev out_v0 {\n\tchain c {\n\t\tmeta l4proto udp counter packets 10 bytes 14280\n\t}\n}";
        let sent = parse_counter(listing).unwrap();
        assert_eq!(sent, Sent { packets: 10, ip_bytes: 14280 });
        assert_eq!(sent.payload_bytes(), 14_000);
    }

    #[test]
    fn no_loss_needs_no_rule() {
        assert_eq!(drop_rule(0), "");
        assert!(drop_rule(300).contains("< 300 counter drop"));
    }
}

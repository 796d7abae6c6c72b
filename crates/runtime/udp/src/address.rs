//! Group addresses as a user writes them: `group:port`, and ZeroMQ's `norm://` forms.

use std::fmt;
use std::net::{Ipv6Addr, SocketAddr};
use std::str::FromStr;

/// All nodes of the link (RFC 4291 2.7.1). No switch prunes it, since nobody joins it by MLD (RFC 2710).
pub(crate) const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);

const SCHEME: &str = "norm://";

/// A multicast group as a user names it, with what the `norm://` forms can say beside it.
///
/// ```
/// use fanfare_udp::GroupSpec;
/// let spec: GroupSpec = "norm://7,eth0;239.255.42.1:6003".parse()?;
/// assert_eq!(spec.group, "239.255.42.1:6003".parse().unwrap());
/// assert_eq!(spec.interface.as_deref(), Some("eth0"));
/// assert_eq!(spec.node_id, Some(7));
/// # Ok::<(), fanfare_udp::GroupSpecError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupSpec {
    /// The group and its UDP port.
    pub group: SocketAddr,
    /// Name or address of the interface, if one was given.
    pub interface: Option<String>,
    /// NORM node id (RFC 5740 section 4.1), if one was given.
    pub node_id: Option<u32>,
}

/// Why a text names no group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupSpecError {
    /// The text is not an address with a port.
    Address {
        /// What was written.
        given: String,
    },
    /// The port is 0, which no peer can send to.
    Port {
        /// What was written.
        given: String,
    },
    /// The address is not in 224.0.0.0/4 or ff00::/8.
    NotMulticast {
        /// The address without its port.
        given: String,
    },
    /// The node id is not a decimal number that a node can have.
    NodeId {
        /// What was written.
        given: String,
    },
    /// The part that names the interface is empty, or there are two of them.
    Interface {
        /// What was written.
        given: String,
    },
    /// A `?key=value` that is not `iface`.
    Query {
        /// What was written.
        given: String,
    },
}

impl fmt::Display for GroupSpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address { given } => write!(
                f,
                "group ({given}): not an address with a port. \
                 Write it as 239.255.42.1:6003, [ff15::1]:6003 or norm://eth0;239.255.42.1:6003"
            ),
            Self::Port { given } => {
                write!(f, "group ({given}): port 0 cannot be sent to. Give a port from 1 to 65535")
            }
            Self::NotMulticast { given } => write!(
                f,
                "group ({given}): not a multicast address (224.0.0.0/4 or ff00::/8). \
                 Use one of these, such as 239.255.42.1"
            ),
            Self::NodeId { given } => write!(
                f,
                "node id ({given}): not a number from 1 to 4294967294. \
                 Write norm://7,eth0;239.255.42.1:6003 or leave the id out"
            ),
            Self::Interface { given } => write!(
                f,
                "interface ({given}): empty or given twice. \
                 Write norm://eth0;239.255.42.1:6003 or norm://239.255.42.1:6003?iface=eth0"
            ),
            Self::Query { given } => write!(
                f,
                "group option ({given}): not known. The only one is iface, as in \
                 norm://239.255.42.1:6003?iface=eth0"
            ),
        }
    }
}

impl std::error::Error for GroupSpecError {}

impl GroupSpec {
    /// Reads the same forms as [`str::parse`], but takes a unicast address too: one receiver
    /// instead of a group.
    pub fn parse_unicast_too(text: &str) -> Result<Self, GroupSpecError> {
        match text.strip_prefix(SCHEME) {
            Some(rest) => parse_norm(rest),
            None => Ok(Self { group: parse_address(text)?, interface: None, node_id: None }),
        }
    }
}

impl FromStr for GroupSpec {
    type Err = GroupSpecError;

    fn from_str(text: &str) -> Result<Self, GroupSpecError> {
        let spec = Self::parse_unicast_too(text)?;
        if !spec.group.ip().is_multicast() {
            return Err(GroupSpecError::NotMulticast { given: spec.group.ip().to_string() });
        }
        Ok(spec)
    }
}

/// `group:port`, with a leading `iface;` or `id,iface;` and a trailing `?iface=…`.
///
/// ZeroMQ reads the id before the first comma and the interface before the semicolon; an id alone,
/// as in `norm://7,239.255.42.1:6003`, is valid there and here.
fn parse_norm(rest: &str) -> Result<GroupSpec, GroupSpecError> {
    let (rest, query) = match rest.split_once('?') {
        Some((rest, query)) => (rest, Some(query)),
        None => (rest, None),
    };
    let (node_id, rest) = match rest.split_once(',') {
        Some((id, rest)) => (Some(parse_node_id(id)?), rest),
        None => (None, rest),
    };
    let (before, address) = match rest.split_once(';') {
        Some((name, address)) => (Some(name), address),
        None => (None, rest),
    };
    let after = query.map(parse_query).transpose()?;
    if before.is_some() && after.is_some() {
        return Err(GroupSpecError::Interface { given: rest.to_owned() });
    }
    let interface = before.or(after);
    if interface == Some("") {
        return Err(GroupSpecError::Interface { given: String::new() });
    }
    Ok(GroupSpec {
        group: parse_address(address)?,
        interface: interface.map(str::to_owned),
        node_id,
    })
}

fn parse_query(query: &str) -> Result<&str, GroupSpecError> {
    query
        .strip_prefix("iface=")
        .filter(|name| !name.contains('&'))
        .ok_or_else(|| GroupSpecError::Query { given: query.to_owned() })
}

/// RFC 5740 section 4.1 reserves 0 (none) and 2^32-1 (any).
fn parse_node_id(text: &str) -> Result<u32, GroupSpecError> {
    text.parse()
        .ok()
        .filter(|id| (1..u32::MAX).contains(id))
        .ok_or_else(|| GroupSpecError::NodeId { given: text.to_owned() })
}

fn parse_address(text: &str) -> Result<SocketAddr, GroupSpecError> {
    let address: SocketAddr =
        text.parse().map_err(|_| GroupSpecError::Address { given: text.to_owned() })?;
    if address.port() == 0 {
        return Err(GroupSpecError::Port { given: text.to_owned() });
    }
    Ok(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(text: &str, group: &str, interface: Option<&str>, node_id: Option<u32>) {
        let expected = GroupSpec {
            group: group.parse().unwrap(),
            interface: interface.map(str::to_owned),
            node_id,
        };
        assert_eq!(text.parse::<GroupSpec>(), Ok(expected), "{text}");
    }

    fn error(text: &str) -> String {
        text.parse::<GroupSpec>().unwrap_err().to_string()
    }

    #[test]
    fn all_forms_of_a_group_are_read() {
        let v4 = "239.255.42.1:6003";
        spec(v4, v4, None, None);
        spec("[ff15::1]:6003", "[ff15::1]:6003", None, None);
        spec("norm://239.255.42.1:6003", v4, None, None);
        spec("norm://eth0;239.255.42.1:6003", v4, Some("eth0"), None);
        spec("norm://7,eth0;239.255.42.1:6003", v4, Some("eth0"), Some(7));
        spec("norm://7,239.255.42.1:6003", v4, None, Some(7));
        spec("norm://239.255.42.1:6003?iface=eth0", v4, Some("eth0"), None);
        spec("norm://7,239.255.42.1:6003?iface=10.0.0.1", v4, Some("10.0.0.1"), Some(7));
        spec("norm://wlan0;[ff15::1]:6003", "[ff15::1]:6003", Some("wlan0"), None);
    }

    #[test]
    fn a_unicast_address_is_refused_as_a_group_and_taken_as_one_receiver() {
        assert_eq!(
            error("10.0.0.1:6003"),
            "group (10.0.0.1): not a multicast address (224.0.0.0/4 or ff00::/8). \
             Use one of these, such as 239.255.42.1"
        );
        let unicast = GroupSpec::parse_unicast_too("10.0.0.1:6003").unwrap();
        assert_eq!(unicast.group, "10.0.0.1:6003".parse().unwrap());
    }

    #[test]
    fn each_error_names_the_wrong_part_and_a_right_form() {
        for (text, start) in [
            ("239.255.42.1", "group (239.255.42.1): not an address with a port."),
            ("ff15::1:6003", "group (ff15::1:6003): not an address with a port."),
            ("", "group (): not an address"),
            ("udp://239.255.42.1:1", "group (udp://239.255.42.1:1): not an address"),
            ("239.255.42.1:0", "group (239.255.42.1:0): port 0"),
            ("norm://x,eth0;239.255.42.1:1", "node id (x): not a number"),
            ("norm://0,eth0;239.255.42.1:1", "node id (0): not a number"),
            ("norm://4294967295,239.255.42.1:1", "node id (4294967295): not a number"),
            ("norm://;239.255.42.1:1", "interface (): empty"),
            ("norm://239.255.42.1:1?iface=", "interface (): empty"),
            (
                "norm://a;239.255.42.1:1?iface=b",
                "interface (a;239.255.42.1:1): empty or given twice",
            ),
            ("norm://239.255.42.1:1?ttl=3", "group option (ttl=3): not known."),
        ] {
            let message = error(text);
            assert!(message.starts_with(start), "{text}: {message}");
        }
    }
}

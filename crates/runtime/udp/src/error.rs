//! Why an endpoint cannot be opened, in words for the person who started the program.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};

use crate::interface::Interface;

/// Why an endpoint, an interface or a further group could not be had.
///
/// The text has the form `<what> (<value>): <why>. <what to do>` and fits one line.
#[derive(Debug)]
pub enum OpenError {
    /// The system did not list its interfaces.
    Enumerate {
        /// What the system said.
        source: io::Error,
    },
    /// A multicast address is needed here.
    NotMulticast {
        /// The address given.
        address: IpAddr,
    },
    /// No interface has the name or address asked for.
    NoSuchInterface {
        /// What was asked for.
        requested: String,
        /// Interfaces that would do for the group.
        usable: Vec<Interface>,
    },
    /// The interface exists but is switched off or has no carrier.
    InterfaceDown {
        /// Its name.
        interface: String,
        /// Interfaces that would do for the group.
        usable: Vec<Interface>,
    },
    /// The interface has no address of the group's family.
    NoAddress {
        /// Its name.
        interface: String,
        /// The group.
        group: IpAddr,
        /// Interfaces that would do for the group.
        usable: Vec<Interface>,
    },
    /// Several interfaces would do and no route says which.
    Ambiguous {
        /// The group.
        group: IpAddr,
        /// The choices.
        usable: Vec<Interface>,
    },
    /// No interface would do at all.
    NoInterface {
        /// The group.
        group: IpAddr,
    },
    /// The source of a source-specific join is not a unicast address of the group's family, or the
    /// destination is not a group.
    Source {
        /// The source given.
        source: IpAddr,
        /// The group it was given for.
        group: IpAddr,
    },
    /// A DSCP value has six bits.
    Dscp {
        /// The value given.
        dscp: u8,
    },
    /// The system gave no socket.
    Socket {
        /// What the system said.
        source: io::Error,
    },
    /// The socket could not be bound.
    Bind {
        /// To what.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The group could not be joined.
    Join {
        /// The group.
        group: IpAddr,
        /// On which interface.
        interface: String,
        /// What the system said.
        source: io::Error,
    },
    /// A property of the socket could not be set.
    Configure {
        /// Which property, such as `TTL`.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

impl OpenError {
    /// A stable name of the kind of error, for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Enumerate { .. } => "interface.enumerate",
            Self::NotMulticast { .. } => "group.not_multicast",
            Self::NoSuchInterface { .. } => "interface.unknown",
            Self::InterfaceDown { .. } => "interface.down",
            Self::NoAddress { .. } => "interface.no_address",
            Self::Ambiguous { .. } => "interface.ambiguous",
            Self::NoInterface { .. } => "interface.none",
            Self::Source { .. } => "source.invalid",
            Self::Dscp { .. } => "dscp.invalid",
            Self::Socket { .. } => "socket.open",
            Self::Bind { .. } => "socket.bind",
            Self::Join { .. } => "group.join",
            Self::Configure { .. } => "socket.configure",
        }
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Enumerate { source } => write!(
                f,
                "interfaces (of this machine): the system did not list them ({source}). \
                 Check that this process may open netlink sockets"
            ),
            Self::NotMulticast { address } => write!(
                f,
                "group ({address}): not a multicast address (224.0.0.0/4 or ff00::/8). \
                 Use one of these, such as 239.255.42.1"
            ),
            Self::NoSuchInterface { requested, usable } => {
                write!(f, "interface ({requested}): no interface has this name or address. ")?;
                advise(f, usable)
            }
            Self::InterfaceDown { interface, usable } => {
                write!(f, "interface ({interface}): it is down or has no carrier. ")?;
                advise(f, usable)
            }
            Self::NoAddress { interface, group, usable } => {
                write!(f, "interface ({interface}): it has no {} address. ", family(*group))?;
                advise(f, usable)
            }
            Self::Ambiguous { group, usable } => {
                write!(
                    f,
                    "group ({group}): more than one interface fits, and no route selects one. "
                )?;
                advise(f, usable)
            }
            Self::NoInterface { group } => write!(
                f,
                "group ({group}): no interface is up with an {} address. \
                 Bring one up or use a group of the other family",
                family(*group)
            ),
            Self::Source { source, group } => write!(
                f,
                "source ({source}): not a unicast {} sender for group {group}. \
                 Give the sender's own address of the group's family, or no source",
                family(*group)
            ),
            Self::Dscp { dscp } => {
                write!(f, "dscp ({dscp}): out of range. Give a value from 0 to 63")
            }
            Self::Socket { source } => write!(
                f,
                "socket: cannot be opened ({source}). \
                 Check the limit on open files and that the address family is enabled"
            ),
            Self::Bind { address, source } => write_bind(f, address, source),
            Self::Join { group, interface, source } => write!(
                f,
                "group ({group}): cannot be joined on {interface} ({source}). \
                 Check that the interface is up and the limit on memberships"
            ),
            Self::Configure { what, source } => write!(
                f,
                "socket option ({what}): the system refused it ({source}). \
                 Leave it at its default or give a value that this system takes"
            ),
        }
    }
}

impl std::error::Error for OpenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Enumerate { source }
            | Self::Socket { source }
            | Self::Bind { source, .. }
            | Self::Join { source, .. }
            | Self::Configure { source, .. } => Some(source),
            _ => None,
        }
    }
}

fn write_bind(f: &mut fmt::Formatter<'_>, address: &SocketAddr, source: &io::Error) -> fmt::Result {
    if source.kind() == io::ErrorKind::AddrInUse {
        write!(
            f,
            "port ({address}): another program uses it exclusively. Stop that program or use another port"
        )
    } else {
        write!(f, "address ({address}): cannot be bound ({source}). Use an address of this machine")
    }
}

fn advise(f: &mut fmt::Formatter<'_>, usable: &[Interface]) -> fmt::Result {
    if usable.is_empty() {
        return f.write_str("No interface of this machine can carry this group; bring one up");
    }
    let names: Vec<String> = usable.iter().map(Interface::to_string).collect();
    write!(f, "Choose one with --interface: {}", names.join(", "))
}

fn family(address: IpAddr) -> &'static str {
    if address.is_ipv4() { "IPv4" } else { "IPv6" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn eth(name: &str, address: &str) -> Interface {
        Interface {
            name: name.to_owned(),
            index: 2,
            addresses: vec![address.parse().unwrap()],
            up: true,
            multicast: true,
            loopback: false,
            mtu: 1500,
        }
    }

    #[test]
    fn errors_about_interfaces_list_the_choices() {
        let usable = vec![eth("eth0", "10.0.0.2"), eth("wlan0", "10.1.0.2")];
        let group: IpAddr = "239.1.2.3".parse().unwrap();
        let choices = "Choose one with --interface: eth0 (10.0.0.2), wlan0 (10.1.0.2)";
        assert_eq!(
            OpenError::Ambiguous { group, usable: usable.clone() }.to_string(),
            format!(
                "group (239.1.2.3): more than one interface fits, and no route selects one. {choices}"
            )
        );
        assert_eq!(
            OpenError::NoSuchInterface { requested: "eth9".into(), usable: usable.clone() }
                .to_string(),
            format!("interface (eth9): no interface has this name or address. {choices}")
        );
        assert_eq!(
            OpenError::NoAddress { interface: "tun0".into(), group, usable }.to_string(),
            format!("interface (tun0): it has no IPv4 address. {choices}")
        );
    }

    #[test]
    fn a_taken_port_says_so_and_what_to_do() {
        let source = io::Error::from(io::ErrorKind::AddrInUse);
        let error = OpenError::Bind { address: "10.0.0.2:6003".parse().unwrap(), source };
        assert_eq!(
            error.to_string(),
            "port (10.0.0.2:6003): another program uses it exclusively. Stop that program or use another port"
        );
        assert_eq!(error.code(), "socket.bind");
    }
}

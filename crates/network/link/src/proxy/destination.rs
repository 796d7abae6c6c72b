//! Where a connection is to go: an address or a name, and a port.

use std::{
    fmt,
    net::{IpAddr, SocketAddr},
    str::FromStr,
};

/// Longest name, bytes (RFC 1035, 2.3.4; SOCKS cannot carry longer ones).
pub const NAME_MAX: usize = 255;

/// Which machine.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Host {
    /// By its address.
    Address(IpAddr),
    /// By its name, in lower case and without a dot at its end. The far side resolves it.
    Name(String),
}

/// A machine and a port.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Destination {
    /// Which machine.
    pub host: Host,
    /// Which port.
    pub port: u16,
}

/// Why a text is no destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DestinationError {
    /// The name is empty or too long.
    Length,
    /// The name has a character that names do not have.
    Character,
    /// There is no port, or none that can be.
    Port,
}

impl fmt::Display for DestinationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Length => "a name has 1 to 255 characters",
            Self::Character => "a name has letters, digits, '-', '_' and '.'",
            Self::Port => "a port from 1 to 65535 must follow, as in example.org:443",
        })
    }
}

impl std::error::Error for DestinationError {}

impl Host {
    /// A name or a literal address.
    ///
    /// # Errors
    /// When it can be neither.
    pub fn parse(text: &[u8]) -> Result<Self, DestinationError> {
        if text.is_empty() || text.len() > NAME_MAX {
            return Err(DestinationError::Length);
        }
        let text = std::str::from_utf8(text).map_err(|_| DestinationError::Character)?;
        let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
        if let Ok(address) = inner.parse::<IpAddr>() {
            return Ok(Self::Address(address.to_canonical()));
        }
        let name = text.strip_suffix('.').unwrap_or(text);
        let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || name.starts_with('.') || name.contains("..") {
            return Err(DestinationError::Character);
        }
        // A name of digits alone would be read as an address by some resolvers (0x7f.1, 2130706433).
        let last = name.rsplit('.').next().unwrap_or_default();
        if !name.chars().all(known) || last.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(DestinationError::Character);
        }
        Ok(Self::Name(name.to_ascii_lowercase()))
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
            Self::Address(address) => write!(f, "{address}"),
            Self::Name(name) => f.write_str(name),
        }
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl From<SocketAddr> for Destination {
    fn from(address: SocketAddr) -> Self {
        Self { host: Host::Address(address.ip().to_canonical()), port: address.port() }
    }
}

impl FromStr for Destination {
    type Err = DestinationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (host, port) = text.rsplit_once(':').ok_or(DestinationError::Port)?;
        let port = port.parse().ok().filter(|port| *port != 0).ok_or(DestinationError::Port)?;
        if host.contains(':') && !host.starts_with('[') {
            return Err(DestinationError::Port);
        }
        Ok(Self { host: Host::parse(host.as_bytes())?, port })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses_are_read_as_people_write_them() {
        let shown = |text: &str| text.parse::<Destination>().unwrap().to_string();
        assert_eq!(shown("Example.ORG.:443"), "example.org:443");
        assert_eq!(shown("10.0.0.1:22"), "10.0.0.1:22");
        assert_eq!(shown("[fd00::1]:22"), "[fd00::1]:22");
        assert_eq!(shown("[::ffff:127.0.0.1]:22"), "127.0.0.1:22");
    }

    #[test]
    fn names_that_resolvers_may_take_for_addresses_or_lines_are_refused() {
        let refused = |name: &[u8]| Host::parse(name).unwrap_err();
        for name in
            [&b"2130706433"[..], b"0x7f.1", b"127.1", b"a\0b", b"a b", b"a\nb", b".a", b"a..b"]
        {
            assert_eq!(refused(name), DestinationError::Character, "{name:?}");
        }
        assert_eq!(refused(b""), DestinationError::Length);
        assert_eq!(refused(&[b'a'; 256]), DestinationError::Length);
        assert_eq!("example.org".parse::<Destination>(), Err(DestinationError::Port));
        assert_eq!("example.org:0".parse::<Destination>(), Err(DestinationError::Port));
        assert_eq!("fd00::1:22".parse::<Destination>(), Err(DestinationError::Port));
    }
}

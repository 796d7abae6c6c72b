//! Which packets a gateway takes: prefixes of destinations, with ports.

use std::{fmt, net::IpAddr, str::FromStr};

/// Destinations that a gateway takes: `PREFIX[:PORTS]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirect {
    prefix: IpAddr,
    bits: u8,
    ports: Option<(u16, u16)>,
}

/// Why a text says nothing that can be redirected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedirectError {
    /// It is no address or prefix.
    Prefix,
    /// Bits behind those of the prefix are set.
    Host,
    /// The ports are none.
    Ports,
}

impl fmt::Display for RedirectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Prefix => {
                "write it as 10.20.0.0/16, 10.20.0.0/16:443, fd20::/48 or [fd20::/48]:8000-8100"
            }
            Self::Host => "the address has bits behind the prefix; set them to 0",
            Self::Ports => "ports are written 443 or 8000-8100",
        })
    }
}

impl std::error::Error for RedirectError {}

impl FromStr for Redirect {
    type Err = RedirectError;

    fn from_str(text: &str) -> Result<Self, RedirectError> {
        let (target, ports) = split(text)?;
        let ports = ports.map(parse_ports).transpose()?;
        let (address, bits) = match target.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (target, None),
        };
        let prefix: IpAddr = address.parse().map_err(|_| RedirectError::Prefix)?;
        let most = if prefix.is_ipv4() { 32 } else { 128 };
        let bits = match bits {
            Some(bits) => bits.parse().map_err(|_| RedirectError::Prefix)?,
            None => most,
        };
        if bits > most {
            return Err(RedirectError::Prefix);
        }
        if !ends_with_zeros(prefix, most - bits) {
            return Err(RedirectError::Host);
        }
        Ok(Self { prefix, bits, ports })
    }
}

/// The part in brackets, or all of an IPv6 prefix; and the ports behind it.
fn split(text: &str) -> Result<(&str, Option<&str>), RedirectError> {
    if let Some(rest) = text.strip_prefix('[') {
        let (target, rest) = rest.split_once(']').ok_or(RedirectError::Prefix)?;
        return match rest {
            "" => Ok((target, None)),
            rest => rest.strip_prefix(':').map(|p| (target, Some(p))).ok_or(RedirectError::Prefix),
        };
    }
    // More than one colon: an IPv6 address without ports.
    match text.split_once(':') {
        Some((target, ports)) if !ports.contains(':') => Ok((target, Some(ports))),
        _ => Ok((text, None)),
    }
}

fn parse_ports(text: &str) -> Result<(u16, u16), RedirectError> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let number = |text: &str| text.parse::<u16>().map_err(|_| RedirectError::Ports);
    let (first, last) = (number(first)?, number(last)?);
    if first == 0 || first > last {
        return Err(RedirectError::Ports);
    }
    Ok((first, last))
}

fn ends_with_zeros(address: IpAddr, count: u8) -> bool {
    let zeros = match address {
        IpAddr::V4(address) => u32::from(address).trailing_zeros(),
        IpAddr::V6(address) => u128::from(address).trailing_zeros(),
    };
    zeros >= u32::from(count)
}

impl Redirect {
    /// Whether it is about IPv6.
    #[must_use]
    pub const fn is_ipv6(&self) -> bool {
        self.prefix.is_ipv6()
    }

    /// Whether it names ports.
    #[must_use]
    pub const fn names_ports(&self) -> bool {
        self.ports.is_some()
    }

    /// The prefix, as nftables writes it.
    #[must_use]
    pub fn prefix(&self) -> String {
        format!("{}/{}", self.prefix, self.bits)
    }

    /// The ports, as nftables writes them.
    #[must_use]
    pub fn ports(&self) -> Option<String> {
        self.ports.map(|(first, last)| match first == last {
            true => first.to_string(),
            false => format!("{first}-{last}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_is_a_prefix_and_ports() {
        let read = |text: &str| {
            let redirect: Redirect = text.parse().unwrap();
            (redirect.prefix(), redirect.ports())
        };
        let of = |prefix: &str, ports: Option<&str>| (prefix.to_owned(), ports.map(str::to_owned));
        assert_eq!(read("10.20.0.0/16"), of("10.20.0.0/16", None));
        assert_eq!(read("10.20.0.1"), of("10.20.0.1/32", None));
        assert_eq!(read("0.0.0.0/0:443"), of("0.0.0.0/0", Some("443")));
        assert_eq!(read("fd20::/48"), of("fd20::/48", None));
        assert_eq!(read("[fd20::/48]:8000-8100"), of("fd20::/48", Some("8000-8100")));
        assert_eq!(read("[fd20::1]"), of("fd20::1/128", None));
    }

    #[test]
    fn what_is_no_prefix_is_refused_with_a_reason() {
        let refused = |text: &str| text.parse::<Redirect>().unwrap_err();
        for text in
            ["", "any", "10.0.0.0/33", "fd20::/129", "[fd20::/48", "[fd20::/48]443", "a.b/8"]
        {
            assert_eq!(refused(text), RedirectError::Prefix, "{text}");
        }
        assert_eq!(refused("10.20.0.1/16"), RedirectError::Host);
        assert_eq!(refused("fd20::1/48"), RedirectError::Host);
        for text in ["10.0.0.0/8:0", "10.0.0.0/8:90-80", "10.0.0.0/8:x", "10.0.0.0/8:"] {
            assert_eq!(refused(text), RedirectError::Ports, "{text}");
        }
        // What would end a rule of nftables and begin another cannot be written.
        assert_eq!(refused("10.0.0.0/8; drop"), RedirectError::Prefix);
    }
}

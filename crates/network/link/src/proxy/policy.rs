//! What may be connected to: nothing that no rule allows, and nothing of the far side's own inside
//! unless a rule names it.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    str::FromStr,
};

use crate::proxy::destination::{Destination, Host};

/// Which machines.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Target {
    /// All that have no special meaning.
    Any,
    /// Addresses that begin with so many bits.
    Prefix(IpAddr, u8),
    /// A name, or with a dot in front all names that end so.
    Name(String),
}

/// A line of a policy: `HOST`, `PREFIX`, `.domain` or `any`, and `:PORTS` behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    target: Target,
    ports: Option<(u16, u16)>,
    text: String,
}

/// Why a text is no rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleError(&'static str);

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for RuleError {}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Rule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        let (target, ports) = split_ports(text);
        let ports = ports.map(parse_ports).transpose()?;
        let target = parse_target(target)?;
        Ok(Self { target, ports, text: text.to_owned() })
    }
}

/// The part behind the last colon, unless that colon is one of an IPv6 address.
fn split_ports(text: &str) -> (&str, Option<&str>) {
    let bare_v6 = text.parse::<Ipv6Addr>().is_ok()
        || text
            .split_once('/')
            .is_some_and(|(ip, bits)| ip.parse::<Ipv6Addr>().is_ok() && bits.parse::<u8>().is_ok());
    if bare_v6 {
        return (text, None);
    }
    match text.rsplit_once(':') {
        Some((target, ports)) if !ports.ends_with(']') => (target, Some(ports)),
        _ => (text, None),
    }
}

fn parse_ports(text: &str) -> Result<(u16, u16), RuleError> {
    const WRONG: RuleError = RuleError("ports are written 443 or 8000-8100");
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let number = |text: &str| text.parse::<u16>().map_err(|_| WRONG);
    let ports = (number(first)?, number(last)?);
    if ports.0 == 0 || ports.0 > ports.1 {
        return Err(WRONG);
    }
    Ok(ports)
}

fn parse_target(text: &str) -> Result<Target, RuleError> {
    const WRONG: RuleError = RuleError(
        "a rule is a name, .domain, an address, a prefix such as 10.0.0.0/8, or any, and :PORTS",
    );
    if text == "any" {
        return Ok(Target::Any);
    }
    let text = text.strip_prefix('[').map_or(text, |text| text.trim_end_matches(']'));
    let (address, bits) = match text.split_once('/') {
        Some((address, bits)) => (address.trim_end_matches(']'), Some(bits)),
        None => (text, None),
    };
    if let Ok(address) = address.parse::<IpAddr>() {
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(most), |bits| bits.parse().map_err(|_| WRONG))?;
        return (bits <= most).then_some(Target::Prefix(address, bits)).ok_or(WRONG);
    }
    if bits.is_some() {
        return Err(WRONG);
    }
    let (dot, name) = text.strip_prefix('.').map_or((false, text), |name| (true, name));
    match Host::parse(name.as_bytes()) {
        Ok(Host::Name(name)) if dot => Ok(Target::Name(format!(".{name}"))),
        Ok(Host::Name(name)) => Ok(Target::Name(name)),
        _ => Err(WRONG),
    }
}

fn in_prefix(address: IpAddr, prefix: IpAddr, bits: u8) -> bool {
    match (address, prefix) {
        (IpAddr::V4(a), IpAddr::V4(p)) => {
            let shift = 32 - u32::from(bits);
            u32::from(a).checked_shr(shift) == u32::from(p).checked_shr(shift)
        }
        (IpAddr::V6(a), IpAddr::V6(p)) => {
            let shift = 128 - u32::from(bits);
            u128::from(a).checked_shr(shift) == u128::from(p).checked_shr(shift)
        }
        _ => false,
    }
}

fn name_matches(rule: &str, name: &str) -> bool {
    match rule.strip_prefix('.') {
        Some(domain) => name.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.')),
        None => rule == name,
    }
}

impl Rule {
    fn has_port(&self, port: u16) -> bool {
        self.ports.is_none_or(|(first, last)| (first..=last).contains(&port))
    }

    /// Whether it is about this name.
    #[must_use]
    pub fn names(&self, name: &str, port: u16) -> bool {
        self.has_port(port)
            && match &self.target {
                Target::Any => true,
                Target::Name(rule) => name_matches(rule, name),
                Target::Prefix(..) => false,
            }
    }

    /// Whether it is about this address.
    #[must_use]
    pub fn covers(&self, address: IpAddr, port: u16) -> bool {
        self.has_port(port)
            && match &self.target {
                Target::Any => true,
                Target::Prefix(prefix, bits) => in_prefix(address, *prefix, *bits),
                Target::Name(_) => false,
            }
    }

    /// How long what it matches is: the longest of several rules wins.
    #[must_use]
    pub fn length(&self) -> usize {
        match &self.target {
            Target::Any => 0,
            Target::Prefix(_, bits) => 1 + usize::from(*bits),
            Target::Name(name) => 1 + name.len(),
        }
    }

    /// Whether it names this special address, and not by being so wide that it is in it by chance.
    fn names_special(&self, address: IpAddr, port: u16) -> bool {
        let inside = |prefix: IpAddr, bits: u8| {
            // A prefix of a special kind has no ordinary address in it.
            let least = if prefix.is_ipv4() { 8 } else { 10 };
            special(prefix).is_some() && bits >= least
        };
        self.covers(address, port)
            && match &self.target {
                Target::Prefix(prefix, bits) => inside(*prefix, *bits) || is_one(*prefix, *bits),
                _ => false,
            }
    }
}

fn is_one(prefix: IpAddr, bits: u8) -> bool {
    bits == if prefix.is_ipv4() { 32 } else { 128 }
}

/// What is special about an address: such ones have to be named.
#[must_use]
pub fn special(address: IpAddr) -> Option<&'static str> {
    match address.to_canonical() {
        IpAddr::V4(v4) => special_v4(v4),
        IpAddr::V6(v6) => {
            // NAT64 (RFC 6052, RFC 8215) and 6to4 (RFC 3056) lead to an IPv4 address.
            let s = v6.segments();
            let low = || Ipv4Addr::from(((u32::from(s[6])) << 16) | u32::from(s[7]));
            let high = || Ipv4Addr::from(((u32::from(s[1])) << 16) | u32::from(s[2]));
            match s {
                [0x64, 0xff9b, 0, 0, 0, 0, ..] => special_v4(low()),
                [0x64, 0xff9b, 1, ..] => Some("local NAT64"),
                [0x2002, ..] => special_v4(high()),
                _ if v6.is_loopback() => Some("loopback"),
                _ if v6.is_unspecified() => Some("unspecified"),
                _ if v6.is_multicast() => Some("multicast"),
                _ if v6.is_unicast_link_local() => Some("link-local"),
                // The old form of an IPv4 address (RFC 4291, 2.5.5.1).
                [0, 0, 0, 0, 0, 0, ..] => special_v4(low()).or(Some("IPv4-compatible")),
                _ => None,
            }
        }
    }
}

fn special_v4(v4: Ipv4Addr) -> Option<&'static str> {
    match v4.octets() {
        [127, ..] => Some("loopback"),
        [0, ..] => Some("unspecified"),
        [169, 254, ..] => Some("link-local"),
        [224..=239, ..] => Some("multicast"),
        [240..=255, ..] => Some("reserved or broadcast"),
        _ => None,
    }
}

/// The rules of a far side.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    /// What may be connected to.
    pub allow: Vec<Rule>,
    /// What may not, whatever is allowed.
    pub deny: Vec<Rule>,
}

/// Why a destination is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// No rule allows it.
    NotAllowed,
    /// A rule denies it.
    Denied,
    /// It is an address of this kind, which no rule names.
    Special(&'static str),
}

impl Refusal {
    /// Its stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotAllowed => "not_allowed",
            Self::Denied => "denied",
            Self::Special(_) => "special_address",
        }
    }
}

impl Policy {
    /// Before a name is resolved: no look-up for what is refused in any case.
    ///
    /// # Errors
    /// Why it is refused.
    pub fn check_destination(&self, destination: &Destination) -> Result<(), Refusal> {
        let port = destination.port;
        match &destination.host {
            Host::Address(address) => self.check_address(None, *address, port, false),
            Host::Name(name) => {
                if self.deny.iter().any(|rule| rule.names(name, port)) {
                    return Err(Refusal::Denied);
                }
                let prefixes =
                    |rule: &Rule| matches!(rule.target, Target::Prefix(..)) && rule.has_port(port);
                let possible =
                    self.allow.iter().any(|rule| rule.names(name, port) || prefixes(rule));
                if possible { Ok(()) } else { Err(Refusal::NotAllowed) }
            }
        }
    }

    /// The address that is about to be connected to; `name`: what it was resolved from; `own`: it is one
    /// of this machine's.
    ///
    /// # Errors
    /// Why it is refused.
    pub fn check_address(
        &self,
        name: Option<&str>,
        address: IpAddr,
        port: u16,
        own: bool,
    ) -> Result<(), Refusal> {
        let address = address.to_canonical();
        if self.deny.iter().any(|rule| rule.covers(address, port)) {
            return Err(Refusal::Denied);
        }
        let kind = special(address).or(own.then_some("this machine's own"));
        if let Some(kind) = kind {
            let is_named = |rule: &Rule| {
                rule.names_special(address, port)
                    || own
                        && rule.covers(address, port)
                        && matches!(rule.target, Target::Prefix(prefix, bits) if is_one(prefix, bits))
            };
            let named = self.allow.iter().any(is_named);
            return if named { Ok(()) } else { Err(Refusal::Special(kind)) };
        }
        let by_name = name.is_some_and(|name| self.allow.iter().any(|rule| rule.names(name, port)));
        if by_name || self.allow.iter().any(|rule| rule.covers(address, port)) {
            return Ok(());
        }
        Err(Refusal::NotAllowed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(allow: &[&str], deny: &[&str]) -> Policy {
        let rules = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
        Policy { allow: rules(allow), deny: rules(deny) }
    }

    fn check(policy: &Policy, text: &str) -> Result<(), Refusal> {
        policy.check_destination(&text.parse().unwrap())
    }

    #[test]
    fn a_proxy_without_rules_refuses_everything() {
        for text in ["example.org:443", "10.0.0.1:22", "[fd00::1]:22"] {
            assert_eq!(check(&Policy::default(), text), Err(Refusal::NotAllowed));
        }
    }

    #[test]
    fn rules_allow_what_they_name_and_no_more() {
        let policy =
            policy(&["10.1.0.0/16:22", "example.org:80-443", ".lab:22", "[fd00::/8]:9"], &[]);
        for allowed in ["10.1.2.3:22", "example.org:443", "a.b.lab:22", "[fd12::1]:9"] {
            assert_eq!(check(&policy, allowed), Ok(()), "{allowed}");
        }
        for refused in ["10.2.0.1:22", "10.1.2.3:23", "example.org:444", "[fe00::1]:9"] {
            assert_eq!(check(&policy, refused), Err(Refusal::NotAllowed), "{refused}");
        }
        let by_name =
            |name: &str| policy.check_address(Some(name), [192, 0, 2, 1].into(), 443, false);
        assert_eq!(by_name("example.org"), Ok(()));
        assert_eq!(by_name("www.example.org"), Err(Refusal::NotAllowed));
        // The end of a name is no domain.
        assert_eq!(
            policy.check_address(Some("evillab"), [192, 0, 2, 1].into(), 22, false),
            Err(Refusal::NotAllowed)
        );
    }

    #[test]
    fn what_is_denied_stays_denied_by_name_and_by_address() {
        let policy = policy(&["any"], &["10.0.0.0/8", "secret.example.org"]);
        assert_eq!(check(&policy, "10.0.0.1:80"), Err(Refusal::Denied));
        assert_eq!(check(&policy, "secret.example.org:80"), Err(Refusal::Denied));
        assert_eq!(check(&policy, "example.org:80"), Ok(()));
        let resolved = policy.check_address(Some("example.org"), [10, 0, 0, 9].into(), 80, false);
        assert_eq!(resolved, Err(Refusal::Denied));
    }

    #[test]
    fn the_far_sides_own_inside_has_to_be_named_whatever_form_it_has() {
        let any = policy(&["any", "0.0.0.0/0", "::/0", "rebound.example.org"], &[]);
        for address in [
            "127.0.0.1",
            "127.9.9.9",
            "0.0.0.0",
            "169.254.169.254",
            "224.0.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "fe80::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "::7f00:1",
        ] {
            let address: IpAddr = address.parse().unwrap();
            for name in [None, Some("rebound.example.org")] {
                let checked = any.check_address(name, address, 80, false);
                assert!(matches!(checked, Err(Refusal::Special(_))), "{address} {checked:?}");
            }
        }
        let own = any.check_address(None, [192, 0, 2, 1].into(), 80, true);
        assert_eq!(own, Err(Refusal::Special("this machine's own")));
    }

    #[test]
    fn what_is_named_is_allowed_even_inside() {
        let named = policy(&["127.0.0.1:8080", "169.254.0.0/16", "192.0.2.1"], &[]);
        let check = |ip: [u8; 4], port, own| named.check_address(None, ip.into(), port, own);
        assert_eq!(check([127, 0, 0, 1], 8080, false), Ok(()));
        assert!(check([127, 0, 0, 1], 22, false).is_err());
        assert_eq!(check([169, 254, 1, 1], 80, false), Ok(()));
        assert_eq!(check([192, 0, 2, 1], 80, true), Ok(()));
    }

    #[test]
    fn rules_that_mean_nothing_are_refused() {
        for text in ["", "10.0.0.0/33", "a b", "host:0", "host:9-8", "host:x", "name/8", "."] {
            assert!(text.parse::<Rule>().is_err(), "{text}");
        }
        for text in ["[fd00::1]:22", "[fd00::/8]:22", "fd00::1", "any:443", ".example.org"] {
            assert!(text.parse::<Rule>().is_ok(), "{text}");
        }
    }
}

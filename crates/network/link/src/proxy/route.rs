//! Which way a destination goes: by a peer, directly, or not at all.

use std::{fmt, str::FromStr};

use crate::proxy::{
    destination::{Destination, Host},
    policy::{Rule, RuleError},
};

/// A way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Via {
    /// By the peer of this name.
    Peer(String),
    /// From this machine, by plain TCP.
    Direct,
    /// Not at all.
    Refuse,
}

impl FromStr for Via {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        Ok(match text {
            "direct" => Self::Direct,
            "refuse" => Self::Refuse,
            peer => Self::Peer(peer.to_owned()),
        })
    }
}

impl fmt::Display for Via {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Peer(peer) => peer,
            Self::Direct => "direct",
            Self::Refuse => "refuse",
        })
    }
}

/// All ways.
#[derive(Debug, Clone)]
pub struct Routes {
    rules: Vec<(Rule, Via)>,
    default: Via,
}

impl Routes {
    /// `default` is for what no rule is about.
    #[must_use]
    pub const fn new(rules: Vec<(Rule, Via)>, default: Via) -> Self {
        Self { rules, default }
    }

    /// The way of the longest rule about this destination.
    #[must_use]
    pub fn of(&self, destination: &Destination) -> &Via {
        let port = destination.port;
        let about = |rule: &Rule| match &destination.host {
            Host::Address(address) => rule.covers(*address, port),
            Host::Name(name) => rule.names(name, port),
        };
        let about = self.rules.iter().filter(|(rule, _)| about(rule));
        about.max_by_key(|(rule, _)| rule.length()).map_or(&self.default, |(_, via)| via)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_route_wins() {
        let rule = |rule: &str, via: &str| (rule.parse().unwrap(), via.parse().unwrap());
        let rules = vec![
            rule("10.0.0.0/8", "ship"),
            rule("10.1.0.0/16", "shore"),
            rule(".example.org", "ship"),
            rule("www.example.org:80", "refuse"),
        ];
        let routes = Routes::new(rules, Via::Direct);
        let way = |text: &str| routes.of(&text.parse().unwrap()).to_string();
        assert_eq!(way("10.2.0.1:22"), "ship");
        assert_eq!(way("10.1.0.1:22"), "shore");
        assert_eq!(way("www.example.org:443"), "ship");
        assert_eq!(way("www.example.org:80"), "refuse");
        assert_eq!(way("example.com:443"), "direct");
    }
}

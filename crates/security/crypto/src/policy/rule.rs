//! What a rule allows, and which rule is somebody's.

use std::net::IpAddr;

use crate::policy::who::{Subject, Who};

/// What some may do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rule {
    /// Whom it is about.
    pub who: Vec<Subject>,
    /// May send files.
    pub send: bool,
    /// Topics that it may publish to; `#` at the end stands for anything.
    pub publish: Vec<String>,
    /// Bytes of one transfer at most.
    pub max_size: Option<u64>,
    /// Files of one transfer at most.
    pub max_files: Option<u64>,
    /// Bytes of all its transfers together at most.
    pub max_total: Option<u64>,
    /// Bytes of a message at most.
    pub max_message: Option<u64>,
    /// Messages a minute at most.
    pub max_per_minute: Option<u64>,
}

impl Rule {
    /// Whether messages to this topic may come.
    #[must_use]
    pub fn may_publish(&self, topic: &str) -> bool {
        self.publish.iter().any(|pattern| match pattern.strip_suffix('#') {
            Some(start) => topic.starts_with(start),
            None => pattern == topic,
        })
    }
}

/// All rules, in their order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Policy {
    pub(crate) rules: Vec<Rule>,
}

impl Policy {
    /// The first rule that fits.
    #[must_use]
    pub fn rule(&self, who: &Who) -> Option<&Rule> {
        self.rules.get(self.number(who)?)
    }

    /// Its number.
    #[must_use]
    pub fn number(&self, who: &Who) -> Option<usize> {
        let fits = |rule: &Rule| rule.who.iter().any(|subject| subject.fits(who));
        self.rules.iter().position(fits)
    }

    /// The rule of this number.
    #[must_use]
    pub fn get(&self, number: usize) -> Option<&Rule> {
        self.rules.get(number)
    }

    /// Whether it can be said already of who is at this address: no rule ahead of its own needs a key.
    #[must_use]
    pub fn is_decided(&self, address: IpAddr, node: u32) -> bool {
        let who = Who { address: Some(address), node: Some(node), key: None };
        let ahead = self.number(&who).unwrap_or(self.rules.len());
        !self.rules[..ahead].iter().flat_map(|rule| &rule.who).any(Subject::needs_key)
    }

    /// Whether any rule names a key.
    #[must_use]
    pub fn names_keys(&self) -> bool {
        self.rules.iter().flat_map(|rule| &rule.who).any(Subject::needs_key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(who: &str, send: bool) -> Rule {
        Rule { who: vec![who.parse().unwrap()], send, ..Rule::default() }
    }

    #[test]
    fn the_first_rule_that_fits_decides() {
        let rules = vec![rule("10.1.2.3", false), rule("10.1.0.0/16", true)];
        let policy = Policy { rules };
        let sends = |address: [u8; 4]| {
            let who = Who { address: Some(address.into()), ..Who::default() };
            policy.rule(&who).map(|rule| rule.send)
        };
        assert_eq!(sends([10, 1, 2, 3]), Some(false));
        assert_eq!(sends([10, 1, 2, 4]), Some(true));
        assert_eq!(sends([10, 9, 2, 4]), None);
    }

    #[test]
    fn a_key_named_ahead_leaves_open_what_an_address_may_do() {
        let key = crate::Identity::from_seed([1; 32]).public().to_string();
        let rules = vec![rule("10.1.2.3", false), rule(&key, true), rule("all", false)];
        let policy = Policy { rules };
        assert!(policy.is_decided([10, 1, 2, 3].into(), 1));
        assert!(!policy.is_decided([10, 1, 2, 4].into(), 1));
        assert!(policy.names_keys());
    }

    #[test]
    fn topics_are_named_whole_or_by_their_beginning() {
        let rule = Rule { publish: vec!["a/b".into(), "c/#".into()], ..Rule::default() };
        let may = |topic| rule.may_publish(topic);
        assert!(may("a/b") && may("c/d/e") && may("c/"));
        assert!(!may("a/b/c") && !may("c") && !may(""));
    }
}

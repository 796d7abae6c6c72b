//! What everyone has had so far, beside what the rules allow. Counts are kept by rule, so that whoever
//! invents names gains nothing by it.

use std::{collections::BTreeMap, fmt, time::Duration};

use crate::policy::rule::Policy;

const MINUTE: Duration = Duration::from_secs(60);

/// Why something is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// No rule fits.
    Unknown,
    /// Its rule does not allow that.
    NotAllowed,
    /// It is too large.
    TooLarge,
    /// It is too much altogether, or in this minute.
    TooMuch,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => "no rule of the policy fits its sender",
            Self::NotAllowed => "the policy does not allow its sender that",
            Self::TooLarge => "it is larger than the policy allows its sender",
            Self::TooMuch => "its sender has had all that the policy allows",
        })
    }
}

/// Counts so far.
#[derive(Debug, Clone, Default)]
pub struct Account {
    bytes: BTreeMap<usize, u64>,
    /// When the present minute began, and messages in it.
    messages: BTreeMap<usize, (Duration, u64)>,
}

impl Account {
    /// A transfer of this rule grows by so many bytes, to `size` bytes and `files` files.
    ///
    /// # Errors
    /// Why it may not.
    pub fn transfer(
        &mut self,
        policy: &Policy,
        rule: Option<usize>,
        (more, size, files): (u64, u64, u64),
    ) -> Result<(), Refused> {
        let number = rule.ok_or(Refused::Unknown)?;
        let rule = policy.get(number).ok_or(Refused::Unknown)?;
        if !rule.send {
            return Err(Refused::NotAllowed);
        }
        let over = |max: Option<u64>, value: u64| max.is_some_and(|max| value > max);
        if over(rule.max_size, size) || over(rule.max_files, files) {
            return Err(Refused::TooLarge);
        }
        let bytes = self.bytes.entry(number).or_default();
        if over(rule.max_total, bytes.saturating_add(more)) {
            return Err(Refused::TooMuch);
        }
        *bytes = bytes.saturating_add(more);
        Ok(())
    }

    /// A message of this rule comes at `now`, by a clock that only runs.
    ///
    /// # Errors
    /// Why it may not.
    pub fn message(
        &mut self,
        policy: &Policy,
        rule: Option<usize>,
        (now, topic, bytes, count): (Duration, &str, u64, u64),
    ) -> Result<(), Refused> {
        let number = rule.ok_or(Refused::Unknown)?;
        let rule = policy.get(number).ok_or(Refused::Unknown)?;
        if !rule.may_publish(topic) {
            return Err(Refused::NotAllowed);
        }
        if rule.max_message.is_some_and(|max| bytes > max) {
            return Err(Refused::TooLarge);
        }
        let minute = self.messages.entry(number).or_insert((now, 0));
        if now.saturating_sub(minute.0) >= MINUTE {
            *minute = (now, 0);
        }
        if rule.max_per_minute.is_some_and(|max| minute.1 + count > max) {
            return Err(Refused::TooMuch);
        }
        minute.1 += count;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::rule::Rule;

    fn policy(rule: Rule) -> Policy {
        Policy { rules: vec![rule] }
    }

    #[test]
    fn transfers_are_taken_as_far_as_their_rule_goes() {
        let rule = Rule {
            send: true,
            max_size: Some(100),
            max_files: Some(2),
            max_total: Some(250),
            ..Rule::default()
        };
        let (policy, mut account) = (policy(rule), Account::default());
        let mut take = |more, size, files| account.transfer(&policy, Some(0), (more, size, files));
        assert_eq!(take(100, 100, 1), Ok(()));
        assert_eq!(take(101, 101, 1), Err(Refused::TooLarge));
        assert_eq!(take(1, 1, 3), Err(Refused::TooLarge));
        assert_eq!(take(100, 100, 2), Ok(()));
        assert_eq!(take(51, 51, 1), Err(Refused::TooMuch));
        assert_eq!(take(50, 50, 1), Ok(()));
        assert_eq!(account.transfer(&policy, None, (0, 0, 0)), Err(Refused::Unknown));
    }

    #[test]
    fn who_may_only_publish_does_not_send() {
        let policy = policy(Rule { publish: vec!["#".into()], ..Rule::default() });
        let refused = Account::default().transfer(&policy, Some(0), (1, 1, 1));
        assert_eq!(refused, Err(Refused::NotAllowed));
    }

    #[test]
    fn so_many_messages_come_in_a_minute_and_none_is_longer() {
        let rule = Rule {
            publish: vec!["a".into()],
            max_message: Some(10),
            max_per_minute: Some(3),
            ..Rule::default()
        };
        let (policy, mut account) = (policy(rule), Account::default());
        let mut come = |second, topic, bytes| {
            let now = Duration::from_secs(second);
            account.message(&policy, Some(0), (now, topic, bytes, 1))
        };
        assert_eq!(come(0, "b", 1), Err(Refused::NotAllowed));
        assert_eq!(come(0, "a", 11), Err(Refused::TooLarge));
        assert_eq!([come(1, "a", 1), come(2, "a", 1), come(3, "a", 1)], [Ok(()); 3]);
        assert_eq!(come(59, "a", 1), Err(Refused::TooMuch));
        assert_eq!(come(61, "a", 10), Ok(()));
    }
}

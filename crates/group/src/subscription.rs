//! What a subscriber wants of which topics.

use crate::{description::Description, topic::Filter};
use fanfare_proto::Duration;

/// Names one subscription of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubscriptionId(pub u32);

/// In which order messages are handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ordering {
    /// As they come.
    #[default]
    Arrival,
    /// Each publisher's in the order in which it published them, whatever their topics.
    Source,
    /// Each publisher's of one topic in the order in which it published them.
    SourceTopic,
    /// Each publisher's of one topic, only such as are newer than all before: for positions and
    /// states.
    Latest,
}

/// How much of what was published before is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum History {
    /// All that anybody still has, within the window of objects in view.
    #[default]
    All,
    /// Of each publisher, at most so many objects before the first one heard of.
    Last(u16),
    /// What was published at most so long before the subscription began, as far as ages are known: what
    /// is younger is never left out, what is somewhat older may come
    /// ([bounds](crate#topics-and-subscriptions)).
    Since(Duration),
}

/// A subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscription {
    /// Of which topics.
    pub filter: Filter,
    /// Lost parts are asked for. Default true.
    pub reliable: bool,
    /// Default as they come.
    pub ordering: Ordering,
    /// A message that has not come whole so long after it was first heard of is no longer asked for,
    /// and no longer waited for. Default none.
    pub deadline: Option<Duration>,
    /// Messages of a lower priority are not wanted. Default 0.
    pub priority_min: u8,
    /// Default all.
    pub history: History,
    /// A message is handed over as often as somebody sends it: of several gateways each may. Default
    /// false: once.
    pub copies: bool,
}

impl Subscription {
    /// A reliable subscription in order of arrival.
    #[must_use]
    pub fn new(filter: Filter) -> Self {
        Self {
            filter,
            reliable: true,
            ordering: Ordering::Arrival,
            deadline: None,
            priority_min: 0,
            history: History::All,
            copies: false,
        }
    }

    /// Whether it wants a message that was `back` objects before the first one heard of, and was
    /// published `before` it began.
    #[must_use]
    pub fn wants(&self, message: &Description, (back, before): (u64, Duration)) -> bool {
        let recent = match self.history {
            History::All => true,
            History::Last(count) => back <= u64::from(count),
            History::Since(most) => before <= most,
        };
        recent
            && message.options.priority >= self.priority_min
            && self.filter.matches(&message.topic)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{description::Options, topic::Topic};

    fn message(priority: u8) -> Description {
        let options = Options { priority, ..Options::default() };
        Description { topic: Topic::new("a/b").unwrap(), number: 0, options, content: None }
    }

    #[test]
    fn topic_priority_and_age_all_have_to_fit() {
        let all = Subscription::new(Filter::new("a/#").unwrap());
        let back = |back| (back, Duration::from_secs(back));
        assert!(all.wants(&message(0), back(10_000)));
        let some = Subscription { priority_min: 5, history: History::Last(2), ..all.clone() };
        assert!(some.wants(&message(5), back(2)));
        assert!(!some.wants(&message(4), back(0)) && !some.wants(&message(5), back(3)));
        let since = History::Since(Duration::from_secs(60));
        let recent = Subscription { history: since, ..all.clone() };
        assert!(recent.wants(&message(0), back(60)) && !recent.wants(&message(0), back(61)));
        let other = Subscription { filter: Filter::new("b/#").unwrap(), ..all };
        assert!(!other.wants(&message(5), back(0)));
    }
}

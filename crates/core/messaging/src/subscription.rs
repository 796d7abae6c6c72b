//! What a subscriber wants of which topics.

use crate::{description::Description, topic::Filter};
use fanfare_proto::Duration;

/// Names one subscription of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubscriptionId(pub u32);

/// The order of delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ordering {
    /// In the order of arrival.
    #[default]
    Arrival,
    /// Each publisher's messages in the order of publication, over all topics.
    Source,
    /// Each publisher's messages of one topic in the order of publication.
    SourceTopic,
    /// Only messages that are newer than all before, for each publisher and topic: for positions
    /// and states.
    Latest,
}

/// How many earlier messages a new subscription gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum History {
    /// Everything that any node still has, within the window of objects.
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
    /// Whether lost parts are requested. Default true.
    pub reliable: bool,
    /// The order of delivery. Default: in the order of arrival.
    pub ordering: Ordering,
    /// The deadline: a message that is not complete so long after it was first heard of is no
    /// longer requested and no longer awaited. Default none.
    pub deadline: Option<Duration>,
    /// The lowest priority to deliver. Default 0.
    pub priority_min: u8,
    /// How many earlier messages to get. Default all.
    pub history: History,
    /// Whether a message is delivered again for every gateway that forwards it. Default false:
    /// once.
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
        Description {
            topic: Topic::new("a/b").unwrap(),
            number: 0,
            options,
            batch: None,
            content: None,
        }
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

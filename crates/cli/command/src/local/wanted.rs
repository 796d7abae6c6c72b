//! What a subscriber wants: the order of messages, and which earlier ones.

use crate::{Failure, units};
use clap::ValueEnum;
use fanfare_node::messaging::{History, Ordering};

/// In which order messages are shown.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Order {
    /// As they arrive
    Arrival,
    /// As each publisher sent them
    Source,
    /// As each publisher sent them, for each topic alone
    Topic,
    /// Only the latest of each publisher and topic
    Latest,
}

impl From<Order> for Ordering {
    fn from(order: Order) -> Self {
        match order {
            Order::Arrival => Self::Arrival,
            Order::Source => Self::Source,
            Order::Topic => Self::SourceTopic,
            Order::Latest => Self::Latest,
        }
    }
}

/// Which earlier messages: `10`, `10m`, `none` or `all`.
pub fn history(text: &str) -> Result<History, Failure> {
    // A number alone counts messages; a time has its unit.
    let time =
        || units::time("history", text).ok().filter(|_| text.ends_with(['s', 'm', 'h', 'd']));
    match (text, text.parse()) {
        ("all", _) => Ok(History::All),
        ("none", _) => Ok(History::Last(0)),
        (_, Ok(count)) => Ok(History::Last(count)),
        _ => time().map(History::Since).ok_or_else(|| {
            let text = format!(
                "history ({text}): not a number up to 65535, a time such as 10m, 'none' or 'all'. \
                 Give one of them"
            );
            Failure::usage("history.invalid", text)
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_history_is_a_number_of_messages_or_a_time_with_its_unit() {
        let read = |text| history(text).ok();
        assert_eq!(read("10"), Some(History::Last(10)));
        assert_eq!(read("none"), Some(History::Last(0)));
        assert_eq!(read("all"), Some(History::All));
        for (text, seconds) in [("10s", 10), ("10m", 600), ("1.5h", 5400), ("10d", 864_000)] {
            assert_eq!(read(text), Some(History::Since(Duration::from_secs(seconds))), "{text}");
        }
        for text in ["", "-1", "65536", "1.5", "10w", "-10m", "m", "some"] {
            let failure = history(text).expect_err(text);
            assert!(failure.text.contains("a time such as 10m"), "{failure}");
        }
    }
}

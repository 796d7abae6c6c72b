//! Topics, filters and priorities as people write them.

use crate::Failure;
use fanfare_node::messaging::{Filter, Topic, TopicError, description::PRIORITY_MAX};

/// A topic, or why it is none.
pub fn topic(text: &str) -> Result<Topic, Failure> {
    Topic::new(text).map_err(|error| topic_failure(&error))
}

/// A filter, or why it is none.
pub fn filter(text: &str) -> Result<Filter, Failure> {
    Filter::new(text).map_err(|error| topic_failure(&error))
}

/// A priority, or why it is none.
pub fn priority(number: u8) -> Result<u8, Failure> {
    if number <= PRIORITY_MAX {
        return Ok(number);
    }
    let text = format!("priority ({number}): is above {PRIORITY_MAX}. Give 0 to {PRIORITY_MAX}");
    Err(Failure::usage("priority.invalid", text))
}

fn topic_failure(error: &TopicError) -> Failure {
    Failure::usage("topic.invalid", error.to_string())
}

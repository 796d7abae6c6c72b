//! The local socket of `fanfare node`: requests and answers, a line of JSON each; docs/node.md is its
//! description.
//!
//! `server`: at the node, `requests`: what it hears of a client, `mailbox`: what it has for one;
//! `client`: of `pub`, `sub` and `node status` with `--via`

pub(crate) mod client;
mod mailbox;
mod requests;
pub(crate) mod server;

use serde::{Deserialize, Serialize};

/// Longest message that is in a line; twice that in hexadecimal.
pub(crate) const MESSAGE_MAX: u64 = 16 << 20;
/// Longer ones follow their line for who can take them so.
pub(crate) const INLINE_MAX: u64 = 64 << 10;
/// Longest line: a message, and as much as all else can be.
pub(crate) const LINE_MAX: u64 = 2 * MESSAGE_MAX + 4096;

/// What a client asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Request {
    /// Publishes `text`, the bytes of `hex`, or the `bytes` that follow the line.
    Publish {
        topic: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hex: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bytes: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        priority: Option<u8>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expiry_ms: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tag: Option<u64>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        replace: bool,
        /// In which group of the node, by its name; default the first.
        #[serde(rename = "in", default, skip_serializing_if = "Option::is_none")]
        within: Option<String>,
    },
    /// Subscribes for as long as the connection stands.
    Subscribe {
        filter: String,
        /// As `sub --order`; default `arrival`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        order: Option<String>,
        /// As `sub --history`; default `all`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        history: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        priority: Option<u8>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deadline_ms: Option<u64>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        unreliable: bool,
        /// Content longer than a line should be follows its line.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        raw: bool,
        /// In which group of the node, by its name; default the first.
        #[serde(rename = "in", default, skip_serializing_if = "Option::is_none")]
        within: Option<String>,
    },
    /// How the node stands in a group.
    Status {
        /// As above.
        #[serde(rename = "in", default, skip_serializing_if = "Option::is_none")]
        within: Option<String>,
    },
}

/// Bytes of hexadecimal digits.
pub(crate) fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    let value = |digit: u8| char::from(digit).to_digit(16);
    let pairs = digits.chunks(2).map(|pair| match *pair {
        [high, low] => Some((value(high)? * 16 + value(low)?) as u8),
        _ => None,
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_in_the_document_is_understood_and_written_the_same_way() {
        let document = include_str!("../../../docs/node.md");
        let examples: Vec<&str> =
            document.lines().filter(|line| line.starts_with("{\"do\":")).collect();
        assert!(examples.len() >= 4);
        for example in examples {
            let request: Request = serde_json::from_str(example).expect(example);
            assert_eq!(serde_json::to_string(&request).unwrap(), example);
        }
    }

    #[test]
    fn what_is_no_hexadecimal_is_refused() {
        assert_eq!(unhex("00fF"), Some(vec![0, 255]));
        assert_eq!([unhex("0"), unhex("0g"), unhex("é")], [None, None, None]);
    }
}

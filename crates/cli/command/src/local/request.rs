//! What a client asks of a node.

use serde::{Deserialize, Deserializer, Serialize, de::Error};

/// Longest message that is in a line; twice that in hexadecimal.
pub const MESSAGE_MAX: u64 = 16 << 20;
/// Longer ones follow their line for who can take them so.
pub const INLINE_MAX: u64 = 64 << 10;
/// Longest line: a message, and as much as all else can be.
pub const LINE_MAX: u64 = 2 * MESSAGE_MAX + 4096;

/// What a client asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "docs/reference/node.md says what each field means")]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
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
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "some_tag")]
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
    /// Ends a subscription of this connection.
    Unsubscribe {
        subscription: u32,
        /// As above.
        #[serde(rename = "in", default, skip_serializing_if = "Option::is_none")]
        within: Option<String>,
    },
    /// Withdraws the node's own messages with this tag.
    Cancel {
        #[serde(deserialize_with = "tag")]
        tag: u64,
        /// As above.
        #[serde(rename = "in", default, skip_serializing_if = "Option::is_none")]
        within: Option<String>,
    },
    /// Who is in a group, and from now on who comes and goes.
    Members {
        /// As above.
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

/// A tag: a number, or its digits where numbers have fewer bits than it.
fn tag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "a tag is a number below 2^64, or its digits as text")]
    enum Tag {
        Number(u64),
        Digits(String),
    }
    let digits = match Tag::deserialize(deserializer)? {
        Tag::Number(number) => return Ok(number),
        Tag::Digits(digits) => digits,
    };
    let number = digits.parse().ok().filter(|_| digits.starts_with(|c: char| c.is_ascii_digit()));
    number.ok_or_else(|| D::Error::custom(format!("tag '{digits}' has not the digits of a number")))
}

fn some_tag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    tag(deserializer).map(Some)
}

/// Bytes of hexadecimal digits.
pub fn unhex(text: &str) -> Option<Vec<u8>> {
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
        let document = include_str!("../../../../../docs/reference/node.md");
        let examples: Vec<&str> =
            document.lines().filter(|line| line.starts_with("{\"do\":")).collect();
        assert!(examples.len() >= 9);
        for example in examples {
            let request: Request = serde_json::from_str(example).expect(example);
            assert_eq!(serde_json::to_string(&request).unwrap(), example);
        }
    }

    #[test]
    fn a_tag_is_a_number_or_its_digits() {
        let tag = |value: &str| {
            let request = format!(r#"{{"do":"cancel","tag":{value}}}"#);
            match serde_json::from_str(&request) {
                Ok(Request::Cancel { tag, .. }) => Some(tag),
                _ => None,
            }
        };
        let most = u64::MAX.to_string();
        assert_eq!([tag("7"), tag("\"7\"")], [Some(7); 2]);
        assert_eq!([tag(&most), tag(&format!("\"{most}\""))], [Some(u64::MAX); 2]);
        for wrong in ["-1", "1.5", "\"\"", "\"+7\"", "\"x\"", "null", "18446744073709551616"] {
            assert_eq!(tag(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_is_no_hexadecimal_is_refused() {
        assert_eq!(unhex("00fF"), Some(vec![0, 255]));
        assert_eq!([unhex("0"), unhex("0g"), unhex("é")], [None, None, None]);
    }
}

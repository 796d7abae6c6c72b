//! Lines of JSON that every command prints, and the name of a stream or group in them.

use std::borrow::Cow;

use serde::Serialize;

/// A warning has no more characters than this: what others wrote in it may be as long as they like.
const WARNING_MAX: usize = 1_000;

/// A line that every command may print.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Notice<'a> {
    /// Something that does not end the command.
    Warning {
        /// Stable name for programs.
        code: &'a str,
        /// For people.
        message: &'a str,
    },
    /// Why the command fails.
    Error {
        /// Stable name for programs.
        code: &'a str,
        /// For people.
        message: &'a str,
    },
    /// The last line of a command that has nothing more to say.
    Result {
        /// Whether the exit code is 0.
        ok: bool,
        /// The exit code.
        exit: u8,
    },
}

impl Notice<'_> {
    /// The last line.
    #[must_use]
    pub const fn result(exit: u8) -> Self {
        Self::Result { ok: exit == 0, exit }
    }
}

/// The same line of one of several streams, or groups.
#[derive(Debug, Serialize)]
pub(crate) struct Of<'a, L> {
    #[serde(flatten)]
    line: &'a L,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream: Option<&'a str>,
    /// What a node calls its group.
    #[serde(rename = "in", skip_serializing_if = "Option::is_none")]
    within: Option<&'a str>,
}

impl<'a, L> Of<'a, L> {
    /// Of one of several streams, by its group.
    pub(crate) const fn stream(line: &'a L, stream: &'a str) -> Self {
        Self { line, stream: Some(stream), within: None }
    }

    /// Of a group of a node that has several.
    pub(crate) const fn group(line: &'a L, group: &'a str) -> Self {
        Self { line, stream: None, within: Some(group) }
    }
}

/// A line of JSON, without its end.
pub fn to_text<T: Serialize>(line: &T) -> String {
    // Plain data with string keys: it always can be written.
    serde_json::to_string(line).unwrap_or_default()
}

/// A warning, with its beginning and a number in the place of what is too long for a line.
pub(crate) fn warning_text(message: &str) -> Cow<'_, str> {
    let Some((end, _)) = message.char_indices().nth(WARNING_MAX) else { return message.into() };
    let left_out = message[end..].chars().count();
    format!("{} ... ({left_out} characters more)", &message[..end]).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_that_is_too_long_for_a_line_ends_with_how_much_is_left_out() {
        let fits = "é".repeat(1_000);
        assert_eq!(warning_text(&fits), fits);
        let (long, expected) =
            (format!("{fits}and more"), format!("{fits} ... (8 characters more)"));
        assert_eq!(warning_text(&long), expected);
        assert!(matches!(warning_text("short"), Cow::Borrowed("short")));
    }
}

//! Text that others wrote, on a terminal: it stays on its line, moves no cursor, and reads in the order
//! in which it is written.

use std::fmt;

/// Shows a text with escapes for what is no character to be seen: `\n`, `\u{1b}`.
pub struct Printable<'a>(pub &'a str);

impl fmt::Display for Printable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        while let Some((at, harmful)) = rest.char_indices().find(|(_, c)| is_harmful(*c)) {
            write!(f, "{}{}", &rest[..at], harmful.escape_default())?;
            rest = &rest[at + harmful.len_utf8()..];
        }
        f.write_str(rest)
    }
}

/// Controls of the terminal, and of Unicode those that end a line or change its direction. A tab does
/// neither.
fn is_harmful(c: char) -> bool {
    let directs = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c != '\t' && c.is_control() || directs || matches!(c, '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_the_cursor_is_seen_and_all_else_is_as_it_was() {
        for (text, shown) in [
            ("60.17\t24.94 Grüße 你好", "60.17\t24.94 Grüße 你好"),
            ("hello\nbank/transfer 1000000", "hello\\nbank/transfer 1000000"),
            ("\u{1b}]0;owned\u{7}", "\\u{1b}]0;owned\\u{7}"),
            ("a\r\u{7f}\u{9b}2J", "a\\r\\u{7f}\\u{9b}2J"),
            ("\u{202e}txt.exe\u{2028}", "\\u{202e}txt.exe\\u{2028}"),
            ("", ""),
        ] {
            assert_eq!(Printable(text).to_string(), shown);
        }
    }
}

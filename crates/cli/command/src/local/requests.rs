//! What a client of a node asks, as it comes: a line, and the bytes that follow it.

use std::io::{BufRead, Read, copy, sink};

use fanfare_node::group::{Body, BodyError};

use super::request::{LINE_MAX, unhex};
use crate::Failure;

/// Of a request that is wrong, as much is told again.
const QUOTED_MAX: usize = 60;

/// What followed a line, or why it is no message.
pub(super) type Content = Result<Body, BodyError>;

/// Why there is no next line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The client has gone, perhaps within a line.
    Gone,
    /// It is longer than any request.
    TooLong,
}

/// What one client says.
pub(super) struct Requests<R> {
    from: R,
}

impl<R: BufRead> Requests<R> {
    pub(super) fn of(from: R) -> Self {
        Self { from }
    }

    pub(super) fn next(&mut self) -> Result<String, End> {
        let mut line = Vec::new();
        let read = self.from.by_ref().take(LINE_MAX).read_until(b'\n', &mut line);
        match read.map(|read| read as u64) {
            Ok(read) if read == LINE_MAX && line.last() != Some(&b'\n') => Err(End::TooLong),
            Ok(_) if line.pop() == Some(b'\n') => Ok(String::from_utf8_lossy(&line).into_owned()),
            _ => Err(End::Gone),
        }
    }

    /// The `bytes` that follow, of which a message may have `max`.
    pub(super) fn content(&mut self, bytes: u64, max: u64) -> Result<Content, End> {
        let mut content = self.from.by_ref().take(bytes);
        let body = match bytes <= max {
            true => Body::read_from(&mut content, max),
            false => Err(BodyError::TooLarge { max }),
        };
        // What is not taken is passed over: the next request is behind it.
        copy(&mut content, &mut sink()).map_err(|_| End::Gone)?;
        if content.limit() == 0 { Ok(body) } else { Err(End::Gone) }
    }
}

/// What a publication's message is: a line's `text` or `hex`, or the `content` that followed it.
pub(super) fn body_of(
    text: Option<String>,
    hex: Option<String>,
    content: Option<Content>,
) -> Result<Body, Failure> {
    let invalid = |text| Failure::usage("request.invalid", text);
    match (text, hex, content) {
        (Some(text), None, None) => Ok(Body::new(text.into_bytes())),
        (None, Some(hex), None) => unhex(&hex).map(Body::new).ok_or_else(|| {
            invalid(format!(
                "hex ({}): has no even number of hexadecimal digits. Write two for each byte",
                quoted(&hex)
            ))
        }),
        (None, None, Some(content)) => Ok(content?),
        (text, hex, content) => {
            let given =
                [("text", text.is_some()), ("hex", hex.is_some()), ("bytes", content.is_some())];
            let given = given.iter().filter_map(|(name, is_given)| is_given.then_some(*name));
            let given = match given.collect::<Vec<_>>() {
                none if none.is_empty() => String::from("neither text, hex nor bytes"),
                some => some.join(" and "),
            };
            Err(invalid(format!("message ({given}): has not one content. Give one of the three")))
        }
    }
}

/// The beginning of what a client wrote.
pub(super) fn quoted(text: &str) -> String {
    match text.char_indices().nth(QUOTED_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_behind_a_line_are_no_requests_whether_they_are_taken_or_not() {
        let text: &[u8] = b"one\n\n\xff\ntwo\n12345three\n12";
        let mut requests = Requests::of(text);
        assert_eq!(requests.next(), Ok("one".to_owned()));
        assert_eq!(requests.content(3, 10).unwrap().unwrap().bytes(), Some(&b"\n\xff\n"[..]));
        assert_eq!(requests.next(), Ok("two".to_owned()));
        assert!(matches!(requests.content(5, 4), Ok(Err(BodyError::TooLarge { max: 4 }))));
        assert_eq!(requests.next(), Ok("three".to_owned()));
        assert!(matches!(requests.content(3, 10), Err(End::Gone)));
    }

    #[test]
    fn a_line_without_end_is_told_from_one_that_is_cut_off() {
        let long = vec![b'x'; LINE_MAX as usize + 1];
        assert_eq!(Requests::of(&long[..]).next(), Err(End::TooLong));
        assert_eq!(Requests::of(&b"x"[..]).next(), Err(End::Gone));
        assert_eq!(Requests::of(&b""[..]).next(), Err(End::Gone));
    }
}

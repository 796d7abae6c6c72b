//! HTTP CONNECT (RFC 9110, 9.3.6), the server's side, without I/O. Plain HTTP is not forwarded.

use crate::{code::Code, destination::Destination};

/// Longest head of a request, bytes: what common servers take.
pub const HEAD_MAX: usize = 8192;

/// What a head asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// More bytes are needed.
    More,
    /// A connection; so many bytes are the head, and the rest is the connection's.
    Connect {
        /// Where to.
        destination: Destination,
        /// User and password, if they were given: as they stand in the header, in base64.
        credentials: Option<String>,
        /// Bytes of the head.
        head: usize,
    },
    /// Send this and close.
    Close(String),
}

/// Reads a head, as far as it has come.
#[must_use]
pub fn read(bytes: &[u8]) -> Step {
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
        let too_long = bytes.len() >= HEAD_MAX;
        return if too_long { close("431 Request Header Fields Too Large") } else { Step::More };
    };
    if end > HEAD_MAX {
        return close("431 Request Header Fields Too Large");
    }
    let Ok(head) = std::str::from_utf8(&bytes[..end]) else { return close("400 Bad Request") };
    let mut lines = head.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (method, target, version) = (words.next(), words.next(), words.next());
    let known = version.is_some_and(|version| version == "HTTP/1.1" || version == "HTTP/1.0");
    if !known || words.next().is_some() {
        return close("400 Bad Request");
    }
    if method != Some("CONNECT") {
        return close("405 Method Not Allowed");
    }
    let Ok(destination) = target.unwrap_or_default().parse() else {
        return close("400 Bad Request");
    };
    let mut credentials = None;
    for line in lines {
        let Some((name, value)) = line.split_once(':') else { return close("400 Bad Request") };
        if name.eq_ignore_ascii_case("proxy-authorization") {
            let value = value.trim().split_once(' ');
            let basic = value.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("basic"));
            credentials = basic.map(|(_, digits)| digits.trim().to_owned());
        }
    }
    Step::Connect { destination, credentials, head: end + 4 }
}

fn close(status: &str) -> Step {
    Step::Close(answer(status, ""))
}

fn answer(status: &str, more: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{more}Content-Length: 0\r\nConnection: close\r\n\r\n")
}

/// The answer to a request for a connection.
#[must_use]
pub fn reply(code: Code) -> String {
    match code {
        Code::Done => format!("HTTP/1.1 {}\r\n\r\n", code.http()),
        _ => answer(code.http(), ""),
    }
}

/// Asks for user and password.
#[must_use]
pub fn ask_password() -> String {
    answer("407 Proxy Authentication Required", "Proxy-Authenticate: Basic realm=\"fanfare\"\r\n")
}

/// User and password of Basic (RFC 7617).
#[must_use]
pub fn user_and_password(digits: &str) -> Option<(Vec<u8>, Vec<u8>)> {
    let bytes = from_base64(digits)?;
    let colon = bytes.iter().position(|byte| *byte == b':')?;
    Some((bytes[..colon].to_vec(), bytes[colon + 1..].to_vec()))
}

fn from_base64(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=').as_bytes();
    let mut bytes = Vec::with_capacity(digits.len() * 3 / 4);
    for four in digits.chunks(4) {
        let mut value = 0u32;
        for digit in four {
            let six = match digit {
                b'A'..=b'Z' => digit - b'A',
                b'a'..=b'z' => digit - b'a' + 26,
                b'0'..=b'9' => digit - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                _ => return None,
            };
            value = value << 6 | u32::from(six);
        }
        let three = (value << (6 * (4 - four.len()))).to_be_bytes();
        match four.len() {
            4 => bytes.extend_from_slice(&three[1..4]),
            3 => bytes.extend_from_slice(&three[1..3]),
            2 => bytes.push(three[1]),
            _ => return None,
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_connection_is_asked_for_and_the_rest_is_its_first_bytes() {
        let text = b"CONNECT example.org:443 HTTP/1.1\r\nHost: example.org\r\n\
                     proxy-authorization: Basic bWU6c2VjcmV0\r\n\r\nhello";
        let Step::Connect { destination, credentials, head } = read(text) else { panic!() };
        assert_eq!(
            (destination.to_string().as_str(), &text[head..]),
            ("example.org:443", &b"hello"[..])
        );
        let known = user_and_password(&credentials.unwrap());
        assert_eq!(known, Some((b"me".to_vec(), b"secret".to_vec())));
        for cut in 0..head {
            assert_eq!(read(&text[..cut]), Step::More);
        }
    }

    #[test]
    fn what_is_no_connect_is_refused_with_its_status() {
        let status = |text: &str| match read(text.as_bytes()) {
            Step::Close(answer) => answer[9..12].to_owned(),
            other => panic!("{other:?}"),
        };
        assert_eq!(status("GET http://example.org/ HTTP/1.1\r\n\r\n"), "405");
        assert_eq!(status("CONNECT example.org HTTP/1.1\r\n\r\n"), "400");
        assert_eq!(status("CONNECT a:1 HTTP/2\r\n\r\n"), "400");
        assert_eq!(status("CONNECT a:1 x HTTP/1.1\r\n\r\n"), "400");
        assert_eq!(status("CONNECT a:1 HTTP/1.1\r\nno colon\r\n\r\n"), "400");
        assert_eq!(status(&"a".repeat(HEAD_MAX)), "431");
        assert_eq!(&reply(Code::Refused)[9..12], "403");
        assert_eq!(&reply(Code::TimedOut)[9..12], "504");
        assert_eq!(&reply(Code::ConnectionRefused)[9..12], "502");
        assert_eq!(&ask_password()[9..12], "407");
    }

    #[test]
    fn base64_is_that_of_rfc_4648() {
        for (text, bytes) in
            [("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYg", "foob")]
        {
            assert_eq!(from_base64(text), Some(bytes.as_bytes().to_vec()));
        }
        assert_eq!((from_base64("Z"), from_base64("Z*==")), (None, None));
    }

    proptest! {
        #[test]
        fn heads_of_any_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
            let _ = read(&bytes);
            let mut text = b"CONNECT ".to_vec();
            text.extend_from_slice(&bytes);
            text.extend_from_slice(b"\r\n\r\n");
            let _ = read(&text);
        }
    }
}

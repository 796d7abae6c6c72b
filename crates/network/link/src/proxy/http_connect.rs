//! HTTP CONNECT (RFC 9110, 9.3.6), the server's side, without I/O. Plain HTTP is told apart here, and
//! passed on by [`crate::proxy::http_forward`].

use crate::proxy::{
    code::Code,
    destination::Destination,
    http_forward::{Field, ForwardedRequest, HttpRefusal, is_field_name},
};

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
    /// A request for an http:// address.
    Forward {
        /// As its server gets it.
        request: ForwardedRequest,
        /// User and password, as above.
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
    let mut lines = lines(&bytes[..end]);
    let Some(Ok(first)) = lines.next().map(std::str::from_utf8) else {
        return close("400 Bad Request");
    };
    let mut words = first.split(' ');
    let (method, target, version) = (words.next(), words.next(), words.next());
    let known = version.is_some_and(|version| version == "HTTP/1.1" || version == "HTTP/1.0");
    if !known || words.next().is_some() || first.contains(char::is_control) {
        return close("400 Bad Request");
    }
    let Some(fields) = lines.map(field).collect::<Option<Vec<_>>>() else {
        return close("400 Bad Request");
    };
    let (credentials, head) = (credentials(&fields), end + 4);
    let (method, target) = (method.unwrap_or_default(), target.unwrap_or_default());
    if method == "CONNECT" {
        return match target.parse() {
            Ok(destination) => Step::Connect { destination, credentials, head },
            Err(_) => close("400 Bad Request"),
        };
    }
    match ForwardedRequest::new(method, target, version.unwrap_or_default(), &fields) {
        Ok(request) => Step::Forward { request, credentials, head },
        Err(refusal) => Step::Close(refused(refusal)),
    }
}

fn lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(head);
    std::iter::from_fn(move || {
        let all = rest?;
        let end = all.windows(2).position(|two| two == b"\r\n");
        rest = end.map(|end| &all[end + 2..]);
        Some(&all[..end.unwrap_or(all.len())])
    })
}

fn field(line: &[u8]) -> Option<Field<'_>> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let name = std::str::from_utf8(&line[..colon]).ok().filter(|name| is_field_name(name))?;
    let value = line[colon + 1..].trim_ascii();
    // RFC 9110, 5.5: servers may see a new line in these.
    let is_bad = |byte: &u8| matches!(byte, b'\r' | b'\n' | 0);
    (!value.iter().any(is_bad)).then_some((name, value))
}

fn credentials(fields: &[Field<'_>]) -> Option<String> {
    let mut given =
        fields.iter().filter(|(name, _)| name.eq_ignore_ascii_case("proxy-authorization"));
    let value = given.next_back().and_then(|(_, value)| std::str::from_utf8(value).ok())?;
    let (scheme, digits) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("basic").then(|| digits.trim().to_owned())
}

fn close(status: &str) -> Step {
    Step::Close(answer(status, "", ""))
}

fn refused(HttpRefusal { status, fields, text }: HttpRefusal) -> String {
    answer(status, fields, text)
}

/// `text`: what a person is to read.
fn answer(status: &str, more: &str, text: &str) -> String {
    let (kind, text) = match text {
        "" => ("", String::new()),
        text => ("Content-Type: text/plain\r\n", format!("fanfare proxy: {text}\n")),
    };
    let length = text.len();
    format!(
        "HTTP/1.1 {status}\r\n{more}{kind}Content-Length: {length}\r\nConnection: close\r\n\r\n{text}"
    )
}

/// The answer to a plain request whose server could not be had; none to one that goes its way.
#[must_use]
pub fn reply_to_request(code: Code) -> String {
    let text = match code {
        Code::Done => return String::new(),
        Code::Refused => "no rule allows this server.",
        Code::TimedOut => "the server did not answer in time.",
        Code::General => "there is no link to the other side.",
        Code::HostUnreachable => "the server's name or address leads nowhere.",
        Code::ConnectionRefused => "the server refused the connection.",
        _ => "the server could not be reached.",
    };
    answer(code.http(), "", text)
}

/// The answer to a request for a connection.
#[must_use]
pub fn reply(code: Code) -> String {
    match code {
        Code::Done => format!("HTTP/1.1 {}\r\n\r\n", code.http()),
        _ => answer(code.http(), "", ""),
    }
}

/// Asks for user and password.
#[must_use]
pub fn ask_password() -> String {
    let field = "Proxy-Authenticate: Basic realm=\"fanfare\"\r\n";
    answer("407 Proxy Authentication Required", field, "")
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
    fn a_plain_request_is_read_with_its_password_and_any_bytes_in_its_fields() {
        let text =
            b"GET http://example.org/x HTTP/1.1\r\nProxy-Authorization: basic bWU6c2VjcmV0\r\n\
                     Cookie: caf\xe9\r\nX-Empty:\r\n\r\nmore";
        let Step::Forward { request, credentials, head } = read(text) else { panic!() };
        assert_eq!(
            (request.destination.to_string().as_str(), &text[head..]),
            ("example.org:80", &b"more"[..])
        );
        assert_eq!(credentials.as_deref(), Some("bWU6c2VjcmV0"));
        let expected = b"GET /x HTTP/1.1\r\nHost: example.org\r\nCookie: caf\xe9\r\nX-Empty: \r\n\
                         Connection: close\r\n\r\n";
        assert_eq!(request.head, expected);
        for cut in 0..head {
            assert_eq!(read(&text[..cut]), Step::More);
        }
    }

    #[test]
    fn a_refusal_says_what_to_do_in_a_body_of_its_length() {
        for target in ["/", "https://a.test/", "ftp://a.test/"] {
            let Step::Close(answer) = read(format!("GET {target} HTTP/1.1\r\n\r\n").as_bytes())
            else {
                panic!()
            };
            let (head, body) = answer.split_once("\r\n\r\n").unwrap();
            assert!(head.contains(&format!("Content-Length: {}", body.len())), "{answer}");
            assert!(body.starts_with("fanfare proxy: ") && body.ends_with(".\n"), "{answer}");
        }
        assert!(reply_to_request(Code::Refused).ends_with("no rule allows this server.\n"));
        assert_eq!(reply_to_request(Code::Done), "");
    }

    #[test]
    fn what_is_neither_connect_nor_a_plain_request_is_refused_with_its_status() {
        let status = |text: &str| match read(text.as_bytes()) {
            Step::Close(answer) => answer[9..12].to_owned(),
            other => panic!("{other:?}"),
        };
        assert_eq!(status("TRACE http://example.org/ HTTP/1.1\r\n\r\n"), "405");
        assert_eq!(status("GET http://example.org/ HTTP/1.1\r\nA : b\r\n\r\n"), "400");
        assert_eq!(status("GET http://example.org/ HTTP/1.1\r\nA: b\r\n c\r\n\r\n"), "400");
        assert_eq!(status("GET http://example.org/ HTTP/1.1\r\nA: b\nC: d\r\n\r\n"), "400");
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
            for first in [&b"CONNECT "[..], b"GET http://", b"GET http://a/ HTTP/1.1\r\n"] {
                let text = [first, &bytes, b"\r\n\r\n"].concat();
                let _ = read(&text);
            }
        }
    }
}

//! Plain HTTP through the proxy (RFC 9112, 3.2.2): one request for an address such as
//! `http://example.org/` becomes one for the server itself. Without I/O.
//!
//! Each request has a connection of its own: the server is asked to close it, and says so to the
//! client. So answers pass as they are. Nothing behind the request goes to the server, since it may be
//! meant for another one. There is no Via: a server that sees one often sends without compression.

use crate::proxy::destination::{Destination, DestinationError, Host};

/// Header fields that are about the way to the proxy (RFC 9110, 7.6.1), and the one that is written
/// anew. Those that Connection names go, too.
const HOP: [&str; 8] = [
    "connection",
    "proxy-connection",
    "proxy-authorization",
    "proxy-authenticate",
    "keep-alive",
    "te",
    "upgrade",
    "host",
];
/// Fields that say where the request ends: they stay, whatever Connection names.
const FRAMING: [&str; 2] = ["content-length", "transfer-encoding"];
/// Methods that pass, as a client is told that asks for TRACE. Others of one word pass as well.
const ALLOWED: &str = "Allow: CONNECT, DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT\r\n";

/// A request as the server gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForwardedRequest {
    /// The server.
    pub destination: Destination,
    /// Request line and header, for the server.
    pub head: Vec<u8>,
    /// What belongs to the request behind its head.
    pub body: RequestBody,
}

/// Why a request is not passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpRefusal {
    /// Status line.
    pub status: &'static str,
    /// Header fields of the answer.
    pub fields: &'static str,
    /// What the person is told.
    pub text: &'static str,
}

impl HttpRefusal {
    const fn bad(text: &'static str) -> Self {
        Self { status: "400 Bad Request", fields: "", text }
    }
}

/// A field of a header: its name, and its value as it stands there.
pub(crate) type Field<'a> = (&'a str, &'a [u8]);

impl ForwardedRequest {
    pub(crate) fn new(
        method: &str,
        target: &str,
        version: &str,
        fields: &[Field<'_>],
    ) -> Result<Self, HttpRefusal> {
        if method == "TRACE" {
            let text = "TRACE is not passed on.";
            return Err(HttpRefusal { status: "405 Method Not Allowed", fields: ALLOWED, text });
        }
        if method.is_empty() || !method.bytes().all(is_token) {
            return Err(HttpRefusal::bad("The method is not a word."));
        }
        let (destination, path) = parse_target(method, target)?;
        let body = RequestBody::of(version, fields)?;
        let head = format!("{method} {path} {version}\r\nHost: {}\r\n", host(&destination));
        let named: Vec<String> = fields
            .iter()
            .filter(|(name, _)| name.eq_ignore_ascii_case("connection"))
            .flat_map(|(_, value)| list(value))
            .collect();
        let mut bytes = head.into_bytes();
        for (name, value) in fields {
            let lower = name.to_ascii_lowercase();
            let stays = FRAMING.contains(&lower.as_str()) || !named.contains(&lower);
            if stays && !HOP.contains(&lower.as_str()) {
                bytes.extend_from_slice(name.as_bytes());
                bytes.extend_from_slice(b": ");
                bytes.extend_from_slice(value);
                bytes.extend_from_slice(b"\r\n");
            }
        }
        bytes.extend_from_slice(b"Connection: close\r\n\r\n");
        Ok(Self { destination, head: bytes, body })
    }
}

/// RFC 9110, 5.6.2.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// True for the name of a header field.
pub(crate) fn is_field_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(is_token)
}

/// Words between commas, in lower case.
fn list(value: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(value).to_ascii_lowercase();
    text.split(',').map(|word| word.trim().to_owned()).filter(|word| !word.is_empty()).collect()
}

/// What a server is called in Host: without the port that every http:// has.
fn host(destination: &Destination) -> String {
    match destination.port {
        80 => destination.host.to_string(),
        _ => destination.to_string(),
    }
}

/// The server, and what is asked of it.
fn parse_target(method: &str, target: &str) -> Result<(Destination, String), HttpRefusal> {
    let Some((scheme, rest)) = target.split_once("://") else {
        let text = "This is a proxy and no server. Name it as http_proxy, or as the HTTP proxy \
                    of your program.";
        return Err(HttpRefusal::bad(text));
    };
    if scheme.eq_ignore_ascii_case("https") {
        let text = "https:// goes by CONNECT. Set the program so, for example with https_proxy.";
        return Err(HttpRefusal { status: "501 Not Implemented", fields: "", text });
    }
    if !scheme.eq_ignore_ascii_case("http") {
        let text = "Only http:// is passed on. For anything else use CONNECT or SOCKS5.";
        return Err(HttpRefusal { status: "501 Not Implemented", fields: "", text });
    }
    let rest = rest.split('#').next().unwrap_or_default();
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    if authority.contains('@') {
        let text = "The address has a user in it (RFC 9110, 4.2.4). Send Authorization instead.";
        return Err(HttpRefusal::bad(text));
    }
    let destination = parse_authority(authority)
        .map_err(|_| HttpRefusal::bad("The address names no host, or a port that cannot be."))?;
    let path = match path.chars().next() {
        None if method == "OPTIONS" => "*".to_owned(),
        Some('/') => path.to_owned(),
        _ => format!("/{path}"),
    };
    Ok((destination, path))
}

fn parse_authority(text: &str) -> Result<Destination, DestinationError> {
    let behind = text.rfind(']').map_or(0, |at| at + 1);
    match text[behind..].split_once(':') {
        None => Ok(Destination { host: Host::parse(text.as_bytes())?, port: 80 }),
        Some((_, "")) => format!("{text}80").parse(),
        Some(_) => text.parse(),
    }
}

/// Bytes behind a head that belong to its request, counted as they pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestBody {
    state: BodyState,
    /// Bytes of the body, or of the chunk at hand.
    remaining: u64,
}

/// Where in the body the next byte is (RFC 9112, 7.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BodyState {
    /// Of known length.
    Whole,
    /// The first digit of a chunk's size.
    FirstDigit,
    /// Further digits.
    Digits,
    /// Behind the size, until the line ends.
    Extension,
    SizeEnd,
    Chunk,
    ChunkEnd,
    ChunkLineEnd,
    /// At the beginning of a line behind the last chunk.
    Trailer,
    TrailerLine,
    TrailerLineEnd,
    LastEnd,
    /// Nothing more belongs to it.
    Over,
}

impl RequestBody {
    /// As the header says. What two readers could understand in two ways is refused (RFC 9112, 6.3).
    fn of(version: &str, fields: &[Field<'_>]) -> Result<Self, HttpRefusal> {
        let all = |wanted: &str| {
            let found = fields.iter().filter(|(name, _)| name.eq_ignore_ascii_case(wanted));
            found.flat_map(|(_, value)| list(value)).collect::<Vec<_>>()
        };
        let has = |wanted: &str| fields.iter().any(|(name, _)| name.eq_ignore_ascii_case(wanted));
        let unclear = HttpRefusal::bad("Where the request ends is not clear from its header.");
        let (lengths, codings) = (all("content-length"), all("transfer-encoding"));
        if has("transfer-encoding") {
            let is_chunked = codings == ["chunked"] && version == "HTTP/1.1";
            return match is_chunked && !has("content-length") {
                true => Ok(Self { state: BodyState::FirstDigit, remaining: 0 }),
                false => Err(unclear),
            };
        }
        let Some(first) = lengths.first() else {
            return if has("content-length") { Err(unclear) } else { Ok(Self::whole(0)) };
        };
        let is_number = first.bytes().all(|byte| byte.is_ascii_digit());
        match first.parse() {
            Ok(length) if is_number && lengths.iter().all(|other| other == first) => {
                Ok(Self::whole(length))
            }
            _ => Err(unclear),
        }
    }

    pub(crate) const fn whole(length: u64) -> Self {
        Self { state: BodyState::Whole, remaining: length }
    }

    /// True when nothing more belongs to the request.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.state == BodyState::Over || (self.state == BodyState::Whole && self.remaining == 0)
    }

    /// Counts what came: so many of these bytes belong to the request.
    pub fn take(&mut self, bytes: &[u8]) -> usize {
        let mut taken = 0;
        while taken < bytes.len() && !self.is_over() {
            let rest = &bytes[taken..];
            taken += match self.state {
                BodyState::Whole | BodyState::Chunk => {
                    let part =
                        rest.len().min(usize::try_from(self.remaining).unwrap_or(usize::MAX));
                    self.remaining -= part as u64;
                    if self.state == BodyState::Chunk && self.remaining == 0 {
                        self.state = BodyState::ChunkEnd;
                    }
                    part
                }
                _ => match self.next(rest[0]) {
                    Some(state) => {
                        self.state = state;
                        1
                    }
                    // No chunks: the server gets no more than this.
                    None => {
                        self.state = BodyState::Over;
                        0
                    }
                },
            };
        }
        taken
    }

    /// The state behind this byte, of what is between the chunks' bytes.
    fn next(&mut self, byte: u8) -> Option<BodyState> {
        use BodyState as S;
        let digit = char::from(byte).to_digit(16);
        Some(match (self.state, byte) {
            (S::FirstDigit | S::Digits, _) if digit.is_some() => {
                let more = u64::from(digit.unwrap_or(0));
                self.remaining = self.remaining.checked_mul(16)?.checked_add(more)?;
                S::Digits
            }
            (S::Digits | S::Extension, b'\r') => S::SizeEnd,
            (S::Digits, b';' | b' ' | b'\t') => S::Extension,
            (S::Extension, 0x20..=0x7e | 0x80.. | b'\t') => S::Extension,
            (S::SizeEnd, b'\n') if self.remaining == 0 => S::Trailer,
            (S::SizeEnd, b'\n') => S::Chunk,
            (S::ChunkEnd, b'\r') => S::ChunkLineEnd,
            (S::ChunkLineEnd, b'\n') => S::FirstDigit,
            (S::Trailer, b'\r') => S::LastEnd,
            (S::TrailerLine, b'\r') => S::TrailerLineEnd,
            (S::Trailer | S::TrailerLine, 0x20..=0x7e | 0x80.. | b'\t') => S::TrailerLine,
            (S::TrailerLineEnd, b'\n') => S::Trailer,
            (S::LastEnd, b'\n') => S::Over,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forwarded(
        method: &str,
        target: &str,
        fields: &[Field<'_>],
    ) -> Result<(String, String), &'static str> {
        let request = ForwardedRequest::new(method, target, "HTTP/1.1", fields);
        let request = request.map_err(|refusal| &refusal.status[..3])?;
        Ok((request.destination.to_string(), String::from_utf8(request.head).unwrap()))
    }

    #[test]
    fn a_server_is_asked_for_the_path_of_an_address() {
        let line = |method: &str, target: &str| {
            let (to, head) = forwarded(method, target, &[])?;
            let mut lines = head.split("\r\n");
            let both = (lines.next().unwrap().to_owned(), lines.next().unwrap().to_owned());
            Ok((to, both.0, both.1))
        };
        for (method, target, to, asked, host) in [
            ("GET", "http://a.test/x?y=1#z", "a.test:80", "/x?y=1", "a.test"),
            ("GET", "http://a.test", "a.test:80", "/", "a.test"),
            ("HEAD", "HTTP://A.test:?q", "a.test:80", "/?q", "a.test"),
            ("POST", "http://a.test:8080/a//b", "a.test:8080", "/a//b", "a.test:8080"),
            ("PROPFIND", "http://[fd00::1]/x", "[fd00::1]:80", "/x", "[fd00::1]"),
            ("GET", "http://[fd00::1]:81/x", "[fd00::1]:81", "/x", "[fd00::1]:81"),
            ("OPTIONS", "http://10.0.0.1", "10.0.0.1:80", "*", "10.0.0.1"),
            ("GET", "http://a.test/http://b.test/", "a.test:80", "/http://b.test/", "a.test"),
        ] {
            let expected =
                (to.to_owned(), format!("{method} {asked} HTTP/1.1"), format!("Host: {host}"));
            assert_eq!(line(method, target), Ok(expected), "{target}");
        }
        for (method, target, status) in [
            ("GET", "/x", "400"),
            ("OPTIONS", "*", "400"),
            ("GET", "https://a.test/", "501"),
            ("GET", "ftp://a.test/", "501"),
            ("GET", "http:///x", "400"),
            ("GET", "http://a.test:0/", "400"),
            ("GET", "http://a.test:99999/", "400"),
            ("GET", "http://me:secret@a.test/", "400"),
            ("TRACE", "http://a.test/", "405"),
            ("G(T", "http://a.test/", "400"),
        ] {
            assert_eq!(line(method, target), Err(status), "{method} {target}");
        }
    }

    #[test]
    fn fields_about_the_way_to_the_proxy_stay_at_the_proxy() {
        let fields: [Field<'_>; 9] = [
            ("Host", b"other.test"),
            ("proxy-authorization", b"Basic bWU6c2VjcmV0"),
            ("Proxy-Connection", b"keep-alive"),
            ("Connection", b"Upgrade, X-Own, Content-Length"),
            ("Upgrade", b"h2c"),
            ("x-own", b"1"),
            ("Content-Length", b"3"),
            ("Authorization", b"Basic YTpi"),
            ("Accept", b"*/*"),
        ];
        let (_, head) = forwarded("POST", "http://a.test/", &fields).unwrap();
        let expected = "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3\r\n\
                        Authorization: Basic YTpi\r\nAccept: */*\r\nConnection: close\r\n\r\n";
        assert_eq!(head, expected);
    }

    fn body(fields: &[Field<'_>]) -> Result<RequestBody, HttpRefusal> {
        RequestBody::of("HTTP/1.1", fields)
    }

    /// However it is cut: so many bytes are taken.
    fn taken(body: &RequestBody, bytes: &[u8], piece: usize) -> (usize, bool) {
        let (mut body, mut count) = (body.clone(), 0);
        for part in bytes.chunks(piece) {
            let now = body.take(part);
            count += now;
            if now < part.len() {
                break;
            }
        }
        (count, body.is_over())
    }

    #[test]
    fn nothing_behind_a_request_belongs_to_it() {
        let next = "GET http://other.test/ HTTP/1.1\r\n\r\n";
        let chunked: Field<'_> = ("Transfer-Encoding", b"Chunked");
        for (field, text) in [
            (None, ""),
            (Some(("Content-Length", &b"5"[..])), "hello"),
            (Some(("Content-Length", &b"5, 5"[..])), "hello"),
            (Some(chunked), "0\r\n\r\n"),
            (Some(chunked), "5\r\nhello\r\n00a;x=\"y\"\r\n0\r\n\r\n01234\r\n0\r\n\r\n"),
            (Some(chunked), "1\r\nx\r\n0\r\nDate: today\r\nX: y\r\n\r\n"),
        ] {
            let fields: Vec<Field<'_>> = field.into_iter().collect();
            let body = body(&fields).unwrap();
            let all = format!("{text}{next}");
            for piece in [1, 2, 3, 7, 1000] {
                assert_eq!(taken(&body, all.as_bytes(), piece), (text.len(), true), "{text:?}");
            }
            for cut in 0..text.len() {
                assert_eq!(taken(&body, &text.as_bytes()[..cut], 4), (cut, false), "{text:?}");
            }
        }
    }

    #[test]
    fn a_request_with_two_ends_is_refused() {
        let chunked: Field<'_> = ("Transfer-Encoding", b"chunked");
        let length: Field<'_> = ("Content-Length", b"5");
        for fields in [
            &[chunked, length][..],
            &[length, ("content-length", b"6")],
            &[("Content-Length", b"+5")],
            &[("Content-Length", b"")],
            &[("Content-Length", b"99999999999999999999")],
            &[("Transfer-Encoding", b"gzip, chunked")],
            &[("Transfer-Encoding", b"identity")],
            &[("Transfer-Encoding", b"")],
            &[chunked, chunked],
        ] {
            assert_eq!(body(fields).unwrap_err().status, "400 Bad Request", "{fields:?}");
        }
        assert!(RequestBody::of("HTTP/1.0", &[chunked]).is_err());
    }

    #[test]
    fn what_are_no_chunks_goes_no_further() {
        let chunked: Field<'_> = ("Transfer-Encoding", b"chunked");
        for (text, good) in [
            ("\r\n", 0),
            ("x\r\n", 0),
            ("5\nhello", 1),
            ("5\r\nhelloX", 8),
            ("ffffffffffffffffff\r\n", 16),
            ("0\r\na\nb", 4),
            ("0\r\n\rX", 4),
        ] {
            assert_eq!(
                taken(&body(&[chunked]).unwrap(), text.as_bytes(), 2),
                (good, true),
                "{text:?}"
            );
        }
    }
}

//! A request: read from a connection, with bounds.

use std::{
    collections::BTreeMap,
    io::{self, BufRead, BufReader, Read},
};

/// A head beyond this is refused: browsers send less than a tenth.
const HEAD_MAX: u64 = 16 << 10;
/// The only body is a form with a token.
const BODY_MAX: u64 = 4 << 10;

/// What is asked.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) method: String,
    /// Without what follows a question mark.
    pub(super) path: String,
    /// What follows it.
    query: String,
    /// By their names in lower case.
    headers: BTreeMap<String, String>,
    pub(super) body: String,
}

impl Request {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// What the query says of this name, with its escapes.
    pub(super) fn asked(&self, name: &str) -> Option<&str> {
        let mut pairs = self.query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(found, _)| *found == name).map(|(_, value)| value)
    }

    /// Reads one request; `InvalidData` when it is none, or too long.
    pub(super) fn read(from: &mut impl Read) -> io::Result<Self> {
        let mut lines = BufReader::new(from.take(HEAD_MAX));
        let first = line(&mut lines)?;
        let mut words = first.split(' ');
        let (Some(method), Some(target), Some("HTTP/1.1" | "HTTP/1.0"), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(wrong());
        };
        let target = target.split('#').next().unwrap_or_default();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        if !path.starts_with('/') {
            return Err(wrong());
        }
        let mut request = Self {
            method: method.to_owned(),
            path: path.to_owned(),
            query: query.to_owned(),
            ..Self::default()
        };
        loop {
            let next = line(&mut lines)?;
            if next.is_empty() {
                break;
            }
            let (name, value) = next.split_once(':').ok_or_else(wrong)?;
            let known = request.headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
            // Two of one kind: who is in between may believe the other one.
            if known.is_some() && matches!(&*name.to_ascii_lowercase(), "host" | "content-length") {
                return Err(wrong());
            }
        }
        request.read_body(&mut lines)?;
        Ok(request)
    }

    fn read_body(&mut self, lines: &mut BufReader<io::Take<&mut impl Read>>) -> io::Result<()> {
        let Some(length) = self.header("content-length") else { return Ok(()) };
        let length: u64 = length.parse().map_err(|_| wrong())?;
        if length > BODY_MAX {
            return Err(wrong());
        }
        let mut body = Vec::new();
        lines.get_mut().set_limit(BODY_MAX);
        lines.take(length).read_to_end(&mut body)?;
        if body.len() as u64 != length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.body = String::from_utf8(body).map_err(|_| wrong())?;
        Ok(())
    }
}

/// The next line, without its end.
fn line(lines: &mut impl BufRead) -> io::Result<String> {
    let mut line = Vec::new();
    lines.read_until(b'\n', &mut line)?;
    if line.pop() != Some(b'\n') {
        // The bound, or the end.
        return Err(if line.is_empty() { io::ErrorKind::UnexpectedEof.into() } else { wrong() });
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    String::from_utf8(line).map_err(|_| wrong())
}

fn wrong() -> io::Error {
    io::ErrorKind::InvalidData.into()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> io::Result<Request> {
        Request::read(&mut text.as_bytes())
    }

    #[test]
    fn a_request_is_read_with_its_headers_and_its_body() {
        let text = "POST /login?x=1 HTTP/1.1\r\nHost: localhost:7979\r\nContent-Length: 7\r\n\r\ntoken=a more";
        let request = read(text).unwrap();
        assert_eq!(
            (&*request.method, &*request.path, &*request.body),
            ("POST", "/login", "token=a")
        );
        assert_eq!(request.header("host"), Some("localhost:7979"));
    }

    #[test]
    fn what_is_no_request_is_refused() {
        for text in [
            "GET\r\n\r\n",
            "GET / HTTP/2\r\n\r\n",
            "GET / HTTP/1.1 x\r\n\r\n",
            "GET x HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\nno colon\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: 5000\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
            "GET / HTTP/1.1\r\n",
            "",
        ] {
            assert!(read(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_head_without_end_is_given_up() {
        let long = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(1 << 20));
        assert!(read(&long).is_err());
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(10_000));
        assert!(read(&many).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = Request::read(&mut &bytes[..]);
        }
    }
}

//! What is answered.

use std::io::{self, Write};

/// Nothing from elsewhere runs or is shown, and nobody puts the page into another. Players hand films to
/// the browser as blobs.
const POLICY: &str = "default-src 'self'; img-src 'self' data:; style-src 'self'; media-src 'self' blob:; \
     frame-ancestors 'none'; base-uri 'none'; form-action 'self'; object-src 'none'";

/// A whole answer.
#[derive(Debug, Default)]
pub(super) struct Response {
    pub(super) status: Status,
    pub(super) kind: &'static str,
    pub(super) body: Vec<u8>,
    /// Further header lines.
    pub(super) more: Vec<String>,
}

/// How it went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Status {
    #[default]
    Fine,
    SeeOther,
    BadRequest,
    Unauthorized,
    Forbidden,
    NotFound,
    WrongMethod,
    WrongHost,
    TooManyTries,
    Busy,
}

impl Status {
    const fn line(self) -> &'static str {
        match self {
            Self::Fine => "200 OK",
            Self::SeeOther => "303 See Other",
            Self::BadRequest => "400 Bad Request",
            Self::Unauthorized => "401 Unauthorized",
            Self::Forbidden => "403 Forbidden",
            Self::NotFound => "404 Not Found",
            Self::WrongMethod => "405 Method Not Allowed",
            Self::WrongHost => "421 Misdirected Request",
            Self::TooManyTries => "429 Too Many Requests",
            Self::Busy => "503 Service Unavailable",
        }
    }
}

impl Response {
    pub(super) fn new(kind: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Self { kind, body: body.into(), ..Self::default() }
    }

    /// A refusal with a sentence.
    pub(super) fn refused(status: Status, why: &str) -> Self {
        Self { status, ..Self::new("text/plain; charset=utf-8", format!("{why}\n")) }
    }

    /// `with_body`: false for HEAD.
    pub(super) fn write(&self, to: &mut impl Write, with_body: bool) -> io::Result<()> {
        let mut head = head(self.status, self.kind);
        head.push_str(&format!("Content-Length: {}\r\n", self.body.len()));
        self.more.iter().for_each(|line| head.push_str(&format!("{line}\r\n")));
        head.push_str("\r\n");
        to.write_all(head.as_bytes())?;
        if with_body {
            to.write_all(&self.body)?;
        }
        to.flush()
    }
}

/// The head of an answer, without its last line.
pub(super) fn head(status: Status, kind: &str) -> String {
    format!(
        "HTTP/1.1 {}\r\nContent-Type: {kind}\r\nCache-Control: no-store\r\nConnection: close\r\n\
         Content-Security-Policy: {POLICY}\r\nX-Content-Type-Options: nosniff\r\n\
         Referrer-Policy: no-referrer\r\n",
        status.line()
    )
}

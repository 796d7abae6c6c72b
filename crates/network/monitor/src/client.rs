//! Reads a stream of a server: for terminals.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use serde_json::Value;

use crate::apply;

/// A server sends something every four seconds.
const PATIENCE: Duration = Duration::from_secs(15);
/// A document beyond this is refused.
const LINE_MAX: u64 = 8 << 20;
/// A day of ten seconds, of many series.
const ANSWER_MAX: u64 = 256 << 20;

/// One answer that is a JSON document.
pub fn get(server: SocketAddr, path: &str, token: Option<&str>) -> io::Result<Value> {
    let mut connection = TcpStream::connect_timeout(&server, PATIENCE)?;
    connection.set_read_timeout(Some(PATIENCE))?;
    let token = token.map_or_else(String::new, |t| format!("Authorization: Bearer {t}\r\n"));
    write!(connection, "GET {path} HTTP/1.1\r\nHost: {server}\r\n{token}\r\n")?;
    let mut answer = String::new();
    connection.take(ANSWER_MAX).read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    match head.split(' ').nth(1) {
        Some("200") => serde_json::from_str(body).map_err(io::Error::other),
        Some("401") => Err(io::Error::other("a token is needed")),
        _ => Err(io::Error::other(format!("it answers '{}'", body.trim()))),
    }
}

/// A stream of documents.
#[derive(Debug)]
pub struct Client {
    lines: BufReader<TcpStream>,
    document: Value,
    ended: bool,
}

impl Client {
    /// Connects to a server. `token`: where one is needed.
    pub fn connect(server: SocketAddr, token: Option<&str>) -> io::Result<Self> {
        let mut connection = TcpStream::connect_timeout(&server, PATIENCE)?;
        connection.set_read_timeout(Some(PATIENCE))?;
        let token = token.map_or_else(String::new, |t| format!("Authorization: Bearer {t}\r\n"));
        write!(connection, "GET /api/stream HTTP/1.1\r\nHost: {server}\r\n{token}\r\n")?;
        let lines = BufReader::new(connection);
        let mut client = Self { lines, document: Value::Null, ended: false };
        let status = client.line()?.unwrap_or_default();
        match status.split(' ').nth(1) {
            Some("200") => Ok(client),
            Some("401") => Err(io::Error::other("a token is needed")),
            _ => Err(io::Error::other(format!("it answers '{status}'"))),
        }
    }

    /// The next document; `None` at the end.
    pub fn next_document(&mut self) -> io::Result<Option<&Value>> {
        let mut event = String::new();
        while let Some(line) = self.line()? {
            if let Some(name) = line.strip_prefix("event: ") {
                name.clone_into(&mut event);
            }
            let Some(data) = line.strip_prefix("data: ") else { continue };
            let data = || serde_json::from_str::<Value>(data).map_err(io::Error::other);
            match &*event {
                "snapshot" => self.document = data()?,
                "patch" => apply(&mut self.document, data()?),
                "end" => self.ended = true,
                _ => continue,
            }
            if self.ended {
                return Ok(None);
            }
            return Ok(Some(&self.document));
        }
        if self.ended { Ok(None) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }

    /// The last document.
    #[must_use]
    pub fn document(&self) -> &Value {
        &self.document
    }

    fn line(&mut self) -> io::Result<Option<String>> {
        let mut line = String::new();
        let length = (&mut self.lines).take(LINE_MAX).read_line(&mut line)? as u64;
        match length {
            0 => Ok(None),
            LINE_MAX => Err(io::ErrorKind::InvalidData.into()),
            _ => Ok(Some(line.trim_end().to_owned())),
        }
    }
}

//! What a page on a host of a lab answers.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
};

use fanfare_lab::Host;

/// The whole answer to a GET of `path` at `address` there, with its head; nothing unless it is 200.
pub(in super::super) fn fetch(host: &Host, address: &str, path: &str) -> Option<String> {
    let get = || -> Option<String> {
        let mut stream = TcpStream::connect(address).ok()?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").ok()?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).ok()?;
        let text = String::from_utf8_lossy(&answer).into_owned();
        text.starts_with("HTTP/1.1 200").then_some(text)
    };
    host.enter(get).ok().flatten()
}

/// The body of such an answer as JSON.
pub(in super::super) fn document(
    host: &Host,
    address: &str,
    path: &str,
) -> Option<serde_json::Value> {
    let answer = fetch(host, address, path)?;
    serde_json::from_str(answer.split_once("\r\n\r\n")?.1).ok()
}

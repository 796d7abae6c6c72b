//! Nodes that tell each other of themselves, and the page of them.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
};

use serde_json::Value;

use crate::support::{Running, Stage};

/// A port of this machine that is free now.
pub(super) fn free_port() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

fn page(server: SocketAddr, path: &str) -> String {
    let ask = || -> std::io::Result<String> {
        let mut connection = TcpStream::connect(server)?;
        write!(connection, "GET {path} HTTP/1.1\r\nHost: {server}\r\n\r\n")?;
        let mut text = String::new();
        connection.read_to_string(&mut text)?;
        Ok(text)
    };
    let text = ask().unwrap_or_default();
    text.split_once("\r\n\r\n").map_or_else(String::new, |(_, body)| body.to_owned())
}

fn state(server: SocketAddr) -> Value {
    serde_json::from_str(&page(server, "/api/state")).unwrap_or_default()
}

/// What nodes are called on a page, and how they are.
fn nodes(page: SocketAddr) -> Vec<(String, String)> {
    let state = state(page);
    let rows = state["nodes"].as_object().into_iter().flatten().map(|(_, row)| row);
    let text = |row: &Value, field: &str| row[field].as_str().unwrap_or_default().to_owned();
    let mut nodes: Vec<_> = rows.map(|row| (text(row, "label"), text(row, "state"))).collect();
    nodes.sort();
    nodes
}

/// Waits until it is so: looks whenever the page has changed.
fn wait_until(server: SocketAddr, is_so: impl Fn() -> bool) -> bool {
    let mut stream = TcpStream::connect(server).unwrap();
    write!(stream, "GET /api/stream HTTP/1.1\r\nHost: {server}\r\n\r\n").unwrap();
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    lines.any(|line| line.starts_with("data:") && is_so())
}

fn wait_for_nodes(page: SocketAddr, expected: &[(&str, &str)]) {
    let expected: Vec<(String, String)> =
        expected.iter().map(|(name, state)| ((*name).to_owned(), (*state).to_owned())).collect();
    let seen = wait_until(page, || nodes(page) == expected);
    assert!(seen, "the page ended with {:?}", nodes(page));
}

/// Waits until the metrics have this line.
pub(super) fn wait_for_metric(server: SocketAddr, line: &str) {
    let metrics = || page(server, "/metrics");
    let seen = wait_until(server, || metrics().lines().any(|found| found == line));
    assert!(seen, "{line} in {}", metrics());
}

fn started(stage: &Stage, name: &str, page: SocketAddr) -> Running {
    let monitor = format!("--monitor={page}");
    let mut running = stage.start("monitor", &["--name", name, &monitor]);
    running.wait_for("start");
    running
}

#[test]
fn nodes_with_monitors_are_on_each_others_pages_and_one_that_dies_is_silent() {
    let stage = Stage::new();
    let (first, second) = (free_port(), free_port());
    let one = started(&stage, "one", first);
    let other = started(&stage, "other", second);
    wait_for_nodes(first, &[("one", "this node"), ("other", "up")]);
    wait_for_nodes(second, &[("one", "up"), ("other", "this node")]);
    other.kill();
    wait_for_nodes(first, &[("one", "this node"), ("other", "silent")]);
    assert!(state(first)["alerts"].to_string().contains("other is silent"));
    one.interrupt();
    one.end().expect(130);
}

#[test]
fn a_share_that_cannot_be_is_refused() {
    let ended = Stage::new().start("monitor", &["--monitor-share", "90%"]).end().expect(2);
    assert!(ended.error().contains("0.1% to 50%"), "{}", ended.error());
}

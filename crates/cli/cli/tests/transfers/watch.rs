//! The live page of a transfer.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
};

use serde_json::Value;

use crate::support::Stage;

/// A port of this machine that is free now.
fn free_port() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// The body of an answer; `None` while nobody answers.
fn ask(server: SocketAddr, path: &str) -> Option<String> {
    let mut connection = TcpStream::connect(server).ok()?;
    write!(connection, "GET {path} HTTP/1.1\r\nHost: {server}\r\n\r\n").ok()?;
    let mut text = String::new();
    connection.read_to_string(&mut text).ok()?;
    text.split_once("\r\n\r\n").map(|(_, body)| body.to_owned())
}

fn state(server: SocketAddr) -> Value {
    let body = ask(server, "/api/state");
    body.and_then(|body| serde_json::from_str(&body).ok()).unwrap_or_default()
}

/// What the page says is the cause of each receiver's trouble.
fn causes(state: &Value) -> Vec<(String, String)> {
    let rows = state["receivers"].as_object().into_iter().flatten().map(|(_, row)| row);
    let text = |row: &Value, field: &str| Some(row[field].as_str()?.to_owned());
    let mut causes: Vec<_> =
        rows.filter_map(|row| Some((text(row, "label")?, text(row, "cause")?))).collect();
    causes.sort();
    causes
}

#[test]
fn a_slow_machine_a_lossy_path_and_a_full_disk_are_named_on_the_page() {
    let stage = Stage::new();
    let file = stage.file("out/data.bin", 16_000_000);
    let Some(_mount) = stage.file_system("full", "size=8m") else { return };
    let mut slow = stage.recv("slow", &["--once", "--test-receive-buffer", "65536"]);
    let _lossy = stage.recv("lossy", &["--once", "--test-drop", "0.08"]);
    let _full = stage.recv("full", &["--once"]);
    let _fine = stage.recv("fine", &["--once"]);
    let page = free_port();
    let watch = format!("--watch={page}");
    let args = [file.to_str().unwrap(), "--expect", "4", "--rate", "20M", "--cc", "fixed", &watch];
    let mut sending = stage.start("send", &args);
    slow.wait_for_progress("bytes", 500_000);
    let named = |name: &str, cause: &str| (name.to_owned(), cause.to_owned());
    let expected =
        [named("full", "disk-full"), named("lossy", "lossy-path"), named("slow", "slow-machine")];
    // Until it is so: a busy machine takes its time.
    loop {
        let stopped = slow.stopped();
        sending.wait_for("receivers");
        drop(stopped);
        sending.wait_for("progress");
        let causes = causes(&state(page));
        if causes == expected {
            break;
        }
        assert!(!causes.contains(&named("fine", "slow-machine")), "{causes:?}");
    }
    let metrics = ask(page, "/metrics").unwrap();
    assert!(metrics.contains("fanfare_alerts_active{cause=\"disk-full\"} 1"), "{metrics}");
}

#[test]
fn a_receiver_shows_what_it_gets_and_how_it_ended() {
    let stage = Stage::new();
    let file = stage.file("out/data.bin", 200_000);
    let page = free_port();
    let receiving = stage.recv("in", &["--once", &format!("--watch={page}")]);
    let mut stream = TcpStream::connect(page).unwrap();
    write!(stream, "GET /api/stream HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    stage.send(&[file.to_str().unwrap(), "--expect", "1"]).expect(0);
    receiving.end().expect(0);
    let mut told = String::new();
    stream.read_to_string(&mut told).unwrap();
    let last = told.rfind("event: patch").map(|at| &told[at..]).unwrap_or_default();
    assert!(last.contains("\"phase\":\"ended\"") && told.contains("data.bin"), "{told}");
}

#[test]
fn an_address_that_others_can_reach_is_refused_without_a_token_and_a_proxy() {
    let stage = Stage::new();
    let file = stage.file("out/data.bin", 10);
    let ended = stage.send(&[file.to_str().unwrap(), "--watch=0.0.0.0:0"]).expect(2);
    assert!(ended.error().contains("a token is needed"), "{}", ended.error());
}

#[test]
fn a_port_in_use_is_named_and_nothing_is_sent() {
    let stage = Stage::new();
    let file = stage.file("out/data.bin", 10);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let watch = format!("--watch={}", taken.local_addr().unwrap());
    let ended = stage.send(&[file.to_str().unwrap(), &watch]).expect(5);
    assert!(ended.error().contains("Use another port"), "{}", ended.error());
}

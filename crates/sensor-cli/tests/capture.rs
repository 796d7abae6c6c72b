//! What is captured, beside what was sent.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream, UdpSocket},
    os::unix::{net::UnixListener, process::CommandExt as _},
    process::{Child, Command, Stdio},
    time::Duration,
};

use serde_json::Value;

use crate::{
    PROGRAM,
    hosts::{Hosts, inside},
};

/// In no header: a search of everything that the sensor says must not find it.
const MARKER: &[u8] = b"CONTENT-OF-PACKETS";

/// A sensor that runs until it is stopped.
struct Sensor {
    child: Child,
    out: BufReader<std::process::ChildStdout>,
    said: String,
}

impl Sensor {
    fn start(hosts: &Hosts, args: &[&str]) -> Self {
        let mut command = hosts.command(PROGRAM);
        command.args(["sensor", "--interface", "v0", "--every", "200ms", "--json"]).args(args);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let mut sensor = Self { child, out, said: String::new() };
        assert_eq!(sensor.line()["event"], "start");
        sensor
    }

    fn line(&mut self) -> Value {
        let mut line = String::new();
        assert!(self.out.read_line(&mut line).unwrap() > 0, "it ended: {}", self.said);
        self.said.push_str(&line);
        serde_json::from_str(&line).unwrap()
    }

    /// The first report for which this holds. Tests that wait for ever are ended by what runs them.
    fn until(&mut self, holds: impl Fn(&Value) -> bool) -> Value {
        loop {
            let line = self.line();
            if line["event"] == "sensor" && holds(&line) {
                return line;
            }
        }
    }
}

impl Drop for Sensor {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn path<'v>(report: &'v Value, from: &str, to: &str) -> &'v Value {
    let paths = report["packets"]["paths"].as_array().unwrap();
    let found = paths.iter().find(|path| path["from"] == from && path["to"] == to);
    found.unwrap_or(&Value::Null)
}

#[test]
fn packets_and_bytes_are_those_that_were_sent_and_no_content_is_told() {
    let Some(hosts) = Hosts::new() else { return };
    let mut sensor = Sensor::start(&hosts, &[]);
    let payload = [MARKER; 50].concat();
    inside(&hosts.near, || {
        let socket = UdpSocket::bind("10.77.0.1:0").unwrap();
        for _ in 0..3000 {
            socket.send_to(&payload, "10.77.0.2:9").unwrap();
            // Slower than the cable, which drops what its queue does not hold.
            std::thread::sleep(Duration::from_micros(50));
        }
    });
    let report = sensor.until(|report| path(report, "10.77.0.1", "10.77.0.2")["packets"] == 3000);
    let sent = path(&report, "10.77.0.1", "10.77.0.2");
    // Ethernet, IP and UDP take 42 bytes.
    assert_eq!(sent["bytes"], 3000 * (42 + payload.len()));
    assert_eq!(sent["classes"]["udp"], sent["bytes"]);
    assert_eq!(report["packets"]["dropped"], 0);
    // The far host answers that nobody is there, some times a second: these are other packets.
    assert!(!sensor.said.as_bytes().windows(MARKER.len()).any(|seen| seen == MARKER));
}

#[test]
fn joined_packets_of_tcp_are_counted_as_on_the_line_and_give_a_round_trip() {
    const BYTES: usize = 2_000_000;
    let Some(hosts) = Hosts::new() else { return };
    let mut sensor = Sensor::start(&hosts, &[]);
    let listener = inside(&hosts.far, || TcpListener::bind("10.77.0.2:5001").unwrap());
    let reader = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        all.len()
    });
    inside(&hosts.near, || {
        let mut stream = TcpStream::connect("10.77.0.2:5001").unwrap();
        stream.write_all(&vec![7; BYTES]).unwrap();
    });
    assert_eq!(reader.join().unwrap(), BYTES);
    let report = sensor.until(|report| {
        path(report, "10.77.0.1", "10.77.0.2")["bytes"].as_u64() >= Some(BYTES as u64)
    });
    let sent = path(&report, "10.77.0.1", "10.77.0.2");
    let (bytes, packets) = (sent["bytes"].as_u64().unwrap(), sent["packets"].as_u64().unwrap());
    // A segment has 1448 bytes and 66 of headers: SYN, FIN and a few short ones come to these.
    let full = BYTES.div_ceil(1448) as u64;
    assert!((full..full + full / 5).contains(&packets), "{packets}, {full}");
    let headers = bytes - BYTES as u64;
    assert!((packets * 66..=packets * 66 + 40).contains(&headers), "{headers} of {packets}");
    let rtt = sent["rtt"].as_f64().unwrap();
    assert!(rtt > 0.0 && rtt < 0.5, "{rtt}");
}

#[test]
fn a_monitor_gets_the_same_lines_through_its_socket() {
    let Some(hosts) = Hosts::new() else { return };
    let folder = std::env::temp_dir().join(format!("fanfare-sensor-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let socket = folder.join("sensors");
    let listener = UnixListener::bind(&socket).unwrap();
    let _sensor = Sensor::start(&hosts, &["--to", socket.to_str().unwrap(), "--name", "north"]);
    let (stream, _) = listener.accept().unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    let report: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(report["sensor"], "north");
    assert!(report["packets"].is_object() && report["interfaces"]["v0"].is_object(), "{line}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn all_rights_are_given_up_before_anything_is_looked_at() {
    let Some(hosts) = Hosts::new() else { return };
    let sensor = Sensor::start(&hosts, &[]);
    let status = std::fs::read_to_string(format!("/proc/{}/status", sensor.child.id())).unwrap();
    let value = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        line.trim().to_owned()
    };
    for set in ["CapInh:", "CapPrm:", "CapEff:", "CapAmb:"] {
        assert_eq!(value(set), "0000000000000000", "{set}");
    }
    assert_eq!(value("NoNewPrivs:"), "1");
    assert_eq!(value("Uid:").split_whitespace().next(), Some("65534"));
}

#[test]
fn without_the_right_it_ends_with_4_and_says_how_to_give_it() {
    let Some(hosts) = Hosts::new() else { return };
    let mut command = Command::new(PROGRAM);
    command.args(["sensor", "--interface", "lo", "--for", "1s"]);
    drop(hosts);
    // Nobody has no rights.
    let done = command.uid(65_534).gid(65_534).output();
    let Ok(done) = done else {
        eprintln!("not run: the program cannot be started by another user here");
        return;
    };
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(4), "{said}");
    assert!(said.contains("cap_net_raw") && said.contains("--without-packets"), "{said}");
}

#[test]
fn counters_need_no_right_and_an_interface_that_is_none_is_named() {
    let run = |args: &[&str]| Command::new(PROGRAM).arg("sensor").args(args).output().unwrap();
    let done = run(&["--without-packets", "--for", "300ms", "--every", "100ms", "--json"]);
    let said = String::from_utf8_lossy(&done.stdout);
    let reports = said.lines().filter(|line| line.contains("\"event\":\"sensor\"")).count();
    assert!(done.status.success() && reports >= 2, "{said}");
    assert!(said.contains("not wanted"), "{said}");
    let done = run(&["--interface", "nowhere0"]);
    assert_eq!(done.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&done.stderr).contains("nowhere0"));
}

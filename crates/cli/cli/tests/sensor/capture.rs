//! What is captured, beside what was sent.

use std::{
    fs::File,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream, UdpSocket},
    os::{
        fd::AsRawFd as _,
        unix::{net::UnixListener, process::CommandExt as _},
    },
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
    /// Its first line.
    start: Value,
}

impl Sensor {
    fn start(hosts: &Hosts, args: &[&str]) -> Self {
        Self::start_at(hosts, &[&["--interface", "v0"], args].concat())
    }

    fn start_at(hosts: &Hosts, args: &[&str]) -> Self {
        let mut command = hosts.command(PROGRAM);
        command.args(["sensor", "--every", "200ms", "--json"]).args(args);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let mut sensor = Self { child, out, said: String::new(), start: Value::Null };
        sensor.start = sensor.line();
        assert_eq!(sensor.start["event"], "start");
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
    assert!(said.contains("CAP_NET_RAW") && said.contains("--without-packets"), "{said}");
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

#[test]
fn a_tunnel_is_looked_into_and_its_made_up_speed_is_not_told() {
    let Some(hosts) = Hosts::new() else { return };
    let run = |args: &[&str]| hosts.command("ip").args(args).status().unwrap().success();
    if !run(&["tuntap", "add", "t0", "mode", "tun"]) {
        eprintln!("not run: there are no tun devices here");
        return;
    }
    assert!(run(&["addr", "add", "10.78.0.1/24", "dev", "t0"]));
    // A program at the other end, as a VPN is: without one the device is down.
    let held = inside(&hosts.near, || {
        let file = File::options().read(true).write(true).open("/dev/net/tun").unwrap();
        hold_tun(&file, "t0");
        file
    });
    assert!(run(&["link", "set", "t0", "up"]));
    let mut sensor = Sensor::start_at(&hosts, &["--interface", "t0"]);
    let payload = [MARKER; 20].concat();
    inside(&hosts.near, || {
        let socket = UdpSocket::bind("10.78.0.1:0").unwrap();
        for _ in 0..50 {
            socket.send_to(&payload, "10.78.0.9:9").unwrap();
        }
    });
    let report = sensor.until(|report| path(report, "10.78.0.1", "10.78.0.9")["packets"] == 50);
    // IP and UDP take 28 bytes, and nothing is before them.
    let sent = path(&report, "10.78.0.1", "10.78.0.9");
    assert_eq!(sent["bytes"], 50 * (28 + payload.len()));
    let counters = &report["interfaces"]["t0"];
    assert!(counters["out_bytes"].is_u64() && counters["speed_bps"].is_null(), "{counters}");
    assert!(!sensor.said.as_bytes().windows(MARKER.len()).any(|seen| seen == MARKER));
    drop(sensor);
    // Without a name it is among those that are looked at.
    let mut all = Sensor::start_at(&hosts, &[]);
    let names = all.start["interfaces"].clone();
    assert_eq!(names, serde_json::json!(["t0", "v0"]));
    all.line();
    drop(held);
}

/// TUNSETIFF of linux/if_tun.h: a tun device without a header before packets.
fn hold_tun(file: &File, name: &str) {
    const TUNSETIFF: libc::c_ulong = 0x4004_54ca;
    const TUN_WITHOUT_HEADER: i16 = 0x1001;
    let mut request = [0_u8; 40];
    request[..name.len()].copy_from_slice(name.as_bytes());
    request[16..18].copy_from_slice(&TUN_WITHOUT_HEADER.to_ne_bytes());
    // SAFETY: the request is as long as an ifreq of linux/if.h, and outlives the call.
    let done = unsafe { libc::ioctl(file.as_raw_fd(), TUNSETIFF, request.as_ptr()) };
    assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
}

#[test]
fn messages_in_joined_datagrams_are_counted_one_by_one() {
    const SEGMENTS: u16 = 20;
    const FRAMES: u16 = 30;
    let Some(hosts) = Hosts::new() else { return };
    for length in [300_u16, 1000, 1400] {
        let mut sensor = Sensor::start(&hosts, &[]);
        inside(&hosts.near, || {
            let socket = UdpSocket::bind("10.77.0.1:0").unwrap();
            for frame in 0..FRAMES {
                let mut joined = Vec::new();
                for at in 0..SEGMENTS {
                    let mut message = vec![0x12, 4];
                    message.extend((frame * SEGMENTS + at).to_be_bytes());
                    message.extend([0, 0, 0, 7]);
                    message.extend(length.to_be_bytes());
                    message.resize(length.into(), 0);
                    joined.extend(message);
                }
                send_joined(&socket, &joined, length);
            }
        });
        let all = u64::from(FRAMES * SEGMENTS);
        let report =
            sensor.until(|report| report["packets"]["sessions"][0]["sent"].as_u64() >= Some(all));
        let session = &report["packets"]["sessions"][0];
        assert_eq!((&session["sent"], &session["came"]), (&all.into(), &all.into()), "{length}");
    }
}

/// One call that the kernel cuts into datagrams of this length (UDP_SEGMENT of udp(7)).
fn send_joined(socket: &UdpSocket, bytes: &[u8], length: u16) {
    const UDP_SEGMENT: i32 = 103;
    let length = i32::from(length);
    // SAFETY: the value is as long as is said, and the kernel only reads it.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_UDP,
            UDP_SEGMENT,
            (&raw const length).cast(),
            size_of_val(&length) as libc::socklen_t,
        )
    };
    assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
    socket.send_to(bytes, "10.77.0.2:6003").unwrap();
}

#[test]
fn what_a_router_passes_on_is_counted_once() {
    let Some(hosts) = Hosts::new() else { return };
    // The near host becomes a router: a third one is behind it.
    let behind = format!("{}r", hosts.near);
    let run = |args: &[&str]| Command::new("ip").args(args).status().unwrap().success();
    assert!(run(&["netns", "add", &behind]));
    let near = &*hosts.near;
    for args in [
        &["-n", near, "link", "add", "v2", "type", "veth", "peer", "name", "v3", "netns", &behind]
            [..],
        &["-n", near, "addr", "add", "10.79.0.1/24", "dev", "v2"],
        &["-n", near, "link", "set", "v2", "up"],
        &["-n", &behind, "addr", "add", "10.79.0.2/24", "dev", "v3"],
        &["-n", &behind, "link", "set", "v3", "up"],
        &["-n", &behind, "route", "add", "default", "via", "10.79.0.1"],
        &["-n", &hosts.far, "route", "add", "10.79.0.0/24", "via", "10.77.0.1"],
    ] {
        assert!(run(args), "{args:?}");
    }
    inside(near, || std::fs::write("/proc/sys/net/ipv4/ip_forward", "1").unwrap());
    let mut sensor = Sensor::start_at(&hosts, &["--interface", "v0", "--interface", "v2"]);
    inside(&behind, || {
        let socket = UdpSocket::bind("10.79.0.2:0").unwrap();
        for _ in 0..200 {
            socket.send_to(&[7; 100], "10.77.0.2:9").unwrap();
            // Slower than neighbours are found.
            std::thread::sleep(Duration::from_micros(200));
        }
    });
    let report = sensor.until(|report| report["packets"]["refused"]["copy"].as_u64() >= Some(200));
    drop(sensor);
    assert!(run(&["netns", "del", &behind]));
    let sent = path(&report, "10.79.0.2", "10.77.0.2");
    assert_eq!((&sent["packets"], &sent["bytes"]), (&200.into(), &(200 * 142).into()));
}

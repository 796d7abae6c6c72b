//! curl and Python through both sides of the proxy.

use crate::{road::Road, scripts::AFTER_END};

const SOCKS: [&str; 2] = ["--socks5-hostname", "127.0.0.1:7000"];

#[test]
fn curl_gets_the_same_bytes_by_socks_by_connect_and_by_plain_http_over_both_carriers() {
    let Some(road) = Road::make() else { return };
    let (_web, _server) = (road.web(), road.server(&[]));
    for carrier in ["norm", "quic"] {
        let more =
            ["--carrier", carrier, "--http", "127.0.0.1:3128", "--forward", "2222=10.88.0.2:8080"];
        let mut client = road.client(&more);
        client.wait_for_link("connected");
        let http = ["--proxytunnel", "--proxy", "http://127.0.0.1:3128"];
        for way in [&SOCKS[..], &http, &http[1..]] {
            assert_eq!(road.curl(5_000_000, way), ("200 5000000".to_owned(), Some(0)), "{carrier}");
            assert!(road.got_is_right(5_000_000), "{carrier}");
        }
        let forwarded = ["curl", "-s", "http://127.0.0.1:2222/1000"];
        assert_eq!(road.output("near", &forwarded).stdout.len(), 1000);
    }
}

#[test]
fn curl_says_why_a_connection_could_not_be_had() {
    let Some(road) = Road::make() else { return };
    let _server = road.server(&["--allow", "nowhere.invalid"]);
    let mut client = road.client(&[]);
    client.wait_for_link("connected");
    let code = |url: &str| {
        let output = road.output("near", &[&["curl", "-sS", SOCKS[0], SOCKS[1], url][..]].concat());
        (output.status.code(), String::from_utf8_lossy(&output.stderr).trim().to_owned())
    };
    for (url, reply) in [
        ("http://10.88.0.2:81/", "(5)"),
        ("http://10.88.0.9:80/", "(2)"),
        ("http://169.254.169.254/", "(2)"),
        ("http://nowhere.invalid/", "(4)"),
    ] {
        let (exit, said) = code(url);
        assert!(exit == Some(97) && said.contains(reply), "{url}: {exit:?} {said}");
    }
}

#[test]
fn a_python_client_that_half_closes_gets_its_answer() {
    let Some(road) = Road::make() else { return };
    let _server = road.server(&[]);
    let _echo = road.python("far", AFTER_END);
    let mut client = road.client(&[]);
    client.wait_for_link("connected");
    assert_eq!(road.half_close(10_000_000), "10000000");
}

/// Many idle connections, and one that moves bytes.
fn idle(connections: u32) {
    let Some(road) = Road::make() else { return };
    let server = road.server(&[]);
    let (_web, _idle) = (road.web(), road.python("far", ACCEPTS));
    let mut client = road.client(&["--connections", "20000,20000"]);
    client.wait_for_link("connected");
    let empty = (server.memory(), client.memory());
    let script = OPENS.replace("COUNT", &connections.to_string());
    let _open = road.python("near", &script);
    let each = |full: u64, empty: u64| full.saturating_sub(empty) as f64 / f64::from(connections);
    let (far, near) = (each(server.memory(), empty.0), each(client.memory(), empty.1));
    eprintln!("{connections} idle connections: {near:.1} KiB each at the near side, {far:.1} far");
    assert_eq!(road.curl(10_000_000, &SOCKS).0, "200 10000000");
    assert!(near < 32.0 && far < 32.0, "{near} {far}");
}

#[test]
fn a_thousand_idle_connections_do_not_hold_up_one_that_moves() {
    // Ten thousand take a minute: FANFARE_IDLE=9900.
    let asked = std::env::var("FANFARE_IDLE").ok().and_then(|count| count.parse().ok());
    idle(asked.unwrap_or(1000));
}

/// Accepts and keeps.
const ACCEPTS: &str = r#"
import socket, resource
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
server = socket.create_server(("0.0.0.0", 9001), backlog=4096)
print("ready", flush=True)
kept = []
while True: kept.append(server.accept()[0])
"#;

/// Opens connections by SOCKS5, a few hundred at a time, and keeps them.
const OPENS: &str = r#"
import socket, resource, time
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
kept = []
def whole(s, n):
    got = b""
    while len(got) < n:
        more = s.recv(n - len(got))
        assert more, "closed"
        got += more
    return got
while len(kept) < COUNT:
    some = [socket.create_connection(("127.0.0.1", 7000)) for _ in range(min(150, COUNT - len(kept)))]
    for s in some: s.sendall(b"\x05\x01\x00\x05\x01\x00\x01\x0a\x58\x00\x02\x23\x29")
    for s in some:
        assert whole(s, 2) == b"\x05\x00"
        assert whole(s, 10)[1] == 0
    kept += some
    # The far side takes 200 a second after the first 1,000.
    if len(kept) >= 900: time.sleep(0.8)
print("ready", flush=True)
time.sleep(600)
"#;

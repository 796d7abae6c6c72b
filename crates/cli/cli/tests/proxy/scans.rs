//! Scans of ports through the proxy and of its own, and another SOCKS server to compare with.

use crate::{faults::SOCKS, people::has, road::Road, scripts::READY_AT_PORT};

#[test]
fn a_scan_by_nmap_sees_what_the_policy_shows_and_leaves_the_proxy_as_it_was() {
    let Some(road) = Road::make() else { return };
    if !has("nmap", &["--version"]) || !has("proxychains4", &["-h"]) {
        return;
    }
    let (_web, _server) = (road.web(), road.server(&["--deny", "10.88.0.2:8081"]));
    let mut client = road.client(&[]);
    client.wait_for_link("connected");
    let conf = "strict_chain\ntcp_connect_time_out 4000\n[ProxyList]\nsocks5 127.0.0.1 7000\n";
    std::fs::write(road.directory.join("chain"), conf).unwrap();
    let scan = ["proxychains4", "-q", "-f", "chain", "nmap", "-sT", "-Pn", "-n", "-oG", "-"];
    let ports = ["-p", "8075-8085", "10.88.0.2"];
    let output = road.output("near", &[&scan[..], &ports].concat());
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let open: Vec<&str> = said.split_whitespace().filter(|word| word.contains("/open/")).collect();
    assert!(open.len() == 1 && open[0].starts_with("8080/open/tcp"), "{said}");
    // What nmap says to open ports to find out what they are, at the near side's and the link's.
    let probes = ["nmap", "-sV", "-Pn", "-n", "--version-intensity", "0", "-p", "7000"];
    road.output("near", &[&probes[..], &["127.0.0.1"]].concat());
    let datagrams = ["nmap", "-sU", "-Pn", "-n", "--max-retries", "1"];
    let there = ["-p", "7001", "10.88.0.2"];
    road.output("near", &[&datagrams[..], &there].concat());
    assert_eq!(road.curl(100_000, &SOCKS), ("200 100000".to_owned(), Some(0)));
}

#[test]
fn microsocks_answers_the_same_requests_with_the_same_codes() {
    let Some(road) = Road::make() else { return };
    if !has("microsocks", &["-h"]) {
        return;
    }
    let (_web, _server) = (road.web(), road.server(&["--allow", "10.88.0.77"]));
    let _other = road.python("far", &[READY_AT_PORT, MICROSOCKS].concat());
    let mut client = road.client(&[]);
    client.wait_for_link("connected");
    let output = road.output("near", &["python3", "-c", COMPARE]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 5, "{said}{}", String::from_utf8_lossy(&output.stderr));
    for line in lines {
        let (what, codes) = line.split_once(": ").unwrap();
        let (ours, theirs) = codes.split_once(' ').unwrap();
        assert_eq!(ours, theirs, "{what}: ours, and that of microsocks");
    }
}

/// Another server of SOCKS, behind [`READY_AT_PORT`].
const MICROSOCKS: &str = r#"
import subprocess
server = subprocess.Popen(["microsocks", "-i", "10.88.0.2", "-p", "1080"], stderr=subprocess.DEVNULL)
ready_at_port(server, 1080)
"#;

/// What each of the two servers answers: the code, or that it closes.
const COMPARE: &str = r#"
import socket
def ask(server, greeting, request):
    s = socket.create_connection(server)
    s.settimeout(20)
    try:
        s.sendall(greeting)
        method = s.recv(2)
        if method != b"\x05\x00" or not request:
            return "method-%s" % method.hex()
        s.sendall(request)
        reply = s.recv(10)
        return str(reply[1]) if len(reply) > 1 else "closed"
    except ConnectionError:
        return "closed"
    finally:
        s.close()
v4 = b"\x05\x01\x00\x01\x0a\x58\x00\x02"
cases = [
    ("an open port", b"\x05\x01\x00", v4 + b"\x1f\x90"),
    ("a closed port", b"\x05\x01\x00", v4 + b"\x00\x51"),
    ("BIND", b"\x05\x01\x00", b"\x05\x02\x00\x01\x0a\x58\x00\x02\x1f\x90"),
    ("an unknown type of address", b"\x05\x01\x00", b"\x05\x01\x00\x02\x0a\x58\x00\x02\x1f\x90"),
    ("no method that is known", b"\x05\x01\x01", b""),
]
for what, greeting, request in cases:
    one = ask(("127.0.0.1", 7000), greeting, request)
    two = ask(("10.88.0.2", 1080), greeting, request)
    print("%s: %s %s" % (what, one, two), flush=True)
"#;

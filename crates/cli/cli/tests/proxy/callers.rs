//! A program that knows of no proxy, and many connections at once.

use crate::{people::has, road::Road};

#[test]
fn wget_without_socks_downloads_by_proxychains_and_by_a_forwarded_port() {
    let Some(road) = Road::make() else { return };
    if !has("wget", &["--version"]) || !has("proxychains4", &["--version"]) {
        return;
    }
    let (_web, _server) = (road.web(), road.server(&[]));
    let mut client = road.client(&["--forward", "2222=10.88.0.2:8080"]);
    client.wait_for_link("connected");
    let conf = "strict_chain\n[ProxyList]\nsocks5 127.0.0.1 7000\n";
    std::fs::write(road.directory.join("chain"), conf).unwrap();
    let wget = |words: &[&str]| {
        let output = road.output("near", words);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        std::fs::read(road.directory.join("got")).unwrap()
    };
    let chained = ["proxychains4", "-q", "-f", "chain", "wget", "-q", "-O", "got"];
    let by_chain = wget(&[&chained[..], &["http://10.88.0.2:8080/3000000"]].concat());
    let by_port = wget(&["wget", "-q", "-O", "got", "http://127.0.0.1:2222/3000000"]);
    assert_eq!(by_chain.len(), 3_000_000);
    assert!(by_chain == by_port, "the same bytes either way");
}

#[test]
fn two_hundred_threads_of_python_at_once_get_their_own_bytes() {
    let Some(road) = Road::make() else { return };
    let (_web, _server) = (road.web(), road.server(&[]));
    let mut client = road.client(&[]);
    client.wait_for_link("connected");
    road.threads_get(&(0..200).map(|n| 1000 + 37 * n).collect::<Vec<_>>());
}

#[test]
fn iperf3_without_socks_measures_both_directions_by_a_forwarded_port() {
    let Some(road) = Road::make() else { return };
    if !has("iperf3", &["--version"]) {
        return;
    }
    let _server = road.server(&[]);
    let mut client = road.client(&["--forward", "5201=10.88.0.2:5201"]);
    client.wait_for_link("connected");
    for more in [&[][..], &["-R"], &["--bidir"], &["-P", "10"]] {
        let script = format!("{IPERF}print(run({more:?}))");
        let _measuring = road.python("far", IPERF_SERVER);
        let output = road.output("near", &["python3", "-c", &script]);
        let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let least: f64 = said.parse().unwrap_or_else(|_| {
            panic!("{more:?}: {said} {}", String::from_utf8_lossy(&output.stderr))
        });
        // A proxy between two namespaces on a busy machine: some Mbit/s at least.
        assert!(least > 1e6, "{more:?}: {least} bit/s");
    }
}

#[test]
fn datagrams_of_python_go_by_pysocks_and_come_back() {
    let Some(road) = Road::make() else { return };
    let _echo = road.python("far", UDP_ECHO);
    let _server = road.server(&[]);
    let mut client = road.client(&[]);
    client.wait_for_link("connected");
    // A package of the distribution is seen by the distribution's Python alone.
    let Some(python) = ["/usr/bin/python3", "python3"].into_iter().find(|python| {
        let answer = road.output("near", &[*python, "-c", "import socks"]);
        answer.status.success()
    }) else {
        eprintln!("not tested: it needs PySocks");
        return;
    };
    let output = road.output("near", &[python, "-c", PYSOCKS]);
    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    assert_eq!(said, "two clients", "{}", String::from_utf8_lossy(&output.stderr));
    // Each client has a relay of its own; what is too long and what is no datagram of SOCKS is dropped.
    assert_eq!(client.wait_for("refused")["reason"], "fragment");
}

const IPERF_SERVER: &str = r#"
import subprocess
words = ["iperf3", "-s", "-1", "-p", "5201", "--forceflush"]
p = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
for line in p.stdout:
    if "listening" in line: print("ready", flush=True)
p.wait()
"#;

/// The least rate of all streams. At the end a receiver may say that it has got nothing (iperf3 3.12
/// asks it before the last bytes have come by a proxy): then what it has seen in its intervals counts.
const IPERF: &str = r#"
import json, subprocess
def run(more):
    words = ["iperf3", "-c", "127.0.0.1", "-p", "5201", "-t", "1", "-J"] + more
    end = json.loads(subprocess.run(words, capture_output=True, text=True).stdout)
    assert "error" not in end, end["error"]
    rates = []
    for name in ("", "_bidir_reverse"):
        sent, got = end["end"].get("sum_sent" + name), end["end"].get("sum_received" + name)
        if sent is None: continue
        rates.append(got["bits_per_second"] or sent["bits_per_second"])
    return min(rates)
"#;

const UDP_ECHO: &str = r#"
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("10.88.0.2", 9100))
print("ready", flush=True)
while True:
    data, who = s.recvfrom(65535)
    s.sendto(data[::-1], who)
"#;

const PYSOCKS: &str = r#"
import socket, socks
clients = []
for n in range(2):
    s = socks.socksocket(socket.AF_INET, socket.SOCK_DGRAM)
    s.set_proxy(socks.SOCKS5, "127.0.0.1", 7000)
    s.settimeout(2)
    clients.append(s)
def echo(s, data):
    for _ in range(10):
        s.sendto(data, ("10.88.0.2", 9100))
        try:
            got, who = s.recvfrom(65535)
        except socket.timeout:
            continue
        assert got == data[::-1] and who == ("10.88.0.2", 9100), (got, who)
        return
    raise SystemExit("no echo")
for n, s in enumerate(clients):
    echo(s, b"client %d" % n)
    echo(s, bytes(1000))
# Longer than a packet of the link takes: dropped, and the next one goes.
clients[0].sendto(bytes(1500), ("10.88.0.2", 9100))
echo(clients[0], b"after a long one")
# A fragment, said to the relay behind PySocks' back.
socket.socket.send(clients[0], b"\x00\x00\x01\x01\x0a\x58\x00\x02\x23\x8cfragment")
echo(clients[0], b"after a fragment")
print("two clients")
"#;

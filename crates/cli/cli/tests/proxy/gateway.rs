//! A network behind a box: curl, wget and Python, that know of no proxy.

use std::{
    process::{Command, Stdio},
    time::Instant,
};

use crate::road::{LONG, Road, Running};

/// Inside a client, near the gateway, far the other node with the addresses 10.90.0.1 and fd90::1.
fn network() -> Option<Road> {
    let road = Road::make()?;
    let has = |program: &str| {
        Command::new(program).arg("--version").output().is_ok_and(|o| o.status.success())
    };
    if !has("nft") {
        eprintln!("not tested: it needs nft");
        return None;
    }
    let ip = |host: &str, words: &str| {
        let words = words.split(' ');
        let done = Command::new("ip").args(["-n", &road.host(host)]).args(words).status();
        assert!(done.unwrap().success(), "{host}");
    };
    let add = ["netns", "add", &road.host("inside")];
    assert!(Command::new("ip").args(add).status().unwrap().success());
    ip("inside", &format!("link add e0 type veth peer e1 netns {}", road.host("near")));
    for (host, device, v4, v6) in [
        ("inside", "e0", "10.89.0.2/24", "fd89::2/64"),
        ("near", "e1", "10.89.0.1/24", "fd89::1/64"),
        ("far", "lo", "10.90.0.1/32", "fd90::1/128"),
    ] {
        ip(host, &format!("addr add {v4} dev {device}"));
        ip(host, &format!("-6 addr add {v6} dev {device} nodad"));
        ip(host, &format!("link set {device} up"));
    }
    ip("inside", "link set lo up");
    ip("near", "-6 addr add fd88::1/64 dev e0 nodad");
    ip("far", "-6 addr add fd88::2/64 dev e0 nodad");
    ip("inside", "route add default via 10.89.0.1");
    ip("inside", "-6 route add default via fd89::1");
    ip("near", "route add 10.90.0.0/16 via 10.88.0.2");
    ip("near", "-6 route add fd90::/16 via fd88::2");
    ip("far", "route add 10.89.0.0/24 via 10.88.0.1");
    ip("far", "-6 route add fd89::/64 via fd88::1");
    for forwards in ["net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1"] {
        let key = forwards.replace('.', "/");
        let (key, value) = key.split_once('=').unwrap();
        let script = format!("echo {value} > /proc/sys/{key}");
        assert!(road.output("near", &["sh", "-c", &script]).status.success());
    }
    Some(road)
}

fn server(road: &Road) -> Running {
    road.server(&["--allow", "10.90.0.1", "--allow", "fd90::1"])
}

fn gateway(road: &Road, more: &[&str]) -> Running {
    road.key("near");
    let peer = format!("far=10.88.0.2:7001,{}", road.key("far"));
    let words = ["proxy", "gateway", "--peer", &peer, "--keep-alive", "1s", "--in", "e1"];
    let taken = ["--redirect", "10.90.0.0/16", "--redirect", "fd90::/16", "--apply"];
    road.start("near", &[&words[..], &taken, more].concat())
}

fn until_it_takes(gateway: &mut Running, state: &str) {
    while gateway.wait_for("gateway")["state"] != state {}
}

/// What a program inside prints, and its exit code.
fn inside(road: &Road, words: &[&str]) -> (String, Option<i32>) {
    let output = road.output("inside", words);
    (String::from_utf8_lossy(&output.stdout).trim().to_owned(), output.status.code())
}

fn curl(road: &Road, url: &str) -> (String, Option<i32>) {
    inside(road, &["curl", "-sS", "-g", "--max-time", "30", url])
}

const WHO: &str = "http://10.90.0.1:8080/who";

/// What is left in the kernel of a gateway.
fn left(road: &Road) -> String {
    let script = "nft list tables; ip rule; ip -6 rule; ip route show table 7003; \
                  ip -6 route show table 7003";
    let output = road.output("near", &["sh", "-c", script]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().filter(|line| line.contains("fanfare") || line.contains("7003")).collect()
}

fn nothing_is_left(road: &Road) {
    let begun = Instant::now();
    while !left(road).is_empty() {
        assert!(begun.elapsed() < LONG, "{}", left(road));
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[test]
fn programs_behind_a_gateway_go_by_the_far_side_without_knowing_it() {
    let Some(road) = network() else { return };
    let (_server, _web) = (server(&road), road.python("far", SERVES));
    for carrier in ["norm", "quic"] {
        let mut gateway = gateway(&road, &["--carrier", carrier]);
        until_it_takes(&mut gateway, "takes");
        // The server sees the far side's own address, not the client's.
        assert_eq!(curl(&road, WHO), ("10.90.0.1".to_owned(), Some(0)), "{carrier}");
        let v6 = "http://[fd90::1]:8080/";
        assert_eq!(curl(&road, &format!("{v6}who")).0, "fd90::1", "{carrier}");
        let sum = "wget -q -O - http://10.90.0.1:8080/3000000 | wc -c";
        assert_eq!(inside(&road, &["sh", "-c", sum]).0, "3000000", "{carrier}");
        let sum = format!("wget -q -O - '{v6}3000000' | wc -c");
        assert_eq!(inside(&road, &["sh", "-c", &sum]).0, "3000000", "{carrier}");
        let up = "head -c 2000000 /dev/zero | curl -s --data-binary @- http://10.90.0.1:8080/";
        assert_eq!(inside(&road, &["sh", "-c", up]).0, "2000000", "{carrier}");
        for address in ["10.90.0.1", "fd90::1"] {
            let script = ASKS.replace("ADDRESS", address);
            let answers = inside(&road, &["python3", "-c", &script]).0;
            // Each of two sockets gets its own answers, from the address that it wrote to.
            assert_eq!(answers, format!("{address} one\n{address} two"), "{carrier}");
        }
        drop(gateway);
        nothing_is_left(&road);
    }
}

#[test]
fn a_closed_port_is_reset_and_looks_closed_at_a_second_look() {
    let Some(road) = network() else { return };
    let (_server, _web) = (server(&road), road.python("far", SERVES));
    let mut gateway = gateway(&road, &[]);
    until_it_takes(&mut gateway, "takes");
    let closed = || inside(&road, &["curl", "-s", "http://10.90.0.1:81/"]).1;
    // It is accepted at first, and then reset: curl sees the one or the other.
    let code = closed();
    assert!(matches!(code, Some(7 | 52 | 56)), "{code:?}");
    let told = || {
        let words = ["nft", "list", "set", "inet", "fanfare_gateway_7003", "refused4"];
        String::from_utf8_lossy(&road.output("near", &words).stdout).contains("10.90.0.1 . 81")
    };
    let begun = Instant::now();
    while !told() {
        assert!(begun.elapsed() < LONG, "the kernel was not told");
    }
    assert_eq!(closed(), Some(7));
    // Others are as before.
    assert_eq!(curl(&road, WHO).0, "10.90.0.1");
    // Whoever finds the port on the gateway itself gets nowhere.
    let own = road.output("near", &["curl", "-s", "--max-time", "10", "http://127.0.0.1:7003/"]);
    assert!(!own.status.success());
}

#[test]
fn rules_go_with_the_gateway_however_it_ends_and_then_packets_are_forwarded() {
    let Some(road) = network() else { return };
    let (_server, _web) = (server(&road), road.python("far", SERVES));
    let mut gateway_ = gateway(&road, &[]);
    until_it_takes(&mut gateway_, "takes");
    assert!(left(&road).contains("fanfare_gateway_7003"));
    gateway_.kill();
    nothing_is_left(&road);
    assert_eq!(curl(&road, WHO).0, "10.89.0.2");

    let mut gateway_ = gateway(&road, &[]);
    until_it_takes(&mut gateway_, "takes");
    let stop = ["-TERM", &gateway_.child.id().to_string()];
    assert!(Command::new("kill").args(stop).status().unwrap().success());
    assert_eq!(gateway_.child.wait().unwrap().code(), Some(130));
    assert_eq!(left(&road), "");
    assert_eq!(curl(&road, WHO).0, "10.89.0.2");
}

#[test]
fn without_a_peer_the_kernel_forwards_or_refuses_as_it_was_told() {
    let Some(road) = network() else { return };
    let _web = road.python("far", SERVES);
    let far = server(&road);
    let mut taking = gateway(&road, &[]);
    until_it_takes(&mut taking, "takes");
    assert_eq!(curl(&road, WHO).0, "10.90.0.1");
    far.kill();
    until_it_takes(&mut taking, "leaves");
    assert_eq!(curl(&road, WHO).0, "10.89.0.2");
    // And again when it is back.
    let far = server(&road);
    until_it_takes(&mut taking, "takes");
    assert_eq!(curl(&road, WHO).0, "10.90.0.1");
    drop(taking);
    far.kill();
    nothing_is_left(&road);

    let _refusing = gateway(&road, &["--fallback", "refuse"]);
    let begun = Instant::now();
    assert_eq!(curl(&road, WHO).1, Some(7));
    assert!(begun.elapsed() < LONG);
    // What is not named is forwarded all the same: only the gateway's own far side has this address.
    let other = inside(&road, &["curl", "-s", "http://10.88.0.2:8080/who"]).0;
    assert_eq!(other, "10.89.0.2");
}

#[test]
fn a_gateway_says_what_is_wrong_before_it_sets_anything() {
    let Some(road) = network() else { return };
    road.key("near");
    let peer = format!("far=10.88.0.2:7001,{}", road.key("far"));
    let ends = |words: &[&str]| {
        let mut command = road.on("near", words[0]);
        command.args(&words[1..]).args(["--identity", "near"]).stdout(Stdio::null());
        command.stderr(Stdio::null()).status().unwrap().code()
    };
    let ours = |words: &[&str]| {
        ends(&[&[crate::PROGRAM, "proxy", "gateway", "--peer", &peer][..], words].concat())
    };
    for words in [
        &["--redirect", "10.90.0.1/16"][..],
        &["--redirect", "any"],
        &["--redirect", "10.90.0.0/16:0"],
        &["--redirect", "10.90.0.0/16", "--in", "e1\" } drop"],
        &["--redirect", "10.90.0.0/16", "--port", "0"],
        &["--redirect", "10.90.0.0/16", "--default", "nobody"],
        &["--redirect", "10.90.0.0/16", "--default", "direct"],
        &["--redirect", "10.90.0.0/16", "--apply", "--print"],
        &[],
    ] {
        assert_eq!(ours(words), Some(2), "{words:?}");
    }
    // Without the right.
    let words = ["proxy", "gateway", "--peer", &peer, "--redirect", "10.90.0.0/16", "--apply"];
    let without = ["setpriv", "--bounding-set", "-net_admin,-net_raw", crate::PROGRAM];
    assert_eq!(ends(&[&without[..], &words].concat()), Some(4));
    assert_eq!(left(&road), "");
    // What it prints is what it would set.
    let printed = "--redirect 10.90.0.0/16 --redirect fd90::/16 --in e1 --fallback refuse";
    let script = |how: &str| {
        format!("{} proxy gateway {printed} {how} --identity near | sh", crate::PROGRAM)
    };
    let sh = |script: &str| road.output("near", &["sh", "-c", script]).status.success();
    assert!(sh(&script("--print")));
    assert!(left(&road).contains("fanfare_gateway_7003"));
    assert!(sh(&script("--print-undo")));
    assert_eq!(left(&road), "");
}

/// Web and UDP for both families: `/who` tells the client's address, `/N` sends N bytes, what is
/// posted is counted, and a datagram comes back.
const SERVES: &str = r#"
import http.server, socket, socketserver, threading
class H(http.server.BaseHTTPRequestHandler):
    def answer(self, body):
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_GET(self):
        if self.path == "/who":
            self.answer(self.client_address[0].removeprefix("::ffff:").encode())
        else:
            self.answer(b"x" * int(self.path.strip("/")))
    def do_POST(self):
        self.answer(str(len(self.rfile.read(int(self.headers["Content-Length"])))).encode())
    def log_message(self, *args): pass
class S(socketserver.ThreadingMixIn, http.server.HTTPServer):
    address_family = socket.AF_INET6
    daemon_threads = True
server = S(("::", 8080), H)
echo = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
echo.bind(("::", 9090))
def answer():
    while True:
        data, sender = echo.recvfrom(2000)
        echo.sendto(data, sender)
threading.Thread(target=answer, daemon=True).start()
print("ready", flush=True)
server.serve_forever()
"#;

/// Two sockets ask by UDP, again when nothing comes.
const ASKS: &str = r#"
import socket
address = "ADDRESS"
family = socket.AF_INET6 if ":" in address else socket.AF_INET
def ask(text):
    s = socket.socket(family, socket.SOCK_DGRAM)
    s.settimeout(1)
    for _ in range(30):
        s.sendto(text.encode(), (address, 9090))
        try:
            data, sender = s.recvfrom(2000)
            assert sender[1] == 9090
            return f"{sender[0]} {data.decode()}"
        except TimeoutError:
            pass
print(ask("one"))
print(ask("two"))
"#;

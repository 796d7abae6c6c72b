//! What people use a proxy for: ssh, a page in a browser, and how fast the line is.

use std::process::{Command, Stdio};

use crate::{
    road::{LONG, Road, Running},
    scripts::READY_AT_PORT,
};

pub(crate) fn has(program: &str, words: &[&str]) -> bool {
    let mut asked = Command::new(program);
    asked.args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let found = asked.status().is_ok();
    if !found {
        eprintln!("not tested: it needs {program}");
    }
    found
}

/// A road with a proxy over it and sshd at its far end, and what runs there. `None` where the client of SSH
/// that is to be tested, or what it needs, is missing.
fn road_with_sshd(client_of_ssh: &str) -> Option<(Road, [Running; 3])> {
    let road = Road::make()?;
    let programs =
        [(client_of_ssh, "-V"), ("/usr/sbin/sshd", "-V"), ("nc", "-h"), ("ssh-keygen", "-?")];
    if !programs.iter().all(|(program, word)| has(program, &[word])) {
        return None;
    }
    let server = road.server(&[]);
    let mut client = road.client(&[]);
    client.wait_for_link("connected");
    let script =
        [READY_AT_PORT, SSH].concat().replace("DIRECTORY", road.directory.to_str().unwrap());
    let sshd = road.python("far", &script);
    Some((road, [sshd, client, server]))
}

#[test]
fn ssh_logs_in_by_the_proxy_and_each_key_comes_back() {
    let Some((road, _running)) = road_with_sshd("ssh") else { return };
    let output = road.output("near", &["python3", "-c", ECHO]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(said.trim(), "abcdefghij", "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn scp_copies_a_file_there_and_back_by_the_proxy() {
    let Some((road, _running)) = road_with_sshd("scp") else { return };
    let bytes: Vec<u8> = (0..3_000_000u32).map(|n| (n.wrapping_mul(n) / 7) as u8).collect();
    std::fs::write(road.directory.join("there"), &bytes).unwrap();
    let copy = |from: &str, to: &str| {
        let mut scp = road.on("near", "scp");
        scp.args(["-q", "-i", "user", "-P", "2200", "-o", "StrictHostKeyChecking=no"]);
        scp.args(["-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR"]);
        scp.args(["-o", "ProxyCommand=nc -X 5 -x 127.0.0.1:7000 %h %p", from, to]);
        let output = scp.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    let remote = |name: &str| format!("10.88.0.2:{}", road.directory.join(name).display());
    copy("there", &remote("copied"));
    copy(&remote("copied"), "back");
    assert!(std::fs::read(road.directory.join("back")).unwrap() == bytes);
}

#[test]
fn a_browser_shows_the_same_page_of_a_hundred_files_by_the_proxy() {
    let Some(road) = Road::make() else { return };
    if !has("chromium", &["--version"]) {
        return;
    }
    let _server = road.server(&[]);
    let mut client = road.client(&[]);
    client.wait_for_link("connected");
    let _page = road.python("far", PAGE);
    let shot = |name: &str, more: &[&str]| {
        let (home, to) = (road.directory.join(format!("{name}.home")), format!("{name}.png"));
        let mut browser = road.on("near", "chromium");
        browser.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]);
        browser.args([
            "--no-first-run",
            "--disable-background-networking",
            "--window-size=600,400",
        ]);
        browser.arg(format!("--user-data-dir={}", home.display()));
        browser
            .arg("--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE 10.88.0.2");
        browser.arg(format!("--screenshot={}", road.directory.join(&to).display()));
        browser.args(more).arg("http://10.88.0.2:8080/").env("HOME", &home);
        browser.stdout(Stdio::null()).stderr(Stdio::null());
        assert!(browser.status().unwrap().success(), "{name}");
        std::fs::read(road.directory.join(&to)).unwrap()
    };
    let proxy = ["--proxy-server=socks5://127.0.0.1:7000", "--proxy-bypass-list=<-loopback>"];
    // On a busy machine a browser now and then takes its picture before it has drawn everything.
    let same = || shot("direct", &[]) == shot("proxy", &proxy);
    assert!((0..3).any(|_| same()), "the screenshots differ");
    let asked = road.output("near", &["curl", "-s", "http://10.88.0.2:8080/asked"]).stdout;
    let asked = String::from_utf8_lossy(&asked).into_owned();
    // Each of the files once by either way; the far side's own address asked for half of them.
    assert_eq!(asked.trim(), "101 101", "directly, and by the far side");
}

#[test]
fn trains_go_both_ways_when_they_are_asked_for_and_never_else() {
    let Some(road) = Road::make() else { return };
    let keys = [road.key("near"), road.key("far")];
    let listen = ["link", "listen", "--listen", "0.0.0.0:7001", "--accept"];
    let accept = format!("near={}", keys[0]);
    for measure in [&["--measure", "100ms"][..], &[]] {
        let _far = road.start("far", &[&listen[..], &[&accept], measure].concat());
        let peer = format!("far=10.88.0.2:7001,{}", keys[1]);
        let dial = ["link", "dial", &peer, "--socket", "s"];
        let mut near = road.start_silent("near", &[&dial[..], measure].concat());
        near.wait_for_link("connected");
        let status = || {
            let words = [crate::PROGRAM, "link", "status", "--socket", "s", "--json"];
            let text = String::from_utf8_lossy(&road.output("near", &words).stdout).into_owned();
            let line = text.lines().find(|line| line.contains("links")).unwrap_or("{}").to_owned();
            serde_json::from_str::<serde_json::Value>(&line).unwrap()["links"][0].clone()
        };
        let sent = |status: &serde_json::Value| status["bytes_received"].as_u64().unwrap_or(0);
        let (begun, first) = (std::time::Instant::now(), sent(&status()));
        if measure.is_empty() {
            std::thread::sleep(std::time::Duration::from_secs(1));
            assert!(sent(&status()) < first + 6000, "no train was asked for");
            assert!(status()["capacity_in"].is_null());
            return;
        }
        // Five packets of some 1,200 bytes ten times a second.
        while sent(&status()) < first + 30_000 {
            assert!(begun.elapsed() < LONG, "no trains come: {}", status());
        }
    }
}

/// A server of SSH with keys of its own, behind [`READY_AT_PORT`].
const SSH: &str = r#"
import ctypes, os, signal, subprocess
os.chdir("DIRECTORY")
for key in ("host", "user"):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
os.makedirs("/run/sshd", exist_ok=True)
# It ends with this script (prctl, PR_SET_PDEATHSIG), however that ends.
mortal = lambda: ctypes.CDLL(None).prctl(1, signal.SIGKILL)
server = subprocess.Popen(preexec_fn=mortal, args=["/usr/sbin/sshd", "-D", "-f", "/dev/null", "-h", "DIRECTORY/host", "-p", "2200",
    "-o", "AuthorizedKeysFile=DIRECTORY/user.pub", "-o", "StrictModes=no", "-o", "UsePAM=no",
    "-o", "PidFile=none", "-o", "PermitRootLogin=yes", "-o", "Subsystem=sftp internal-sftp"])
ready_at_port(server, 2200)
"#;

/// Types at a remote `cat`, and waits for each key.
const ECHO: &str = r#"
import os, select, subprocess
p = subprocess.Popen(["ssh", "-i", "user", "-p", "2200", "-o", "StrictHostKeyChecking=no",
    "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR",
    "-o", "ProxyCommand=nc -X 5 -x 127.0.0.1:7000 %h %p", "10.88.0.2", "cat"],
    stdin=subprocess.PIPE, stdout=subprocess.PIPE)
got = b""
for key in b"abcdefghij":
    os.write(p.stdin.fileno(), bytes([key]))
    assert select.select([p.stdout], [], [], 30)[0], "no echo"
    got += os.read(p.stdout.fileno(), 100)
p.stdin.close()
p.wait(30)
print(got.decode())
"#;

/// A page of a hundred pictures, and who asked for how many files.
const PAGE: &str = r#"
import http.server, random, socketserver
asked = {}
def picture(i):
    pad = random.Random(i).choices("abcdefgh", k=500 + i * 50)
    return ('<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20"><rect width="20" height="20" '
        'fill="hsl(%d,80%%,50%%)"/><!--%s--></svg>' % (i * 3, "".join(pad))).encode()
page = "".join('<img src="/%d.svg">' % i for i in range(100)).encode()
class H(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        kind, body = "text/html", page
        if self.path == "/asked":
            near, far = asked.get("10.88.0.1", set()), asked.get("10.88.0.2", set())
            body = b"%d %d" % (len(near), len(far))
        elif self.path.endswith(".svg"):
            kind, body = "image/svg+xml", picture(int(self.path[1:-4]))
        if self.path == "/" or self.path.endswith(".svg"):
            asked.setdefault(self.client_address[0], set()).add(self.path)
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args): pass
class S(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 256
server = S(("0.0.0.0", 8080), H)
print("ready", flush=True)
server.serve_forever()
"#;

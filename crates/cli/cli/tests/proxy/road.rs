//! Two hosts, each a network namespace, with a cable between them; and the daemons on them.

use std::{
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::{
        atomic::{AtomicU32, Ordering},
        mpsc::{Receiver, channel},
    },
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::scripts::{HALF_CLOSE, THREADS, WEB};

/// Longer than anything takes on a busy machine: a test that waits so long has failed.
pub(crate) const LONG: Duration = Duration::from_secs(60);

static COUNT: AtomicU32 = AtomicU32::new(0);

/// The two hosts: `near` is 10.88.0.1, `far` is 10.88.0.2.
pub(crate) struct Road {
    stem: String,
    pub(crate) directory: PathBuf,
}

/// A program that is killed when the test ends.
pub(crate) struct Running {
    pub(crate) child: Child,
    /// What it says is always read: a daemon whose output nobody takes would wait.
    lines: Receiver<String>,
}

fn lines(child: &mut Child) -> Receiver<String> {
    let (sender, receiver) = channel();
    let out = child.stdout.take().unwrap();
    std::thread::spawn(move || {
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            // The test may have ended.
            let _ = sender.send(line);
        }
    });
    receiver
}

fn ip(args: &[&str]) -> bool {
    Command::new("ip").args(args).stderr(Stdio::null()).status().is_ok_and(|s| s.success())
}

impl Road {
    /// `None` where it cannot be made; that is said.
    pub(crate) fn make() -> Option<Self> {
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        let stem = format!("fpx{}x{n}", std::process::id());
        let directory = std::env::temp_dir().join(&stem);
        std::fs::create_dir_all(&directory).unwrap();
        let road = Self { stem, directory };
        let (near, far) = (road.host("near"), road.host("far"));
        let made = ip(&["netns", "add", &near])
            && ip(&["netns", "add", &far])
            && ip(&[
                "link", "add", "e0", "netns", &near, "type", "veth", "peer", "e0", "netns", &far,
            ])
            && ip(&["-n", &near, "addr", "add", "10.88.0.1/24", "dev", "e0"])
            && ip(&["-n", &far, "addr", "add", "10.88.0.2/24", "dev", "e0"])
            && [&near, &far].iter().all(|host| {
                ip(&["-n", host, "link", "set", "lo", "up"])
                    && ip(&["-n", host, "link", "set", "e0", "up"])
            });
        let has = |program: &str| {
            Command::new(program).arg("--version").output().is_ok_and(|o| o.status.success())
        };
        if !made || !has("curl") || !has("python3") {
            eprintln!("not tested: it needs root, ip, curl and python3");
            return None;
        }
        Some(road)
    }

    /// The same with a router between them, whose route to each host has this MTU.
    pub(crate) fn with_router(mtu: u32) -> Option<Self> {
        let road = Self::make()?;
        let [near, far, middle] = ["near", "far", "middle"].map(|name| road.host(name));
        assert!(ip(&["-n", &near, "link", "del", "e0"]) && ip(&["netns", "add", &middle]));
        for (host, end, own, other) in [(&near, "m0", "1", "2"), (&far, "m1", "2", "1")] {
            let (own, other) = (format!("10.88.0.{own}/32"), format!("10.88.0.{other}/32"));
            let pair = ["type", "veth", "peer", end, "netns", &middle];
            assert!(ip(&[&["link", "add", "e0", "netns", host][..], &pair].concat()));
            assert!(ip(&["-n", host, "addr", "add", &own, "dev", "e0"]));
            assert!(ip(&["-n", host, "link", "set", "e0", "up"]));
            assert!(ip(&["-n", host, "route", "add", &other, "dev", "e0"]));
            assert!(ip(&["-n", &middle, "link", "set", end, "up"]));
            let proxied = format!("net.ipv4.conf.{end}.proxy_arp=1");
            assert!(road.output("middle", &["sysctl", "-qw", &proxied]).status.success());
        }
        let forwards = ["sysctl", "-qw", "net.ipv4.ip_forward=1"];
        assert!(road.output("middle", &forwards).status.success());
        road.set_mtu(mtu);
        Some(road)
    }

    /// The router's routes have this MTU from now on.
    pub(crate) fn set_mtu(&self, mtu: u32) {
        let (middle, mtu) = (self.host("middle"), mtu.to_string());
        for (to, by) in [("10.88.0.1/32", "m0"), ("10.88.0.2/32", "m1")] {
            let route = ["-n", &middle, "route", "replace", to, "dev", by, "mtu", "lock", &mtu];
            assert!(ip(&route));
        }
    }

    pub(crate) fn host(&self, name: &str) -> String {
        format!("{}{name}", self.stem)
    }

    /// A command on a host.
    pub(crate) fn on(&self, host: &str, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.host(host), program]);
        command.current_dir(&self.directory).stdin(Stdio::null());
        command
    }

    pub(crate) fn output(&self, host: &str, words: &[&str]) -> Output {
        self.on(host, words[0]).args(&words[1..]).output().unwrap()
    }

    /// The key of this name, made when it is first asked for.
    pub(crate) fn key(&self, name: &str) -> String {
        // The other end's refusal names the key; a key file needs no network.
        let seed = name.bytes().fold(7u8, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte));
        let identity = fanfare_crypto::Identity::from_seed([seed; 32]);
        let path = self.directory.join(name);
        if !path.exists() {
            use std::{io::Write as _, os::unix::fs::OpenOptionsExt as _};
            let mut options = std::fs::OpenOptions::new();
            let mut file = options.write(true).create_new(true).mode(0o600).open(&path).unwrap();
            file.write_all(identity.to_text().as_bytes()).unwrap();
        }
        identity.public().to_string()
    }

    /// Starts our program on a host and waits for what it says first.
    pub(crate) fn start(&self, host: &str, words: &[&str]) -> Running {
        let mut running = self.start_silent(host, words);
        running.wait_for("listening");
        running
    }

    /// The same behind another program that starts it.
    pub(crate) fn start_with(&self, host: &str, first: &[&str], words: &[&str]) -> Running {
        let mut command = self.on(host, first[0]);
        command.args(&first[1..]).arg(crate::PROGRAM).args(words);
        let mut running = Self::ours(command, host);
        running.wait_for("listening");
        running
    }

    /// The same, of a command that listens nowhere.
    pub(crate) fn start_silent(&self, host: &str, words: &[&str]) -> Running {
        let mut command = self.on(host, crate::PROGRAM);
        command.args(words);
        Self::ours(command, host)
    }

    fn ours(mut command: Command, host: &str) -> Running {
        command.args(["--identity", host, "--json"]);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let lines = lines(&mut child);
        Running { child, lines }
    }

    pub(crate) fn server(&self, more: &[&str]) -> Running {
        let accept = format!("near={}", self.key("near"));
        self.key("far");
        let words = ["proxy", "server", "--listen", "0.0.0.0:7001", "--accept", &accept];
        self.start(
            "far",
            &[&words[..], &["--allow", "10.88.0.2", "--keep-alive", "1s"], more].concat(),
        )
    }

    pub(crate) fn client(&self, more: &[&str]) -> Running {
        self.client_to("10.88.0.2:7001", more)
    }

    pub(crate) fn client_to(&self, address: &str, more: &[&str]) -> Running {
        self.key("near");
        let peer = format!("far={address},{}", self.key("far"));
        let words = ["proxy", "client", "--peer", &peer, "--keep-alive", "1s"];
        self.start("near", &[&words[..], more].concat())
    }

    /// Another program on a host, that says "ready" when it is.
    pub(crate) fn program(&self, host: &str, program: &Path, words: &[&str]) -> Running {
        let mut command = self.on(host, program.to_str().unwrap());
        command.args(words).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = lines(&mut child);
        let mut running = Running { child, lines };
        assert_eq!(running.line().as_deref(), Some("ready"));
        running
    }

    /// A script of Python on a host, that says "ready" when it is.
    pub(crate) fn python(&self, host: &str, script: &str) -> Running {
        let mut command = self.on(host, "python3");
        command.args(["-c", script]).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = lines(&mut child);
        let mut running = Running { child, lines };
        assert_eq!(running.line().as_deref(), Some("ready"), "{script}");
        running
    }

    /// What comes back of so many bytes to [`AFTER_END`](crate::scripts::AFTER_END), when the client ends its direction first.
    pub(crate) fn half_close(&self, bytes: u64) -> String {
        let script = HALF_CLOSE.replace("BYTES", &bytes.to_string());
        let output = self.output("near", &["python3", "-c", &script]);
        let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        assert!(!said.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        said
    }

    /// As many threads at once get so many bytes each from the web server, and they are the right ones.
    pub(crate) fn threads_get(&self, lengths: &[u32]) {
        let script = THREADS.replace("LENGTHS", &format!("{lengths:?}"));
        let output = self.output("near", &["python3", "-c", &script]);
        let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let all = format!("{} right", lengths.len());
        assert_eq!(said, all, "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// A web server that answers `/N` with N bytes.
    pub(crate) fn web(&self) -> Running {
        self.python("far", WEB)
    }

    /// What curl has got is what the web server sends.
    pub(crate) fn got_is_right(&self, bytes: usize) -> bool {
        let got = std::fs::read(self.directory.join("got")).unwrap();
        let block: Vec<u8> = (0..65_536u32).map(|i| (i * 7 % 251) as u8).collect();
        got.len() == bytes && got.chunks(65_536).all(|chunk| chunk == &block[..chunk.len()])
    }

    /// What curl says of a download of so many bytes through the proxy: status, bytes, its exit code.
    pub(crate) fn curl(&self, bytes: u64, more: &[&str]) -> (String, Option<i32>) {
        let url = format!("http://10.88.0.2:8080/{bytes}");
        let words = ["curl", "--silent", "--show-error", "--max-time", "50", "-o", "got"];
        let shown = ["-w", "%{http_code} %{size_download}", &url];
        let output = self.output("near", &[&words[..], more, &shown].concat());
        (String::from_utf8_lossy(&output.stdout).into_owned(), output.status.code())
    }

    /// The same until it works, at most for a while.
    pub(crate) fn curl_until(&self, bytes: u64, more: &[&str]) -> Duration {
        let begun = Instant::now();
        while self.curl(bytes, more).0 != format!("200 {bytes}") {
            assert!(begun.elapsed() < LONG, "it does not work again");
        }
        begun.elapsed()
    }
}

impl Drop for Road {
    fn drop(&mut self) {
        ip(&["netns", "del", &self.host("near")]);
        ip(&["netns", "del", &self.host("far")]);
        // Only tests with a gateway, or a router, have it.
        ip(&["netns", "del", &self.host("inside")]);
        ip(&["netns", "del", &self.host("middle")]);
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

impl Running {
    pub(crate) fn line(&mut self) -> Option<String> {
        self.lines.recv_timeout(LONG).ok()
    }

    /// The next line about this.
    pub(crate) fn wait_for(&mut self, event: &str) -> Value {
        loop {
            let line = self.line().filter(|line| !line.is_empty());
            let line = line.unwrap_or_else(|| panic!("it ended before it said {event}"));
            let value: Value = serde_json::from_str(&line).unwrap_or_default();
            assert_ne!(value["event"], "error", "{value}");
            if value["event"] == event {
                return value;
            }
        }
    }

    /// The link's next state of this name.
    pub(crate) fn wait_for_link(&mut self, state: &str) {
        while self.wait_for("link")["state"] != state {}
    }

    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
    }

    /// As by `kill -9`.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Resident memory, KiB.
    pub(crate) fn memory(&self) -> u64 {
        let path = format!("/proc/{}/status", self.child.id());
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let line = text.lines().find(|line| line.starts_with("VmRSS:"));
        line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

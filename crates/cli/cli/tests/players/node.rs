//! Programs of a test: a sender or a server, with the lines that it printed.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

/// How often to look.
const LOOK: Duration = Duration::from_millis(50);

/// A running program; it ends when it is dropped.
pub(crate) struct Node {
    child: Child,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Node {
    /// `group`: of one test; other processes have others.
    pub(crate) fn send(group: u32, args: &[&str]) -> Self {
        Self::start(group, &[&["send"], args].concat())
    }
    /// At any port that is free.
    pub(crate) fn serve(group: u32, args: &[&str]) -> Self {
        let node = Self::start(group, &[&["serve", "--listen", "127.0.0.1:0"], args].concat());
        node.wait_for("\"event\":\"start\"", Duration::from_secs(30));
        node
    }

    fn start(group: u32, args: &[&str]) -> Self {
        let port = 20_000 + std::process::id() % 20_000;
        let mut child = Command::new(env!("CARGO_BIN_EXE_fanfare"))
            .arg("video")
            .args(args)
            .args(["--interface", "lo", "--json"])
            .args(["--group", &format!("239.255.{}.{}:{port}", 100 + group, port % 251)])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = Arc::<Mutex<Vec<String>>>::default();
        let (output, kept) = (child.stdout.take().unwrap(), Arc::clone(&lines));
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                kept.lock().unwrap().push(line);
            }
        });
        Self { child, lines }
    }

    fn find(&self, part: &str) -> Option<String> {
        self.lines.lock().unwrap().iter().find(|line| line.contains(part)).cloned()
    }
    /// Waits for a line.
    pub(crate) fn wait_for(&self, part: &str, patience: Duration) -> String {
        let mut found = None;
        until(patience, || {
            found = self.find(part);
            found.is_some()
        });
        found.unwrap_or_else(|| panic!("no {part} in {:?}", self.lines.lock().unwrap()))
    }
    /// Waits for so many segments of a rendition; "" is any. Gives the newest number.
    pub(crate) fn wait_for_segment(
        &self,
        rendition: &str,
        count: usize,
        patience: Duration,
    ) -> u64 {
        let mut numbers = Vec::new();
        let part = format!("\"rendition\":\"{rendition}");
        until(patience, || {
            let lines = self.lines.lock().unwrap();
            let of = lines.iter().filter(|line| line.contains("\"event\":\"segment\""));
            let of = of.filter(|line| line.contains(&part));
            numbers = of.filter_map(|line| field(line, "\"number\":")).collect();
            numbers.len() >= count
        });
        assert!(numbers.len() >= count, "{rendition}: {:?}", self.lines.lock().unwrap());
        numbers.into_iter().max().unwrap_or(0)
    }
    /// Where its server is.
    pub(crate) fn address(&self) -> String {
        let line = self.find("\"event\":\"start\"").unwrap_or_default();
        let rest = line.split("\"address\":\"").nth(1).unwrap_or_default();
        rest.split('"').next().unwrap_or_default().to_owned()
    }
    /// Ends it as the kernel does when memory is short; it can do nothing more.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }
    /// Its exit code, when it ends in time.
    pub(crate) fn ends(&mut self, patience: Duration) -> Option<i32> {
        let mut code = None;
        until(patience, || {
            code = self.child.try_wait().unwrap().map(|status| status.code().unwrap_or(-1));
            code.is_some()
        });
        code
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // Gone already is as good. It says good-bye to its ffmpeg, too.
        let _ = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status();
        let _ = until(Duration::from_secs(5), || !matches!(self.child.try_wait(), Ok(None)));
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn field(line: &str, name: &str) -> Option<u64> {
    let rest = line.split(name).nth(1)?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// Looks until it is so, or the time is over; whether it is so.
pub(crate) fn until(patience: Duration, mut so: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + patience;
    loop {
        if so() {
            return true;
        }
        if Instant::now() >= end {
            return false;
        }
        std::thread::sleep(LOOK);
    }
}

/// What a server gives; nothing when it has none.
pub(crate) fn fetch(address: &str) -> Option<Vec<u8>> {
    use std::io::{Read as _, Write as _};
    let (host, path) = address.strip_prefix("http://")?.split_once('/')?;
    let mut stream = std::net::TcpStream::connect(host).ok()?;
    let request = format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok()?;
    let head = answer.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    answer.starts_with(b"HTTP/1.1 200").then(|| answer[head..].to_vec())
}

/// The tests need it; without it they do not pass in silence.
pub(crate) fn have(program: &str) {
    let is_there = Command::new(program).arg("-version").output().is_ok();
    assert!(is_there, "{program} is not installed: cargo xtask packages");
}

//! Runs the built command and watches what it says. `hosts`: on other machines.

pub(crate) mod hosts;
pub(crate) mod road;

use std::{
    ffi::OsStr,
    io::{BufRead, BufReader, Read, Write},
    net::UdpSocket,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Mutex,
        atomic::{AtomicU32, Ordering},
        mpsc::{Receiver, channel},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use serde_json::Value;

/// Nothing in these tests takes longer, even on a machine that runs a tenth as fast as it might.
pub(crate) const LIMIT: Duration = Duration::from_secs(240);
/// Files in memory are written as fast on any machine. There are at most so many at a time, bytes.
const MEMORY: &str = "/dev/shm";
const ROOM: u64 = 2 << 30;

static NEXT: AtomicU32 = AtomicU32::new(0);
/// Keeps ports from being given twice: the system may give one again once it is closed.
static PORTS: Mutex<Vec<UdpSocket>> = Mutex::new(Vec::new());

/// Where tests have their files.
pub(crate) fn place() -> PathBuf {
    let room = rustix::fs::statvfs(MEMORY).is_ok_and(|at| at.f_bavail * at.f_frsize >= ROOM);
    if room { PathBuf::from(MEMORY) } else { std::env::temp_dir() }
}

/// A directory for one test, and a group that nobody else uses.
pub(crate) struct Stage {
    dir: PathBuf,
    pub(crate) group: String,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let dir = place().join(format!("fanfare-test-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let group = format!("239.255.42.7:{}", socket.local_addr().unwrap().port());
        PORTS.lock().unwrap().push(socket);
        Self { dir, group }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// A file with content that does not repeat.
    pub(crate) fn file(&self, name: &str, bytes: usize) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut block = blake3::Hasher::new().update(name.as_bytes()).finalize_xof();
        let mut content = vec![0; bytes];
        block.fill(&mut content);
        std::fs::write(&path, content).unwrap();
        path
    }

    /// A file with this text.
    pub(crate) fn text(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Memory as a file system, mounted with these options; only root may do that. Elsewhere the
    /// test fails, unless it is told that it cannot be.
    pub(crate) fn file_system(&self, name: &str, options: &str) -> Option<Mount> {
        if std::env::var_os("FANFARE_NO_MOUNTS").is_some() {
            eprintln!("not tested: FANFARE_NO_MOUNTS is set");
            return None;
        }
        let path = self.path(name);
        std::fs::create_dir_all(&path).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(&path).stderr(Stdio::null());
        let mounted = mount.status().is_ok_and(|status| status.success());
        assert!(mounted, "no root, no mount: set FANFARE_NO_MOUNTS=1 to leave this test out");
        Some(Mount(path))
    }

    /// A running `fanfare` in this group, on loopback, speaking JSON.
    pub(crate) fn start<A: AsRef<OsStr>>(&self, command: &str, args: &[A]) -> Running {
        Self::start_in(&self.group, command, args)
    }

    /// A subscriber that listens.
    pub(crate) fn sub(&self, args: &[&str]) -> Running {
        let mut running = self.start("sub", args);
        running.wait_for("start");
        running
    }

    /// The same in another group.
    pub(crate) fn start_in<A: AsRef<OsStr>>(group: &str, command: &str, args: &[A]) -> Running {
        let args: Vec<&OsStr> = args.iter().map(AsRef::as_ref).collect();
        let net = ["--group", group, "--interface", "127.0.0.1", "--json"].map(OsStr::new);
        Running::start(&[&[OsStr::new(command)], &args[..], &net[..]].concat(), None)
    }

    /// As [`Self::recv`], by a system whose disk fails whenever it is to be synced.
    pub(crate) fn recv_without_sync(&self, dir: &str, more: &[&str]) -> Running {
        let runner = self.path("without-sync");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/without_sync.c");
        let compiled = Command::new("cc").arg(source).arg("-o").arg(&runner).status();
        assert!(compiled.unwrap().success());
        let path = self.path(dir);
        // Made here: what it makes itself, it syncs before it begins.
        std::fs::create_dir_all(&path).unwrap();
        let args = [path.to_str().unwrap(), "--name", dir];
        let net = ["--group", &self.group, "--interface", "127.0.0.1", "--json"];
        let mut command = Command::new(runner);
        command.arg(crate::PROGRAM).arg("recv").args(args).args(more).args(net);
        let mut running = Running::run(&mut command, None);
        running.wait_for("start");
        running
    }

    /// As [`Self::recv`], where these system calls fail with this error number.
    pub(crate) fn recv_without(&self, errno: i32, calls: &[&str], dir: &str) -> Running {
        let runner = self.path("without-calls");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/without_calls.c");
        let compiled = Command::new("cc").arg(source).arg("-o").arg(&runner).status();
        assert!(compiled.unwrap().success());
        let path = self.path(dir);
        std::fs::create_dir_all(&path).unwrap();
        let args = ["recv", path.to_str().unwrap(), "--name", dir, "--once"];
        let net = ["--group", &self.group, "--interface", "127.0.0.1", "--json"];
        let mut command = Command::new(runner);
        command.arg(errno.to_string()).args(calls).args(["--", crate::PROGRAM]);
        let mut running = Running::run(command.args(args).args(net), None);
        running.wait_for("start");
        running
    }

    /// A receiver that is listening.
    pub(crate) fn recv(&self, dir: &str, more: &[&str]) -> Running {
        self.recv_from(&self.group, dir, more)
    }

    /// The same in another group.
    pub(crate) fn recv_from(&self, group: &str, dir: &str, more: &[&str]) -> Running {
        let path = self.path(dir);
        let path = path.to_str().unwrap();
        let name = dir;
        let args = [&[path, "--create-dirs", "--name", name][..], more].concat();
        let mut running = Self::start_in(group, "recv", &args);
        running.wait_for("start");
        running
    }

    /// Sends to the end.
    pub(crate) fn send<A: AsRef<OsStr>>(&self, args: &[A]) -> Ended {
        self.start("send", args).end()
    }
}

/// A file system that is unmounted with the test.
pub(crate) struct Mount(PathBuf);

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// A process, and the lines it has printed.
pub(crate) struct Running {
    child: Child,
    lines: Receiver<String>,
    seen: Vec<Value>,
    stderr: Option<JoinHandle<String>>,
    deadline: Instant,
}

/// A process that has been stopped; it goes on when this is dropped.
pub(crate) struct Stopped(String);

impl Drop for Stopped {
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-CONT", &self.0]).status();
    }
}

/// What a process came to.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) events: Vec<Value>,
    pub(crate) stderr: String,
}

impl Running {
    pub(crate) fn start(args: &[&OsStr], input: Option<&[u8]>) -> Self {
        Self::run(Command::new(crate::PROGRAM).args(args), input)
    }

    pub(crate) fn run(command: &mut Command, input: Option<&[u8]>) -> Self {
        // Key pairs that are made on the way are not those of whoever runs the tests.
        let mut child = command
            .env("XDG_CONFIG_HOME", std::env::temp_dir().join("fanfare-tests"))
            .stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        if let Some(input) = input {
            child.stdin.take().unwrap().write_all(input).unwrap();
        }
        let (sender, lines) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            stdout.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        let mut errors = child.stderr.take().unwrap();
        let stderr = std::thread::spawn(move || {
            let mut text = String::new();
            let _ = errors.read_to_string(&mut text);
            text
        });
        let deadline = Instant::now() + LIMIT;
        Self { child, lines, seen: Vec::new(), stderr: Some(stderr), deadline }
    }

    /// The next event of this kind; everything before it is kept too.
    pub(crate) fn wait_for(&mut self, event: &str) -> Value {
        loop {
            let left = self.deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => {
                    let value: Value = serde_json::from_str(&line).expect(&line);
                    self.seen.push(value.clone());
                    if value["event"] == event {
                        return value;
                    }
                }
                Err(error) => {
                    let _ = self.child.kill();
                    let errors = self.take_stderr();
                    panic!("no '{event}' came ({error}); {:#?}\n{errors}", self.seen);
                }
            }
        }
    }

    /// What the first warning of this code says; it may have come before what was waited for.
    pub(crate) fn wait_for_warning(&mut self, code: &str) -> String {
        let is_meant = |value: &Value| value["event"] == "warning" && value["code"] == code;
        loop {
            if let Some(warning) = self.seen.iter().find(|value| is_meant(value)) {
                return warning["message"].as_str().unwrap().to_owned();
            }
            self.wait_for("warning");
        }
    }

    /// The next progress that says at least `bytes` of `field`.
    pub(crate) fn wait_for_progress(&mut self, field: &str, bytes: u64) {
        while self.wait_for("progress")[field].as_u64().unwrap() < bytes {}
    }

    /// As a crash: no time for anything.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// As Ctrl-C.
    pub(crate) fn interrupt(&self) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    }

    /// As who wants a sender to start without those who are missing.
    pub(crate) fn go(&self) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-USR1", &id]).status().unwrap().success());
    }

    /// As `systemctl reload`.
    pub(crate) fn hang_up(&self) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-HUP", &id]).status().unwrap().success());
    }

    /// Does not run until what this gives is dropped.
    pub(crate) fn stopped(&self) -> Stopped {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-STOP", &id]).status().unwrap().success());
        Stopped(id)
    }

    fn take_stderr(&mut self) -> String {
        self.stderr.take().map(|thread| thread.join().unwrap()).unwrap_or_default()
    }

    /// Waits until it has ended.
    pub(crate) fn end(mut self) -> Ended {
        loop {
            let left = self.deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => self.seen.extend(serde_json::from_str::<Value>(&line)),
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => break,
                Err(error) => {
                    let _ = self.child.kill();
                    let errors = self.take_stderr();
                    panic!("it does not end ({error}); {:#?}\n{errors}", self.seen);
                }
            }
        }
        let code = self.child.wait().unwrap().code();
        let stderr = self.take_stderr();
        Ended { code, events: std::mem::take(&mut self.seen), stderr }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ended {
    /// Fails with everything it said unless it ended with `code`.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{:#?}\n{}", self.events, self.stderr);
        let last = self.events.last().expect("a last line");
        assert_eq!((&last["event"], &last["exit"]), (&"result".into(), &code.into()));
        assert_eq!(last["ok"], code == 0);
        self
    }

    pub(crate) fn result(&self) -> &Value {
        self.events.last().unwrap()
    }

    pub(crate) fn all(&self, event: &str) -> Vec<&Value> {
        self.events.iter().filter(|value| value["event"] == event).collect()
    }

    /// The one error, as people see it.
    #[track_caller]
    pub(crate) fn error(&self) -> String {
        let errors: Vec<&str> =
            self.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
        assert_eq!(errors.len(), 1, "{}", self.stderr);
        let told = self.all("error");
        assert_eq!(told.len(), 1);
        assert_eq!(told[0]["message"], errors[0]);
        // error: WHAT (VALUE): WHY. WHAT TO DO
        let (what, rest) = errors[0].split_once(" (").unwrap_or_else(|| panic!("{}", errors[0]));
        assert!(what.len() > "error: ".len(), "{}", errors[0]);
        let (value, why) = rest.split_once("): ").unwrap_or_else(|| panic!("{}", errors[0]));
        // An option may have been given as nothing.
        let may_be_empty = told[0]["code"].as_str().is_some_and(|code| code.ends_with(".invalid"));
        assert!((!value.is_empty() || may_be_empty) && why.contains(". "), "{}", errors[0]);
        errors[0].to_owned()
    }
}

/// Fails unless both files hold the same.
#[track_caller]
pub(crate) fn assert_same(a: &Path, b: &Path) {
    let read =
        |path: &Path| std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    assert!(read(a) == read(b), "{} and {} differ", a.display(), b.display());
}

/// What a receiver remembers of what it has received.
pub(crate) const LEDGER: &str = ".fanfare-ledger";

/// Names of everything in a directory but the ledger, sorted.
pub(crate) fn entries(path: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != LEDGER)
        .collect();
    names.sort();
    names
}

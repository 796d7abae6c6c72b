//! A real browser looks at the pages. It needs Chromium, node, and what npm installs for the page, which `cargo
//! xtask web --check` leaves in target/web: FANFARE_WEB says where. Elsewhere each test says that it was not
//! run, and why.

#![allow(clippy::print_stderr, clippy::print_stdout)]

#[allow(dead_code, reason = "the replay without a browser uses all of it")]
mod journal;

use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader, Write as _},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use fanfare_messaging::monitor::Facts;
use fanfare_monitor::{
    Access, Board, Server, TransferPage,
    evidence::{Adapt, Evidence, Sensors},
    group::{GroupPage, GroupView, Heard, More, Node, Seen},
    transfer::Kind,
};
use serde_json::{Value, json};

/// Where the page's tests are, with what npm has installed for them.
const WEB: &str = "FANFARE_WEB";
/// Pictures go there, if it is set.
const PICTURES: &str = "FANFARE_PICTURES";
const NODES: u32 = 12;

/// A script of the page's tests on this page; `None` where it cannot run, which is said.
fn script(name: &str, args: &[&str]) -> Option<Script> {
    let web = std::env::var_os(WEB).map(PathBuf::from);
    let why = match &web {
        _ if std::env::var_os("FANFARE_NO_BROWSER").is_some() => {
            "FANFARE_NO_BROWSER is set".to_owned()
        }
        None => format!(
            "{WEB} does not name the page's tests: make it with 'cargo xtask web --check', which leaves it in target/web"
        ),
        Some(web) if !web.join("node_modules").is_dir() => {
            format!("{}: no node_modules", web.display())
        }
        Some(_) if !Path::new("/usr/bin/chromium").exists() => {
            "there is no /usr/bin/chromium".to_owned()
        }
        Some(web) => {
            let mut command = Command::new("node");
            command.arg(web.join("tests").join(name)).args(args);
            let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
            return Some(Script::new(child));
        }
    };
    eprintln!("not tested: {why}");
    None
}

struct Script {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Script {
    fn new(mut child: Child) -> Self {
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    /// The next line.
    fn next(&mut self) -> Option<Value> {
        let mut line = String::new();
        (self.lines.read_line(&mut line).unwrap() > 0).then(|| serde_json::from_str(&line).unwrap())
    }

    #[track_caller]
    fn expect(&mut self, event: &str) {
        let line = self.next();
        assert_eq!(line.as_ref().map(|line| &line["event"]), Some(&json!(event)), "{line:?}");
    }

    /// To its end: what it said last.
    #[track_caller]
    fn ends_well(mut self) -> Value {
        let mut last = Value::Null;
        while let Some(line) = self.next() {
            last = line;
        }
        let ended = self.child.wait().unwrap();
        assert!(ended.success(), "{last:#}");
        last
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn views(url: &str, kind: &str) -> Option<Script> {
    let folder = std::env::var(PICTURES).ok();
    script("views.mjs", &[&[url, kind][..], folder.as_deref().as_slice()].concat())
}

fn any() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

/// Twelve nodes around a harbour: one is silent, one loses much, one is not heard by another, and one has
/// a name that a browser would take for its own.
fn seen() -> Seen {
    let node = |id: u32| {
        let facts = Facts {
            processor: Some(0.1 + f64::from(id) / 40.0),
            memory: Some(0.4),
            battery: Some(0.9),
            sent: Some(f64::from(id) * 900.0),
            received: Some(42_000.0),
            loss: Some(if id == 3 { 0.3 } else { 0.01 }),
            rtt: Some(0.04),
            hears: Some(9),
        };
        let name = if id == 12 { "<b>node-12</b>".to_owned() } else { format!("node-{id}") };
        let (age, hop) = (Duration::from_secs(u64::from(id)), u8::from(id > 10));
        Node { id, name: Some(name), facts, age, hop, silent: id == 9 }
    };
    let near = |a: u32, b: u32| a != b && a.abs_diff(b) <= 3;
    let pairs = (1..=NODES).flat_map(|a| (1..=NODES).map(move |b| (a, b)));
    let hears = |(who, whom): (u32, u32)| {
        let sevenths =
            if (who, whom) == (5, 4) { 0 } else { 8_u32.saturating_sub(who.abs_diff(whom)) as u8 };
        near(who, whom).then_some(Heard { who, whom, sevenths: sevenths.min(7) })
    };
    Seen {
        nodes: (1..=NODES).map(node).collect(),
        hearing: pairs.filter_map(hears).collect(),
        interval: Duration::from_secs(6),
        notes: (9000, 120),
        notes_heard: 900,
        bytes_sent: 1 << 20,
        repairs: 17,
        ..Seen::default()
    }
}

/// A sensor that tells of a link that is full, once a second.
fn sensor(socket: &Path) {
    let report = json!({
        "sensor": "north", "span": 1.0, "every": 1.0, "host": {},
        "interfaces": {"eth0": {
            "speed_bps": 1_000_000, "in_bps": 5000, "out_bps": 980_000, "drops": 3, "up": true,
        }},
        "packets": {
            "seen": 900, "bytes": 90_000, "dropped": 0, "refused": {}, "folded": 0, "cards": [],
            "paths": [{
                "from": "10.0.0.1", "to": "10.0.0.2", "bytes": 80_000, "packets": 800, "bps": 900_000,
                "classes": {"norm": 80_000}, "rtt": 0.2, "rtt_base": 0.02, "lost_after": 3,
            }],
            "sessions": [{
                "from": "10.0.0.1:6003", "to": "239.255.42.2:6004", "node": "00000001", "instance": 7,
                "sent": 900, "came": 890, "bytes": 80_000,
            }],
        },
        "missing": ["snmp: 10.0.0.9 does not answer"],
    });
    let mut stream = UnixStream::connect(socket).unwrap();
    thread::spawn(move || {
        while writeln!(stream, "{report}").is_ok() {
            thread::sleep(Duration::from_secs(1));
        }
    });
}

fn group_page() -> (GroupPage, PathBuf) {
    let socket = std::env::temp_dir().join(format!("fanfare-browser-{}", std::process::id()));
    let sensors = Sensors::listen(&socket).unwrap();
    sensor(&socket);
    let evidence = Evidence::new(sensors, BTreeMap::new(), Adapt::Advise);
    // A column that marches along a lake; two are somewhere else.
    let place = |id: u32| {
        format!("node-{id}={},{}", 47.2 + f64::from(id) / 500.0, 8.6 - f64::from(id) / 150.0)
    };
    let places = (1..=NODES - 2).map(|id| place(id).parse().unwrap()).collect();
    let mut more = More { evidence: Some(evidence), places, ..More::default() };
    let view = GroupView::new("239.255.42.2:6004".to_owned(), Some("eth0".to_owned()), 1, 2000.0);
    let page = GroupPage::start(view, &mut more, any(), Access::local(), |_| Some(seen()));
    (page.unwrap(), socket)
}

/// Until the page of a group says this, in so many seconds at most.
fn until(url: &str, seconds: u64, suits: impl Fn(&Value) -> bool) {
    let address = url.trim_start_matches("http://").trim_end_matches('/').parse().unwrap();
    let end = Instant::now() + Duration::from_secs(seconds);
    loop {
        let state = fanfare_monitor::client::get(address, "/api/state", None).unwrap();
        if suits(&state) {
            return;
        }
        assert!(Instant::now() < end, "{state:#}");
        thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn every_view_of_a_group_is_shown_and_can_be_used_by_all() {
    let (page, _socket) = group_page();
    let has = |state: &Value| {
        let cause = |cause: &str| state["nodes"]["3"]["cause"] == cause;
        cause("lossy-path") && state["advice"]["north/eth0"].is_object()
    };
    // What lasts ten seconds is told.
    if std::env::var_os(WEB).is_some() {
        until(&page.url(), 60, has);
    }
    let Some(script) = views(&page.url(), "group") else { return };
    script.ends_well();
}

#[test]
fn a_sending_is_shown_and_can_be_used_by_all() {
    let page = TransferPage::start(Kind::Send, any(), Access::local()).unwrap();
    let Some(script) = views(&page.url(), "send") else { return };
    let row = |id: u32| {
        let name = if id == 12 {
            "<img src=x onerror=alert(1)>".to_owned()
        } else {
            format!("pc-{id:02}")
        };
        json!({
            "id": id, "name": name, "source": format!("10.77.0.{id}:6003"), "state": "receiving",
            "bytes": 20_000_000 - id * 1000, "rate_bps": 8_000_000, "loss": if id == 7 { 0.2 } else { 0.0 },
            "rtt": 0.002, "overruns": if id == 7 { 9 } else { 0 },
        })
    };
    let rows: Vec<Value> = (1..=30).map(row).collect();
    for line in [
        json!({"event": "start", "group": "239.255.42.1:6003", "node_id": 1, "interface": "eth0", "bytes": 40_000_000}),
        json!({"event": "sending", "receivers": 30}),
        json!({"event": "progress", "sent_bytes": 20_000_000, "total_bytes": 40_000_000, "rate_bps": 8_000_000,
            "repair_bytes": 100_000, "wire_bytes": 21_000_000, "complete": 0, "receivers": 30,
            "limiting": {"code": "overrun", "receiver": "pc-07", "id": 7, "text": "pc-07 is behind"}}),
        json!({"event": "receivers", "total_bytes": 40_000_000, "receivers": rows}),
        json!({"event": "warning", "code": "name.shared", "message": "two receivers have the same name"}),
    ] {
        page.tell(&line.to_string());
    }
    script.ends_well();
}

#[test]
fn what_a_receiver_gets_is_shown_and_can_be_used_by_all() {
    let page = TransferPage::start(Kind::Receive, any(), Access::local()).unwrap();
    let Some(script) = views(&page.url(), "recv") else { return };
    for line in [
        json!({"event": "start", "group": "239.255.42.1:6003", "node_id": 1, "interface": "eth0", "dir": "inbox"}),
        json!({"event": "progress", "bytes": 512, "total_bytes": 1024, "loss": 0.03}),
        json!({"event": "file", "path": "image.1", "size": 512, "verified": true, "seconds": 2.0}),
        json!({"event": "warning", "code": "receive.overrun", "message": "the buffer ran over"}),
        json!({"event": "failed", "id": 2, "sender": 1, "name": "image.2", "reason": "disk-full"}),
    ] {
        page.tell(&line.to_string());
    }
    script.ends_well();
}

/// A cable between a browser and a server, that can be pulled.
struct Cable {
    address: SocketAddr,
    plugged: Arc<AtomicBool>,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Cable {
    fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind(any()).unwrap();
        let address = listener.local_addr().unwrap();
        let (plugged, open) = (Arc::new(AtomicBool::new(true)), Arc::new(Mutex::new(Vec::new())));
        let own = (Arc::clone(&plugged), Arc::clone(&open));
        thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                if !own.0.load(Ordering::SeqCst) {
                    continue;
                }
                let far = TcpStream::connect(server).unwrap();
                let ends = [near.try_clone().unwrap(), far.try_clone().unwrap()];
                own.1.lock().unwrap().extend(ends);
                for (mut from, mut to) in
                    [(near.try_clone().unwrap(), far.try_clone().unwrap()), (far, near)]
                {
                    thread::spawn(move || {
                        let _ = std::io::copy(&mut from, &mut to);
                        let _ = to.shutdown(Shutdown::Both);
                    });
                }
            }
        });
        Self { address, plugged, open }
    }

    fn pull(&self) {
        self.plugged.store(false, Ordering::SeqCst);
        for end in self.open.lock().unwrap().drain(..) {
            let _ = end.shutdown(Shutdown::Both);
        }
    }

    fn plug(&self) {
        self.plugged.store(true, Ordering::SeqCst);
    }
}

#[test]
fn a_stream_that_breaks_is_said_to_be_old_and_goes_on_when_it_is_back() {
    let document = |up: u32| {
        let mut view = GroupView::new("239.255.42.2:6004".to_owned(), None, 1, 2000.0);
        let mut document = view.document(Duration::from_secs(1), &seen());
        document["up"] = json!(up);
        document
    };
    let board = Arc::new(Board::new(document(11)));
    let server = Server::start(any(), Access::local(), Arc::clone(&board)).unwrap();
    let cable = Cable::to(server.address());
    let url = format!("http://{}/", cable.address);
    let Some(mut script) = script("stale.mjs", &[&url]) else { return };
    script.expect("open");
    // Nothing changes, and all is well: that is not called old.
    script.expect("quiet");
    cable.pull();
    board.publish(document(13));
    script.expect("stale");
    cable.plug();
    script.expect("back");
    script.ends_well();
}

#[test]
fn in_a_recorded_imaging_each_trouble_is_on_the_page_within_two_seconds() {
    let page = TransferPage::start(Kind::Send, any(), Access::local()).unwrap();
    let folder =
        std::env::var(PICTURES).unwrap_or_else(|_| std::env::temp_dir().display().to_string());
    let picture = format!("{folder}/imaging.png");
    let Some(mut script) = script("late.mjs", &[&page.url(), &picture]) else { return };
    script.expect("open");
    let journal = journal::read();
    let begun = SystemTime::now();
    // As it was, without the wait for receivers.
    let flowing = |at: f64| Duration::from_secs_f64((at + 1.0).max(0.0));
    for (at, line) in &journal.lines {
        thread::sleep(flowing(*at).saturating_sub(begun.elapsed().unwrap()));
        page.tell(&line.to_string());
    }
    let script_input = script.child.stdin.as_mut().unwrap();
    thread::sleep(Duration::from_secs(2));
    writeln!(script_input, "end").unwrap();
    let mut shown: BTreeMap<String, f64> = BTreeMap::new();
    while let Some(line) = script.next().filter(|line| line["event"] == "alert") {
        let at = Duration::from_secs_f64(line["at"].as_f64().unwrap());
        let since = at.saturating_sub(begun.duration_since(UNIX_EPOCH).unwrap());
        shown.insert(line["text"].as_str().unwrap().to_owned(), since.as_secs_f64());
    }
    for trouble in &journal.troubles {
        let about = |text: &str| text.contains(&trouble.machine) && !text.contains("to come");
        let found: Vec<(&String, &f64)> = shown.iter().filter(|(text, _)| about(text)).collect();
        let late = found.first().map(|(_, at)| *at - flowing(trouble.at).as_secs_f64());
        let is_soon = late.is_some_and(|late| (-0.1..=journal::SOON).contains(&late));
        assert!(found.len() == 1 && is_soon, "{trouble:?}: {late:?}, {shown:#?}");
    }
    assert_eq!(shown.len(), 4, "and that one disk has little room: {shown:#?}");
    script.ends_well();
}

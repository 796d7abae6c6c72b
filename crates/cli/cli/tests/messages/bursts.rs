//! Bursts through every bridge and gateway, each way: all of a burst arrives, or what was dropped and what arrived are
//! what was sent, and somebody was told within a second. Memory stays bounded.
//!
//! Bursts have 1,000 messages. `FANFARE_BURSTS` gives other numbers, as `10000,1000000`. `FANFARE_PROGRAM` is the
//! program that is tested, if not the one that was built for the tests: large bursts are for one that was built for
//! release.

use std::{
    collections::BTreeSet,
    io::{BufRead, BufReader, Write},
    net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket},
    os::unix::net::UnixStream,
    process::{Child, Command, Output, Stdio},
    sync::{Arc, Condvar, Mutex},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use rustix::net::{AddressFamily, SocketType, bind, socket, sockopt};
use serde_json::Value;

use super::monitor::{free_port, wait_for_metric};
use crate::support::Stage;

/// Of each message.
const SIZE: usize = 100;
/// A bridge takes no more memory than this whatever comes, bytes: two queues of 64 MiB, the member's own messages and
/// cache, and what the program is itself.
const MEMORY_MAX: u64 = 400 << 20;
/// Nothing takes longer for one burst of a thousand.
const PATIENCE: Duration = Duration::from_secs(120);
/// Somebody is told of the first that is dropped.
const WARNED: Duration = Duration::from_secs(1);
/// Longest time between two looks at what others count.
const LOOK: Duration = Duration::from_millis(100);
/// Looks, on a machine that runs a tenth as fast as it might.
const SLACK: Duration = Duration::from_secs(2);

fn bursts() -> Vec<u64> {
    let asked = std::env::var("FANFARE_BURSTS").unwrap_or_else(|_| "1000".to_owned());
    asked.split(',').map(|count| count.trim().parse().expect("FANFARE_BURSTS: numbers")).collect()
}

fn program() -> Command {
    Command::new(std::env::var_os("FANFARE_PROGRAM").unwrap_or_else(|| crate::PROGRAM.into()))
}

/// A hundred bytes, and which they are.
fn text(number: u64) -> String {
    format!("{number:0SIZE$}")
}

/// All that a running command has said so far.
#[derive(Debug, Default)]
struct Said {
    lines: u64,
    numbers: BTreeSet<u64>,
    messages: u64,
    /// Messages that a subscription was told are gone.
    gaps: u64,
    warned: Option<Instant>,
    /// Its last counters while it ran, and its result.
    crossing: Option<Value>,
    last: Option<Value>,
    errors: String,
}

/// All that a command has said so far, and who waits for more.
#[derive(Default)]
struct SaidSoFar {
    said: Mutex<Said>,
    more: Condvar,
}

impl SaidSoFar {
    fn add(&self, add: impl FnOnce(&mut Said)) {
        add(&mut self.said.lock().unwrap());
        self.more.notify_all();
    }

    /// Waits until it is so, for as long at most.
    fn wait_until(&self, longest: Duration, is_so: impl Fn(&Said) -> bool) {
        let said = self.said.lock().unwrap();
        drop(self.more.wait_timeout_while(said, longest, |said| !is_so(said)).unwrap());
    }
}

/// A command that says more than may be kept.
struct Counted {
    child: Child,
    said: Arc<SaidSoFar>,
    readers: Vec<JoinHandle<()>>,
}

impl Counted {
    fn start(group: &str, args: &[&str]) -> Self {
        let net = ["--group", group, "--interface", "127.0.0.1", "--json"];
        Self::run(&[args, &net].concat())
    }

    fn run(args: &[&str]) -> Self {
        let mut child = program()
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let said = Arc::new(SaidSoFar::default());
        let (lines, errors) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let (told, begun) = std::sync::mpsc::channel();
        let own = said.clone();
        let out = std::thread::spawn(move || {
            for line in BufReader::new(lines).lines().map_while(Result::ok) {
                let value: Value = serde_json::from_str(&line).expect(&line);
                if value["event"] == "start" {
                    let _ = told.send(());
                }
                own.add(|said| said.on_line(value));
            }
        });
        let own = said.clone();
        let err = std::thread::spawn(move || {
            for line in BufReader::new(errors).lines().map_while(Result::ok) {
                own.add(|said| said.errors.push_str(&(line + "\n")));
            }
        });
        if begun.recv_timeout(PATIENCE).is_err() {
            panic!("{args:?} did not start: {}", said.said.lock().unwrap().errors);
        }
        Self { child, said, readers: vec![out, err] }
    }

    fn messages(&self) -> u64 {
        self.said.said.lock().unwrap().messages
    }

    /// Waits until as many have come as the bridge says that it has carried of all that were sent, or nothing has for
    /// long.
    fn wait_for(&self, bridge: &Self, from: &str, sent: u64) -> u64 {
        bridge.wait_until_carried(from, sent, || self.messages())
    }

    /// The same of whoever counts what comes.
    fn wait_until_carried(&self, from: &str, sent: u64, come: impl Fn() -> u64) -> u64 {
        let (mut last, mut since) = ((0, 0), Instant::now());
        loop {
            let (come, carried) = (come(), self.count(from, "carried"));
            let done = self.count(from, "heard") == sent && self.count(from, "waiting") == 0;
            if (done && come >= carried) || since.elapsed() > PATIENCE / 2 {
                return come;
            }
            if (come, carried) != last {
                (last, since) = ((come, carried), Instant::now());
            }
            let seen = self.said.said.lock().unwrap().lines;
            self.said.wait_until(LOOK, |said| said.lines > seen);
        }
    }

    /// A counter of the way from there, as far as it has said.
    fn count(&self, from: &str, field: &str) -> u64 {
        let said = self.said.said.lock().unwrap();
        let ways = said.crossing.as_ref().and_then(|line| line["ways"].as_array());
        let way = ways.into_iter().flatten().find(|way| is_from(way, from));
        way.and_then(|way| way[field].as_u64()).unwrap_or(0)
    }

    /// The most memory it has had, bytes.
    fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
    }

    /// Interrupts it, and gives what it has said in the end.
    fn finish(mut self) -> Said {
        Command::new("kill").args(["-INT", &self.child.id().to_string()]).status().unwrap();
        for reader in self.readers.drain(..) {
            reader.join().unwrap();
        }
        self.child.wait().unwrap();
        std::mem::take(&mut *self.said.said.lock().unwrap())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Said {
    fn on_line(&mut self, value: Value) {
        self.lines += 1;
        match value["event"].as_str().unwrap() {
            "message" => {
                self.messages += 1;
                self.numbers.insert(value["text"].as_str().unwrap().parse().unwrap());
            }
            "dropped" => self.gaps += value["messages"].as_u64().unwrap(),
            "warning" if value["code"] == "messages.dropped" => {
                self.warned.get_or_insert_with(Instant::now);
            }
            "crossing" | "gateway" => self.crossing = Some(value),
            "result" => self.last = Some(value),
            _ => {}
        }
    }

    /// The counters of one way, as they are at the end.
    fn way(&self, from: &str) -> Value {
        let ways = self.last.as_ref().unwrap()["ways"].as_array().unwrap();
        ways.iter().find(|way| is_from(way, from)).unwrap().clone()
    }
}

fn is_from(way: &Value, from: &str) -> bool {
    way["from"].as_str().is_some_and(|name| name.ends_with(from))
}

/// Result of a burst: it must add up.
struct Outcome {
    what: String,
    sent: u64,
    arrived: u64,
    way: Value,
    begun: Instant,
    ended: Instant,
    warned: Option<Instant>,
    memory: u64,
}

impl Outcome {
    fn of(&self, field: &str) -> u64 {
        self.way[field].as_u64().unwrap_or_else(|| panic!("{field} in {}", self.way))
    }

    /// All arrived, or the rest was dropped with a word.
    fn check(&self) {
        let Self { what, sent, arrived, way, .. } = self;
        let dropped = self.of("dropped");
        eprintln!(
            "{what}: {sent} sent, {arrived} arrived, {dropped} dropped, {} MiB, {:?}, warned after {:?}",
            self.memory >> 20,
            self.begun.elapsed(),
            self.warned.map(|at| at - self.begun)
        );
        assert_eq!(self.of("heard"), *sent, "{what}: {way}");
        assert_eq!(self.of("carried") + dropped, *sent, "{what}: {way}");
        assert_eq!(*arrived, self.of("carried"), "{what}: {way}");
        assert_eq!(self.warned.is_some(), dropped > 0, "{what}: {way}");
        if let Some(warned) = self.warned {
            assert!(warned <= self.ended + WARNED + SLACK, "{what}: told too late");
        }
        assert!(self.memory <= MEMORY_MAX, "{what}: {} MiB", self.memory >> 20);
    }
}

/// A subscriber of all, that says each message.
fn subscriber(group: &str) -> Counted {
    Counted::start(group, &["sub", "#"])
}

/// Lines, as many programs would publish them, by one that waits for others to hold them. Gives how it ended.
fn publish_lines(stage: &Stage, count: u64) -> Output {
    let mut child = program()
        .args(["pub", "b/x", "-", "--lines", "--group", &stage.group, "--interface", "127.0.0.1"])
        .args(["--quiet"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = std::io::BufWriter::new(child.stdin.take().unwrap());
    (0..count).for_each(|number| writeln!(input, "{}", text(number)).unwrap());
    drop(input);
    child.wait_with_output().unwrap()
}

/// The same, where others hold all of them in the end.
fn publish(stage: &Stage, count: u64) {
    let ended = publish_lines(stage, count);
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
}

#[cfg(feature = "nats")]
mod nats {
    use std::{io::Read, net::TcpStream};

    use super::*;
    use crate::messages::broker::Broker;

    /// The server does not end the connection of a listener that a busy machine keeps from reading.
    const PATIENT: &str = "write_deadline: \"2m\"\nmax_pending: 1073741824";

    /// Publishes a burst by hand: the server takes it as fast as it comes.
    fn publish_there(broker: &Broker, count: u64) {
        let mut stream = TcpStream::connect(("127.0.0.1", broker.port)).unwrap();
        let mut own = stream.try_clone().unwrap();
        // What the server says is read, so that it never waits.
        let reader = std::thread::spawn(move || {
            let (mut all, mut part) = (Vec::new(), [0; 4096]);
            while !all.windows(4).any(|window| window == b"PONG") {
                let length = own.read(&mut part).unwrap();
                assert!(length > 0, "{}", String::from_utf8_lossy(&all));
                all.extend_from_slice(&part[..length]);
            }
        });
        let mut bytes = b"CONNECT {\"verbose\":false}\r\n".to_vec();
        for number in 0..count {
            bytes.extend(format!("PUB b.x {SIZE}\r\n{}\r\n", text(number)).into_bytes());
        }
        bytes.extend(b"PING\r\n");
        stream.write_all(&bytes).unwrap();
        reader.join().unwrap();
    }

    fn bridge(stage: &Stage, broker: &Broker, more: &[&str]) -> Counted {
        let args = ["bridge", "nats", "--nats", &broker.address()];
        Counted::start(&stage.group, &[&args, more].concat())
    }

    fn into_the_group(count: u64, more: &[&str], stream: bool) -> Outcome {
        let stage = Stage::new();
        let broker = Broker::start(stage.path("nats"), "").unwrap();
        if stream {
            broker.client().make_stream("BURST", &["b.>"]);
        }
        let args = [&["--subject", "b.>", "--one-way"][..], more].concat();
        let bridge = bridge(&stage, &broker, &args);
        let sub = subscriber(&stage.group);
        let begun = Instant::now();
        publish_there(&broker, count);
        let ended = Instant::now();
        let arrived = sub.wait_for(&bridge, "NATS", count);
        let memory = bridge.memory();
        let said = bridge.finish();
        assert_eq!(sub.finish().numbers.len() as u64, arrived, "each once");
        let what = format!("NATS {more:?} to group");
        let (way, warned) = (said.way("NATS"), said.warned);
        Outcome { what, sent: count, arrived, way, begun, ended, warned, memory }
    }

    fn out_of_the_group(count: u64, more: &[&str], stream: bool) -> Outcome {
        let stage = Stage::new();
        let broker = Broker::start(stage.path("nats"), PATIENT).unwrap();
        let mut hq = broker.client();
        if stream {
            hq.make_stream("BURST", &["b.>"]);
        } else {
            hq.subscribe("b.>");
        }
        let args = [&["--topic", "b/#", "--one-way"][..], more].concat();
        let bridge = bridge(&stage, &broker, &args);
        let heard = Arc::new(Mutex::new(BTreeSet::new()));
        let own = heard.clone();
        // It ends with the process, if not all come.
        let _listener = (!stream).then(|| {
            std::thread::spawn(move || {
                for _ in 0..count {
                    let number: u64 = hq.hear().text.parse().unwrap();
                    assert!(own.lock().unwrap().insert(number), "each once");
                }
            })
        });
        let begun = Instant::now();
        publish(&stage, count);
        let ended = Instant::now();
        let arrived = || match stream {
            true => broker.client().stored("BURST"),
            false => heard.lock().unwrap().len() as u64,
        };
        let arrived = bridge.wait_until_carried("the group", count, arrived);
        let memory = bridge.memory();
        let said = bridge.finish();
        let what = format!("group to NATS {more:?}");
        let (way, warned) = (said.way("the group"), said.warned);
        Outcome { what, sent: count, arrived, way, begun, ended, warned, memory }
    }

    fn is_there() -> bool {
        let is_there = std::env::var_os("FANFARE_NO_NATS").is_none();
        if !is_there {
            eprintln!("not tested: FANFARE_NO_NATS is set");
        }
        is_there
    }

    #[test]
    fn a_burst_of_nats_comes_to_the_group_whole_or_with_a_word() {
        for count in bursts().into_iter().filter(|_| is_there()) {
            let outcome = into_the_group(count, &[], false);
            outcome.check();
            assert!(count > 100_000 || outcome.of("dropped") == 0, "it fits: {}", outcome.way);
            let outcome = into_the_group(count, &["--queue", "50"], false);
            outcome.check();
            assert!(outcome.of("dropped") > 0, "it does not fit: {}", outcome.way);
        }
    }

    #[test]
    fn a_burst_of_a_stream_comes_to_the_group_whole() {
        for count in bursts().into_iter().filter(|count| *count <= 10_000 && is_there()) {
            for more in [&["--stream", "BURST"][..], &["--stream", "BURST", "--queue", "5"]] {
                let outcome = into_the_group(count, more, true);
                outcome.check();
                assert_eq!(outcome.of("dropped"), 0, "{}", outcome.way);
            }
        }
    }

    #[test]
    fn a_burst_of_the_group_comes_to_nats_whole_or_with_a_word() {
        for count in bursts().into_iter().filter(|_| is_there()) {
            for more in [&[][..], &["--queue", "5"]] {
                let outcome = out_of_the_group(count, more, false);
                outcome.check();
                assert!(count > 100_000 || outcome.of("dropped") == 0, "{}", outcome.way);
            }
            let outcome = out_of_the_group(count, &["--stream", "BURST"], true);
            outcome.check();
            assert!(count > 100_000 || outcome.of("dropped") == 0, "{}", outcome.way);
        }
    }
}

/// A plain group on loopback, and a socket that hears it.
fn plain() -> (SocketAddrV4, UdpSocket) {
    let group: SocketAddr =
        Stage::new().group.replace("239.255.42.7", "239.255.43.8").parse().unwrap();
    let SocketAddr::V4(group) = group else { panic!("IPv4") };
    let listener = socket(AddressFamily::INET, SocketType::DGRAM, None).unwrap();
    sockopt::set_socket_reuseaddr(&listener, true).unwrap();
    let _ = sockopt::set_socket_recv_buffer_size_force(&listener, 64 << 20);
    bind(&listener, &SocketAddrV4::new(*group.ip(), group.port())).unwrap();
    let listener = UdpSocket::from(listener);
    listener.join_multicast_v4(group.ip(), &Ipv4Addr::LOCALHOST).unwrap();
    (group, listener)
}

fn udp_bridge(stage: &Stage, plain: SocketAddrV4, more: &[&str]) -> Counted {
    let plain = plain.to_string();
    // None is too old when it is its turn, however many there are.
    let args = ["bridge", "udp", "--udp", &plain, "--topic", "b", "--expiry", "1h"];
    Counted::start(&stage.group, &[&args, more].concat())
}

#[test]
fn a_burst_of_datagrams_comes_to_the_group_whole_or_with_a_word() {
    for count in bursts() {
        for more in [&[][..], &["--queue", "50"]] {
            let (stage, (group, _listener)) = (Stage::new(), plain());
            let bridge = udp_bridge(&stage, group, more);
            let sub = subscriber(&stage.group);
            let app = UdpSocket::bind("127.0.0.1:0").unwrap();
            let begun = Instant::now();
            for number in 0..count {
                app.send_to(text(number).as_bytes(), group).unwrap();
            }
            let ended = Instant::now();
            let arrived = sub.wait_for(&bridge, "the plain side", count);
            let memory = bridge.memory();
            let said = bridge.finish();
            assert_eq!(sub.finish().numbers.len() as u64, arrived, "each once");
            let what = format!("UDP {more:?} to group");
            let (way, warned) = (said.way("the plain side"), said.warned);
            Outcome { what, sent: count, arrived, way, begun, ended, warned, memory }.check();
        }
    }
}

#[test]
fn a_burst_of_the_group_comes_out_as_datagrams() {
    for count in bursts() {
        for more in [&[][..], &["--queue", "5"]] {
            let (stage, (group, listener)) = (Stage::new(), plain());
            let bridge = udp_bridge(&stage, group, more);
            let heard = Arc::new(Mutex::new(BTreeSet::new()));
            let own = heard.clone();
            // It ends with the process, if not all come.
            let _reader = std::thread::spawn(move || {
                let mut buffer = [0; 200];
                for _ in 0..count {
                    let length = listener.recv(&mut buffer).unwrap();
                    let text = std::str::from_utf8(&buffer[..length]).unwrap();
                    assert!(own.lock().unwrap().insert(text.parse::<u64>().unwrap()), "each once");
                }
            });
            let begun = Instant::now();
            publish(&stage, count);
            let ended = Instant::now();
            let arrived = || heard.lock().unwrap().len() as u64;
            let arrived = bridge.wait_until_carried("the group", count, arrived);
            let memory = bridge.memory();
            let said = bridge.finish();
            let what = format!("group to UDP {more:?}");
            let (way, warned) = (said.way("the group"), said.warned);
            Outcome { what, sent: count, arrived, way, begun, ended, warned, memory }.check();
        }
    }
}

#[test]
fn a_burst_of_one_group_comes_to_the_other_whole_or_with_a_word() {
    for count in bursts() {
        for (back, more) in [(false, &[][..]), (true, &[]), (false, &["--queue", "50"])] {
            let (here, there) = (Stage::new(), Stage::new());
            let rates = ["--to-rate", "1G", "--back-rate", "1G", "--standby", "300ms"];
            let args = ["bridge", "group", "--to", &there.group, "--learn", "500ms"];
            let gateway = Counted::start(&here.group, &[&args, &rates, more].concat());
            let (from, to) = if back { (&there, &here) } else { (&here, &there) };
            let sub = subscriber(&to.group);
            let begun = Instant::now();
            publish(from, count);
            let ended = Instant::now();
            let arrived = sub.wait_for(&gateway, &from.group, count);
            let memory = gateway.memory();
            let said = gateway.finish();
            assert_eq!(sub.finish().numbers.len() as u64, arrived, "each once");
            let what = format!("group to group {more:?}, back: {back}");
            let way = said.last.as_ref().unwrap()[if back { "back" } else { "to" }].clone();
            let warned = said.warned;
            Outcome { what, sent: count, arrived, way, begun, ended, warned, memory }.check();
        }
    }
}

fn node(stage: &Stage, more: &[&str]) -> (Counted, UnixStream) {
    let socket = stage.path("socket");
    let args = ["node", "--socket", socket.to_str().unwrap()];
    let node = Counted::start(&stage.group, &[&args, more].concat());
    let until = Instant::now() + PATIENCE;
    let client = loop {
        match UnixStream::connect(&socket) {
            Ok(client) => break client,
            Err(error) => assert!(Instant::now() < until, "{error}"),
        }
    };
    (node, client)
}

#[test]
fn a_burst_of_a_program_at_the_socket_comes_to_the_group_whole() {
    for count in bursts().into_iter().filter(|count| *count <= 100_000) {
        let stage = Stage::new();
        let (node, client) = node(&stage, &[]);
        let sub = subscriber(&stage.group);
        let answers = BufReader::new(client.try_clone().unwrap()).lines();
        let answers = std::thread::spawn(move || {
            let is_taken = |line: &String| line.contains("\"event\":\"published\"");
            answers.take(count as usize).map_while(Result::ok).filter(is_taken).count() as u64
        });
        let begun = Instant::now();
        let mut requests = std::io::BufWriter::new(&client);
        for number in 0..count {
            let text = text(number);
            writeln!(requests, r#"{{"do":"publish","topic":"b/x","text":"{text}"}}"#).unwrap();
        }
        drop(requests);
        assert_eq!(answers.join().unwrap(), count, "none is refused");
        sub.said.wait_until(PATIENCE, |said| said.messages >= count);
        let (arrived, memory) = (sub.messages(), node.memory());
        eprintln!("socket to group: {count}, {arrived} arrived, {:?}", begun.elapsed());
        assert_eq!((arrived, sub.finish().numbers.len() as u64), (count, count));
        assert!(memory <= MEMORY_MAX && node.finish().warned.is_none());
    }
}

#[test]
fn a_burst_of_the_group_comes_to_a_program_at_the_socket_whole_or_with_a_word() {
    for count in bursts() {
        for (reads, more) in [(true, &[][..]), (false, &["--cache", "100KiB"])] {
            let (stage, page) = (Stage::new(), free_port());
            let monitor = format!("--monitor={page}");
            let (node, client) = node(&stage, &[more, &[&monitor]].concat());
            let mut lines = BufReader::new(client.try_clone().unwrap()).lines();
            writeln!(&client, r#"{{"do":"subscribe","filter":"b/#"}}"#).unwrap();
            assert!(lines.next().unwrap().unwrap().contains("subscribed"));
            let (go, gone) = std::sync::mpsc::channel();
            let reader = std::thread::spawn(move || {
                // One that does not read at first.
                let () = gone.recv().unwrap();
                let mut said = Said::default();
                while said.messages + said.gaps < count
                    && let Some(Ok(line)) = lines.next()
                {
                    said.on_line(serde_json::from_str(&line).unwrap());
                }
                said
            });
            if reads {
                go.send(()).unwrap();
            }
            let begun = Instant::now();
            // The publisher is told where a small cache does not hold all of it until it has said so.
            let published = publish_lines(&stage, count).status.code();
            assert!(published == Some(0) || !reads && published == Some(3), "{published:?}");
            let ended = Instant::now();
            if !reads {
                node.said.wait_until(WARNED + SLACK, |said| said.warned.is_some());
                go.send(()).unwrap();
            }
            let said = reader.join().unwrap();
            let unread = format!("fanfare_group_dropped_total{{what=\"unread\"}} {}", said.gaps);
            wait_for_metric(page, &unread);
            let memory = node.memory();
            let warned = node.finish().warned;
            eprintln!(
                "group to socket, reads: {reads}: {count} sent, {} came, {} gone, {} MiB, {:?}",
                said.messages,
                said.gaps,
                memory >> 20,
                begun.elapsed()
            );
            assert_eq!(said.messages + said.gaps, count);
            assert_eq!(said.numbers.len() as u64, said.messages, "each once");
            assert!(memory <= MEMORY_MAX);
            if said.gaps > 0 {
                assert!(warned.expect("a word") <= ended + WARNED + SLACK);
            }
        }
    }
}

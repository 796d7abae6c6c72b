//! How many messages a second reach all subscribers, and how soon: members of a group through the
//! library, `pub --lines` with `sub`, and brokers beside them.
//!
//! Every system sends the same messages over the same bridge, one system after another. The clients
//! are processes on the hosts: a peer program that is given, or the systems' own commands. All times
//! are of the machine's one monotonic clock.

use super::Star;
use crate::{
    error::LabError,
    host::{Host, INTERFACE},
    stop::Stop,
    system::privileges,
    system::scratch::Scratch,
};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::{
    fs::File,
    io::{BufRead as _, BufReader, Read, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

const GROUP: &str = "239.255.77.6:6086";
const TOPIC: &str = "bench";
const NATS_PORT: u16 = 4222;
const MQTT_PORT: u16 = 1883;
/// Members know of each other, and brokers have their subscriptions, when the first message goes.
const SETTLE: Duration = Duration::from_millis(1500);
/// A run that takes longer counts as not whole.
const LIMIT: Duration = Duration::from_secs(60);
/// Servers listen by then.
const SERVER: Duration = Duration::from_millis(500);

/// What carries the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MessageSystem {
    /// Members of a group, by the library.
    Api,
    /// `fanfare pub --lines` and `fanfare sub`.
    Lines,
    /// NATS with `async-nats`.
    Nats,
    /// Mosquitto with its own commands, at QoS 0.
    Mosquitto,
}

impl MessageSystem {
    /// Its name in options and tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::Lines => "lines",
            Self::Nats => "nats",
            Self::Mosquitto => "mosquitto",
        }
    }

    /// Whether its clients stamp messages, so that their latency can be told.
    fn is_stamped(self) -> bool {
        matches!(self, Self::Api | Self::Nats)
    }

    fn needs(self) -> &'static [&'static str] {
        match self {
            Self::Api | Self::Lines => &[],
            Self::Nats => &["nats-server"],
            Self::Mosquitto => &["mosquitto", "mosquitto_pub", "mosquitto_sub"],
        }
    }
}

/// What is to be measured.
#[derive(Debug, Clone)]
pub struct MessageBench {
    /// Whose messages.
    pub systems: Vec<MessageSystem>,
    /// Subscribers of each cell.
    pub receivers: Vec<usize>,
    /// Messages of a cell that is to be fast.
    pub messages: u64,
    /// Bytes of each, at least 16: a stamp and a number.
    pub size: usize,
    /// Messages a second of the cells that tell the latency.
    pub rates: Vec<u64>,
    /// Messages of such a cell.
    pub timed: u64,
    /// Per cent of datagrams that each member loses in one more such cell; 0 is none.
    pub loss: f64,
    /// Rate that Fanfare is told, bit/s.
    pub rate: u64,
    /// How often each is measured.
    pub repetitions: u32,
    /// The program `fanfare`.
    pub fanfare: PathBuf,
    /// The peer program, and what it is called with first.
    pub peer: (PathBuf, Vec<String>),
}

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MessageRun {
    /// Whose.
    pub system: &'static str,
    /// To so many.
    pub receivers: usize,
    /// Messages published each second; 0: as fast as it goes.
    pub paced: u64,
    /// Per cent of datagrams lost at each member.
    pub loss: f64,
    /// Messages that came to the one that got fewest, and those published.
    pub delivered: u64,
    /// Those published.
    pub published: u64,
    /// Messages a second at the slowest, from the first that was published to the last that came.
    pub per_second: f64,
    /// From publication to delivery, in milliseconds: median, 99th percentile and longest, each of the
    /// worst subscriber; none where the clients stamp nothing.
    pub latency_ms: Option<[f64; 3]>,
    /// Why it was not whole, if it was not.
    pub why: String,
}

/// What a subscriber of the peer program tells in its last line.
#[derive(Debug, Default, Deserialize)]
struct Heard {
    received: u64,
    first_ns: u64,
    last_ns: u64,
    p50_ns: u64,
    p99_ns: u64,
    max_ns: u64,
}

/// One cell: to so many, so many a second, with so much loss.
#[derive(Debug, Clone, Copy)]
struct Cell {
    system: MessageSystem,
    paced: u64,
    loss: f64,
    messages: u64,
}

impl MessageBench {
    /// Measures, one run after another.
    ///
    /// # Errors
    /// What is missing or refused, or that the user stopped it.
    pub fn run(
        &self,
        stop: &Stop,
        tell: &mut dyn FnMut(&MessageRun),
    ) -> Result<Vec<MessageRun>, LabError> {
        privileges::check()?;
        crate::lab::clear_leftovers()?;
        let scratch = Scratch::make(&std::env::temp_dir())?;
        let mut runs = Vec::new();
        for &receivers in &self.receivers {
            let star = Star::up(receivers, 1500, false)?;
            for _ in 0..self.repetitions {
                for cell in self.cells() {
                    if stop.is_set() {
                        return Ok(runs);
                    }
                    let run = self.measure(cell, &star, scratch.path());
                    tell(&run);
                    runs.push(run);
                }
            }
        }
        Ok(runs)
    }

    /// Systems of which a program is missing are left out.
    #[must_use]
    pub fn missing(&self) -> Vec<(MessageSystem, &'static str)> {
        let missing = |system: &MessageSystem| {
            let name = system.needs().iter().find(|name| !is_installed(name))?;
            Some((*system, *name))
        };
        self.systems.iter().filter_map(missing).collect()
    }

    fn cells(&self) -> Vec<Cell> {
        let missing = self.missing();
        let here = |system: &&MessageSystem| missing.iter().all(|(other, _)| other != *system);
        let mut cells = Vec::new();
        for &system in self.systems.iter().filter(here) {
            cells.push(Cell { system, paced: 0, loss: 0.0, messages: self.messages });
            for &paced in self.rates.iter().filter(|_| system.is_stamped()) {
                cells.push(Cell { system, paced, loss: 0.0, messages: self.timed });
                if system == MessageSystem::Api && self.loss > 0.0 {
                    cells.push(Cell { system, paced, loss: self.loss, messages: self.timed });
                }
            }
        }
        cells
    }

    fn measure(&self, cell: Cell, star: &Star, directory: &Path) -> MessageRun {
        let result = match cell.system {
            MessageSystem::Api | MessageSystem::Nats => self.by_peers(cell, star, directory),
            MessageSystem::Lines | MessageSystem::Mosquitto => self.by_lines(cell, star, directory),
        };
        let Cell { system, paced, loss, messages: published } = cell;
        let mut run = MessageRun {
            system: system.name(),
            receivers: star.receivers().len(),
            paced,
            loss,
            delivered: 0,
            published,
            per_second: 0.0,
            latency_ms: None,
            why: String::new(),
        };
        match result {
            Ok(heard) => {
                let worst = |of: fn(&Heard) -> u64| heard.iter().map(of).max().unwrap_or(0);
                let first = heard.iter().map(|h| h.first_ns).min().unwrap_or(0);
                let took = worst(|h| h.last_ns).saturating_sub(first).max(1);
                run.delivered = heard.iter().map(|h| h.received).min().unwrap_or(0);
                run.per_second = run.delivered as f64 * 1e9 / took as f64;
                let ms = |ns: u64| ns as f64 / 1e6;
                run.latency_ms = system.is_stamped().then(|| {
                    [ms(worst(|h| h.p50_ns)), ms(worst(|h| h.p99_ns)), ms(worst(|h| h.max_ns))]
                });
                if run.delivered != published {
                    run.why = format!("{} of {published} came", run.delivered);
                }
            }
            Err(why) => run.why = why,
        }
        run
    }

    /// The server of a system that has one, on the publisher's host.
    fn server(
        &self,
        system: MessageSystem,
        star: &Star,
        directory: &Path,
    ) -> Result<Children, String> {
        let address = star.sender().address();
        let (name, settings) = match system {
            // Without the limit a subscriber that is behind for a moment is cut off.
            MessageSystem::Nats => {
                ("nats-server", format!("listen: \"{address}:{NATS_PORT}\"\nmax_pending: 1GB\n"))
            }
            // Without these it drops what a subscriber has not read.
            MessageSystem::Mosquitto => (
                "mosquitto",
                format!(
                    "listener {MQTT_PORT} {address}\nallow_anonymous true\nmax_queued_messages 0\n"
                ),
            ),
            MessageSystem::Api | MessageSystem::Lines => return Ok(Children::default()),
        };
        let file = directory.join(format!("{name}.conf"));
        std::fs::write(&file, settings).map_err(said)?;
        let mut command = star.sender().command(name);
        command.arg("-c").arg(&file);
        let mut children = Children::default();
        children.start(command, Stdio::null(), Stdio::null())?;
        thread::sleep(SERVER);
        Ok(children)
    }

    fn by_peers(&self, cell: Cell, star: &Star, directory: &Path) -> Result<Vec<Heard>, String> {
        let mut children = self.server(cell.system, star, directory)?;
        let mut outputs = Vec::new();
        for host in star.receivers() {
            let command = self.peer(cell, "sub", host, star);
            outputs.extend(children.start(command, Stdio::null(), Stdio::piped())?);
        }
        let readers: Vec<JoinHandle<Option<String>>> =
            outputs.into_iter().map(|output| thread::spawn(move || last_line(output))).collect();
        thread::sleep(SETTLE);
        children.start(
            self.peer(cell, "pub", star.sender(), star),
            Stdio::piped(),
            Stdio::null(),
        )?;
        let limit = LIMIT + Duration::from_secs(cell.messages / cell.paced.max(1_000));
        await_all(&readers, limit);
        drop(children);
        let lines = readers.into_iter().map(|reader| reader.join().ok().flatten());
        let heard: Vec<Heard> = lines
            .map(|line| line.and_then(|line| serde_json::from_str(&line).ok()))
            .collect::<Option<_>>()
            .ok_or("a subscriber did not end")?;
        Ok(heard)
    }

    fn peer(&self, cell: Cell, end: &str, host: &Host, star: &Star) -> Command {
        let (program, before) = &self.peer;
        let mut command = host.command(program);
        command.args(before).args([end, "--system", cell.system.name(), "--topic", TOPIC]);
        command.args(["--messages", &cell.messages.to_string(), "--size", &self.size.to_string()]);
        command.args(["--paced", &cell.paced.to_string(), "--loss", &cell.loss.to_string()]);
        let server = format!("nats://{}:{NATS_PORT}", star.sender().address());
        command.args(["--interface", INTERFACE, "--group", GROUP, "--server", &server]);
        command.args(["--rate", &self.rate.to_string()]);
        command
    }

    /// By commands that take lines and print lines: they are counted here.
    fn by_lines(&self, cell: Cell, star: &Star, directory: &Path) -> Result<Vec<Heard>, String> {
        let input = directory.join("lines");
        self.write_lines(&input, cell.messages).map_err(said)?;
        let mut children = self.server(cell.system, star, directory)?;
        let (publisher, subscribers) = self.line_commands(cell, star);
        let mut outputs = Vec::new();
        for command in subscribers {
            outputs.extend(children.start(command, Stdio::null(), Stdio::piped())?);
        }
        let messages = cell.messages;
        let readers: Vec<JoinHandle<Heard>> = outputs
            .into_iter()
            .map(|output| thread::spawn(move || count_lines(output, messages)))
            .collect();
        thread::sleep(SETTLE);
        let from = File::open(&input).map_err(said)?;
        children.start(publisher, Stdio::from(from), Stdio::null())?;
        await_all(&readers, LIMIT);
        drop(children);
        readers
            .into_iter()
            .map(|reader| reader.join().map_err(|_| "a reader failed".to_owned()))
            .collect()
    }

    fn line_commands(&self, cell: Cell, star: &Star) -> (Command, Vec<Command>) {
        let (messages, rate) = (cell.messages.to_string(), self.rate.to_string());
        let server = star.sender().address().to_string();
        let ours = |host: &Host, verb: &str| {
            let mut command = host.command(&self.fanfare);
            command.args([verb, TOPIC, "--interface", INTERFACE, "--group", GROUP]);
            command.args(["--rate", &rate, "--quiet"]);
            command
        };
        let mqtt = |host: &Host, program: &str| {
            let mut command = host.command(program);
            command.args(["-h", &server, "-p", &MQTT_PORT.to_string(), "-t", TOPIC]);
            command
        };
        let subscriber = |host: &Host| match cell.system {
            MessageSystem::Mosquitto => {
                let mut command = mqtt(host, "mosquitto_sub");
                command.args(["-C", &messages]);
                command
            }
            _ => {
                let mut command = ours(host, "sub");
                command.args(["--count", &messages]);
                command
            }
        };
        let subscribers = star.receivers().iter().map(subscriber).collect();
        let publisher = match cell.system {
            MessageSystem::Mosquitto => {
                let mut command = mqtt(star.sender(), "mosquitto_pub");
                command.arg("-l");
                command
            }
            _ => {
                let mut command = ours(star.sender(), "pub");
                command.args(["-", "--lines"]);
                command
            }
        };
        (publisher, subscribers)
    }

    /// Each as long as the messages, and another.
    fn write_lines(&self, path: &Path, messages: u64) -> std::io::Result<()> {
        let mut file = std::io::BufWriter::new(File::create(path)?);
        for number in 0..messages {
            writeln!(file, "{number:0width$}", width = self.size)?;
        }
        file.flush()
    }
}

/// Programs that are ended when dropped.
#[derive(Debug, Default)]
struct Children(Vec<Child>);

impl Children {
    fn start(
        &mut self,
        mut command: Command,
        input: Stdio,
        output: Stdio,
    ) -> Result<Option<ChildStdout>, String> {
        let child = command.stdin(input).stdout(output).stderr(Stdio::null()).spawn();
        let mut child = child.map_err(said)?;
        let output = child.stdout.take();
        self.0.push(child);
        Ok(output)
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn await_all<T>(readers: &[JoinHandle<T>], limit: Duration) {
    let begun = Instant::now();
    while !readers.iter().all(JoinHandle::is_finished) && begun.elapsed() < limit {
        thread::sleep(Duration::from_millis(20));
    }
}

fn said(error: std::io::Error) -> String {
    error.to_string()
}

fn last_line(output: ChildStdout) -> Option<String> {
    BufReader::new(output).lines().map_while(Result::ok).last()
}

/// Lines until there are so many, with the times of the first and the last.
fn count_lines(mut output: ChildStdout, wanted: u64) -> Heard {
    let mut heard = Heard::default();
    let mut buffer = vec![0; 64 << 10];
    while heard.received < wanted
        && let Ok(count @ 1..) = output.read(&mut buffer)
    {
        heard.received += buffer[..count].iter().filter(|byte| **byte == b'\n').count() as u64;
        heard.last_ns = now_ns();
        if heard.first_ns == 0 {
            heard.first_ns = heard.last_ns;
        }
    }
    heard
}

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Whether the search path has it.
fn is_installed(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(name).is_file())
}

//! One run of a case.

use std::{
    fs::File,
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{ChildStdin, ChildStdout, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde::Serialize;

use super::case::GroupCase;
use crate::{
    bench::{
        rate::short,
        roads::{
            fairness::jain,
            network::{bucket_dropped, queue, sent_bytes},
        },
        star::Star,
    },
    error::{LabError, Refusal},
    host::{Host, INTERFACE},
    process::{Ending, Process},
    stop::Stop,
    wait,
};
use rustix::fd::AsFd as _;

/// Address at which the members meet.
const GROUP: &str = "239.255.77.7:6087";
/// Beginning of the topics; behind it is the publisher's number.
const TOPIC: &str = "roads/";
/// Subscribers listen, and members know of each other, when the first message goes.
const SETTLE: Duration = Duration::from_millis(1500);
/// A publisher has so many times what its messages take on the line.
const PATIENCE: f64 = 4.0;
/// Time beside that, for its start and for acknowledgements, which it waits for up to 10 s.
const BESIDE: Duration = Duration::from_secs(30);
/// Subscribers print what they have so long after the publisher's end.
const LATE: Duration = Duration::from_millis(500);
/// Publishers that share a port have found their rates after the first of these, and are counted in the
/// second.
const PHASE: Duration = Duration::from_secs(12);

/// One run, as it was.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupRun {
    /// Case: what was published, and over what.
    pub case: GroupCase,
    /// The rate that publishers were told, bit/s; `None`: none.
    pub told: Option<u64>,
    /// Time from the publisher's start to its end; `None` when it was stopped after its time, or was to go on.
    pub seconds: Option<f64>,
    /// The publisher's exit code; `None` when it was stopped.
    pub exit: Option<i32>,
    /// Messages that came to the subscriber that got fewest.
    pub came: u64,
    /// Messages that were to be published; zero where there is no end of them.
    pub published: u64,
    /// Messages a second at that subscriber: over the publisher's time, or in the second phase.
    pub per_second: f64,
    /// Bytes on the publisher's cable over bytes of messages; `None` of several publishers.
    pub sent_per_message: Option<f64>,
    /// Packets that the bucket dropped.
    pub dropped: u64,
    /// Bits of messages of each publisher that came in a second, where several share a port.
    pub each_bps: Vec<f64>,
    /// Jain's index of these: 1 is fair, one over their number is one that has all.
    pub jain: Option<f64>,
}

/// Setting of a run.
#[derive(Debug)]
pub(super) struct GroupTrial<'a> {
    pub(super) case: GroupCase,
    pub(super) told: Option<u64>,
    pub(super) fanfare: &'a Path,
    pub(super) scratch: &'a Path,
    pub(super) stop: &'a Stop,
}

/// Messages that a subscriber has printed, of each publisher.
#[derive(Debug)]
struct HeardCounts(Arc<[AtomicU64]>);

impl GroupTrial<'_> {
    pub(super) fn run(&self) -> Result<GroupRun, LabError> {
        match self.case {
            GroupCase::Alone { subscribers, .. } => self.alone(subscribers),
            GroupCase::Shared { rate_bps, publishers } => self.shared(rate_bps, publishers),
        }
    }

    fn alone(&self, subscribers: usize) -> Result<GroupRun, LabError> {
        let case = self.case;
        let star = Star::up(subscribers, MTU, false)?;
        if let Some(rate) = case.rate_bps() {
            star.limit_sender(rate, case.burst(), queue(rate, case.burst()))?;
        }
        let input = self.scratch.join("lines");
        write_lines(&input, case).map_err(failed)?;
        let mut running = Vec::new();
        let heard = star
            .receivers()
            .iter()
            .map(|host| self.subscribe(host, 1, &mut running))
            .collect::<Result<Vec<HeardCounts>, LabError>>()?;
        self.wait(SETTLE)?;
        let before = sent_bytes(star.sender())?;
        let from = File::open(&input).map_err(failed)?;
        let begun = Instant::now();
        let command = self.publisher(star.sender(), 0);
        let process = Process::start_from(command, from, Stdio::null(), Stdio::null());
        let mut publisher = process.map_err(failed)?;
        let limit = Duration::from_secs_f64(case.on_the_wire() * PATIENCE) + BESIDE;
        let exit = self.end_of(&mut publisher, limit)?;
        let took = begun.elapsed().as_secs_f64();
        self.wait(LATE)?;
        let came = heard.iter().map(|heard| heard.counts()[0]).min().unwrap_or(0);
        let sent = sent_bytes(star.sender())? - before;
        let bytes = case.messages() * case.size();
        let namespace = star.sender().namespace();
        let dropped = case.rate_bps().map(|_| bucket_dropped(namespace, INTERFACE)).transpose()?;
        Ok(GroupRun {
            case,
            told: self.told,
            seconds: exit.map(|_| took),
            exit,
            came,
            published: case.messages(),
            per_second: came as f64 / took,
            sent_per_message: Some(sent as f64 / bytes as f64),
            dropped: dropped.unwrap_or(0),
            each_bps: Vec::new(),
            jain: None,
        })
    }

    fn shared(&self, rate: u64, publishers: usize) -> Result<GroupRun, LabError> {
        let case = self.case;
        // The bridge's first port is the subscriber's.
        let star = Star::up(publishers, MTU, false)?;
        star.limit_receiver(0, rate, case.burst(), queue(rate, case.burst()))?;
        let mut running = Vec::new();
        let heard = self.subscribe(star.sender(), publishers, &mut running)?;
        self.wait(SETTLE)?;
        for (number, host) in star.receivers().iter().enumerate() {
            let command = self.publisher(host, number);
            let process = Process::start_with_input(command, Stdio::null(), Stdio::null());
            let mut process = process.map_err(failed)?;
            if let Some(input) = process.input() {
                thread::spawn(move || write_for_ever(input, case.size()));
            }
            running.push(process);
        }
        self.wait(PHASE)?;
        let (before, begun) = (heard.counts(), Instant::now());
        self.wait(PHASE)?;
        let (after, took) = (heard.counts(), begun.elapsed().as_secs_f64());
        let each = after.iter().zip(&before).map(|(after, before)| after - before);
        let came: u64 = each.clone().sum();
        let each: Vec<f64> = each.map(|count| (count * case.size() * 8) as f64 / took).collect();
        Ok(GroupRun {
            case,
            told: self.told,
            seconds: None,
            exit: None,
            came,
            published: 0,
            per_second: came as f64 / took,
            sent_per_message: None,
            dropped: bucket_dropped(star.hub(), "port0")?,
            jain: Some(jain(&each)),
            each_bps: each,
        })
    }

    fn publisher(&self, host: &Host, number: usize) -> Command {
        let mut command = host.command(self.fanfare);
        command.args(["pub", &format!("{TOPIC}{number}"), "-", "--lines", "--quiet"]);
        command.args(["--interface", INTERFACE, "--group", GROUP]);
        if let Some(rate) = self.told {
            command.args(["--rate", &rate.to_string()]);
        }
        command
    }

    /// Starts one that prints what it hears, and counts that for each of so many publishers.
    fn subscribe(
        &self,
        host: &Host,
        publishers: usize,
        running: &mut Vec<Process>,
    ) -> Result<HeardCounts, LabError> {
        let mut command = host.command(self.fanfare);
        command.args(["sub", &format!("{TOPIC}#"), "--quiet"]);
        command.args(["--interface", INTERFACE, "--group", GROUP]);
        let mut process = Process::start(command, Stdio::piped(), Stdio::null()).map_err(failed)?;
        let counts: Arc<[AtomicU64]> = (0..publishers).map(|_| AtomicU64::new(0)).collect();
        if let (Some(output), _) = process.outputs() {
            let counts = Arc::clone(&counts);
            thread::spawn(move || count_lines(output, &counts));
        }
        running.push(process);
        Ok(HeardCounts(counts))
    }

    /// The exit code of a program that ends in time.
    fn end_of(&self, process: &mut Process, limit: Duration) -> Result<Option<i32>, LabError> {
        let begun = Instant::now();
        loop {
            if let Some(ending) = process.try_end().map_err(failed)? {
                return Ok(Some(match ending {
                    Ending::Code(code) => code,
                    Ending::Signal(number) => 128 + number,
                }));
            }
            let left = limit.saturating_sub(begun.elapsed());
            if left.is_zero() {
                return Ok(None);
            }
            let waited: Vec<_> = process.end().into_iter().chain([self.stop.as_fd()]).collect();
            wait::for_any(&waited, left);
            self.wait(Duration::ZERO)?;
        }
    }

    fn wait(&self, longest: Duration) -> Result<(), LabError> {
        let text = "bench (interrupted): not all was measured. Run it again";
        match self.stop.wait(longest) {
            true => Err(LabError::new(Refusal::System, "lab.interrupted", text)),
            false => Ok(()),
        }
    }
}

impl HeardCounts {
    fn counts(&self) -> Vec<u64> {
        self.0.iter().map(|count| count.load(Ordering::Relaxed)).collect()
    }
}

/// The largest IP packet of these networks.
const MTU: usize = 1500;

fn failed(error: std::io::Error) -> LabError {
    LabError::system("bench (its programs)", &error)
}

/// Each as long as the case says, and another.
fn write_lines(path: &Path, case: GroupCase) -> std::io::Result<()> {
    let mut file = std::io::BufWriter::new(File::create(path)?);
    for number in 0..case.messages() {
        writeln!(file, "{}", line(number, case.size()))?;
    }
    file.flush()
}

/// A number, and what makes the message, with its end of line, so long. It does not compress to nothing by
/// chance: nothing here compresses.
fn line(number: u64, size: u64) -> String {
    let mut line = format!("{number:012}");
    line.extend(std::iter::repeat_n('x', (size as usize - 1).saturating_sub(line.len())));
    line
}

/// It ends when its reader does.
fn write_for_ever(input: ChildStdin, size: u64) {
    let mut input = std::io::BufWriter::new(input);
    let mut number = 0;
    while writeln!(input, "{}", line(number, size)).is_ok() {
        number += 1;
    }
}

/// Reads until its writer has ended.
fn count_lines(output: ChildStdout, counts: &[AtomicU64]) {
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    while output.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
        if let Some(count) = publisher_of(&line).and_then(|number| counts.get(number)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        line.clear();
    }
}

/// The number at the end of a printed message's topic.
fn publisher_of(line: &[u8]) -> Option<usize> {
    let topic = line.split(|byte| *byte == b' ').next()?;
    std::str::from_utf8(topic.strip_prefix(TOPIC.as_bytes())?).ok()?.parse().ok()
}

impl GroupRun {
    /// Name of the publisher in tables.
    #[must_use]
    pub fn who(&self) -> String {
        self.told.map_or_else(|| "default".to_owned(), |rate| format!("told {}", short(rate)))
    }

    /// True if everything came, and the publisher ended with 0. Where several share a port: true if something of
    /// each came.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        match self.case {
            GroupCase::Alone { .. } => self.exit == Some(0) && self.came == self.published,
            GroupCase::Shared { .. } => self.each_bps.iter().all(|bps| *bps > 0.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_message_counts_for_its_publisher() {
        assert_eq!(publisher_of(b"roads/7 000000000012xxx\n"), Some(7));
        assert_eq!(publisher_of(b"other/7 x\n"), None);
        assert_eq!(line(3, 20), "000000000003xxxxxxx");
    }
}

//! Streams between our program and NRL's NORM: what goes into one comes out of the other.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::cell::Party;
use crate::impair::{self, Loss};
use crate::lab::{Family, Host, Lab};
use crate::payload::Payload;
use crate::report::Head;
use crate::run::Peers;
use crate::scratch::Scratch;
use crate::tool::{self, ToolError};

const GROUP: &str = "239.255.42.3";
const PORT: u16 = 6005;
/// No cell takes longer on a machine that does something else, too.
const LIMIT: Duration = Duration::from_secs(90);
/// Receivers are there when the sender begins.
const SETTLE: Duration = Duration::from_millis(700);

/// A stream under some conditions.
#[derive(Clone, Debug)]
pub struct Stream {
    /// What is special about it.
    pub name: &'static str,
    /// Who sends; the other one receives.
    pub sender: Party,
    bytes: u64,
    inbound_permille: u32,
    receivers: usize,
    /// Options of NRL's sender, and of ours.
    nrl: &'static [&'static str],
    ours: &'static [&'static str],
    /// Whether it is in the short list.
    pub quick: bool,
}

impl Stream {
    /// As it is called on the command line and in the table.
    pub fn name(&self) -> String {
        let direction = match self.sender {
            Party::Ours => "fanfare→norm",
            Party::Nrl => "norm→fanfare",
        };
        format!("{} {direction}", self.name)
    }
}

/// What a stream came to: seconds, or what was wrong.
pub type Outcome = Result<f64, String>;

/// Every stream, in the order of the table.
pub fn all() -> Vec<Stream> {
    let base = Stream {
        name: "whole",
        sender: Party::Ours,
        bytes: 4_000_000,
        inbound_permille: 0,
        receivers: 1,
        nrl: &[],
        ours: &[],
        quick: true,
    };
    let conditions = [
        base.clone(),
        Stream { name: "loss-5", inbound_permille: 50, ..base.clone() },
        Stream {
            name: "loss-5-three",
            inbound_permille: 50,
            receivers: 3,
            quick: false,
            ..base.clone()
        },
        Stream {
            name: "loss-20",
            bytes: 1_000_000,
            inbound_permille: 200,
            quick: false,
            ..base.clone()
        },
        Stream { name: "empty", bytes: 0, quick: false, ..base.clone() },
        Stream { name: "one-byte", bytes: 1, quick: false, ..base.clone() },
        Stream {
            name: "lines",
            bytes: 200_000,
            inbound_permille: 50,
            nrl: &["--message", "40", "--flush", "passive"],
            ours: &["--flush", "line"],
            ..base.clone()
        },
        Stream {
            name: "active-flush",
            bytes: 300_000,
            inbound_permille: 50,
            nrl: &["--message", "1400", "--flush", "active"],
            ours: &["--flush", "1ms"],
            quick: false,
            ..base.clone()
        },
        Stream {
            name: "parity",
            inbound_permille: 50,
            nrl: &["--auto-parity", "8"],
            quick: false,
            ..base.clone()
        },
        Stream {
            name: "congestion-control",
            inbound_permille: 0,
            nrl: &["--cc"],
            ours: &["--cc", "norm"],
            quick: false,
            ..base
        },
    ];
    let both = |stream: Stream| {
        [Party::Ours, Party::Nrl].map(|sender| Stream { sender, ..stream.clone() })
    };
    conditions.into_iter().flat_map(both).collect()
}

/// Runs one. What the programs do wrong is an [`Outcome`]; an error means that the run itself broke.
///
/// # Errors
/// Missing tools, no root, a full disk, Ctrl-C.
pub fn run(stream: &Stream, peers: &Peers) -> Result<Outcome, ToolError> {
    let scratch = Scratch::new()?;
    let input = Payload::make(scratch.path(), "input", stream.bytes)?;
    let lab = Lab::new(stream.receivers + 1, Family::V4)?;
    let Some((sender_host, hosts)) = lab.hosts().split_first() else {
        return Ok(Err("the laboratory has no hosts".into()));
    };
    impair::apply(sender_host, Loss::default())?;
    let loss = Loss { inbound_permille: stream.inbound_permille, ..Loss::default() };
    let mut receivers = Vec::new();
    for (index, host) in hosts.iter().enumerate() {
        impair::apply(host, loss)?;
        let output = scratch.path().join(format!("output-{index}"));
        receivers.push((start_receiver(stream, peers, host, (index, &output))?, output));
    }
    std::thread::sleep(SETTLE);
    let began = Instant::now();
    let mut sender = start_sender(stream, peers, sender_host, &input.path)?;
    let sent = wait(&mut sender, began)?;
    let mut outcome = match sent {
        Some(0) => Ok(()),
        other => Err(format!("sender exit {other:?}")),
    };
    for (receiver, output) in &mut receivers {
        let code = wait(receiver, began)?;
        if outcome.is_ok() {
            outcome = judge(code, &input.path, output);
        }
    }
    Ok(outcome.map(|()| began.elapsed().as_secs_f64()))
}

fn start_receiver(
    stream: &Stream,
    peers: &Peers,
    host: &Host,
    (index, output): (usize, &Path),
) -> Result<Child, ToolError> {
    let mut command = match stream.sender {
        Party::Ours => peers.nrl.stream(host, "recv", GROUP, PORT),
        Party::Nrl => pipe(peers, host, "recv")?,
    };
    command.args(["--node-id", &(index + 2).to_string()]);
    let into = File::create(output).map_err(tool::at(output.display()))?;
    command.stdin(Stdio::null()).stdout(into).stderr(errors(output)?);
    command.spawn().map_err(tool::at("receiver"))
}

fn start_sender(
    stream: &Stream,
    peers: &Peers,
    host: &Host,
    input: &Path,
) -> Result<Child, ToolError> {
    let mut command = match stream.sender {
        Party::Nrl => {
            let mut command = peers.nrl.stream(host, "send", GROUP, PORT);
            command.args(["--rate", "20e6"]).args(stream.nrl);
            command
        }
        Party::Ours => {
            let mut command = pipe(peers, host, "send")?;
            command.args(["--rate", "20M", "--segment", "1400"]).args(stream.ours);
            command
        }
    };
    command.args(["--node-id", "1"]);
    let from = File::open(input).map_err(tool::at(input.display()))?;
    command.stdin(from).stdout(Stdio::null()).stderr(errors(input)?);
    command.spawn().map_err(tool::at("sender"))
}

fn pipe(peers: &Peers, host: &Host, end: &str) -> Result<Command, ToolError> {
    let missing = || ToolError::Missing { program: "fanfare (set FANFARE_BIN)".into() };
    let fanfare = peers.fanfare.as_ref().ok_or_else(missing)?;
    let mut command = host.command(fanfare.program());
    command.args(["pipe", end, "--interface", "eth0", "--quiet"]);
    command.args(["--group", &format!("{GROUP}:{PORT}")]);
    Ok(command)
}

fn errors(beside: &Path) -> Result<File, ToolError> {
    let path = beside.with_extension("err");
    File::create(&path).map_err(tool::at(path.display()))
}

fn wait(child: &mut Child, began: Instant) -> Result<Option<i32>, ToolError> {
    loop {
        if let Some(status) = child.try_wait().map_err(tool::at("a program"))? {
            return Ok(status.code());
        }
        if began.elapsed() > LIMIT || tool::interrupted() {
            child.kill().and_then(|()| child.wait()).map_err(tool::at("a program"))?;
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// What came out is what went in, and nobody was told of a break.
fn judge(code: Option<i32>, input: &Path, output: &Path) -> Result<(), String> {
    let said = fs::read_to_string(output.with_extension("err")).unwrap_or_default();
    if code != Some(0) {
        return Err(format!("receiver exit {code:?}: {}", said.trim().replace('\n', "; ")));
    }
    let (sent, came) = (fs::read(input), fs::read(output));
    match (sent, came) {
        (Ok(sent), Ok(came)) if sent == came => {}
        (Ok(sent), Ok(came)) => {
            let same = sent.iter().zip(&came).take_while(|(a, b)| a == b).count();
            let (sent, came) = (sent.len(), came.len());
            return Err(format!("{came} bytes of {sent} came; the first {same} are right"));
        }
        _ => return Err("a file is gone".into()),
    }
    match said.contains("breaks") && !said.contains("breaks 0") {
        true => Err(said.trim().replace('\n', "; ")),
        false => Ok(()),
    }
}

/// The table.
///
/// # Errors
/// Never: text is written to memory.
pub fn page(head: &Head, rows: &[(Stream, Outcome)]) -> String {
    let mut page = format!(
        "# Streams between Fanfare and NRL's NORM\n\n\
         Written by `{}` on {}, against libnorm {}. Each receiver loses what the name says, in percent, of\n\
         what it receives. A stream passes when every byte comes out in order, and libnorm tells of no\n\
         break.\n\n| stream | result |\n|---|---|\n",
        head.command, head.date, head.nrl_version
    );
    for (stream, outcome) in rows {
        let told = match outcome {
            Ok(seconds) => format!("passed in {seconds:.1} s"),
            Err(why) => format!("FAILED: {why}"),
        };
        let _ = writeln!(page, "| {} | {told} |", stream.name());
    }
    page
}

/// Where the page goes.
pub fn place() -> PathBuf {
    PathBuf::from("results/streams/interop.md")
}

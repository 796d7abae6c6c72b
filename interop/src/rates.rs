//! How fast streams and ZeroMQ are on our libnorm.so.1 and on NRL's, in one run.

use std::fmt::Write as _;
use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::Duration;

use crate::lab::{Family, Lab};
use crate::report::Head;
use crate::scratch::Scratch;
use crate::tool::{self, ToolError};
use crate::zeromq::{self, Library, Peer, Skipped};

const SOURCE: &str = include_str!("../peer/norm_rate.cpp");
/// The receiver is there when the sender begins.
const SETTLE: Duration = Duration::from_millis(500);

/// A stream of messages.
#[derive(Clone, Copy, Debug)]
pub struct Stream {
    /// What is measured.
    pub name: &'static str,
    bytes: u32,
    flush: u32,
    control: bool,
    rate: &'static str,
    block: u32,
    parity: u32,
    buffer: u32,
}

const LONG: Stream = Stream {
    name: "stream, 1400-byte messages, marked only, 64 + 8",
    bytes: 1400,
    flush: 0,
    control: false,
    rate: "10e9",
    block: 64,
    parity: 8,
    buffer: 8 << 20,
};
const SHORT: Stream = Stream {
    name: "stream, 100-byte messages, marked only, 16 + 4",
    bytes: 100,
    rate: "2e9",
    block: 16,
    parity: 4,
    buffer: 2 << 20,
    ..LONG
};

/// All that is measured of streams.
pub const ALL: [Stream; 5] = [
    LONG,
    Stream { name: "stream, 1400-byte messages, marked only, 64 + 0", parity: 0, ..LONG },
    SHORT,
    Stream { name: "stream, 100-byte messages, active flush each", flush: 2, ..SHORT },
    Stream {
        name: "stream, 100-byte messages, active flush each, congestion control",
        flush: 2,
        control: true,
        ..SHORT
    },
];

/// What is needed.
#[derive(Debug)]
pub struct Programs {
    scratch: Scratch,
    program: PathBuf,
    ours: PathBuf,
    /// ZeroMQ, where it is there.
    pub zeromq: Result<Peer, Skipped>,
}

impl Programs {
    /// Compiles the peers, where our library is there.
    ///
    /// # Errors
    /// When compiling fails.
    pub fn build() -> Result<Result<Self, Skipped>, ToolError> {
        let scratch = Scratch::new()?;
        let zeromq = Peer::build(&scratch)?;
        let ours = match &zeromq {
            Ok(peer) => Some(peer.ours().to_owned()),
            Err(_) => zeromq::private_folder(&scratch)?,
        };
        let Some(ours) = ours else {
            return Ok(Err(Skipped("no libnorm.so of ours: build fanfare-norm".into())));
        };
        let program = scratch.path().join("norm_rate");
        let out = program.display().to_string();
        let words = ["-x", "c++", "-O2", "-Wall", "-o", &out, "-", "-lnorm"];
        tool::output_with_input("c++", &words, SOURCE)?;
        Ok(Ok(Self { scratch, program, ours, zeromq }))
    }

    fn once(&self, stream: &Stream, library: Library) -> Result<Told, ToolError> {
        let lab = Lab::new(2, Family::V4)?;
        let [sender, receiver] = lab.hosts() else { return Ok(Told::default()) };
        let place = self.scratch.path().join("rate.out");
        let start = |host: &crate::lab::Host, verb: &str, out: Stdio| -> Result<Child, ToolError> {
            let mut command = host.command(&self.program);
            if library == Library::Ours {
                command.env("LD_LIBRARY_PATH", &self.ours);
            }
            let Stream { bytes, flush, block, parity, buffer, .. } = *stream;
            let control = u32::from(stream.control);
            command.args([verb, &bytes.to_string(), &flush.to_string(), &control.to_string()]);
            command.args([stream.rate, "2", &block.to_string(), &parity.to_string()]);
            command.arg(buffer.to_string());
            command.stdin(Stdio::null()).stdout(out).spawn().map_err(tool::at("norm_rate"))
        };
        let out = File::create(&place).map_err(tool::at(place.display()))?;
        let mut receives = start(receiver, "recv", out.into())?;
        std::thread::sleep(SETTLE);
        let mut sends = start(sender, "send", Stdio::null())?;
        for child in [&mut sends, &mut receives] {
            child.wait().map_err(tool::at("norm_rate"))?;
        }
        let said = std::fs::read_to_string(&place).unwrap_or_default();
        let numbers: Vec<f64> =
            said.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [bytes, breaks, seconds] = numbers[..] else { return Ok(Told::default()) };
        Ok(Told { rate: bytes / seconds.max(1e-9), breaks })
    }
}

/// What a receiver tells: bytes a second, and breaks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Told {
    rate: f64,
    breaks: f64,
}

/// The median of some runs.
///
/// # Errors
/// No root, a full disk, Ctrl-C.
pub fn measure(
    programs: &Programs,
    (stream, runs): (&Stream, usize),
    library: Library,
) -> Result<Told, ToolError> {
    let mut told = Vec::new();
    for _ in 0..runs.max(1) {
        told.push(programs.once(stream, library)?);
    }
    told.sort_by(|a, b| a.rate.total_cmp(&b.rate));
    Ok(told[told.len() / 2])
}

/// As it stands in the table.
pub fn cell(stream: &Stream, told: Told) -> String {
    let breaks =
        if told.breaks > 0.0 { format!(", {} breaks", told.breaks) } else { String::new() };
    match stream.bytes >= 1000 {
        true => format!("{:.0} Mbit/s{breaks}", told.rate * 8e-6),
        false => format!("{:.0} messages/s{breaks}", told.rate / f64::from(stream.bytes)),
    }
}

/// The table: what, ours, NRL's.
pub fn page(head: &Head, runs: usize, rows: &[[String; 3]]) -> String {
    let mut page = format!(
        "# libnorm.so.1 beside NRL's\n\n\
         Written by `{}` on {},\n\
         against libnorm {}. Sender and receiver are hosts of their own, as network namespaces of one\n\
         machine, without loss. Medians, where runs are more than one ({runs}), of 2 s; ZeroMQ's are\n\
         single runs. Messages that are missing are told (\"gaps\").\n\n\
         | what | Fanfare | NRL |\n|---|---|---|\n",
        head.command, head.date, head.nrl_version
    );
    for [what, ours, nrl] in rows {
        let _ = writeln!(page, "| {what} | {ours} | {nrl} |");
    }
    page
}

/// Where the page goes.
pub fn place() -> PathBuf {
    PathBuf::from("results/norm/libnorm.md")
}

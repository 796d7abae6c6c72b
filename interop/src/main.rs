//! The command `interop`: runs the experiments of this crate.
//!
//! Exit codes: 0 all passed, 1 a cell failed or a tool is missing, 2 usage, 130 interrupted.

#![allow(clippy::print_stderr, clippy::print_stdout)]

mod verbs;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use fanfare_interop::cell::{Cell, Conditions, Direction, NRL_TO_NRL, OURS_TO_OURS};
use fanfare_interop::congestion;
use fanfare_interop::efficiency::{self, Plan};
use fanfare_interop::fanfare::Fanfare;
use fanfare_interop::matrix::{self, Status};
use fanfare_interop::nrl::Nrl;
use fanfare_interop::report::{self, Head};
use fanfare_interop::run::{self, Options, Peers};
use fanfare_interop::streams::{self, Stream};
use fanfare_interop::tool::{self, ToolError};
use fanfare_interop::{calls, cells, decode, power, scratch, tcp};
use verbs::{files, libnorm};

/// Runs our program against NRL's NORM in network namespaces. Needs root.
#[derive(Parser)]
#[command(name = "interop")]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Run the table of cells; a full run writes results/norm/interop.md.
    Matrix(MatrixArguments),
    /// Count bytes on the wire under loss; writes results/efficiency.md.
    Efficiency(EfficiencyArguments),
    /// Fill a narrow line with NORM-CC, ours and NRL's; writes results/norm/norm-cc.md.
    Congestion(CongestionArguments),
    /// Pipe streams to and from NRL's NORM; a full run writes results/streams/interop.md.
    Streams(StreamsArguments),
    /// Run ZeroMQ over NORM on our libnorm.so.1 and on NRL's; a full run writes results/norm/zeromq.md.
    Zeromq {
        #[command(flatten)]
        arguments: StreamsArguments,
        /// Run each process on our library under valgrind; an error or a leak fails the cell.
        #[arg(long)]
        valgrind: bool,
    },
    /// Measure streams and ZeroMQ on our libnorm.so.1 and on NRL's; writes results/norm/libnorm.md.
    Rates {
        /// Runs of each stream; a median is told.
        #[arg(long, default_value_t = 3)]
        runs: usize,
    },
    /// Make random calls on our libnorm.so.1 and on NRL's; from 2,000 seeds on it writes
    /// results/norm/calls.md.
    Calls {
        /// The first seed.
        #[arg(long, default_value_t = 1)]
        first: u64,
        /// Number of seeds.
        #[arg(long, default_value_t = 60)]
        seeds: u64,
        /// Seeds at a time.
        #[arg(long, default_value_t = 8)]
        jobs: u16,
    },
    /// Run NRL's example programs on our libnorm.so.1.
    Examples,
    /// Run NRL's proxy norp on our libnorm.so.1 and on NRL's; writes results/norm/norp.md.
    Norp,
    /// Run bindings of NRL's library on our libnorm.so.1: pynorm, Java, pyzmq.
    Bindings,
    /// Capture a lossy run and let tshark decode every packet.
    Decode(DecodeArguments),
    /// Fail the power of a receiver at many moments of a transfer: its disk must be safe to come
    /// back to.
    Power(PowerArguments),
    /// Compare the simulator's TCP with this kernel's; a full run writes results/tcp-model.md.
    Tcp(TcpArguments),
    /// Send real directories twice to three receivers and let rsync compare; a full run writes
    /// results/trees.md.
    Trees(files::TreesArguments),
    /// Send a disk to many, and again after kills; a full run writes results/devices.md.
    Devices(files::DevicesArguments),
    /// Remove namespaces and scratch files that a killed run has left behind.
    Cleanup,
}

#[derive(Args)]
struct MatrixArguments {
    /// Only the short list.
    #[arg(long)]
    quick: bool,
    /// Only cells whose name contains this; a name is "condition sender→receiver".
    #[arg(long)]
    filter: Option<String>,
    /// Cells at a time.
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Print the names and run nothing.
    #[arg(long)]
    list: bool,
    /// Where the page goes [default: results/norm/interop.md for a full run, else nowhere].
    #[arg(long)]
    out: Option<PathBuf>,
    /// Keep the programs' output below this directory.
    #[arg(long)]
    keep: Option<PathBuf>,
}

#[derive(Args)]
struct StreamsArguments {
    /// Only the short list.
    #[arg(long)]
    quick: bool,
    /// Only those whose name contains this.
    #[arg(long, default_value = "")]
    filter: String,
}

#[derive(Args)]
struct EfficiencyArguments {
    /// Size of the file in bytes.
    #[arg(long, default_value_t = 100_000_000)]
    size: u64,
    /// Sending rate in Mbit/s.
    #[arg(long, default_value_t = 50)]
    rate: u64,
    /// Source symbols of our blocks.
    #[arg(long, default_value_t = 128)]
    data: u16,
    /// Parity symbols of our blocks.
    #[arg(long, default_value_t = 127)]
    parity: u16,
    /// Source symbols of NRL's blocks.
    #[arg(long, default_value_t = 64)]
    nrl_data: u16,
    /// Parity symbols of NRL's blocks.
    #[arg(long, default_value_t = 64)]
    nrl_parity: u16,
    /// Inbound loss of each receiver in percent.
    #[arg(long, default_value_t = 30)]
    loss: u32,
    /// Seconds that one run may take.
    #[arg(long, default_value_t = 120)]
    limit: u64,
    /// Where the page goes; "-" for nowhere.
    #[arg(long, default_value = "results/efficiency.md")]
    out: PathBuf,
}

#[derive(Args, Clone)]
struct CongestionArguments {
    /// Size of the file in bytes.
    #[arg(long, default_value_t = 4_000_000)]
    size: u64,
    /// The line's rate in kbit/s.
    #[arg(long, default_value_t = 1_000)]
    rate: u64,
    /// Runs of each direction.
    #[arg(long, default_value_t = 3)]
    runs: u32,
    /// Where the page goes; "-" for nowhere.
    #[arg(long, default_value = "results/norm/norm-cc.md")]
    out: PathBuf,
    /// Only cells whose name contains this; a name is "condition sender→receiver"
    #[arg(long, default_value = "")]
    filter: String,
}

#[derive(Args)]
struct DecodeArguments {
    /// Decode NRL's own traffic in place of ours: a check of the check.
    #[arg(long)]
    nrl: bool,
    /// Keep the capture here.
    #[arg(long)]
    capture: Option<PathBuf>,
}

#[derive(Args)]
struct PowerArguments {
    /// Power failures, spread over the transfer.
    #[arg(long, default_value_t = 50)]
    rounds: u32,
    /// Size of the file in bytes.
    #[arg(long, default_value_t = 64 << 20)]
    size: u64,
}

#[derive(Args)]
struct TcpArguments {
    /// Seconds of a run.
    #[arg(long, default_value_t = 30)]
    seconds: u64,
    /// Runs of each condition with loss.
    #[arg(long, default_value_t = 4)]
    runs: u64,
    /// Runs at a time.
    #[arg(long, default_value_t = 6)]
    jobs: usize,
    /// Only conditions whose name contains this; a name is "CUBIC 10 Mbit/s 100 ms 1 %".
    #[arg(long)]
    filter: Option<String>,
    /// Where the page goes [default: results/tcp-model.md for a full run, else nowhere].
    #[arg(long)]
    out: Option<PathBuf>,
}

fn main() -> ExitCode {
    tool::stop_on_signal();
    let done = match Arguments::parse().verb {
        Verb::Matrix(arguments) => run_matrix(&arguments),
        Verb::Efficiency(arguments) => run_efficiency(&arguments),
        Verb::Congestion(arguments) => run_congestion(&arguments),
        Verb::Streams(arguments) => run_streams(&arguments),
        Verb::Zeromq { arguments, valgrind } => libnorm::run_zeromq(&arguments, valgrind),
        Verb::Rates { runs } => libnorm::run_rates(runs),
        Verb::Calls { first, seeds, jobs } => {
            libnorm::run_calls(calls::CallsPlan { first, seeds, jobs })
        }
        Verb::Examples => libnorm::run_examples(),
        Verb::Norp => libnorm::run_norp(),
        Verb::Bindings => libnorm::run_bindings(),
        Verb::Decode(arguments) => run_decode(&arguments),
        Verb::Power(arguments) => run_power(&arguments),
        Verb::Tcp(arguments) => run_tcp(&arguments),
        Verb::Trees(arguments) => files::run_trees(&arguments),
        Verb::Devices(arguments) => files::run_devices(&arguments),
        Verb::Cleanup => run_cleanup(),
    };
    match done {
        _ if tool::interrupted() => ExitCode::from(130),
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn peers() -> Result<Peers, ToolError> {
    for program in ["ip", "nft", "ethtool"] {
        tool::require(program)?;
    }
    Ok(Peers { nrl: Nrl::build()?, fanfare: Fanfare::find() })
}

fn head(peers: &Peers) -> Result<Head, ToolError> {
    Ok(Head { command: command(), date: today()?, nrl_version: peers.nrl.version.clone() })
}

fn command() -> String {
    let words: Vec<String> = std::env::args().skip(1).collect();
    format!("cargo run -p fanfare-interop -- {}", words.join(" "))
}

fn today() -> Result<String, ToolError> {
    Ok(tool::output("date", &["-u", "+%F"])?.trim().to_owned())
}

fn run_matrix(arguments: &MatrixArguments) -> Result<bool, ToolError> {
    let wanted = |cell: &Cell| {
        (cell.quick || !arguments.quick)
            && arguments.filter.as_ref().is_none_or(|text| cell.name().contains(text.as_str()))
    };
    let chosen: Vec<Cell> = cells::all().into_iter().filter(wanted).collect();
    if arguments.list {
        chosen.iter().for_each(|cell| println!("{}", cell.name()));
        return Ok(true);
    }
    let peers = peers()?;
    let options = Options { keep: arguments.keep.clone(), capture: None };
    let rows = matrix::run_all(&chosen, &peers, &options, arguments.jobs, say)?;
    let full = !arguments.quick && arguments.filter.is_none();
    let default = full.then(|| PathBuf::from("results/norm/interop.md"));
    if let Some(path) = arguments.out.clone().or(default)
        && !tool::interrupted()
    {
        write(&path, &report::page(&head(&peers)?, &rows))?;
    }
    let failed = rows.iter().filter(|(_, status)| status.failed()).count();
    let passed = rows.iter().filter(|(_, status)| status.passed()).count();
    let skipped = rows.len() - passed - failed;
    println!("{passed} passed, {failed} failed, {skipped} not run");
    if skipped > 0 {
        println!("not run: build the fanfare executable beside this one, or set FANFARE_BIN");
    }
    Ok(failed == 0 && skipped == 0 && passed > 0)
}

fn say(cell: &Cell, status: &Status) {
    match status {
        Status::Skipped(why) => println!("skip  {} ({why})", cell.name()),
        Status::Ran(outcome) => match &outcome.failure {
            None => println!("pass  {} {:.2} s", cell.name(), outcome.seconds),
            Some(why) => println!("FAIL  {} {:.2} s: {why}", cell.name(), outcome.seconds),
        },
    }
}

fn run_efficiency(arguments: &EfficiencyArguments) -> Result<bool, ToolError> {
    let plan = Plan {
        size: arguments.size,
        mbps: arguments.rate,
        nrl: (arguments.nrl_data, arguments.nrl_parity),
        ours: (arguments.data, arguments.parity),
        loss_percent: arguments.loss.min(99),
        limit_seconds: arguments.limit,
    };
    let peers = peers()?;
    let lines = efficiency::measure(&plan, &peers, |l| println!("{}", efficiency::row(&plan, l)))?;
    write(&arguments.out, &efficiency::page(&head(&peers)?, &plan, &lines))?;
    if peers.fanfare.is_none() {
        println!("fanfare not measured: build it beside this executable, or set FANFARE_BIN");
    }
    let all = lines.iter().all(|line| line.outcome.failure.is_none());
    Ok(all && peers.fanfare.is_some())
}

fn run_power(arguments: &PowerArguments) -> Result<bool, ToolError> {
    for program in ["mount", "mkfs.ext4"] {
        tool::require(program)?;
    }
    let Some(fanfare) = Fanfare::find() else {
        return Err(ToolError::Missing { program: "fanfare (set FANFARE_BIN)".into() });
    };
    let outcome =
        power::run(&fanfare, arguments.rounds, arguments.size, |round, result| match result {
            Ok(power::Left::Whole) => println!("pass  round {round}: the file was there"),
            Ok(power::Left::Part(had)) => println!("pass  round {round}: {had} bytes had come"),
            Err(why) => println!("FAIL  round {round}: {why}"),
        })?;
    let (again, allowed) = outcome.again;
    println!(
        "{} passed, {} failed; {} images held the whole file; at most {again} bytes were sent again \
         where {allowed} may be",
        outcome.passed,
        outcome.failures.len(),
        outcome.whole,
    );
    Ok(outcome.failures.is_empty())
}

fn run_congestion(arguments: &CongestionArguments) -> Result<bool, ToolError> {
    tool::require("tc")?;
    let CongestionArguments { size, rate, runs, filter, .. } = arguments.clone();
    let plan = congestion::Plan { size, kbps: rate, runs, filter };
    let peers = peers()?;
    let lines = congestion::measure(&plan, &peers, |line| println!("{}", congestion::row(line)))?;
    write(&arguments.out, &congestion::page(&head(&peers)?, &plan, &lines))?;
    Ok(congestion::holds(&lines) && lines.iter().all(|line| line.outcome.failure.is_none()))
}

fn run_streams(arguments: &StreamsArguments) -> Result<bool, ToolError> {
    let peers = peers()?;
    let wanted = |stream: &Stream| {
        (stream.quick || !arguments.quick) && stream.name().contains(&arguments.filter)
    };
    let mut rows = Vec::new();
    for stream in streams::all().into_iter().filter(wanted) {
        let outcome = streams::run(&stream, &peers)?;
        match &outcome {
            Ok(seconds) => println!("pass  {} {seconds:.2} s", stream.name()),
            Err(why) => println!("FAIL  {}: {why}", stream.name()),
        }
        rows.push((stream, outcome));
    }
    if !arguments.quick && arguments.filter.is_empty() && !tool::interrupted() {
        write(&streams::place(), &streams::page(&head(&peers)?, &rows))?;
    }
    Ok(!rows.is_empty() && rows.iter().all(|(_, outcome)| outcome.is_ok()))
}

fn run_decode(arguments: &DecodeArguments) -> Result<bool, ToolError> {
    let direction: Direction = if arguments.nrl { NRL_TO_NRL } else { OURS_TO_OURS };
    let mut conditions = Conditions::new("decode").receivers(3).loss(10, 10);
    conditions.files = vec![("first.bin", 800_000), ("empty.bin", 0), ("last.bin", 300_000)];
    let cell = Cell { conditions, direction, quick: true };
    let capture = arguments.capture.clone().unwrap_or_else(|| {
        std::env::temp_dir().join(format!("fanfare-decode-{}.pcapng", std::process::id()))
    });
    let options = Options { keep: None, capture: Some(capture.clone()) };
    let outcome = run::run(&cell, &peers()?, &options)?;
    let decoded = decode::decode(&capture)?;
    if arguments.capture.is_none() {
        // It is in the temporary directory; what stays there harms nobody.
        let _ = std::fs::remove_file(&capture);
    }
    for (kind, count) in &decoded.kinds {
        println!("{count:7}  {kind}");
    }
    decoded.complaints.iter().take(20).for_each(|line| println!("complaint: {line}"));
    let absent = decoded.absent();
    if !absent.is_empty() {
        println!("never seen: {}", absent.join(", "));
    }
    println!("transfer: {}", outcome.failure.as_deref().unwrap_or("complete"));
    Ok(decoded.complaints.is_empty() && absent.is_empty() && outcome.failure.is_none())
}

fn run_tcp(arguments: &TcpArguments) -> Result<bool, ToolError> {
    for program in ["ip", "ethtool"] {
        tool::require(program)?;
    }
    let plan = tcp::Plan {
        time: Duration::from_secs(arguments.seconds.max(1)),
        runs: arguments.runs.max(1),
        jobs: arguments.jobs,
    };
    let wanted = |conditions: &tcp::Conditions| {
        arguments.filter.as_ref().is_none_or(|text| conditions.name().contains(text.as_str()))
    };
    let chosen: Vec<_> = tcp::Plan::conditions().into_iter().filter(wanted).collect();
    let rows = tcp::compare(&plan, &chosen, |conditions, model, kernel| {
        let name = conditions.name();
        println!("{name}: model {:.0}, kernel {:.0} kbit/s", model / 1e3, kernel / 1e3);
    })?;
    rows.iter().for_each(|row| println!("{}", tcp::page::line(row)));
    let default = arguments.filter.is_none().then(|| PathBuf::from("results/tcp-model.md"));
    if let Some(path) = arguments.out.clone().or(default) {
        let kernel = tool::output("uname", &["-r"])?;
        let page = tcp::page::page(&command(), &today()?, kernel.trim(), &plan, &rows);
        write(&path, &page)?;
    }
    Ok(!rows.is_empty())
}

fn run_cleanup() -> Result<bool, ToolError> {
    for name in fanfare_lab::clear_leftovers()? {
        println!("removed {name}");
    }
    for path in scratch::cleanup()? {
        println!("removed {}", path.display());
    }
    Ok(true)
}

/// Writes a page; nowhere if that is what the user said.
fn write(path: &Path, text: &str) -> Result<(), ToolError> {
    if path == Path::new("-") {
        return Ok(());
    }
    std::fs::write(path, text).map_err(tool::at(path.display()))?;
    println!("wrote {}", path.display());
    Ok(())
}

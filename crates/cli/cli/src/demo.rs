//! `fanfare demo`: a sender and three receivers that lose packets, on this machine, without root.

use std::{
    fs::File,
    io::Write,
    net::UdpSocket,
    path::{Path, PathBuf},
    sync::mpsc::RecvTimeoutError,
    time::Duration,
};

use clap::Args;
use fanfare_files::{
    Expect, ReceiveEvent, ReceiveOptions, SendEvent, SendOptions, Sources, Transfer, TransferEvent,
    Until,
    event::{Finished, ReceiverResult, SendEnd, SendReport},
};
use fanfare_node::{
    GroupSpec, Network,
    proto::{Bitrate, SenderConfig, rng::Rng},
};

use fanfare_command::{Exit, Failure, Help, Output, OutputArgs, interrupt, units};

/// Names of the receivers, and what each loses of what it receives.
const RECEIVERS: [(&str, f64); 3] = [("near", 0.05), ("far", 0.10), ("radio", 0.20)];
const FILE_BYTES: usize = 8 << 20;
const FILE_NAME: &str = "demo.bin";
/// Fast enough to be over in a few seconds, slow enough to be watched.
const RATE: Bitrate = Bitrate::mbps(20);
/// Longest that a receiver waits for the good-bye.
const PATIENCE: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(500);

const HELP: Help = Help::new(&[
    ("fanfare demo", "takes about ten seconds"),
    ("fanfare demo --json", "the same for programs"),
]);

/// Try it on this machine: one sender, three lossy receivers
///
/// Needs no root and no network. The receivers drop 5, 10 and 20 % of the packets on purpose.
#[derive(Debug, Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
pub(crate) struct DemoArgs {
    #[command(flatten)]
    output: OutputArgs,
}

/// A directory that goes when the demonstration is over.
struct Stage(PathBuf);

impl Stage {
    fn new() -> std::io::Result<Self> {
        let path = std::env::temp_dir().join(format!("fanfare-demo-{}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What one receiver of the demonstration came to.
struct Shown {
    name: &'static str,
    drop: f64,
    verified: bool,
    finished: Finished,
}

pub(crate) fn run(args: &DemoArgs) -> Exit {
    let output = Output::new(args.output);
    match demonstrate(&output) {
        Ok(exit) => exit,
        Err(failure) => fanfare_command::give_up(&output, &failure),
    }
}

fn demonstrate(output: &Output) -> Result<Exit, Failure> {
    let stage = Stage::new().map_err(|error| no_room(&error))?;
    let file = write_file(&stage.0).map_err(|error| no_room(&error))?;
    let group = free_group()?;
    output.text(&format!(
        "one sender, three receivers on {} that lose 5, 10 and 20 %; {} at {RATE}",
        group.group,
        units::size(FILE_BYTES as u64)
    ));
    let mut receivers = Vec::new();
    for (name, drop) in RECEIVERS {
        receivers.push((name, drop, start_receiver(&group, &stage.0, name, drop)?));
    }
    let sender = start_sender(&group, file)?;
    interrupt::stop_on_interrupt(sender.stopper());
    watch(&sender, output);
    output.clear();
    let sent = sender.finish();
    let shown = receivers.into_iter().map(|(name, drop, node)| conclude_receiver(name, drop, node));
    let shown: Vec<Shown> = shown.collect();
    Ok(conclude(output, &sent, &shown))
}

/// Content that does not repeat, the same in every run.
fn write_file(stage: &Path) -> std::io::Result<PathBuf> {
    let path = stage.join(FILE_NAME);
    let mut rng = Rng::new(1);
    let content: Vec<u8> = (0..FILE_BYTES / 8).flat_map(|_| rng.next_u64().to_le_bytes()).collect();
    File::create(&path)?.write_all(&content)?;
    Ok(path)
}

/// Multicast stays on the loopback interface, on a port that nobody has.
fn free_group() -> Result<GroupSpec, Failure> {
    let no_port = |error: std::io::Error| {
        let text = format!("port ({error}): the system gave none. Close some programs");
        Failure::new(Exit::Resource, "socket.bind", text)
    };
    let port = UdpSocket::bind("127.0.0.1:0").and_then(|s| s.local_addr()).map_err(no_port)?.port();
    let group = std::net::SocketAddr::from(([239, 255, 42, 1], port));
    Ok(GroupSpec { group, interface: Some("127.0.0.1".to_owned()), node_id: None })
}

fn start_receiver(
    group: &GroupSpec,
    stage: &Path,
    name: &str,
    drop: f64,
) -> Result<Transfer, Failure> {
    let options = ReceiveOptions {
        name: name.to_owned(),
        create_dirs: true,
        until: Until::SenderEnded,
        timeout: Some(PATIENCE),
        ..ReceiveOptions::default()
    };
    let network = Network::new(group.clone()).test_drop(drop);
    Ok(Transfer::over(network).receive(stage.join(name), options).start()?)
}

fn start_sender(group: &GroupSpec, file: PathBuf) -> Result<Transfer, Failure> {
    let sources = Sources::gather(&[file], "", &mut |_| {})?;
    let options = SendOptions { expect: Expect::Count(RECEIVERS.len()), ..SendOptions::default() };
    let config = SenderConfig { rate: RATE, ..SenderConfig::default() };
    let network = Network::new(group.clone()).sender_config(config);
    Ok(Transfer::over(network).send(sources, options).start()?)
}

fn watch(sender: &Transfer, output: &Output) {
    loop {
        match sender.next_event(POLL) {
            Ok(TransferEvent::Send(SendEvent::Receiver(view))) => {
                output.event(&fanfare_command::json::Line::receiver(&view));
            }
            Ok(TransferEvent::Send(SendEvent::Progress(p))) => {
                output.event(&fanfare_command::json::Line::send_progress(&p));
                let done = format!("{} of {} receivers done", p.complete, p.receivers);
                output.progress(p.sent_bytes, p.total_bytes, done);
            }
            Ok(TransferEvent::Send(SendEvent::Receipt(receipt))) => {
                fanfare_command::json::Line::receipts(&receipt)
                    .for_each(|line| output.event(&line));
            }
            Ok(_) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

fn conclude_receiver(name: &'static str, drop: f64, node: Transfer) -> Shown {
    let mut verified = false;
    loop {
        match node.next_event(POLL) {
            Ok(TransferEvent::Receive(ReceiveEvent::File { placed, .. })) => {
                verified = placed.verified
            }
            Ok(_) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    Shown { name, drop, verified, finished: node.finish() }
}

fn conclude(output: &Output, sent: &Finished, shown: &[Shown]) -> Exit {
    let Some(report) = &sent.sent else { return Exit::Failed };
    let ok = report.end == SendEnd::Complete && shown.iter().all(|receiver| receiver.verified);
    let exit = match report.end {
        SendEnd::Interrupted => Exit::Interrupted,
        _ if ok => Exit::Done,
        _ => Exit::Failed,
    };
    output.data(&format!(
        "{:<10} {:>6} {:>9} {:>10}  {}",
        "receiver", "loss", "seconds", "repaired", "hash"
    ));
    for receiver in shown {
        output.data(&row(receiver, report));
    }
    output.data(&sums(report, sent.stats.bytes_sent, shown));
    output.event(&fanfare_command::json::Line::send_result(
        report,
        sent.stats.bytes_sent,
        exit as u8,
    ));
    exit
}

fn row(receiver: &Shown, report: &SendReport) -> String {
    let is_it = |result: &&ReceiverResult| result.view.name.as_deref() == Some(receiver.name);
    let seconds = report.receivers.iter().find(is_it).map_or(0.0, |r| r.elapsed.as_secs_f64());
    let received = receiver.finished.stats.datagrams_received + receiver.finished.test_dropped;
    let loss = receiver.finished.test_dropped as f64 / (received.max(1)) as f64;
    format!(
        "{:<10} {:>4.1} % {:>9.2} {:>10}  {}",
        receiver.name,
        loss * 100.0,
        seconds,
        format!("{} seg", receiver.finished.stats.recovered),
        if receiver.verified { "ok" } else { "MISSING" }
    )
}

/// What went over the wire, against what one copy for each receiver would have needed.
fn sums(report: &SendReport, wire_bytes: u64, shown: &[Shown]) -> String {
    let size = report.bytes as f64;
    let unicast: f64 = shown.iter().map(|receiver| size / (1.0 - receiver.drop)).sum();
    format!(
        "on the wire: {} for a file of {} ({:.0} %); one copy for each receiver with its losses: {}",
        units::size(wire_bytes),
        units::size(report.bytes),
        wire_bytes as f64 / size.max(1.0) * 100.0,
        units::size(unicast as u64)
    )
}

fn no_room(error: &std::io::Error) -> Failure {
    let text = format!(
        "temporary directory ({}): cannot be used ({error}). Make room or set TMPDIR",
        std::env::temp_dir().display()
    );
    Failure::new(Exit::Resource, "demo.directory", text)
}

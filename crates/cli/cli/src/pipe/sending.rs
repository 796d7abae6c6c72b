//! `fanfare pipe send`.

use std::{
    io::{self, Read as _, Write as _},
    sync::mpsc::Receiver,
    time::Duration,
};

use fanfare_command::json::{PipeLine, PipeReceiver, hex};
use fanfare_command::{Exit, Failure, Output, give_up, input, interrupt};
use fanfare_node::{
    engine::Trouble,
    proto::StreamFlush,
    stream::{Expect, Outcome, SendReport, StreamEvent, StreamSender},
};

use super::PipeSendPlan;

/// Bytes read at once.
const CHUNK: usize = 256 << 10;
/// How often it is looked whether anybody still listens while standard input is silent.
const LOOK: Duration = Duration::from_millis(200);

/// Sends standard input.
pub(crate) fn send(plan: PipeSendPlan, output: &Output) -> Exit {
    match run(plan, output) {
        Ok(exit) => exit,
        Err(failure) => give_up(output, &failure),
    }
}

fn run(plan: PipeSendPlan, output: &Output) -> Result<Exit, Failure> {
    let PipeSendPlan { network, options, lines, .. } = plan;
    let expected = options.expect.clone();
    if expected != Expect::Nobody {
        output.text(&format!("waiting for {}", waited_for(&expected)));
    }
    let mut sender = network.send_stream(options)?;
    interrupt::stop_on_interrupt(sender.stopper());
    let events = sender.events();
    let (read, report) = std::thread::scope(|scope| {
        if let Some(events) = events {
            scope.spawn(move || show(&events, output));
        }
        let read = feed(&mut sender, lines);
        (read, sender.finish())
    });
    conclude(&report, &expected, read, output)
}

fn waited_for(expect: &Expect) -> String {
    match expect {
        Expect::Nobody => "nobody".to_owned(),
        Expect::Anyone => "a receiver".to_owned(),
        Expect::Count(1) => "1 receiver".to_owned(),
        Expect::Count(count) => format!("{count} receivers"),
        Expect::Names(names) => names.iter().cloned().collect::<Vec<_>>().join(", "),
    }
}

/// Standard input to its end, or until nothing is taken any more.
fn feed(sender: &mut StreamSender, lines: bool) -> io::Result<()> {
    let mut buffer = vec![0; CHUNK];
    let mut fresh = true;
    loop {
        while !input::is_readable(LOOK)? {
            if sender.is_ended() {
                return Ok(());
            }
        }
        let count = match io::stdin().lock().read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        // Nobody takes it: the report says why.
        let taken = match lines {
            true => write_lines(sender, &buffer[..count], &mut fresh),
            false => sender.write_all(&buffer[..count]),
        };
        if taken.is_err() {
            return Ok(());
        }
    }
}

/// Whole lines go at once; each first of them is marked.
fn write_lines(sender: &mut StreamSender, bytes: &[u8], fresh: &mut bool) -> io::Result<()> {
    if *fresh {
        sender.mark()?;
    }
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let (lines, rest) = bytes.split_at(whole);
    if !lines.is_empty() {
        sender.write_all(lines)?;
        sender.flush_now(StreamFlush::Active)?;
        if !rest.is_empty() {
            sender.mark()?;
        }
    }
    *fresh = rest.is_empty();
    sender.write_all(rest)
}

fn show(events: &Receiver<StreamEvent>, output: &Output) {
    for event in events {
        match &event {
            StreamEvent::Receiver { node, name } => {
                output.event(&PipeLine::Receiver { node: node.0, name });
            }
            StreamEvent::Started { receivers } => {
                output.event(&PipeLine::Started { receivers: *receivers });
            }
            StreamEvent::Stalled { receivers } => {
                let text = format!("waiting for {} to read", receivers.join(", "));
                output.text(&text);
                output.event(&PipeLine::Stalled { receivers });
            }
            StreamEvent::Resumed => output.event(&PipeLine::Resumed),
            StreamEvent::Left { node, name } => {
                output.text(&format!("{name} has left"));
                output.event(&PipeLine::Left { node: node.0, name });
            }
            StreamEvent::Taken { node, name, by } => {
                output.text(&format!("{name} receives another pipe, that of {by}"));
                output.event(&PipeLine::Taken { node: node.0, name, by: by.0 });
            }
            StreamEvent::GivenUp { node, name } => {
                output.text(&format!("{name} is given up: it has been silent for too long"));
                output.event(&PipeLine::GivenUp { node: node.0, name });
            }
            StreamEvent::Begun { .. } => {}
            StreamEvent::Trouble(trouble) => warn(trouble, output),
        }
    }
}

/// Of this machine.
pub(super) fn warn(trouble: &Trouble, output: &Output) {
    let (code, text) = match trouble {
        Trouble::Overrun(_) => return,
        Trouble::SendRefused(why) => ("send.refused", format!("sending: the system says {why}")),
        Trouble::ReceiveFailed(why) => {
            ("receive.failed", format!("receiving: the system says {why}"))
        }
        Trouble::Rejoined(name) => ("interface.moved", format!("interface ({name}): joined anew")),
        Trouble::InterfaceDown(name) => {
            ("interface.down", format!("interface ({name}): is down, or gone"))
        }
        Trouble::InterfaceUp(name) => ("interface.up", format!("interface ({name}): is up again")),
        Trouble::Reach { code, text } | Trouble::NotOpened { code, text, .. } => {
            (*code, text.clone())
        }
    };
    output.warn(code, text);
}

fn conclude(
    report: &SendReport,
    expected: &Expect,
    read: io::Result<()>,
    output: &Output,
) -> Result<Exit, Failure> {
    read.map_err(|error| {
        let text = format!("standard input ({error}): cannot be read. Check where it comes from");
        Failure::new(Exit::Failed, "stdin", text)
    })?;
    let receivers: Vec<PipeReceiver> = report.receivers.iter().map(receiver_line).collect();
    let exit = match () {
        () if interrupt::is_asked() => Exit::Interrupted,
        () if *expected != Expect::Nobody && receivers.is_empty() => Exit::Nobody,
        () if report.is_complete() => Exit::Done,
        () => Exit::Partial,
    };
    for receiver in receivers.iter().filter(|receiver| receiver.outcome != "whole") {
        output.text(&format!("{}: {}", receiver.name, receiver.told()));
    }
    for name in &report.missing {
        output.text(&format!("{name}: did not come"));
    }
    let whole = report.whole();
    let (bytes, expired) = (report.bytes, report.expired);
    output.text(&match expected {
        Expect::Nobody => format!("sent {bytes} bytes"),
        _ => {
            format!("{whole} of {} have all {bytes} bytes", receivers.len() + report.missing.len())
        }
    });
    let (ok, missing) = (exit == Exit::Done, &report.missing);
    let repairs = report.stats.parity_repair_sent + report.stats.explicit_repair_sent;
    output.json(&PipeLine::SendResult {
        ok,
        exit: exit as u8,
        bytes,
        expired,
        repairs,
        receivers: &receivers,
        missing,
    });
    Ok(exit)
}

fn receiver_line(
    (node, name, outcome): &(fanfare_node::proto::NodeId, String, Outcome),
) -> PipeReceiver {
    let (outcome, receipt) = match outcome {
        Outcome::Whole(receipt) => ("whole", *receipt),
        Outcome::Gaps(receipt) => ("gaps", Some(*receipt)),
        Outcome::Differs(receipt) => ("differs", Some(*receipt)),
        Outcome::Left => ("left", None),
        Outcome::Silent => ("silent", None),
        Outcome::Taken => ("taken", None),
    };
    PipeReceiver {
        node: node.0,
        name: name.clone(),
        outcome,
        lost: receipt.map(|receipt| receipt.first + receipt.lost),
        hash: receipt.map(|receipt| hex(&receipt.hash)),
    }
}

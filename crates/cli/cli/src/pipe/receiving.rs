//! `fanfare pipe recv`.

use std::{
    io::{self, ErrorKind, Write},
    process::{Child, Command, Stdio},
};

use fanfare_command::json::{PipeLine, hex};
use fanfare_command::{Exit, Failure, Output, give_up, interrupt};
use fanfare_node::stream::{ReceiveReport, Start, StreamEvent, StreamGap, StreamReceiver};

use super::{Gaps, PipeReceivePlan, sending::warn};

/// How reading came to its end.
#[derive(Debug)]
enum End {
    /// To the end of the stream.
    Ended,
    /// Bytes are missing, and nothing behind them was written.
    Gap,
    /// Nobody reads the output any more.
    Unread,
    /// Nothing came in time.
    Timeout,
    /// The stream does not go on.
    Broken(String),
    /// It has no lines.
    Unframed,
    /// The output takes nothing.
    Output(io::Error),
}

/// What was written.
#[derive(Debug, Default)]
struct Tally {
    bytes: u64,
    lost: u64,
    begun: bool,
    /// Lines are lost, or what came were none.
    unreadable: bool,
}

/// How a stream is written.
#[derive(Debug, Clone, Copy)]
struct How {
    gaps: Gaps,
    from_start: bool,
    unordered: bool,
}

/// Writes a stream to standard output, or to a command.
pub(crate) fn receive(plan: PipeReceivePlan, output: &Output) -> Exit {
    match run(plan, output) {
        Ok(exit) => exit,
        Err(failure) => give_up(output, &failure),
    }
}

fn run(plan: PipeReceivePlan, output: &Output) -> Result<Exit, Failure> {
    let PipeReceivePlan { network, options, gaps, command, timeout, .. } = plan;
    let how =
        How { gaps, from_start: options.start == Start::Earliest, unordered: options.unordered };
    let mut receiver = network.receive_stream(options)?;
    interrupt::stop_on_interrupt(receiver.stopper());
    receiver.set_timeout(timeout);
    let mut child = command.as_deref().map(start).transpose()?;
    let mut tally = Tally::default();
    let events = receiver.events();
    let (end, report) = std::thread::scope(|scope| {
        if let Some(events) = events {
            scope.spawn(move || {
                for event in events {
                    match event {
                        StreamEvent::Begun { sender, .. } => {
                            output.event(&PipeLine::Begun { sender: sender.0 });
                        }
                        StreamEvent::Trouble(trouble) => warn(&trouble, output),
                        _ => {}
                    }
                }
            });
        }
        let end = match child.as_mut().and_then(|child| child.stdin.take()) {
            Some(mut pipe) => copy(&mut receiver, &mut pipe, how, &mut tally, output),
            None => {
                let mut stdout = io::stdout().lock();
                copy(&mut receiver, &mut stdout, how, &mut tally, output)
            }
        };
        // What was written is kept before the sender is told that it is.
        (end, receiver.finish())
    });
    let failed = match child.map(|mut child| child.wait()) {
        Some(Ok(status)) if !status.success() => Some(status.to_string()),
        Some(Err(error)) => Some(error.to_string()),
        _ => None,
    };
    conclude(end, &tally, (&report, failed), output)
}

fn start(command: &str) -> Result<Child, Failure> {
    let child = Command::new("sh").arg("-c").arg(command).stdin(Stdio::piped()).spawn();
    child.map_err(|error| {
        let text = format!("exec ({command}): cannot be started ({error}). Check the command");
        Failure::new(Exit::Failed, "exec", text)
    })
}

fn copy(
    receiver: &mut StreamReceiver,
    into: &mut impl Write,
    how: How,
    tally: &mut Tally,
    output: &Output,
) -> End {
    if how.unordered {
        return copy_lines(receiver, into, how.gaps, tally, output);
    }
    let How { gaps, from_start, .. } = how;
    loop {
        let (bytes, lost) = match receiver.read_chunk() {
            Ok(bytes) if bytes.is_empty() => {
                return into.flush().map_or_else(output_end, |()| End::Ended);
            }
            Ok(bytes) => {
                let offset = receiver.offset() - bytes.len() as u64;
                let missed = !tally.begun && from_start && offset > 0;
                (bytes, missed.then_some(StreamGap { from: 0, to: offset }))
            }
            Err(error) => match error.get_ref().and_then(|why| why.downcast_ref::<StreamGap>()) {
                Some(gap) => (Vec::new(), Some(*gap)),
                None if error.kind() == ErrorKind::TimedOut => return End::Timeout,
                None => return End::Broken(error.to_string()),
            },
        };
        if let Some(gap) = lost {
            tally.lost += gap.to - gap.from;
            output.text(&gap.to_string());
            output.event(&PipeLine::Gap { from: gap.from, to: gap.to });
            if gaps == Gaps::Stop {
                return End::Gap;
            }
            if gaps == Gaps::Mark
                && let Err(error) = fill(into, gap.to - gap.from)
            {
                return output_end(error);
            }
        }
        tally.begun = true;
        tally.bytes += bytes.len() as u64;
        // A feed is read as it comes.
        if let Err(error) = into.write_all(&bytes).and_then(|()| into.flush()) {
            return output_end(error);
        }
    }
}

/// Each line as soon as it is here.
fn copy_lines(
    receiver: &mut StreamReceiver,
    into: &mut impl Write,
    gaps: Gaps,
    tally: &mut Tally,
    output: &Output,
) -> End {
    loop {
        let message = match receiver.read_message() {
            Ok(Some(message)) => message,
            Ok(None) => return into.flush().map_or_else(output_end, |()| End::Ended),
            Err(error) if error.kind() == ErrorKind::TimedOut => return End::Timeout,
            Err(error) if error.kind() == ErrorKind::InvalidData => {
                output.text(&error.to_string());
                tally.unreadable = true;
                match receiver.has_framing() {
                    true => continue,
                    false => return End::Unframed,
                }
            }
            Err(error) => return End::Broken(error.to_string()),
        };
        if message.gap_before {
            tally.unreadable = true;
            output.text("lines are lost");
            if gaps == Gaps::Stop {
                return End::Gap;
            }
        }
        tally.begun = true;
        tally.bytes += message.bytes.len() as u64 + 1;
        let written = into.write_all(&message.bytes).and_then(|()| into.write_all(b"\n"));
        if let Err(error) = written.and_then(|()| into.flush()) {
            return output_end(error);
        }
    }
}

fn fill(into: &mut impl Write, mut bytes: u64) -> io::Result<()> {
    let zeros = [0; 4096];
    while bytes > 0 {
        let count = bytes.min(zeros.len() as u64);
        into.write_all(&zeros[..count as usize])?;
        bytes -= count;
    }
    Ok(())
}

fn output_end(error: io::Error) -> End {
    match error.kind() {
        ErrorKind::BrokenPipe => End::Unread,
        _ => End::Output(error),
    }
}

fn conclude(
    end: End,
    tally: &Tally,
    (report, failed): (&ReceiveReport, Option<String>),
    output: &Output,
) -> Result<Exit, Failure> {
    let exit = match &end {
        _ if interrupt::is_asked() => Exit::Interrupted,
        _ if failed.is_some() => Exit::Failed,
        End::Ended if tally.lost == 0 && !tally.unreadable => Exit::Done,
        End::Unread => Exit::Done,
        End::Timeout if !tally.begun => Exit::Nobody,
        End::Ended | End::Gap | End::Timeout | End::Broken(_) | End::Unframed => Exit::Partial,
        End::Output(_) => Exit::Resource,
    };
    let failure = |code, text| Err(Failure::new(exit, code, text));
    match (&end, exit) {
        (_, Exit::Interrupted) => {}
        (_, Exit::Failed) => {
            let status = failed.unwrap_or_default();
            return failure(
                "exec",
                format!("exec ({status}): the command failed. See what it said"),
            );
        }
        (End::Timeout, Exit::Nobody) => {
            let text = "stream: nothing arrived in time. Check the group and the interface with \
                        fanfare doctor";
            return failure("stream.nothing", text.to_owned());
        }
        (End::Timeout, _) => {
            let text = "stream: nothing more arrived in time. Check the sender";
            return failure("stream.silent", text.to_owned());
        }
        (End::Broken(why), _) => return failure("stream.broken", format!("{why}. Start it again")),
        (End::Unframed, _) => {
            let text = "unordered (true): the stream is not one of lines. Start the sender with \
                        --flush line, or leave out --unordered";
            return failure("stream.lines", text.to_owned());
        }
        (End::Output(error), _) => {
            let text = format!("output ({error}): cannot be written. Make room there");
            return failure("output", text);
        }
        _ => {}
    }
    output.json(&PipeLine::ReceiveResult {
        ok: exit == Exit::Done,
        exit: exit as u8,
        bytes: tally.bytes,
        lost: tally.lost.max(report.receipt.map_or(0, |receipt| receipt.lost)),
        hash: report.receipt.map(|receipt| hex(&receipt.hash)),
    });
    Ok(exit)
}

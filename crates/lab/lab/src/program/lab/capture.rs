//! `fanfare lab capture`: what passes a host's cable, as a pcap file.

use std::{
    fs::File,
    io::{self, ErrorKind, Read, Write},
    path::{Path, PathBuf},
};

use clap::Args;
use fanfare_lab::{RunningLab, Stop};

use fanfare_command::{Exit, Failure, Help, Output, OutputArgs, units};

use super::which::WhichArgs;
use crate::ending::{EXITS, give_up, stop};

const HELP: Help = Help::new(&[
    ("fanfare lab capture pc1 pc1.pcap", "into a file"),
    ("fanfare lab capture pc1 - | wireshark -k -i -", "watch live"),
])
.exits(EXITS)
.files(super::FILES);

/// Capture the packets of a host into a pcap file, until Ctrl-C
///
/// The times are those of the emulated network: when the host sent, and when a packet was due.
#[derive(Debug, Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
pub(super) struct CaptureArgs {
    /// Name of the host in the scenario
    node: String,
    /// The file; - is standard output
    file: PathBuf,
    #[command(flatten)]
    which: WhichArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: &CaptureArgs) -> Exit {
    let output = Output::new(args.output);
    let stop = match stop() {
        Ok(stop) => stop,
        Err(error) => return give_up(&output, &error),
    };
    let lab = RunningLab::find(args.which.lab.as_deref());
    let source = match lab.and_then(|(lab, _)| lab.capture(&args.node)) {
        Ok(source) => source,
        Err(error) => return give_up(&output, &error),
    };
    let copied = open(&args.file).and_then(|file| copy(source, file, &stop, &output));
    output.clear();
    match copied {
        Ok(bytes) => {
            output.text(&format!("{} captured", units::size(bytes)));
            Exit::Done
        }
        Err(error) => fanfare_command::give_up(&output, &unwritable(&args.file, &error)),
    }
}

fn open(path: &Path) -> io::Result<Box<dyn Write>> {
    match path.as_os_str() == "-" {
        true => Ok(Box::new(io::stdout())),
        false => Ok(Box::new(File::create(path)?)),
    }
}

/// Until the user stops it, or the lab has gone down.
fn copy(
    mut from: impl Read,
    mut to: Box<dyn Write>,
    stop: &Stop,
    output: &Output,
) -> io::Result<u64> {
    let mut buffer = vec![0; 1 << 16];
    let mut copied = 0;
    while !stop.is_set() {
        let bytes = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
            Err(_) => break,
        };
        to.write_all(&buffer[..bytes])?;
        to.flush()?;
        copied += bytes as u64;
        output.spin(format!("{} captured", units::size(copied)));
    }
    Ok(copied)
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    let text = format!("output ({}): cannot be written ({error}). Use another", path.display());
    Failure::new(Exit::Resource, "output.not_writable", text)
}

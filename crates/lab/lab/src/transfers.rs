//! A scenario's `fanfare-*` flows as real `fanfare send` and `fanfare recv`.

use crate::{
    error::{LabError, Refusal},
    host::{Host, INTERFACE},
};
use fanfare_proto::{CongestionControl, FeedbackPath, SenderConfig};
use fanfare_sim::{ExpectedExit, Program, ProgramCommand};
use std::{
    fs,
    io::{self, Write as _},
    path::Path,
    time::Duration,
};

/// The simulator's "endless" is far above it; what is written to a disk here is not.
const SIZE_MAX: u64 = 16 << 30;
/// Longest wait of a sender for its receivers: programs start within moments of each other.
const WAIT: &str = "60s";

/// The programs that the flows of these hosts become. Files to send are written below `out`.
pub(crate) fn programs(
    hosts: &[Host],
    fanfare: &Path,
    out: &Path,
) -> Result<Vec<Program>, LabError> {
    let mut programs = Vec::new();
    for host in hosts {
        if let Some(receiver) = &host.entry().session.receiver {
            let received = out.join(host.name()).join("received");
            fs::create_dir_all(&received).map_err(|error| unwritable(&received, &error))?;
            let mut words = words(fanfare, "recv", host);
            words.extend(["--once".into(), "--name".into(), host.name().to_owned()]);
            if receiver.silent {
                words.push("--silent".into());
            }
            if host.entry().session.feedback == FeedbackPath::Sender {
                words.push("--unicast-nack".into());
            }
            words.push(received.display().to_string());
            programs.push(program(host, words, Duration::ZERO));
        }
        let Some(sender) = &host.entry().session.sender else { continue };
        let sends = &host.entry().sends;
        let mut times: Vec<Duration> = sends.iter().map(|(at, _)| *at).collect();
        times.dedup();
        for at in times {
            let mut words = words(fanfare, "send", host);
            words.extend(options(sender));
            words.extend(audience(hosts, host));
            let sizes = sends.iter().filter(|(when, _)| *when == at).map(|(_, size)| *size);
            for (number, size) in sizes.enumerate() {
                let name = format!("{}ms-{number}", at.as_millis());
                let path = out.join(host.name()).join("sent").join(name);
                write_file(host, &path, size)?;
                words.push(path.display().to_string());
            }
            programs.push(program(host, words, at));
        }
    }
    Ok(programs)
}

fn words(fanfare: &Path, command: &str, host: &Host) -> Vec<String> {
    let group = format!("239.255.77.{}:6003", u16::from(host.entry().group) + 1);
    let fanfare = fanfare.display().to_string();
    [&fanfare, command, "--interface", INTERFACE, "--group", &group, "--json"]
        .map(str::to_owned)
        .to_vec()
}

/// Sender's options as the command line has them.
fn options(sender: &SenderConfig) -> Vec<String> {
    let cc = match sender.congestion {
        CongestionControl::Norm => "norm",
        CongestionControl::Ecn => "ecn",
        CongestionControl::LossTolerant => "loss-tolerant",
        CongestionControl::Auto => "auto",
        _ => "fixed",
    };
    let fec = sender.fec;
    [
        ("--cc", cc.to_owned()),
        ("--rate", sender.rate.as_bps().to_string()),
        ("--segment", sender.segment_size.to_string()),
        ("--fec", format!("{}:{}", fec.source, fec.parity)),
        ("--parity", fec.proactive.to_string()),
    ]
    .into_iter()
    .flat_map(|(name, value)| [name.to_owned(), value])
    .collect()
}

/// Whom a sender waits for.
fn audience(hosts: &[Host], sender: &Host) -> Vec<String> {
    let hears = |host: &&Host| {
        host.name() != sender.name()
            && host.entry().group == sender.entry().group
            && host.entry().session.receiver.is_some()
    };
    match hosts.iter().filter(hears).count() {
        0 => vec!["--one-way".to_owned()],
        n => ["--expect", &n.to_string(), "--wait", WAIT].map(str::to_owned).to_vec(),
    }
}

fn program(host: &Host, words: Vec<String>, start: Duration) -> Program {
    Program {
        host: host.entry().host,
        command: ProgramCommand::Words(words),
        start,
        stop: None,
        expect: ExpectedExit::Code(0),
        background: false,
    }
}

/// A file whose bytes do not repeat.
fn write_file(host: &Host, path: &Path, size: u64) -> Result<(), LabError> {
    if size > SIZE_MAX {
        let text = format!(
            "flow ({}): sends without end, or more than 16 GiB. Give it a size",
            host.name()
        );
        return Err(LabError::new(Refusal::Usage, "lab.flow", text));
    }
    let written = || -> io::Result<()> {
        fs::create_dir_all(path.parent().unwrap_or(path))?;
        let mut file = io::BufWriter::new(fs::File::create(path)?);
        let mut state = size ^ 0x9e37_79b9_7f4a_7c15;
        for start in (0..size).step_by(8) {
            // A full-period generator (xorshift, Marsaglia 2003): quick, and nothing repeats.
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let word = state.to_le_bytes();
            file.write_all(&word[..(size - start).min(8) as usize])?;
        }
        file.flush()
    };
    written().map_err(|error| unwritable(path, &error))
}

pub(crate) fn unwritable(path: &Path, error: &io::Error) -> LabError {
    let text =
        format!("output ({}): cannot be written ({error}). Use another path", path.display());
    LabError::new(Refusal::Missing, "lab.output", text)
}

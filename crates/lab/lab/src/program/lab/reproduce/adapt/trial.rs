//! One run: a sender, a receiver, control traffic beside them, and a monitor where there is one.

use std::{
    path::PathBuf,
    process::Stdio,
    time::{Duration, Instant},
};

use fanfare_command::Failure;
use fanfare_lab::{Host, INTERFACE, Lab, Stop};
use serde::Deserialize;
use serde_json::Value;

use super::{
    case::{Case, FALLS, LOW, NARROW, WIDE},
    figures::{Seen, figures},
    modem::{EVERY, Modem, carried},
    table::Row,
};
use crate::{
    ending::failure,
    fanfare::fanfare,
    lab::reproduce::stage::{CONTROL, Directory, Flow, Running, broken, lab, pause},
};

/// The sender begins, and control traffic does.
const BEGINS: Duration = Duration::from_secs(3);
const CONTROLS: Duration = Duration::from_secs(5);
/// Bytes of the file: more than the longest run sends.
const FILE: u64 = 60_000_000;
/// Somebody who knows before knows it so long before.
const BEFORE: Duration = Duration::from_secs(1);
/// From so long after the fall on is counted what the line carries.
const CHANGE: Duration = Duration::from_secs(10);
const PAGE: &str = "127.0.0.1:7979";

/// A line of the sender.
#[derive(Debug, Deserialize)]
struct Said {
    event: String,
    ceiling_bps: Option<u64>,
}

pub(super) fn run(case: &'static Case, repetition: u32, stop: &Stop) -> Result<Row, Failure> {
    let lab = lab(&case.scenario(), u64::from(repetition) + 1)?;
    let zero = Instant::now() - lab.elapsed();
    let [s, v] = lab.hosts() else { return Err(broken("it has not two hosts")) };
    let files = Files::make(&format!("adapt-{}-{repetition}", case.name))?;
    let _receiver = receiver(v, &files)?;
    let monitor = case.advised.then(|| monitor(s, &files)).transpose()?;
    let mut modem =
        case.advised.then(|| Modem::connect(&files.socket(), &lab, stop)).transpose()?;
    let mut until = |until: Duration| -> Result<(), Failure> {
        while let Some(modem) = modem.as_mut().filter(|_| lab.elapsed() + EVERY < until) {
            let narrow = (FALLS..case.back()).contains(&lab.elapsed());
            modem.tell(&lab, if narrow { NARROW } else { WIDE })?;
            pause(&lab, stop, lab.elapsed() + EVERY)?;
        }
        pause(&lab, stop, until)
    };
    until(BEGINS)?;
    let mut sender = sender(s, &files, case.options, case.advised)?;
    until(CONTROLS)?;
    let control = Flow::start(s, v, CONTROL, zero)?;
    if case.by_hand {
        until(FALLS - BEFORE)?;
        drop(sender);
        sender = self::sender(s, &files, &["--cc", "fixed", "--rate", LOW], false)?;
    }
    until(FALLS + CHANGE)?;
    let before = line(&lab)?;
    until(case.back())?;
    let after = line(&lab)?;
    if case.by_hand {
        drop(sender);
        sender = self::sender(s, &files, case.options, false)?;
    }
    until(case.end())?;
    let (late, told) = (control.late(), told(&sender, zero));
    drop((control, sender, monitor));
    let counted = lab.down().map_err(|error| failure(&error))?;
    let seen = Seen {
        late: &late,
        told: &told,
        carried: (after.1 - before.1) as f64 * 8.0 / (after.0 - before.0),
        falls: FALLS.as_secs_f64(),
        back: case.back().as_secs_f64(),
    };
    Ok(Row { case, repetition, void: counted.lateness.void, figures: figures(&seen) })
}

/// The time, and what the line has carried.
fn line(lab: &Lab) -> Result<(f64, u64), Failure> {
    let counted = lab.snapshot().map_err(|error| failure(&error))?;
    Ok((counted.seconds, carried(&counted)))
}

fn told(sender: &Running<Said>, zero: Instant) -> Vec<(f64, Option<u64>)> {
    let said = sender.said();
    let advice = said.iter().filter(|(_, said)| said.event == "advice");
    advice.map(|(at, said)| (at.duration_since(zero).as_secs_f64(), said.ceiling_bps)).collect()
}

fn sender(
    host: &Host,
    files: &Files,
    options: &[&str],
    advised: bool,
) -> Result<Running<Said>, Failure> {
    let mut command = host.command(fanfare());
    command.args(["send", "--json", "--interface", INTERFACE]).args(options);
    if advised {
        command.args(["--adapt", "obey", "--adapt-from", PAGE]);
    }
    command.arg(&files.film);
    Running::start(command, "fanfare-cli")
}

fn receiver(host: &Host, files: &Files) -> Result<Running<Value>, Failure> {
    let mut command = host.command(fanfare());
    command
        .args(["recv", "--json", "--interface", INTERFACE])
        .arg(files.directory.folder("inbox")?);
    Running::start(command, "fanfare-cli")
}

fn monitor(host: &Host, files: &Files) -> Result<Running<Value>, Failure> {
    let mut command = host.command(fanfare());
    command.args(["monitor", "--json", "--interface", INTERFACE, "--monitor-capacity"]);
    command.arg(NARROW.to_string()).arg("--monitor-sensors").arg(files.socket());
    command.stderr(Stdio::null());
    Running::start(command, "fanfare-cli")
}

/// Files of a run.
#[derive(Debug)]
struct Files {
    directory: Directory,
    film: PathBuf,
}

impl Files {
    fn make(name: &str) -> Result<Self, Failure> {
        let directory = Directory::make(name)?;
        let film = directory.fill("film.bin", FILE)?;
        Ok(Self { directory, film })
    }
    /// Where sensors tell the monitor.
    fn socket(&self) -> PathBuf {
        self.directory.of("sensors")
    }
}

//! Power loss: a receiver must be able to resume from what its disk holds at any moment.
//!
//! The receiver writes to an ext4 file system in an image file. While it is stopped between two
//! system calls, the image is copied. The copy is what a machine would find on its disk after a
//! power failure at that moment: nothing was unmounted, and the copy has nothing that the kernel
//! had not yet written. (If the receiver were running, the image would change while it is copied,
//! and the copy would match no moment. Writes that are torn within a call are tested with the
//! simulated disk.) The copy is mounted and must have no wrong file under its final name. Then the
//! same transfer is repeated into it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::fanfare::Fanfare;
use crate::payload::{Payload, Verdict};
use crate::process::{Process, wait_for};
use crate::scratch::Scratch;
use crate::tool::{self, ToolError};

const GROUP: &str = "239.255.42.98";
const FILE: &str = "image.bin";
const IMAGE_BYTES: u64 = 192 << 20;
/// Bytes that may travel again though they were received: what is synced every so often.
const SLACK: u64 = 8 << 20;
/// Of each hundred failures so many come while the file arrives; the others when it is verified,
/// synced, renamed and acknowledged.
const ARRIVING_PERCENT: u32 = 60;
/// How long after the last byte those others are spread over.
const ENDING: Duration = Duration::from_millis(400);
/// The sending rate.
const MBPS: u64 = 150;
/// What of it is the file: a segment of 1400 bytes in a datagram of 1432.
const PAYLOAD_SHARE: f64 = 1400.0 / 1432.0;

/// When the power fails.
#[derive(Debug, Clone, Copy)]
enum Moment {
    /// The receiver has so many bytes.
    Arrived(u64),
    /// So long after the sender began.
    Begun(Duration),
}

impl Moment {
    fn of(round: u32, rounds: u32, size: u64) -> Self {
        let arriving = (rounds * ARRIVING_PERCENT).div_ceil(100);
        if round <= arriving {
            return Self::Arrived(size / u64::from(arriving + 1) * u64::from(round));
        }
        let share = f64::from(round - arriving) / f64::from(rounds - arriving);
        let whole =
            Duration::from_secs_f64(size as f64 * 8.0 / (MBPS as f64 * 1e6 * PAYLOAD_SHARE));
        Self::Begun(whole + ENDING.mul_f64(share))
    }
}

/// In what state a failure left the receiver's disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// The file was not under its name; so many bytes had come.
    Part(u64),
    /// It was, and right.
    Whole,
}

/// What a series of power failures gave.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Images that held the whole file under its name.
    pub whole: u32,
    /// The most bytes that travelled again, of those that may.
    pub again: (u64, u64),
    /// Rounds in which everything was as it must be.
    pub passed: u32,
    /// One line for each other round.
    pub failures: Vec<String>,
}

/// A file system in an image file, gone with this.
struct Image(PathBuf);

impl Drop for Image {
    fn drop(&mut self) {
        // The whole directory goes in the end.
        let _ = fs::remove_file(&self.0);
    }
}

/// It mounted, while this lives.
struct Mounted {
    at: PathBuf,
}

impl Mounted {
    fn new(image: &Path, at: PathBuf) -> Result<Self, ToolError> {
        fs::create_dir_all(&at).map_err(tool::at(at.display()))?;
        // The kernel by itself writes nothing while a copy is made.
        tool::output("mount", &["-o", "loop,commit=300", &text(image), &text(&at)])?;
        Ok(Self { at })
    }

    fn inbox(&self) -> Result<PathBuf, ToolError> {
        let inbox = self.at.join("in");
        fs::create_dir_all(&inbox).map_err(tool::at(inbox.display()))?;
        Ok(inbox)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // Nothing can be done about a mount that will not go; the next round says so.
        let _ = tool::output("umount", &[&text(&self.at)]);
    }
}

/// Runs `rounds` power failures of a transfer of `size` bytes; `said` hears each result.
///
/// # Errors
/// When a tool is missing, the system refuses to mount, or the user interrupts.
pub fn run(
    fanfare: &Fanfare,
    rounds: u32,
    size: u64,
    said: impl Fn(u32, Result<Left, &str>),
) -> Result<Outcome, ToolError> {
    let scratch = Scratch::new()?;
    let payload = Payload::make(scratch.path(), FILE, size)?;
    let blank = scratch.path().join("blank.img");
    let file = fs::File::create(&blank).map_err(tool::at(blank.display()))?;
    file.set_len(IMAGE_BYTES.max(size * 2)).map_err(tool::at(blank.display()))?;
    tool::output("mkfs.ext4", &["-q", "-F", &text(&blank)])?;
    let mut outcome = Outcome::default();
    for round in 1..=rounds {
        let moment = Moment::of(round, rounds, size);
        let run = Round { fanfare, scratch: scratch.path(), payload: &payload, port: port(round) };
        match run.play(&blank, moment, &mut outcome)? {
            Ok(left) => {
                outcome.passed += 1;
                outcome.whole += u32::from(left == Left::Whole);
                said(round, Ok(left));
            }
            Err(why) => {
                said(round, Err(&why));
                outcome.failures.push(format!("round {round}: {why}"));
            }
        }
    }
    Ok(outcome)
}

struct Round<'a> {
    fanfare: &'a Fanfare,
    scratch: &'a Path,
    payload: &'a Payload,
    port: u16,
}

impl Round<'_> {
    /// One failure; what was wrong, if anything.
    fn play(
        &self,
        blank: &Path,
        moment: Moment,
        outcome: &mut Outcome,
    ) -> Result<Result<Left, String>, ToolError> {
        // Of this round alone: whoever makes a mount namespace meanwhile keeps what is mounted.
        let of_round = |name: &str| self.scratch.join(format!("{name}-{}", self.port));
        let (disk, left) = (Image(of_round("disk.img")), Image(of_round("left.img")));
        copy(blank, &disk.0)?;
        let mut had = 0;
        {
            let mounted = Mounted::new(&disk.0, of_round("disk"))?;
            self.transfer(&mounted.inbox()?, |receiver, sender| {
                let mut begun = None;
                let there = || match moment {
                    Moment::Arrived(bytes) => received(receiver) >= bytes,
                    Moment::Begun(time) => {
                        if begun.is_none() && sender.has_event("sending") {
                            begun = Some(Instant::now());
                        }
                        begun.is_some_and(|begun| begun.elapsed() >= time)
                    }
                };
                wait_for(Instant::now() + Duration::from_secs(30), there)?;
                had = received(receiver).min(self.payload.size);
                receiver.while_stopped(|| copy(&disk.0, &left.0))
            })?;
        }
        let mounted = Mounted::new(&left.0, of_round("left"))?;
        let inbox = mounted.inbox()?;
        match self.payload.check(&inbox) {
            Verdict::Differs { size } => {
                return Ok(Err(format!("a wrong file of {size} bytes under its final name")));
            }
            // It was finished and safe just before: there is nothing to take up again.
            Verdict::Same => return Ok(Ok(Left::Whole)),
            Verdict::Absent => {}
        }
        let wire = self.transfer(&inbox, |_, _| Ok(()))?;
        if self.payload.check(&inbox) != Verdict::Same {
            return Ok(Err("the file is not right after the repetition".into()));
        }
        let lacked = self.payload.size - had;
        // Headers aside; flushes, probes and the like count as symbols.
        let symbols = (wire as f64 * PAYLOAD_SHARE) as u64;
        let (again, allowed) = (symbols.saturating_sub(lacked), SLACK + had / 100);
        if again * outcome.again.1.max(1) > outcome.again.0 * allowed {
            outcome.again = (again, allowed);
        }
        Ok(if again > allowed {
            Err(format!("{again} bytes of {had} that were there were sent again, {allowed} may be"))
        } else {
            Ok(Left::Part(had))
        })
    }

    /// A whole transfer into `inbox`; `meanwhile` runs beside it. Bytes the sender sent.
    fn transfer(
        &self,
        inbox: &Path,
        meanwhile: impl FnOnce(&Process, &Process) -> Result<(), ToolError>,
    ) -> Result<u64, ToolError> {
        let group = format!("{GROUP}:{}", self.port);
        let net = ["--interface", "lo", "--group", &group, "--json"];
        let mut command = Command::new(self.fanfare.program());
        command.arg("recv").arg(inbox).args(net).args(["--once", "--timeout", "60s"]);
        let mut receiver = Process::start("receiver", command)?;
        wait_for(Instant::now() + Duration::from_secs(5), || !receiver.events().is_empty())?;
        let mut command = Command::new(self.fanfare.program());
        command.arg("send").arg(&self.payload.path).args(net);
        command.args(["--expect", "1", "--cc", "fixed", "--rate", &format!("{MBPS}M")]);
        let mut sender = Process::start("sender", command)?;
        meanwhile(&receiver, &sender)?;
        let deadline = Instant::now() + Duration::from_secs(60);
        for process in [&mut sender, &mut receiver] {
            let code = process.wait_until(deadline)?;
            if code != Some(0) {
                let why = format!("exit {code:?}: {}", process.last_words());
                return Err(ToolError::Failed { command: process.label().to_owned(), why });
            }
        }
        let sent = sender.events().iter().rev().find_map(|event| event["wire_bytes"].as_u64());
        Ok(sent.unwrap_or(0))
    }
}

fn received(receiver: &Process) -> u64 {
    let events = receiver.events();
    let of = |name| events.iter().rev().find(|event| event["event"] == name);
    // The last moments have no progress of their own.
    if of("file").is_some() {
        return u64::MAX;
    }
    of("progress").and_then(|event| event["bytes"].as_u64()).unwrap_or(0)
}

fn copy(from: &Path, to: &Path) -> Result<(), ToolError> {
    tool::output("cp", &["--sparse=always", &text(from), &text(to)]).map(drop)
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

fn port(round: u32) -> u16 {
    20_000 + ((std::process::id() + round) % 20_000) as u16
}

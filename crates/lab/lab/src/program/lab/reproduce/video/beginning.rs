//! Who comes when the source has gone, and wants the beginning: a neighbour has it.

use std::{
    thread,
    time::{Duration, Instant},
};

use fanfare_command::Failure;
use fanfare_lab::Stop;

use crate::lab::reproduce::stage::{broken, fetch, lab, pause};

use super::programs::Running;

/// The neighbour begins; the source goes; the late one comes; all ends.
const BEGINS: Duration = Duration::from_secs(3);
const GOES: Duration = Duration::from_secs(34);
const COMES: Duration = Duration::from_secs(36);
/// How long to wait for all of it, and how often to look.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(20);

const SCENARIO: &str = "[scenario]\nname = \"video-beginning\"\nduration = \"700s\"\n\
    [[node]]\nname = \"s\"\nhost = true\n[[node]]\nname = \"n\"\nhost = true\n\
    [[node]]\nname = \"late\"\nhost = true\n\
    [[medium]]\nnodes = [\"s\", \"n\", \"late\"]\nrate = \"10Mbps\"\ndelay = \"1ms\"\nloss = \"1%\"\n";

/// Names of the figures.
pub(super) const FIGURES: [&str; 3] = [
    "from a program's start to a list with the beginning, s",
    "to the first segment's file, s",
    "to all that the neighbour has, s",
];

/// One run.
pub(super) fn run(seed: u64, stop: &Stop) -> Result<Vec<f64>, Failure> {
    let lab = lab(SCENARIO, seed)?;
    let [s, n, late] = lab.hosts() else { return Err(broken("it has not three hosts")) };
    let send = ["send", "test", "--name", "gate", "--renditions", "400k", "--rate", "6M"];
    let sender = Running::start(s, &send)?;
    pause(&lab, stop, BEGINS)?;
    let neighbour = Running::start(n, &["serve"])?;
    pause(&lab, stop, GOES)?;
    drop(sender);
    pause(&lab, stop, COMES)?;
    let segments = neighbour.events().into_iter().filter(|event| event.is_segment());
    let numbers: Vec<u32> = segments.map(|event| event.number).collect();
    let (Some(first), held) = (numbers.iter().min().copied(), numbers.len()) else {
        return Err(broken("the neighbour has nothing"));
    };
    let began = Instant::now();
    let viewer = Running::start(late, &["serve"])?;
    let mut seen = [f64::NAN; 3];
    while seen.iter().any(|time| time.is_nan()) && began.elapsed() < PATIENCE && !stop.is_set() {
        thread::sleep(LOOK);
        let Some(address) = viewer.address() else { continue };
        let list = fetch(late, &address, "/gate/all.m3u8").unwrap_or_default();
        let now = began.elapsed().as_secs_f64();
        let mut note = |which: usize, is_so: bool| {
            if is_so && seen[which].is_nan() {
                seen[which] = now;
            }
        };
        let file = format!("400k/{first}.m4s");
        note(0, list.contains(&file));
        note(1, list.contains(&file) && fetch(late, &address, &format!("/gate/{file}")).is_some());
        note(2, list.matches(".m4s").count() >= held && !list.contains("EXT-X-GAP"));
    }
    drop((viewer, neighbour));
    lab.down().map_err(|error| crate::ending::failure(&error))?;
    Ok(seen.to_vec())
}

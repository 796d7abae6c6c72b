//! Receptions on a disk that loses power between any two steps.
//!
//! Each test plays a reception, takes what a crash at some step leaves, looks at it, starts the
//! receiver again and lets it finish. A failure names the seed that repeats it.
//!
//! - `case`: what is sent, and what may stand on the disk; `life`: one life of the receiver
//! - here: crashes, and what comes after them; `campaign`: thousands of them, and every one of a few
//!   small receptions; `faults`: disks that fail, fill up or lie

mod campaign;
mod case;
mod faults;
mod life;

use case::{CALM, Case};
use fanfare_node::disk::{
    name::PART_PREFIX,
    simulated::{SimFs, State},
};
use fanfare_proto::rng::Rng;
use life::Life;

use crate::ledger;

/// Times that a receiver is started again before it must have everything.
const LIVES: usize = 4;

/// What the crashes came to.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Tally {
    crashes: u64,
    /// After a file had been reported.
    after_reports: u64,
    /// That took something which processes had seen.
    with_losses: u64,
    /// After which a part was found and used.
    resumed: u64,
    /// After which everything came.
    finished: u64,
}

impl Tally {
    fn add(self, other: Self) -> Self {
        Self {
            crashes: self.crashes + other.crashes,
            after_reports: self.after_reports + other.after_reports,
            with_losses: self.with_losses + other.with_losses,
            resumed: self.resumed + other.resumed,
            finished: self.finished + other.finished,
        }
    }
}

/// Plays `case` from the start and returns the disk before every so many of its steps and at the
/// end.
fn play(case: &Case, every: usize, rng: &mut Rng) -> Result<Vec<State>, String> {
    let fs = SimFs::new(case.disk(rng.next_u64()));
    fs.record(every);
    let mut stopped_after = case.stopped_after;
    for _ in 0..LIVES {
        let outcome = Life::new(case, &fs, rng).run(case.weather, stopped_after.take(), rng);
        // What processes see must never be wrong either.
        case.check(&fs.state())?;
        if outcome.is_complete() {
            break;
        }
    }
    Ok(fs.take_snapshots())
}

/// What a crash in `state` leaves: all or none of the loose ends, or the first, or any of them.
fn crash(case: &Case, state: &State, rng: &mut Rng) -> State {
    let (loose, sector) = (state.loose_ends(case.sector), case.sector);
    match rng.below(8) {
        0 => state.crash(sector, |_| false),
        1 => state.crash(sector, |_| true),
        2 => {
            let first = rng.below(loose as u64 + 1) as usize;
            state.crash(sector, |number| number < first)
        }
        // Only the process dies: what it has not synced is still at risk.
        3 => state.kill(),
        _ => {
            let share = [0.1, 0.5, 0.9][rng.below(3) as usize];
            state.crash(sector, |_| rng.random_bool(share))
        }
    }
}

/// Looks at what a crash has left, starts again, perhaps crashes once more, and finishes.
fn recover(
    case: &Case,
    left: State,
    crashes: u32,
    rng: &mut Rng,
    tally: &mut Tally,
) -> Result<(), String> {
    case.check(&left)?;
    tally.after_reports += u64::from(!left.reports.is_empty());
    let fs = SimFs::new(left);
    let again = crashes > 0 && rng.random_bool(0.2);
    if again {
        fs.record(case.step());
    }
    let mut complete = false;
    for _ in 0..LIVES {
        let outcome = Life::new(case, &fs, rng).run(CALM, None, rng);
        tally.resumed += u64::from(!outcome.resumed.is_empty());
        complete = outcome.is_complete();
        if complete {
            break;
        }
    }
    let state = fs.state();
    case.check(&state)?;
    if again {
        let snapshots = fs.take_snapshots();
        let at = rng.below(snapshots.len() as u64) as usize;
        return recover(case, crash(case, &snapshots[at], rng), crashes - 1, rng, tally);
    }
    tally.finished += u64::from(complete);
    // A file system that has stopped after an error comes back with the machine.
    if !complete && !state.faults.read_only {
        return Err("it does not finish".into());
    }
    let left_over = |path: &&String| path.starts_with(PART_PREFIX) && **path != ledger::file_name();
    if let Some(left) = state.seen.paths().keys().filter(|_| complete).find(left_over) {
        return Err(format!("'{left}' is left over"));
    }
    // Whatever was told must need nothing that is not on the disk.
    case.check(&state.crash(case.sector, |_| false))
}

/// Plays a case of this seed and crashes it so many times.
fn play_and_crash(seed: u64, crashes: usize) -> Result<Tally, String> {
    let mut rng = Rng::new(seed);
    let case = Case::random(&mut rng);
    let snapshots = play(&case, case.step(), &mut rng)?;
    let mut tally = Tally { crashes: crashes as u64, ..Tally::default() };
    for number in 0..crashes {
        let at = number * snapshots.len() / crashes;
        let left = crash(&case, &snapshots[at], &mut rng);
        tally.with_losses += u64::from(left.seen != snapshots[at].seen);
        recover(&case, left, 2, &mut rng, &mut tally)
            .map_err(|why| format!("crash {number} before step {at}: {why}"))?;
    }
    Ok(tally)
}

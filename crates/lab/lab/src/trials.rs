//! How trials are run, whatever they measure, and how their tables are written.

use crate::{
    error::{LabError, Refusal},
    peer::Tools,
    stop::Stop,
};
use std::{
    collections::{BTreeSet, VecDeque},
    fs, io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    thread,
};

/// With what trials are run, and where what they give goes.
#[derive(Debug, Clone)]
pub struct Trials {
    /// Where records and tables go.
    pub out: PathBuf,
    /// Side by side at most.
    pub jobs: usize,
    /// Our own program.
    pub fanfare: PathBuf,
}

impl Trials {
    /// Side by side at most: one at least.
    pub(crate) fn jobs(&self) -> usize {
        self.jobs.max(1)
    }
    pub(crate) fn tools(&self) -> Tools {
        Tools::of(&self.fanfare)
    }
    /// A table for people, NAME.md, and the same for programs, NAME.csv.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn write(&self, name: &str, markdown: &str, csv: &str) -> Result<(), LabError> {
        let failed = |error: io::Error| {
            LabError::system(format_args!("file ({})", self.out.display()), &error)
        };
        fs::create_dir_all(&self.out).map_err(failed)?;
        for (kind, text) in [("md", markdown), ("csv", csv)] {
            fs::write(self.out.join(format!("{name}.{kind}")), text).map_err(failed)?;
        }
        Ok(())
    }
}

/// Runs a trial with its files in a directory of its own. What the programs said stays there for a person
/// when something went wrong, as the row or the error says; not when the user has stopped it.
///
/// # Errors
/// It cannot be made, or what `run` says.
pub(crate) fn in_directory<Row>(
    directory: &Path,
    stop: &Stop,
    run: impl FnOnce() -> Result<Row, LabError>,
    went_wrong: impl FnOnce(&Row) -> bool,
) -> Result<Row, LabError> {
    fs::create_dir_all(directory).map_err(|error| {
        LabError::system(format_args!("file ({})", directory.display()), &error)
    })?;
    let row = run();
    let stays = match &row {
        Ok(row) => went_wrong(row),
        Err(_) => !stop.is_set(),
    };
    if !stays {
        let _ = fs::remove_dir_all(directory);
    }
    row
}

/// Why not all was measured, when the user has stopped it.
pub(crate) fn interrupted() -> LabError {
    let text = "interrupted: not all was measured. Run the same command again";
    LabError::new(Refusal::System, "lab.interrupted", text)
}

/// [`until_stopped`], where it is an error that the user stopped it.
///
/// # Errors
/// As there; or that the user stopped it.
pub(crate) fn side_by_side<P: Send, R: Send>(
    jobs: usize,
    planned: impl IntoIterator<Item = P>,
    stop: &Stop,
    make: impl Fn(usize, P) -> Result<R, LabError> + Sync,
    tell: &mut (dyn FnMut(&R) + Send),
) -> Result<Vec<R>, LabError> {
    until_stopped(jobs, planned, stop, make, tell)?.ok_or_else(interrupted)
}

/// Makes all that is planned, so many at a time, until one cannot be made or the user stops it: then the
/// others end with what they are at. Results are told as they come, and given in the order of the plan;
/// `None` when the user stopped it before all were made.
///
/// # Errors
/// Why the first of the plan, of those that could not be made, could not.
pub fn until_stopped<P: Send, R: Send, E: Send>(
    jobs: usize,
    planned: impl IntoIterator<Item = P>,
    stop: &Stop,
    make: impl Fn(usize, P) -> Result<R, E> + Sync,
    tell: &mut (dyn FnMut(&R) + Send),
) -> Result<Option<Vec<R>>, E> {
    let planned: VecDeque<(usize, P)> = planned.into_iter().enumerate().collect();
    let (planned, done) = (Mutex::new(planned), Mutex::new((Vec::new(), tell)));
    let work = || {
        while !stop.is_set() {
            let next = planned.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            let Some((number, one)) = next else { return };
            let made = make(number, one);
            let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
            match &made {
                Ok(made) => (done.1)(made),
                Err(_) => planned.lock().unwrap_or_else(PoisonError::into_inner).clear(),
            }
            done.0.push((number, made));
        }
    };
    // A panic of a worker goes on here.
    thread::scope(|scope| (0..jobs.max(1)).for_each(|_| drop(scope.spawn(work))));
    let (mut all, _) = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    all.sort_by_key(|(number, _)| *number);
    let made = all.into_iter().map(|(_, made)| made).collect::<Result<Vec<R>, E>>()?;
    let left = planned.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(left.is_empty().then_some(made))
}

/// Those of `systems` that can be run. One that is missing and may be is told instead.
///
/// # Errors
/// One that is needed is missing, or cannot be made.
pub(crate) fn available<S: Copy, P>(
    systems: &[S],
    prepare: impl Fn(S) -> Result<P, LabError>,
    may_lack: impl Fn(S) -> bool,
    mut missing: impl FnMut(S, &LabError),
) -> Result<Vec<(S, P)>, LabError> {
    let mut available = Vec::new();
    for system in systems {
        match prepare(*system) {
            Ok(prepared) => available.push((*system, prepared)),
            Err(error) if error.refusal == Refusal::Missing && may_lack(*system) => {
                missing(*system, &error);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(available)
}

/// Each system and its version once, as a table for people ends.
#[must_use]
pub fn versions<'a>(measured: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let each: BTreeSet<(&str, &str)> = measured.collect();
    let lines = each.iter().map(|(system, version)| format!("- {system}: {version}\n"));
    "\nVersions, and a hash of how each is set:\n\n".to_owned() + &lines.collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::System;

    #[test]
    fn what_programs_said_stays_when_a_trial_went_wrong_and_not_when_it_was_stopped() {
        let at = std::env::temp_dir().join(format!("fanfare-trial-{}", std::process::id()));
        let stop = Stop::new().unwrap();
        let stays = |row: Result<bool, LabError>| {
            let _ = in_directory(&at, &stop, || row, |wrong| *wrong);
            let is_there = at.is_dir();
            let _ = fs::remove_dir_all(&at);
            is_there
        };
        let error = || LabError::new(Refusal::System, "lab.test", "it fails");
        assert!(stays(Ok(true)) && stays(Err(error())));
        assert!(!stays(Ok(false)));
        stop.set();
        assert!(!stays(Err(error())) && stays(Ok(true)));
    }

    #[test]
    fn what_is_made_side_by_side_is_given_in_the_order_of_the_plan_and_an_error_ends_it() {
        let stop = Stop::new().unwrap();
        let told = &mut Vec::new();
        let square = |place: usize, n: u32| {
            assert_eq!(place as u32, n);
            Ok(n * n)
        };
        let made = side_by_side(3, 0..20, &stop, square, &mut |square: &u32| told.push(*square));
        assert_eq!(made.unwrap(), (0..20).map(|n| n * n).collect::<Vec<_>>());
        told.sort_unstable();
        assert_eq!(told.len(), 20);
        let error = LabError::new(Refusal::System, "lab.test", "it fails");
        let fails = |_, n| if n == 3 { Err(error.clone()) } else { Ok(n) };
        let mut count = 0;
        assert_eq!(side_by_side(1, 0..20, &stop, fails, &mut |_| count += 1), Err(error.clone()));
        assert_eq!(count, 3, "nothing is begun after it");
        stop.set();
        let never = side_by_side(2, 0..20, &stop, fails, &mut |_| ());
        assert_eq!(never, Err(interrupted()));
    }

    #[test]
    fn only_a_missing_system_that_may_be_missing_is_left_out() {
        let prepare = |system| match system {
            System::Fanfare => Ok(1),
            System::Norm => Err(LabError::new(Refusal::Missing, "lab.peer", "norm")),
            _ => Err(LabError::new(Refusal::System, "lab.peer", "broken")),
        };
        let both = [System::Norm, System::Fanfare];
        let mut told = Vec::new();
        let found = available(&both, prepare, |_| true, |system, _| told.push(system));
        assert_eq!((found, told), (Ok(vec![(System::Fanfare, 1)]), vec![System::Norm]));
        assert!(available(&both, prepare, |_| false, |_, _| {}).is_err());
        assert!(available(&[System::Tcp], prepare, |_| true, |_, _| {}).is_err());
    }

    #[test]
    fn a_version_is_told_once_in_the_order_of_systems() {
        let text = versions([("norm", "2"), ("fanfare", "1"), ("norm", "2")].into_iter());
        assert!(text.ends_with("\n\n- fanfare: 1\n- norm: 2\n"), "{text}");
    }
}

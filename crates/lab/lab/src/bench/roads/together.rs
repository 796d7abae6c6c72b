//! Slow roads, some at the same time: their programs wait nearly all of it, and do not disturb each other.

use std::{
    fs,
    path::Path,
    sync::{
        Mutex,
        mpsc::{self, Sender},
    },
    thread,
};

use super::{RoadSetup, RoadTold, row::RoadRow, transfer::RoadTransfer};
use crate::error::LabError;

/// News of one of the workers.
enum WorkerNews {
    Transfer(RoadTransfer),
    Road { at: usize, rows: Vec<RoadRow> },
    Failed(LabError),
}

/// Measures these roads of the plan, as many at once as it says, and has each one's rows kept.
///
/// The first failure ends it: no further transfer begins then.
pub(super) fn measure(
    setup: &RoadSetup<'_>,
    roads: &[usize],
    tell: &mut dyn FnMut(&RoadTold<'_>),
    keep: &mut dyn FnMut(usize, Vec<RoadRow>) -> Result<(), LabError>,
) -> Result<(), LabError> {
    let next = Mutex::new(roads.iter().copied());
    thread::scope(|scope| {
        let (news, told) = mpsc::channel();
        for job in 0..setup.bench.jobs.min(roads.len()) {
            let (news, next) = (news.clone(), &next);
            let _ = scope.spawn(move || work(setup, job, next, &news));
        }
        drop(news);
        let mut failed = Ok(());
        for each in told {
            let done = match each {
                WorkerNews::Transfer(transfer) => {
                    tell(&RoadTold::Transfer(&transfer));
                    Ok(())
                }
                WorkerNews::Road { at, rows } => keep(at, rows),
                WorkerNews::Failed(error) => Err(error),
            };
            if done.is_err() && failed.is_ok() {
                failed = done;
                // Nothing is left for the others.
                next.lock()
                    .expect("no worker panics while it takes a road")
                    .by_ref()
                    .for_each(drop);
            }
        }
        failed
    })
}

/// Measures one road after another until none is left, with files of its own.
fn work(
    setup: &RoadSetup<'_>,
    job: usize,
    next: &Mutex<impl Iterator<Item = usize>>,
    news: &Sender<WorkerNews>,
) {
    // The receiver outlives all workers.
    let send = |each: WorkerNews| drop(news.send(each));
    let scratch = setup.scratch.path().join(format!("job-{job}"));
    if let Err(error) = fs::create_dir_all(&scratch) {
        return send(WorkerNews::Failed(no_directory(&scratch, &error)));
    }
    loop {
        let taken = next.lock().expect("no worker panics while it takes a road").next();
        let Some(at) = taken else { return };
        let mut tell = |told: &RoadTold<'_>| {
            if let RoadTold::Transfer(transfer) = told {
                send(WorkerNews::Transfer((*transfer).clone()));
            }
        };
        match setup.measure(&setup.bench.roads[at], &scratch, &mut tell) {
            Ok(rows) => send(WorkerNews::Road { at, rows }),
            Err(error) => return send(WorkerNews::Failed(error)),
        }
    }
}

fn no_directory(path: &Path, error: &std::io::Error) -> LabError {
    LabError::system(format_args!("file ({})", path.display()), error)
}

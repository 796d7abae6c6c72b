//! Receivers take what they were told to take, and nothing else. Senders and receivers of several sessions
//! are side by side, drawn by chance, with real programs on hosts of their own.
//!
//! `FANFARE_SESSIONS_DRAWS=500` draws more than CI does, `FANFARE_SESSIONS_SEED=N` begins with another seed,
//! `FANFARE_SESSIONS_PARALLEL=N` plays so many at once, `FANFARE_SESSIONS_PROGRAM=PATH` tries another
//! program, and `FANFARE_SESSIONS_KEEP=1` leaves the files.

mod cases;
mod draw;
mod oracle;
mod play;
mod world;

use std::{
    path::PathBuf,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use draw::SessionDraw;
use play::PlayedDraw;

/// Number of draws that take less than a minute on two cores.
const DRAWS: u64 = 25;
/// Most of the time of a draw is waiting.
const PARALLEL: u64 = 4;

fn number(name: &str, otherwise: u64) -> u64 {
    let name = format!("FANFARE_SESSIONS_{name}");
    std::env::var(&name)
        .map_or(otherwise, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text}")))
}

fn program() -> PathBuf {
    std::env::var_os("FANFARE_SESSIONS_PROGRAM").map_or(crate::PROGRAM.into(), PathBuf::from)
}

#[test]
fn who_did_not_join_a_session_has_nothing_of_it_and_who_joined_has_everything() {
    let (first, draws) = (number("SEED", 1), number("DRAWS", DRAWS));
    let program = program();
    let (next, played) = (AtomicU64::new(first), AtomicU64::new(0));
    let failed = Mutex::new(Vec::new());
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first + draws {
                break;
            }
            let draw = SessionDraw::new(seed);
            let dir = crate::support::place()
                .join(format!("fanfare-sessions-{}-{seed}", std::process::id()));
            if let Some(text) = PlayedDraw::new(&draw, dir, &program).play() {
                eprintln!("{text}");
                failed.lock().unwrap().push(text);
            }
            played.fetch_add(1, Ordering::Relaxed);
        }
    };
    std::thread::scope(|scope| {
        (0..number("PARALLEL", PARALLEL)).for_each(|_| drop(scope.spawn(work)))
    });
    let (failed, played) = (failed.into_inner().unwrap(), played.into_inner());
    eprintln!("{played} draws from seed {first}, {} wrong", failed.len());
    assert_eq!(played, draws);
    assert!(failed.is_empty(), "from seed {first}:\n{}", failed.concat());
}

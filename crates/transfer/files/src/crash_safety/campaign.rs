//! Thousands of crashes of receptions made up by a seed, and every crash of a few small ones.

use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicU64, Ordering},
};

use fanfare_node::disk::placement::Conflict;

use super::{
    case::{Sent, content},
    *,
};

/// Crashes of each case: most cases have fewer steps.
const CRASHES_PER_CASE: usize = 100;
/// Crashes in an ordinary run; `cargo xtask crash --simulated 100000` asks for more.
const CRASHES: u64 = 5_000;
/// Loose ends of which every subset is tried; of more, as many subsets by chance.
const LOOSE_ENDS_MAX: usize = 12;
const SUBSETS: usize = 1 << LOOSE_ENDS_MAX;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

#[test]
fn no_crash_leaves_a_wrong_file_or_takes_one_that_was_reported() {
    let (first, crashes) = (setting("FANFARE_SEED", 1), setting("FANFARE_CRASHES", CRASHES));
    let cases = crashes.div_ceil(CRASHES_PER_CASE as u64);
    let next = AtomicU64::new(first);
    let work = || {
        let (mut tally, mut wrong) = (Tally::default(), Vec::new());
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first + cases {
                return (tally, wrong);
            }
            match play_and_crash(seed, CRASHES_PER_CASE) {
                Ok(more) => tally = tally.add(more),
                Err(why) => {
                    // At once: the others may take minutes.
                    println!("seed {seed}: {why}");
                    wrong.push(format!("seed {seed}: {why}"));
                }
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (mut tally, mut wrong) = (Tally::default(), Vec::new());
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        for (more, also) in threads.into_iter().map(|thread| thread.join().unwrap()) {
            tally = tally.add(more);
            wrong.extend(also);
        }
    });
    println!("seeds {first}..{}: {tally:?}, {} wrong", first + cases, wrong.len());
    assert!(wrong.is_empty(), "FANFARE_SEED=<seed> FANFARE_CRASHES=1 repeats: {wrong:#?}");
    if cases >= 50 {
        // Otherwise it would show nothing.
        assert!(tally.after_reports > tally.crashes / 10, "{tally:?}");
        assert!(tally.with_losses > tally.crashes / 4, "{tally:?}");
        assert!(tally.resumed > 0 && tally.finished > tally.crashes * 9 / 10, "{tally:?}");
    }
}

/// Small receptions, so that all that may survive can be tried.
fn small_cases() -> Vec<Case> {
    let bytes = |seed, size| content(&mut Rng::new(seed), size);
    let new = Case::of("f", bytes(1, 900));
    let with_old =
        |conflict| Case { old: vec![("f".to_owned(), bytes(2, 700))], conflict, ..new.clone() };
    let mut by_link = with_old(Conflict::KeepBoth);
    by_link.faults.renames_new = false;
    vec![
        new.clone(),
        Case::of("d/e/f", bytes(1, 300)),
        with_old(Conflict::Overwrite),
        with_old(Conflict::KeepBoth),
        by_link,
        Case { old: vec![("f".to_owned(), bytes(1, 900))], ..new.clone() },
        Case { plain: true, ..new },
        Case { senders: 2, ..Case::of("f", bytes(1, 300)) },
        Case::pack_of(vec![Sent::new("f", bytes(1, 300))]),
        Case::pack_of(vec![Sent::new("n/f", bytes(1, 300)), Sent::new("n/g", bytes(2, 30))]),
    ]
}

#[test]
fn whatever_survives_of_a_small_reception_at_any_step_it_is_right_and_ends_well() {
    let (mut tried, mut different) = (0, 0);
    for (number, case) in small_cases().iter().enumerate() {
        let mut rng = Rng::new(number as u64);
        let snapshots = play(case, 1, &mut rng).unwrap();
        for (step, state) in snapshots.iter().enumerate() {
            let loose = state.loose_ends(case.sector);
            let mut seen = BTreeSet::new();
            let all = (loose <= LOOSE_ENDS_MAX).then_some(0..1_u64 << loose);
            let some = (0..SUBSETS).map(|_| rng.next_u64()).collect::<Vec<_>>();
            let mut subsets: Vec<u64> = all.map_or(some, Iterator::collect);
            subsets.extend([0, u64::MAX]);
            for subset in subsets {
                tried += 1;
                let left = state.crash(case.sector, |end| subset >> end & 1 == 1);
                if seen.insert(left.seen.paths()) {
                    different += 1;
                    let done = recover(case, left, 0, &mut rng, &mut Tally::default());
                    assert_eq!(done, Ok(()), "case {number}, step {step}, subset {subset:b}");
                }
            }
        }
    }
    println!("{tried} subsets, {different} different disks");
    assert!(different > 150, "{different}");
}

#[test]
fn a_crash_costs_at_most_eight_mib_of_a_large_file() {
    const MIB: u64 = 1 << 20;
    let mut rng = Rng::new(7);
    let case = Case { sector: 4096, ..Case::of("big", content(&mut rng, 16 << 20)) };
    let snapshots = play(&case, 5, &mut rng).unwrap();
    let mut checked = 0;
    for state in snapshots {
        let left = state.crash(case.sector, |_| false);
        if left.received < 10 * MIB
            || !left.reports.is_empty()
            || left.seen.paths().contains_key("big")
        {
            continue;
        }
        checked += 1;
        let fs = SimFs::new(left.clone());
        let outcome = Life::new(&case, &fs, &mut rng).run(CALM, None, &mut rng);
        assert!(outcome.is_complete(), "{outcome:?}");
        let kept: u64 = outcome.resumed.iter().sum();
        // What was gathered but not written, and groups that were begun, come on top.
        assert!(kept + 10 * MIB >= left.received, "{} received, {kept} kept", left.received);
    }
    assert!(checked >= 3, "{checked}");
}

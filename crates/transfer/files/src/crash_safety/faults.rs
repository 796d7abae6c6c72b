//! Disks that fail, fill up or lie.

use crate::content::receipt::Reason;
use fanfare_node::disk::{
    placement::Conflict,
    simulated::{SimFs, State},
};
use fanfare_proto::rng::Rng;

use super::{
    Tally,
    case::{CALM, Case, Sent, Weather, content},
    life::{Life, Outcome},
    play, recover,
};
use crate::ledger;

fn live(case: &Case, fs: &SimFs) -> Outcome {
    let mut rng = Rng::new(5);
    Life::new(case, fs, &mut rng).run(case.weather, None, &mut rng)
}

fn small() -> Case {
    Case::of("d/f", content(&mut Rng::new(1), 900))
}

/// With a manifest, and so with a part that is kept.
fn large() -> Case {
    Case { sector: 4096, ..Case::of("d/f", content(&mut Rng::new(1), (2 << 20) + 5)) }
}

/// Two files that go into a new directory, packed.
fn packed() -> Case {
    let file = |name, size| Sent::new(name, content(&mut Rng::new(size), size as usize));
    Case::pack_of(vec![file("n/f", 300), file("n/g", 40)])
}

/// Names of all files but the ledger.
fn names(state: &State) -> Vec<String> {
    let paths = state.seen.paths();
    paths.into_keys().filter(|path| *path != ledger::file_name()).collect()
}

fn powerless(case: &Case, state: &State) -> State {
    state.crash(case.sector, |_| false)
}

#[test]
fn after_a_failed_sync_nothing_is_reported_that_the_disk_does_not_hold() {
    for mut case in [small(), large(), packed()] {
        let whole = SimFs::new(case.disk(1));
        assert!(live(&case, &whole).is_complete());
        let mut failed = 0;
        for sync in 0..whole.state().syncs {
            case.faults.sync = Some(sync);
            let fs = SimFs::new(case.disk(sync));
            let outcome = live(&case, &fs);
            if outcome.is_complete() {
                // It was none that the file needs: a manifest's.
                assert_eq!(case.check(&powerless(&case, &fs.state())), Ok(()), "sync {sync}");
                continue;
            }
            failed += 1;
            assert_eq!((&outcome.failed[..], outcome.held.len()), (&[Reason::DiskError][..], 0));
            let left = fs.state();
            // Files of a pack have their names, and are whole, before those are synced.
            let clean = left.faults.read_only || names(&left).is_empty();
            assert!(clean || !case.packs.is_empty(), "sync {sync}: {left:?}");
            assert_eq!(case.check(&left), Ok(()), "sync {sync}");
            // The user starts it again, without a reboot: what memory shows is not the disk.
            let killed = left.kill();
            let mut tally = Tally::default();
            let done = recover(&case, killed, 0, &mut Rng::new(sync), &mut tally);
            assert_eq!(done, Ok(()), "sync {sync}");
            let rebooted = powerless(&case, &left);
            assert_eq!(recover(&case, rebooted, 0, &mut Rng::new(sync), &mut tally), Ok(()));
        }
        assert!(failed >= if case.packs.is_empty() { 3 } else { 2 }, "{failed}");
    }
}

#[test]
fn a_write_that_fails_fails_its_object_with_a_reason_even_when_no_hash_is_announced() {
    for (plain, mut case) in [(false, small()), (true, small()), (false, large())] {
        case.plain = plain;
        let fs = SimFs::new(case.disk(1));
        // A manifest's two writes come first, at once and for good; without them the file still
        // comes.
        case.faults.write = Some(if case.files[0].manifest.is_some() { 2 } else { 0 });
        fs.with(|state| state.faults = case.faults.clone());
        let outcome = live(&case, &fs);
        assert_eq!((&outcome.failed[..], outcome.held.len()), (&[Reason::DiskError][..], 0));
        assert_eq!(case.check(&fs.state()), Ok(()));
    }
}

#[test]
fn a_disk_that_is_full_is_said_before_any_byte_and_one_that_fills_up_when_it_does() {
    let mut case = large();
    case.faults.room = 1 << 20;
    let fs = SimFs::new(case.disk(1));
    assert_eq!(live(&case, &fs).failed, [Reason::DiskFull]);
    let left = names(&fs.state());
    // Its manifest goes with the next start.
    assert!(left.iter().all(|path| path.ends_with(".manifest")), "{left:?}");

    // Room that cannot be reserved is taken by somebody else meanwhile.
    case.faults.room = 1 << 40;
    case.faults.reserves = false;
    let fs = SimFs::new(case.disk(1));
    fs.with(|state| state.faults.full_after = 3 << 19);
    let outcome = live(&case, &fs);
    assert_eq!((&outcome.failed[..], outcome.held.len()), (&[Reason::DiskFull][..], 0));
    fs.with(|state| state.faults.full_after = u64::MAX);
    let outcome = live(&case, &fs);
    assert!(outcome.is_complete(), "{outcome:?}");
    assert_eq!(outcome.resumed, [23 << 16], "groups that were whole need not travel again");
}

#[test]
fn on_a_read_only_disk_objects_fail_with_a_reason() {
    let mut case = small();
    case.faults.read_only = true;
    assert_eq!(live(&case, &SimFs::new(case.disk(1))).failed, [Reason::DiskError]);
}

#[test]
fn wrong_bytes_are_mended_before_the_file_has_its_name() {
    let case = Case { weather: Weather { corruption: 0.05, ..CALM }, ..large() };
    let snapshots = play(&case, 1, &mut Rng::new(3)).unwrap();
    let fs = SimFs::new(case.disk(1));
    let outcome = live(&case, &fs);
    assert!(outcome.mended > 0 && outcome.is_complete(), "{outcome:?}");
    assert!(snapshots.iter().all(|state| case.check(&powerless(&case, state)).is_ok()));
}

#[test]
fn two_senders_of_one_file_share_its_part_and_both_hear_that_it_is_held() {
    let mut case = Case { senders: 2, ..large() };
    // Where no room is reserved a part is as long as what has come.
    for reserves in [false, true] {
        case.faults.reserves = reserves;
        let fs = SimFs::new(case.disk(1));
        let outcome = live(&case, &fs);
        assert!(outcome.is_complete(), "{outcome:?}");
        assert_eq!(names(&fs.state()), ["d/f"]);
    }

    // The same where another file has the name.
    let old = vec![("f".to_owned(), vec![1; 10])];
    let mut case = Case { old, ..case };
    case.files[0].name = "f".to_owned();
    let fs = SimFs::new(case.disk(1));
    for seed in 0..8 {
        let mut rng = Rng::new(seed);
        let outcome = Life::new(&case, &fs, &mut rng).run(CALM, None, &mut rng);
        assert!(outcome.is_complete(), "{outcome:?}");
        assert_eq!(names(&fs.state()), ["f", "f.1"]);
    }
}

#[test]
fn a_file_that_is_to_stay_stays_and_the_other_is_reported_as_not_taken() {
    let mut case = Case { conflict: Conflict::Keep, ..large() };
    case.files[0].name = "f".to_owned();
    case.old.push(("f".to_owned(), vec![1; 10]));
    let fs = SimFs::new(case.disk(1));
    assert_eq!(live(&case, &fs).failed, [Reason::Conflict]);
    assert_eq!(case.check(&powerless(&case, &fs.state())), Ok(()));
    assert_eq!(names(&fs.state()), ["f"]);
}

/// The tests above can fail: this is what they would say.
#[test]
fn a_disk_that_lies_about_its_syncs_is_found_out() {
    for (mut case, files) in
        [(small(), true), (small(), false), (packed(), true), (packed(), false)]
    {
        case.faults.file_syncs_lie = files;
        case.faults.directory_syncs_lie = !files;
        let snapshots = play(&case, 1, &mut Rng::new(1)).unwrap();
        // Of more than twelve loose ends, those twelve apart share their fate.
        let all = |state: &State| 0..1_u32 << state.loose_ends(case.sector).min(12);
        let wrong = snapshots.iter().any(|state| {
            let left = |subset: u32| state.crash(case.sector, |end| subset >> (end % 12) & 1 == 1);
            all(state).any(|subset| case.check(&left(subset)).is_err())
        });
        assert!(wrong, "files: {files}, packs: {}", case.packs.len());
    }
}

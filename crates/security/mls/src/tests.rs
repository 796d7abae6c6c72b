//! Groups of several members.

mod partitions;

use std::collections::BTreeMap;

use fanfare_crypto::{Key, Moment, Seal, Settings};
use proptest::prelude::*;

use crate::{Applied, Change, Fault, GroupKeying, Leaving, Member, PublicId};

fn member(n: usize) -> Member {
    Member::new(&format!("node-{n}")).unwrap()
}

/// A founder and others who have come in at once.
fn group(others: usize) -> Vec<Member> {
    let mut members: Vec<Member> = (0..=others).map(member).collect();
    let requests: Vec<Vec<u8>> = members[1..].iter().map(|m| m.request().unwrap()).collect();
    members[0].found().unwrap();
    if others > 0 {
        let change = members[0].change(&requests, &[]).unwrap();
        members[1..].iter_mut().for_each(|member| member.join(&change).unwrap());
    }
    members
}

/// All of them hear it.
fn tell(members: &mut [Member], change: &Change) {
    members.iter_mut().for_each(|member| {
        assert!(matches!(member.apply(change), Ok(Applied::Epoch(_))));
    });
}

#[test]
fn all_members_have_the_same_key_and_each_epoch_another() {
    let mut members = group(4);
    let first = members[0].key().unwrap();
    assert!(members.iter().all(|member| member.key().as_ref() == Ok(&first)));
    let change = members[0].change(&[], &[]).unwrap();
    tell(&mut members[1..], &change);
    let second = members[0].key().unwrap();
    assert!(members.iter().all(|member| member.key().as_ref() == Ok(&second)));
    assert_ne!(first, second);
    assert_eq!(second.epoch(), first.epoch() + 1);
}

#[test]
fn who_is_removed_learns_it_and_has_no_key_any_more() {
    let mut members = group(2);
    let gone = members[2].public();
    let change = members[0].change(&[], &[gone]).unwrap();
    assert_eq!(members[1].apply(&change), Ok(Applied::Epoch(2)));
    assert_eq!(members[2].apply(&change), Ok(Applied::Removed));
    assert_eq!(members[2].key(), Err(Fault::NoMember));
    assert_eq!(members[1].members().len(), 2);
}

#[test]
fn only_the_controller_changes_a_group() {
    let mut members = group(2);
    let request = member(9).request().unwrap();
    assert_eq!(members[1].change(std::slice::from_ref(&request), &[]), Err(Fault::NoController));
    // One who forces it all the same is not followed.
    members[1].controllers = vec![members[1].public()];
    let forced = members[1].change(&[request], &[]).unwrap();
    let before = members[2].key();
    assert_eq!(members[2].apply(&forced), Err(Fault::NoController));
    assert_eq!(members[0].apply(&forced), Err(Fault::NoController));
    assert_eq!(members[2].key(), before);
    let change = members[0].change(&[], &[]).unwrap();
    assert_eq!(members[2].apply(&change), Ok(Applied::Epoch(2)), "it still follows the true one");
}

#[test]
fn a_standby_takes_over_and_the_old_controller_is_not_followed_any_more() {
    let mut members = group(3);
    let standby = members[1].public();
    members[0].set_standbys(&[standby]).unwrap();
    let change = members[0].change(&[], &[]).unwrap();
    tell(&mut members[1..], &change);
    // The controller and node 3 are cut off from the others, and both controllers go on.
    members[1].take_over().unwrap();
    let theirs = members[1].change(&[], &[]).unwrap();
    assert_eq!(members[2].apply(&theirs), Ok(Applied::Epoch(3)));
    let ours = members[0].change(&[], &[]).unwrap();
    assert_eq!(members[3].apply(&ours), Ok(Applied::Epoch(3)));
    // When they hear each other again, nobody goes back.
    assert_eq!(members[2].apply(&ours), Ok(Applied::Already));
    let later = members[0].change(&[], &[]).unwrap();
    assert!(members[2].apply(&later).is_err(), "it is of another history");
    // Who was on the other side comes in again, and its old place goes.
    let lost = members[3].public();
    let request = members[3].request().unwrap();
    let change = members[1].change(&[request], &[lost]).unwrap();
    assert_eq!(members[2].apply(&change), Ok(Applied::Epoch(4)));
    members[3].join(&change).unwrap();
    assert_eq!(members[3].key(), members[1].key());
    assert_eq!(members[3].term(), 2);
}

#[test]
fn a_member_can_say_of_itself_alone_that_it_leaves() {
    let members = group(2);
    let leaving = members[1].leaving().unwrap();
    assert!(members[0].believes(&leaving));
    let other = Leaving { public: members[2].public(), ..leaving.clone() };
    assert!(!members[0].believes(&other));
    assert_eq!(Leaving::decode(&leaving.encode()), Ok(leaving.clone()));
    assert!(!group(1)[0].believes(&leaving), "it is of another group");
}

#[test]
fn a_member_goes_on_from_its_file() {
    let mut members = group(2);
    let saved = members[1].to_bytes();
    let change = members[0].change(&[], &[]).unwrap();
    let mut back = Member::from_bytes(&saved).unwrap();
    assert_eq!(back.apply(&change), Ok(Applied::Epoch(2)));
    assert_eq!(back.key(), members[0].key());
    let mut controller = Member::from_bytes(&members[0].to_bytes()).unwrap();
    let change = controller.change(&[], &[]).unwrap();
    assert_eq!(back.apply(&change), Ok(Applied::Epoch(3)));
    for cut in [0, 1, 17, 40, saved.len() / 2, saved.len() - 1] {
        assert!(Member::from_bytes(&saved[..cut]).is_err(), "{cut}");
    }
}

#[test]
fn a_request_that_waits_outlives_its_process() {
    let mut founder = member(0);
    founder.found().unwrap();
    let joiner = member(1);
    let request = joiner.request().unwrap();
    let mut again = Member::from_bytes(&joiner.to_bytes()).unwrap();
    again.join(&founder.change(&[request], &[]).unwrap()).unwrap();
    assert_eq!(again.key(), founder.key());
}

#[test]
fn what_is_changed_on_the_way_is_refused_and_nothing_is_lost() {
    let mut members = group(1);
    let change = members[0].change(&[], &[]).unwrap();
    for at in (0..change.commit.len()).step_by(7) {
        let mut forged = change.clone();
        forged.commit[at] ^= 1;
        assert!(members[1].apply(&forged).is_err(), "byte {at}");
    }
    let term = Change { term: 9, controllers: vec![PublicId([9; 32])], ..change };
    assert_eq!(members[1].apply(&term), Ok(Applied::Epoch(2)), "what counts is signed");
    assert_eq!(members[1].term(), 1);
}

/// Whether a packet sealed with one key opens with another.
fn opens(sealed_with: &Key, opened_with: &Key) -> bool {
    let at = Moment::default();
    let seal = |key: &Key, salt| Seal::new(Settings::new(vec![key.clone()], "group"), [salt; 16]);
    let (mut one, mut other) = (seal(sealed_with, 1), seal(opened_with, 2));
    let source = ([10, 0, 0, 1], 6003).into();
    let (hello, mut packet, mut out) = (one.hello(at, None), Vec::new(), Vec::new());
    one.seal(at, b"what the group says", &mut packet);
    let _ = other.open(at, source, &hello, &mut out);
    other.open(at, source, &packet, &mut out).is_ok()
}

/// Random joins and leaves, of which each member hears all, or from some point on nothing. Every
/// member's key is kept for each epoch that it was in.
fn lives(steps: &[(u8, u8)], begin: usize) {
    let mut members = group(begin - 1);
    let mut next = begin;
    // Epoch by epoch: what is sealed there, and who may open it.
    let mut epochs: BTreeMap<u64, (Key, Vec<PublicId>)> = BTreeMap::new();
    let mut had: BTreeMap<PublicId, Vec<Key>> = BTreeMap::new();
    let note = |members: &[Member],
                epochs: &mut BTreeMap<u64, (Key, Vec<PublicId>)>,
                had: &mut BTreeMap<PublicId, Vec<Key>>| {
        let (key, epoch) = (members[0].key().unwrap(), members[0].epoch().unwrap());
        let inside = members.iter().map(Member::public).collect();
        for member in members {
            assert_eq!(member.key().as_ref(), Ok(&key));
            had.entry(member.public()).or_default().push(key.clone());
        }
        epochs.insert(epoch, (key, inside));
    };
    note(&members, &mut epochs, &mut had);
    for (joins, leaves) in steps {
        let joiners: Vec<Member> = (0..usize::from(*joins)).map(|n| member(next + n)).collect();
        next += joiners.len();
        let leaving: Vec<PublicId> =
            members[1..].iter().rev().take(usize::from(*leaves)).map(Member::public).collect();
        let requests: Vec<Vec<u8>> = joiners.iter().map(|m| m.request().unwrap()).collect();
        let change = members[0].change(&requests, &leaving).unwrap();
        for mut gone in members.extract_if(.., |m| leaving.contains(&m.public())) {
            assert_eq!(gone.apply(&change), Ok(Applied::Removed));
        }
        tell(&mut members[1..], &change);
        for mut joiner in joiners {
            joiner.join(&change).unwrap();
            members.push(joiner);
        }
        note(&members, &mut epochs, &mut had);
    }
    // Keys of different epochs open nothing of each other; a member has just those of its time.
    let all: Vec<&(Key, Vec<PublicId>)> = epochs.values().collect();
    for (n, (key, inside)) in all.iter().enumerate() {
        for (id, keys) in &had {
            assert_eq!(keys.contains(key), inside.contains(id), "epoch {n}");
        }
        assert!(opens(key, key));
        for (other, _) in all.iter().skip(n + 1).take(2) {
            assert!(!opens(key, other) && !opens(other, key));
        }
    }
}

/// A number of the environment.
fn number(name: &str, few: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(few)
}

// `FANFARE_CASES=100 FANFARE_MEMBERS=100 cargo test -p fanfare-mls joins_nothing` tries more.
proptest! {
    #![proptest_config(ProptestConfig {
        cases: number("FANFARE_CASES", 8) as u32,
        ..ProptestConfig::default()
    })]

    #[test]
    fn who_has_left_opens_nothing_of_later_and_who_joins_nothing_of_earlier(
        steps in prop::collection::vec((0..4u8, 0..3u8), 1..8),
        begin in 2..=number("FANFARE_MEMBERS", 11),
    ) {
        lives(&steps, begin);
    }
}

#[test]
fn a_hundred_members_join_and_leave() {
    lives(&[(3, 10), (0, 20), (10, 0)], 100);
}

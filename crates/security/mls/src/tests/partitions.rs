//! Random joins, leaves, partitions and merges.

use std::collections::{BTreeMap, BTreeSet};

use fanfare_crypto::Key;
use proptest::prelude::*;

use super::{group, member, number, opens};
use crate::{Applied, Change, GroupKeying, Member, PublicId};

/// What happens next.
#[derive(Debug, Clone)]
enum Step {
    /// The controller of a side lets some in, and some go.
    Change { other_side: bool, joins: u8, leaves: u8 },
    /// The group falls apart: who has a bit is on the side of a standby, which takes over there.
    Split(u128),
    /// Both sides hear each other again: those of the old term come in at the new one.
    Merge,
}

/// A group, whole or in two, and all that was ever known by whom.
struct World {
    /// In each, the controller is the first.
    sides: Vec<Vec<Member>>,
    /// Who was removed goes on listening.
    gone: Vec<Member>,
    next: usize,
    /// The key of each epoch of each side, and who was in it.
    epochs: Vec<(Key, BTreeSet<PublicId>)>,
    /// The keys that each node has had, whether it was told of them or tried to follow.
    had: BTreeMap<PublicId, Vec<Key>>,
}

impl World {
    fn new(members: usize) -> Self {
        let mut world = Self {
            sides: vec![group(members - 1)],
            gone: Vec::new(),
            next: members,
            epochs: Vec::new(),
            had: BTreeMap::new(),
        };
        world.note(0);
        world
    }

    /// All of a side have one key now, and nobody has had it before.
    fn note(&mut self, side: usize) {
        let side = &self.sides[side];
        let key = side[0].key().unwrap();
        assert!(self.epochs.iter().all(|(old, _)| *old != key), "an epoch's key came twice");
        for member in side {
            assert_eq!(member.key().as_ref(), Ok(&key), "{} is not with the others", member.name());
            self.had.entry(member.public()).or_default().push(key.clone());
        }
        self.epochs.push((key, side.iter().map(Member::public).collect()));
    }

    /// A side's members apply a change, those who are removed among them; the joiners come in, and
    /// everybody who was removed at any time tries to follow.
    fn apply(&mut self, side: usize, change: &Change, gone: &[PublicId], joiners: Vec<Member>) {
        let members = &mut self.sides[side];
        for mut member in members.extract_if(.., |m| gone.contains(&m.public())) {
            assert_eq!(member.apply(change), Ok(Applied::Removed));
            self.gone.push(member);
        }
        for member in &mut members[1..] {
            assert!(matches!(member.apply(change), Ok(Applied::Epoch(_))), "{}", member.name());
        }
        for mut joiner in joiners {
            joiner.join(change).unwrap();
            members.push(joiner);
        }
        for member in &mut self.gone {
            // Whatever it makes of what it hears, it gets no key by it.
            let _ = member.apply(change);
            let _ = member.join(change);
            if let Ok(key) = member.key() {
                self.had.entry(member.public()).or_default().push(key);
            }
        }
        self.note(side);
    }

    fn change(&mut self, side: usize, joins: u8, leaves: u8) {
        let joiners: Vec<Member> =
            (self.next..self.next + usize::from(joins)).map(member).collect();
        self.next += joiners.len();
        let requests: Vec<Vec<u8>> = joiners.iter().map(|m| m.request().unwrap()).collect();
        let members = &mut self.sides[side];
        let last = members[1..].iter().rev().take(usize::from(leaves));
        let leaving: Vec<PublicId> = last.map(Member::public).collect();
        let change = members[0].change(&requests, &leaving).unwrap();
        self.apply(side, &change, &leaving, joiners);
    }

    fn split(&mut self, chosen: u128) {
        if self.sides.len() > 1 || self.sides[0].len() < 2 {
            return;
        }
        let standby = self.sides[0][1].public();
        self.sides[0][0].set_standbys(&[standby]).unwrap();
        let change = self.sides[0][0].change(&[], &[]).unwrap();
        self.apply(0, &change, &[], Vec::new());
        let goes = |n: usize| n == 1 || (n > 1 && chosen >> (n % 128) & 1 == 1);
        let (mut other, mut here) = (Vec::new(), Vec::new());
        for (n, member) in std::mem::take(&mut self.sides[0]).into_iter().enumerate() {
            if goes(n) { other.push(member) } else { here.push(member) }
        }
        self.sides = vec![here, other];
        self.sides[1][0].take_over().unwrap();
        self.change(1, 0, 0);
    }

    /// The side of the later term stays. Who is only on the other one asks to come in; whoever has left
    /// on one side loses its place on the other.
    fn merge(&mut self) {
        if self.sides.len() < 2 {
            return;
        }
        let comers = self.sides.remove(0);
        let requests: Vec<Vec<u8>> = comers.iter().map(|m| m.request().unwrap()).collect();
        let side = &mut self.sides[0];
        let here: BTreeSet<PublicId> = side.iter().map(Member::public).collect();
        let known = side[0].members().into_iter().map(|known| known.public);
        let lost: Vec<PublicId> = known.filter(|public| !here.contains(public)).collect();
        let change = side[0].change(&requests, &lost).unwrap();
        self.apply(0, &change, &lost, comers);
    }

    /// A node has just the keys of the epochs that it was in, and no key opens what another one sealed.
    fn check(&self) {
        for (n, (key, inside)) in self.epochs.iter().enumerate() {
            for (id, keys) in &self.had {
                assert_eq!(keys.contains(key), inside.contains(id), "epoch {n}");
            }
            assert!(opens(key, key));
            for (other, _) in self.epochs.iter().skip(n + 1).take(2) {
                assert!(!opens(key, other) && !opens(other, key));
            }
        }
    }
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (any::<bool>(), 0..4u8, 0..3u8)
            .prop_map(|(other_side, joins, leaves)| Step::Change { other_side, joins, leaves }),
        1 => any::<u128>().prop_map(Step::Split),
        1 => Just(Step::Merge),
    ]
}

// `FANFARE_CASES=100 FANFARE_MEMBERS=100 cargo test -p fanfare-mls partitions` tries more.
proptest! {
    #![proptest_config(ProptestConfig {
        cases: number("FANFARE_CASES", 8) as u32,
        ..ProptestConfig::default()
    })]

    #[test]
    fn in_partitions_too_who_has_left_opens_nothing_of_later_and_who_joins_nothing_of_earlier(
        steps in prop::collection::vec(step(), 1..14),
        members in 2..=number("FANFARE_MEMBERS", 11),
    ) {
        let mut world = World::new(members);
        for step in steps {
            match step {
                Step::Change { other_side, joins, leaves } => {
                    let side = usize::from(other_side).min(world.sides.len() - 1);
                    world.change(side, joins, leaves);
                }
                Step::Split(chosen) => world.split(chosen),
                Step::Merge => world.merge(),
            }
        }
        world.merge();
        prop_assert_eq!(world.sides.len(), 1);
        world.check();
    }
}

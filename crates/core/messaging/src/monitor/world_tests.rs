use super::*;

const A: NodeId = NodeId(1);
const B: NodeId = NodeId(2);
const NEXT: Duration = Duration::from_secs(5);

fn at(seconds: u64) -> Time {
    Time::ZERO.plus(Duration::from_secs(seconds))
}

fn told(version: u8, content: &[u8]) -> Told {
    Told {
        block: Block::Node,
        subject: A,
        version,
        age: Duration::ZERO,
        hop: 0,
        closeness: 0,
        content: content.to_vec(),
    }
}

#[test]
fn a_node_itself_wins_over_what_others_say_of_it() {
    let mut world = World::default();
    assert_eq!(world.merge(at(1), A, NEXT, &told(3, &[1])), Merged::New);
    let lie = Told { closeness: 0, ..told(4, &[9]) };
    assert_eq!(world.merge(at(2), B, NEXT, &lie), Merged::Older, "it claims to be as near");
    assert_eq!(world.get(A, Block::Node).unwrap().content, [1]);
    assert_eq!(world.merge(at(3), A, NEXT, &told(4, &[2])), Merged::Changed);
}

#[test]
fn what_others_say_counts_once_the_node_itself_is_silent_for_long() {
    let mut world = World::default();
    world.merge(at(1), A, NEXT, &told(3, &[1]));
    assert_eq!(world.merge(at(60), B, NEXT, &told(4, &[2])), Merged::New);
    let known = world.get(A, Block::Node).unwrap();
    assert_eq!((known.hop, known.closeness), (1, 1));
}

#[test]
fn a_node_that_begins_anew_is_believed_with_a_lower_version() {
    let mut world = World::default();
    world.merge(at(1), A, NEXT, &told(200, &[1]));
    assert_eq!(world.merge(at(2), A, NEXT, &told(0, &[2])), Merged::Changed);
}

#[test]
fn of_two_who_pass_on_the_newer_counts_whatever_comes_first() {
    for order in [[3, 4], [4, 3]] {
        let mut world = World::default();
        for version in order {
            world.merge(at(1), B, NEXT, &told(version, &[version]));
        }
        assert_eq!(world.get(A, Block::Node).unwrap().version, 4);
    }
}

#[test]
fn the_same_told_twice_is_one() {
    let mut world = World::default();
    world.merge(at(1), B, NEXT, &told(3, &[1]));
    let before = world.get(A, Block::Node).unwrap().since;
    assert_eq!(world.merge(at(1), B, NEXT, &told(3, &[1])), Merged::Older);
    assert_eq!(world.get(A, Block::Node).unwrap().since, before);
}

#[test]
fn an_age_runs_on_here() {
    let mut world = World::default();
    let old = Told { age: Duration::from_secs(10), ..told(1, &[]) };
    world.merge(at(20), B, NEXT, &old);
    assert_eq!(world.get(A, Block::Node).unwrap().age(at(25)), Duration::from_secs(15));
}

#[test]
fn who_says_nothing_gets_old_and_is_forgotten() {
    let mut world = World::default();
    world.merge(at(0), A, NEXT, &told(1, &[]));
    assert!(!world.get(A, Block::Node).unwrap().is_old(at(10)));
    assert!(world.get(A, Block::Node).unwrap().is_old(at(16)));
    assert_eq!(world.expire(at(40), B), []);
    assert_eq!(world.expire(at(46), B), [A]);
    assert!(world.nodes().is_empty());
}

#[test]
fn a_crowd_that_does_not_exist_finds_an_end() {
    let mut world = World::default();
    for id in 0..20_000 {
        let forged = Told { subject: NodeId(id), ..told(1, &[]) };
        world.merge(at(1), B, NEXT, &forged);
    }
    assert_eq!(world.sectors().count(), SUBJECTS_MAX * 3);
    assert!(world.dropped > 0);
}

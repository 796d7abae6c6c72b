//! Whatever group nodes are told in frames of ours: no panic, no loop, and what is kept has bounds. The
//! same is fuzzed (`fuzz/fuzz_targets/group.rs`).

mod talk;
mod world;

use proptest::prelude::*;
use world::World;

/// A step with a frame of one of our kinds, or with a whole datagram.
fn step() -> impl Strategy<Value = Vec<u8>> {
    let kind = prop_oneof![Just(1_u8), Just(5), Just(6), Just(7), Just(8), Just(9), any::<u8>()];
    (any::<u8>(), kind, 1..4_u8, plausible()).prop_map(|(time, kind, speaker, bytes)| {
        let length = (bytes.len() as u16).to_be_bytes();
        [&[time, kind, speaker][..], &length, &bytes].concat()
    })
}

/// Mostly what begins as such a frame does.
fn plausible() -> impl Strategy<Value = Vec<u8>> {
    let rest = || proptest::collection::vec(any::<u8>(), 0..80);
    // Asked for, no timing; node 2 to 5, instance 1, objects 0 to 7; a description with its content.
    let compact = (0..4_u8, 2..6_u8, 0..8_u8, any::<u64>(), rest()).prop_map(
        |(how, node, object, number, content)| {
            let mut bytes = vec![0, how & 1, 0, 0, 0, node, 0, 1, 0, object, 0x20];
            let mut number = number;
            while number >= 0x80 {
                bytes.push(number as u8 | 0x80);
                number >>= 7;
            }
            bytes.extend([number as u8, 3, b'a', b'/', b'b']);
            bytes.extend(content);
            bytes
        },
    );
    // It asks; heard or called nodes, publishers with gaps.
    let state =
        (0..4_u8, 0..32_u8, any::<[u8; 12]>(), rest()).prop_map(|(flags, how, publisher, rest)| {
            [&[flags, 2, how], &publisher[..], &rest].concat()
        });
    // A NORM_INFO or NORM_DATA of node 2, 13 segments of 80 bytes in blocks of 8.
    let message = (1..3_u8, any::<(u8, u8)>(), 0..8_u8, 0..16_u8, rest()).prop_map(
        |(kind, (flags, block), object, symbol, mut payload)| {
            let header = if kind == 1 { 7 } else { 8 };
            let mut bytes = vec![0x10 | kind, header, 0, 0, 0, 0, 0, 2, 0, 1, 0xa6, 0x42];
            bytes.extend([flags, 5, 0, object]);
            if kind == 2 {
                bytes.extend([0, 0, block & 1, symbol]);
            }
            bytes.extend([64, 3, 0, 0, 0, 0, 4, 16, 0, 80, 8, 8]);
            payload.resize(80, 7);
            bytes.extend(payload);
            bytes
        },
    );
    let message = message.boxed();
    let sum = (any::<[u8; 4]>(), message.clone())
        .prop_map(|(head, data)| [&[head[0], 2, head[2], head[3]][..], &data].concat());
    // Of node 2, instance 1; two groups of terms with bitmaps of a byte.
    let coded = (any::<(u8, u8, u8)>(), any::<(u8, u8)>(), 0..4_u8, rest()).prop_map(
        |((known, seed, how), bitmaps, first, sum)| {
            let head = [0, 0, 0, 2, 0, 1, how & 1, known, seed, 2];
            let groups = [first, 1, bitmaps.0, 1, 1, bitmaps.1];
            [&head[..], &groups, &sum].concat()
        },
    );
    // Of node 2, instance 1; symbols, then objects.
    let nack =
        (0..4_u8, any::<(u8, u8)>(), 0..9_u8, rest()).prop_map(|(how, bitmaps, level, rest)| {
            let head = [0, 0, 0, 2, 0, 1, how << 1, 1, 1, 3, 1, bitmaps.0];
            [&head[..], &[level, 1, 2, 1, bitmaps.1], &rest].concat()
        });
    prop_oneof![3 => compact, 2 => coded, 2 => nack, 2 => state, 3 => message, 2 => sum, 1 => rest()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn whatever_others_say_a_node_neither_panics_nor_loops_nor_grows(
        steps in proptest::collection::vec(step(), 1..20)
    ) {
        World::new().run(&steps.concat());
    }

    #[test]
    fn any_bytes_are_as_harmless(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        World::new().run(&bytes);
    }
}

#[test]
fn what_nodes_say_to_each_other_is_understood() {
    let mut world = World::new();
    world.run(&talk::recorded().concat());
    let stats = world.stats();
    assert!(stats.states_heard > 0 && stats.repairs_useful > 0, "{stats:?}");
    assert_eq!(stats.frames_refused, 0, "{stats:?}");
    let kinds = |kind| talk::recorded().iter().any(|step| step[1] & 0x0f == kind);
    assert!([0, 1, 5, 6, 7, 8, 9].into_iter().all(kinds), "each kind is among them");
}

/// With `FANFARE_WRITE_SEEDS=1` they are made anew.
#[test]
fn the_seeds_of_the_fuzz_target_are_there_and_harmless() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../fuzz/corpus/group");
    let steps = talk::recorded();
    let names = [
        (0, "norm"),
        (1, "repair"),
        (5, "compact"),
        (6, "state"),
        (7, "sum"),
        (8, "coded"),
        (9, "nack"),
    ];
    if std::env::var_os("FANFARE_WRITE_SEEDS").is_some() {
        let write = |name: &str, bytes: Vec<u8>| {
            std::fs::write(format!("{corpus}/{name}"), bytes).expect("the corpus can be written");
        };
        write("talk", steps.concat());
        for (kind, name) in names {
            let of_kind = steps.iter().filter(|step| step[1] & 0x0f == kind).take(4);
            write(name, of_kind.cloned().collect::<Vec<_>>().concat());
        }
    }
    for name in names.map(|(_, name)| name).into_iter().chain(["talk"]) {
        let seed = std::fs::read(format!("{corpus}/{name}")).expect("the corpus is there");
        World::new().run(&seed);
    }
}

/// Found by fuzzing: the newest object of a publisher lay before all that concerned a node, of which it announced
/// a number below zero.
#[test]
fn what_once_broke_a_node_does_no_longer() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../fuzz/corpus/group");
    let input = std::fs::read(format!("{corpus}/newest-before-all")).expect("it is there");
    World::new().run(&input);
}

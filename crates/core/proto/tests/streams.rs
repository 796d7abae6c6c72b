//! Streams from one session to others over a network that loses, repeats and reorders: what is read is
//! what was written, but for gaps that are told. Every seed is another run; a failure names its seed.

mod lossy;

use fanfare_proto::{Duration, FecConfig, JoinPolicy, ReceiverConfig, SenderConfig, StreamPolicy};
use lossy::{Line, Plan, World};

/// So many seeds in a quick run; `FANFARE_SEEDS` asks for more:
/// `cargo xtask stream-property` runs 100,000.
fn seeds(quick: u64) -> std::ops::Range<u64> {
    let asked = std::env::var("FANFARE_SEEDS").ok().and_then(|seeds| seeds.parse().ok());
    0..asked.unwrap_or(quick)
}

fn small() -> SenderConfig {
    SenderConfig {
        segment_size: 20,
        fec: FecConfig { source: 4, parity: 4, ..FecConfig::default() },
        grtt_initial: Duration::from_millis(5),
        backoff_factor: 1,
        group_size: 10,
        ..SenderConfig::default()
    }
}

fn plan(policy: StreamPolicy) -> Plan {
    Plan {
        policy,
        buffer: 20 * 4 * 6,
        sender: small(),
        receiver: ReceiverConfig::default(),
        receivers: 1,
        bytes: 3000,
        line: Line { loss: 0.05, twice: 0.02, spread: Duration::from_micros(700) },
        reads: true,
        early: false,
        late: None,
    }
}

#[test]
fn a_lossless_stream_arrives_whole_at_all_whatever_is_lost_repeated_and_reordered() {
    for seed in seeds(60) {
        let loss = [0.0, 0.01, 0.05, 0.2][seed as usize % 4];
        let line = Line { loss, ..plan(StreamPolicy::Lossless).line };
        let receivers = 1 + seed as usize % 3;
        let mut world = World::new(seed, Plan { line, receivers, ..plan(StreamPolicy::Lossless) });
        world.run();
        for receiver in &world.receivers {
            receiver.check(&world.sent, seed);
            assert_eq!((receiver.gaps(), receiver.ended()), (0, Some(3000)), "seed {seed}");
        }
    }
}

#[test]
fn what_is_read_of_a_repaired_stream_is_what_was_written_between_gaps_that_are_told() {
    for seed in seeds(300) {
        let loss = [0.0, 0.02, 0.1, 0.3][seed as usize % 4];
        let line = Line { loss, ..plan(StreamPolicy::Repaired).line };
        let receivers = 1 + seed as usize % 3;
        let mut world = World::new(seed, Plan { line, receivers, ..plan(StreamPolicy::Repaired) });
        world.run();
        for receiver in &world.receivers {
            receiver.check(&world.sent, seed);
            assert_eq!(receiver.ended(), Some(3000), "seed {seed}");
            assert!(loss > 0.0 || receiver.gaps() == 0, "seed {seed}: {} gaps", receiver.gaps());
        }
    }
}

#[test]
fn a_live_stream_never_waits_and_tells_what_gave_way() {
    for seed in seeds(40) {
        let mut world = World::new(seed, plan(StreamPolicy::Live));
        world.run();
        for receiver in &world.receivers {
            receiver.check(&world.sent, seed);
            assert_eq!(receiver.ended(), Some(3000), "seed {seed}");
        }
    }
}

#[test]
fn a_late_joiner_begins_where_it_was_told_to() {
    for (join, late) in [(JoinPolicy::FromNow, 60), (JoinPolicy::AllCached, 60)] {
        for seed in seeds(20) {
            let receiver = ReceiverConfig { join, ..ReceiverConfig::default() };
            let late = Some(Duration::from_millis(late));
            let plan = Plan { receiver, late, ..plan(StreamPolicy::Repaired) };
            let mut world = World::new(seed, plan);
            world.run();
            world.receivers[0].check(&world.sent, seed);
            assert_eq!(world.receivers[0].ended(), Some(3000), "seed {seed}");
        }
    }
}

#[test]
fn what_is_read_before_its_turn_is_what_was_written_and_order_is_kept_beside_it() {
    let mut early = 0;
    for seed in seeds(100) {
        let loss = [0.05, 0.1, 0.3][seed as usize % 3];
        let policy = [StreamPolicy::Lossless, StreamPolicy::Repaired][seed as usize % 2];
        let line = Line { loss, ..plan(policy).line };
        let late = (seed % 5 == 4).then_some(Duration::from_millis(40));
        let late = late.filter(|_| policy == StreamPolicy::Repaired);
        let mut world = World::new(seed, Plan { line, early: true, late, ..plan(policy) });
        world.run();
        let receiver = &world.receivers[0];
        receiver.check(&world.sent, seed);
        receiver.check_early(&world.sent, seed);
        assert_eq!(receiver.ended(), Some(3000), "seed {seed}");
        assert!(policy == StreamPolicy::Repaired || receiver.gaps() == 0, "seed {seed}");
        early += receiver.early();
    }
    assert!(early > 100 * 50, "{early} bytes in all");
}

#[test]
fn a_receiver_that_does_not_read_stops_a_lossless_stream_and_loses_nothing() {
    let mut world = World::new(3, Plan { reads: false, ..plan(StreamPolicy::Lossless) });
    world.run_for(Duration::from_secs(20));
    assert!(world.written() < 3000 && world.written() >= 20 * 4 * 6, "{}", world.written());
    world.reads = true;
    world.run();
    world.receivers[0].check(&world.sent, 3);
    assert_eq!((world.receivers[0].gaps(), world.receivers[0].ended()), (0, Some(3000)));
}

//! An upload over the road of the matrix of protocols.

use std::time::Duration;

use fanfare_proto::Time;

use super::{Kind, MEGABYTE, Road, STEP, read};

/// The road of the matrix of protocols (Mockets, 4.5.1): 512 kbit/s, 250 ms one way, 21 packets.
const MATRIX: Kind = Kind { rate: 512e3, one_way: Duration::from_millis(250), queue: 21 * 1500 };
/// Here one run in four went wrong at the start, so that more of them are needed.
const MATRIX_SEEDS: u64 = 12;

/// Whether the road stays as it is, or has half the rate and twice the delay every other 10 s.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Course {
    Still,
    Turns,
}

impl Course {
    fn follow(self, road: &mut Road) {
        let halved = road.now.since(Time::ZERO).as_secs() / 10 % 2 == 1;
        if self == Self::Turns {
            let (by, times) = if halved { (2.0, 2) } else { (1.0, 1) };
            for way in [&mut road.there, &mut road.back] {
                way.kind.rate = MATRIX.rate / by;
                way.kind.one_way = MATRIX.one_way * times;
            }
        }
    }
}

/// Seconds from the first to the last byte of [`MEGABYTE`] over the matrix' road, at the receiver, after
/// a request and an answer on a connection before.
fn upload(course: Course, loss: f64, seed: u64) -> f64 {
    let mut road = Road::new(MATRIX, loss, seed);
    let id = road.open();
    let asked = road.now;
    let mut answered = 0;
    road.run(Duration::from_secs(2), |road| {
        course.follow(road);
        road.grant(id);
        if road.now.since(asked) == STEP {
            road.near.mux.write(road.now, id, &[0; 265]);
        }
        let heard = read(&mut road.far.mux, road.now, id);
        if heard > 0 {
            road.far.mux.write(road.now, id, &vec![0; 2048]);
        }
        answered += read(&mut road.near.mux, road.now, id);
    });
    // Connected before the first byte: what overtakes the request is dropped.
    let id = road.open();
    road.run(Duration::from_secs(4), |road| course.follow(road));
    let (mut left, mut got, mut first, mut last) = (MEGABYTE as usize, 0, None, None);
    road.run(Duration::from_secs(160), |road| {
        course.follow(road);
        road.grant(id);
        while left > 0 {
            let size = left.min(64 << 10);
            match road.near.mux.write(road.now, id, &vec![0; size]) {
                Some(taken) if taken > 0 => left -= taken,
                _ => break,
            }
        }
        got += read(&mut road.far.mux, road.now, id);
        if got > 0 {
            first.get_or_insert(road.now);
        }
        if got == MEGABYTE {
            last.get_or_insert(road.now);
        }
    });
    match (first, last) {
        (Some(first), Some(last)) => last.since(first).as_secs_f64(),
        _ => f64::INFINITY,
    }
}

/// Means of [`MATRIX_SEEDS`] are at least these, kbit/s, by loss.
fn at_least(course: Course, wanted: [(f64, f64); 4]) {
    for (loss, least) in wanted {
        let all: Vec<_> =
            (1..=MATRIX_SEEDS).map(|seed| 8000.0 / upload(course, loss, seed)).collect();
        let mean = all.iter().sum::<f64>() / MATRIX_SEEDS as f64;
        println!("{course:?}, loss {loss}: {mean:.0} kbit/s, {all:.0?}");
        assert!(mean >= least, "{course:?}, loss {loss}: {all:.0?} kbit/s");
    }
}

#[test]
fn a_megabyte_over_the_road_of_the_matrix_comes_whole_at_any_loss() {
    // 512 kbit/s and 250 ms one way, seeds 1 to 12. The least is 0.9 of what was measured,
    // results/unicast.md says what is missing.
    at_least(Course::Still, [(0.0, 420.0), (0.05, 380.0), (0.1, 345.0), (0.15, 310.0)]);
}

#[test]
fn a_megabyte_comes_whole_over_a_road_that_changes() {
    // 384 kbit/s in the mean. The least is 0.9 of what was measured.
    at_least(Course::Turns, [(0.0, 250.0), (0.05, 220.0), (0.1, 200.0), (0.15, 165.0)]);
}

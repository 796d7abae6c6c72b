//! Downloads by satellite: low ones that hand over, and one that is far away.

use std::time::Duration;

use super::{Kind, Road};

#[test]
fn a_satellite_that_hands_over_costs_less_than_two_seconds_of_a_download() {
    // 50 Mbit/s, 25 ms one way, 0.5 % loss, seed 1. At 5 s nothing passes for 100 ms, and then each way
    // takes 10 ms more: as long as a queue of 20 ms.
    let kind = Kind { rate: 5e7, one_way: Duration::from_millis(25), queue: 312_500 };
    let mut road = Road::new(kind, 0.005, 1);
    let (id, body) = (road.open(), vec![0; 256 << 10]);
    let second = |road: &mut Road| {
        let mut bytes = 0;
        road.run(Duration::from_secs(1), |road| bytes += road.download(id, &body));
        bytes as f64 * 8.0 / 1e6
    };
    let before: Vec<f64> = (0..5).map(|_| second(&mut road)).collect();
    let until = road.now + Duration::from_millis(100);
    for way in [&mut road.there, &mut road.back] {
        way.free = way.free.max(until);
        way.kind.one_way = Duration::from_millis(35);
    }
    let after: Vec<f64> = (0..6).map(|_| second(&mut road)).collect();
    let usual = before[2..].iter().sum::<f64>() / 3.0;
    let lost = after.iter().map(|rate| usual - rate).sum::<f64>() / usual;
    println!("{before:.0?}, {after:.0?} Mbit/s: {lost:.2} s lost");
    assert!(usual > 42.0 && lost < 2.0, "{lost:.2} s lost, {before:.0?}, {after:.0?} Mbit/s");
}

#[test]
fn a_download_over_a_geostationary_satellite_has_most_of_the_line() {
    // 10 Mbit/s, 300 ms one way, seed 1. What is missing is missing in the first ten seconds.
    let kind = Kind { rate: 1e7, one_way: Duration::from_millis(300), queue: 750_000 };
    for loss in [0.001, 0.01] {
        let mut road = Road::new(kind, loss, 1);
        let (id, body, mut bytes) = (road.open(), vec![0; 256 << 10], 0);
        road.run(Duration::from_secs(60), |road| bytes += road.download(id, &body));
        let share = bytes as f64 * 8.0 / 60.0 / kind.rate;
        println!("loss {loss}: {share:.2} of the line");
        assert!(share > 0.8, "loss {loss}: {share:.2} of the line");
    }
}

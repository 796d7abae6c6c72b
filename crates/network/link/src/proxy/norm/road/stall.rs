//! An end that gets no processor for a while.

use std::time::Duration;

use super::{Kind, Road, read};

/// A LAN, where a millisecond is many packets: 100 Mbit/s, and a queue of 10 ms.
const LAN: Kind = Kind { rate: 1e8, one_way: Duration::from_micros(200), queue: 125_000 };

/// Mbit/s of a download over a LAN in each of 16 seconds, where the near end runs for `runs` and then gets
/// no processor for `stall` milliseconds, from second 4 to 10.
fn stalled(runs: u64, stall: u64) -> Vec<f64> {
    let mut road = Road::new(LAN, 0.0, 1);
    let (id, body) = (road.open(), vec![0; 256 << 10]);
    let begin = road.now;
    let second = |_| {
        let mut all = 0;
        road.run(Duration::from_secs(1), |road| {
            let at = u64::try_from(road.now.since(begin).as_millis()).unwrap();
            if (4_000..10_000).contains(&at) && at % (runs + stall) == runs {
                road.stalled = road.now + Duration::from_millis(stall);
            }
            road.grant(id);
            while road.far.mux.write(road.now, id, &body).is_some_and(|taken| taken > 0) {}
            if road.now >= road.stalled {
                all += read(&mut road.near.mux, road.now, id);
            }
        });
        all as f64 * 8.0 / 1e6
    };
    (0..16).map(second).collect()
}

#[test]
fn an_end_that_gets_no_processor_for_a_while_has_its_rate_again_after_four_seconds() {
    // 100 Mbit/s, seed 1
    for (runs, stall) in [(2_000, 300), (2_000, 1_000), (100, 100), (20, 80), (10, 190), (100, 900)]
    {
        let rates = stalled(runs, stall);
        println!("{runs} + {stall} ms: {rates:.0?}");
        // Who runs a twentieth of the time looks like a policer of a third of the link.
        let after = rates[14..].iter().sum::<f64>() / 2.0;
        assert!(after > 90.0, "{runs} + {stall} ms: {after:.1} Mbit/s, {rates:.0?}");
    }
}

//! Both ends over a path that takes only packets of 1,280 bytes, from the first one on, or after a
//! while.

use std::time::Duration;

use super::{
    super::fit::{self, Fit, Look},
    Kind, Road, TESTBED,
};

/// The least MTU of IPv6, as tunnels have it.
const NARROW: usize = 1280;
/// Of QUIC's long packets so many are lost before it goes back to its least.
const LOST: u32 = 4;
const QUIC_WIDE: u16 = 1452;
const QUIC_LEAST: u16 = 1200;
const RUN: Duration = Duration::from_secs(60);

/// QUIC at the far end, as far as its MTU goes.
struct Quic {
    mtu: u16,
    lost: u32,
    fit: Fit,
}

impl Quic {
    const fn new(mtu: u16) -> Self {
        Self { mtu, lost: 0, fit: Fit::new() }
    }

    fn look(&mut self, road: &mut Road) {
        let (now, engine) = (road.now, &mut road.far.engine);
        let fits = fit::segment(self.mtu);
        engine.set_segment(fits);
        let round_trip = Duration::from_millis(484);
        match self.fit.look(now, fits, engine.unacknowledged(), round_trip) {
            Look::Fits => {}
            Look::Again => engine.begin_anew(now),
            Look::Probe if road.back.mtu < usize::from(self.mtu) => {
                self.lost += 1;
                if self.lost == LOST {
                    self.mtu = QUIC_LEAST;
                }
            }
            Look::Probe => {}
        }
    }
}

/// Bytes of a download in each second of [`RUN`]; the path is narrow from `from` on.
fn download(loss: f64, seed: u64, from: Duration) -> (Vec<u64>, Road) {
    let kind: Kind = TESTBED;
    let mut road = Road::new(kind, loss, seed);
    let (id, begin, body) = (road.open(), road.now, vec![0; 64 << 10]);
    let mut quic = Quic::new(if from.is_zero() { QUIC_LEAST } else { QUIC_WIDE });
    let mut seconds = vec![0; RUN.as_secs() as usize];
    road.run(RUN - Duration::from_millis(1), |road| {
        let elapsed = road.now.since(begin);
        if elapsed >= from {
            (road.there.mtu, road.back.mtu) = (NARROW, NARROW);
        }
        quic.look(road);
        seconds[elapsed.as_secs() as usize] += road.download(id, &body);
    });
    (seconds, road)
}

#[test]
fn a_download_over_a_path_of_1280_bytes_sends_nothing_that_is_too_long() {
    // 1 Mbit/s, 242 ms one way, 0 and 10 % loss, seeds 1 to 3
    for (loss, seed) in [(0.0, 1), (0.1, 2), (0.1, 3)] {
        let (seconds, road) = download(loss, seed, Duration::ZERO);
        assert_eq!((road.there.too_long, road.back.too_long), (0, 0));
        let rate = seconds.iter().sum::<u64>() as f64 * 8.0 / RUN.as_secs_f64();
        println!("loss {loss}: {:.0} kbit/s", rate / 1e3);
        assert!(rate >= 0.7e6, "loss {loss}, seed {seed}: {rate} bit/s, {seconds:?}");
    }
}

#[test]
fn a_download_goes_on_when_the_path_takes_only_1280_bytes_any_more() {
    // 1 Mbit/s, 242 ms one way, 0 and 10 % loss, seeds 1 to 3; the path is narrow after 20 s
    for (loss, seed) in [(0.0, 1), (0.1, 2), (0.1, 3)] {
        let (seconds, road) = download(loss, seed, Duration::from_secs(20));
        println!("loss {loss}: {seconds:?}");
        assert!(road.back.too_long > 0, "it was too long at first");
        let without = seconds[20..].iter().position(|bytes| *bytes > 0).unwrap();
        let silent = seconds[21..].iter().take_while(|bytes| **bytes == 0).count();
        assert!(without <= 12 && silent <= 12, "loss {loss}, seed {seed}: {seconds:?}");
        // At 10 % loss the rate comes back as slowly as it begins.
        let late = seconds[45..].iter().sum::<u64>() as f64 * 8.0 / 15.0;
        let least = if loss > 0.0 { 0.2e6 } else { 0.7e6 };
        assert!(late >= least, "loss {loss}, seed {seed}: {late} bit/s, {seconds:?}");
    }
}

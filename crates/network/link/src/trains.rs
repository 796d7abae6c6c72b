//! How fast the narrowest link towards this end is (P3): by datagrams that left together, and how far
//! apart they arrive. A machine without I/O.
//!
//! A train of datagrams of one size leaves at once. The narrowest link takes its time for each, so
//! `C = bytes of all but the first / (arrival of the last - arrival of the first)`. The times of several
//! trains are summed before dividing: the mean of single rates would be too high.
//!
//! ```text
//! train    number (4) | place (1) | count (1) | padding
//! report   capacity (8) | lower quartile (8) | upper quartile (8) | trains (4)      bit/s
//! ```

use std::{collections::VecDeque, time::Duration};

use fanfare_proto::Time;

/// Datagrams of a train that a link sends: four gaps, or three without the first.
pub const COUNT: u8 = 5;
/// Trains that count together.
const KEPT: usize = 16;
/// A train older than this says nothing of now.
const AGE: Duration = Duration::from_secs(60);
/// Arrival stamps of a process that is woken err by about so much (lab and kernel stamps).
const SIGMA: Duration = Duration::from_micros(100);
/// A train errs by about 1.4 of that over its duration: for 5 % the sum lasts 28 of them.
const LEAST: u32 = 28;
/// Half of the trains are within this factor, or the stamps say nothing: datagrams that were read together
/// have one stamp, and a busy process reads late. Traffic of others on a third of the link stays below.
const AGREE: u64 = 2;
/// Datagrams a quarter of the mean gap apart were read together, and one stamp is wrong. Their train would
/// make the link seem fast, and says nothing.
const TOGETHER: u32 = 4;
/// From so many gaps on the first one is left out: waking up makes the first stamp late.
const GAPS_WITHOUT_FIRST: u8 = 3;
const TRAIN_HEAD: usize = 6;
const REPORT: usize = 28;

/// Where a datagram is in its train.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Which train.
    pub train: u32,
    /// Which datagram, from 0.
    pub place: u8,
    /// Of so many.
    pub count: u8,
}

impl Place {
    /// A datagram of this size at least.
    #[must_use]
    pub fn to_bytes(self, size: usize) -> Vec<u8> {
        let mut bytes = self.train.to_be_bytes().to_vec();
        bytes.extend_from_slice(&[self.place, self.count]);
        bytes.resize(size.max(TRAIN_HEAD), 0);
        bytes
    }

    /// What came.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let head: &[u8; TRAIN_HEAD] = bytes.first_chunk()?;
        let [a, b, c, d, place, count] = *head;
        (place < count).then(|| Self { train: u32::from_be_bytes([a, b, c, d]), place, count })
    }
}

/// What is known of the narrowest link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacity {
    /// Bits per second.
    pub bps: u64,
    /// A quarter of the trains says less, and a quarter more than these.
    pub quartiles: (u64, u64),
    /// Trains that it is made of.
    pub trains: u32,
}

impl Capacity {
    /// For the other end.
    #[must_use]
    pub fn to_bytes(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(REPORT);
        for rate in [self.bps, self.quartiles.0, self.quartiles.1] {
            bytes.extend_from_slice(&rate.to_be_bytes());
        }
        bytes.extend_from_slice(&self.trains.to_be_bytes());
        bytes
    }

    /// What the other end says.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; REPORT] = bytes.try_into().ok()?;
        let rate = |at: usize| {
            let eight = bytes.get(at..at + 8).and_then(|eight| eight.try_into().ok());
            eight.map_or(0, u64::from_be_bytes)
        };
        let [.., a, b, c, d] = *bytes;
        Some(Self {
            bps: rate(0),
            quartiles: (rate(8), rate(16)),
            trains: u32::from_be_bytes([a, b, c, d]),
        })
    }
}

/// A train under way.
#[derive(Debug, Clone, Copy)]
struct Arriving {
    at: Place,
    size: usize,
    /// Where measuring begins.
    since: Time,
    bytes: u64,
    /// When the last datagram came, and the shortest gap so far.
    last: Time,
    shortest: Duration,
}

/// A train that came whole.
#[derive(Debug, Clone, Copy)]
struct Whole {
    at: Time,
    bytes: u64,
    took: Duration,
}

impl Whole {
    fn bps(&self) -> u64 {
        (self.bytes as f64 * 8.0 / self.took.as_secs_f64()) as u64
    }
}

/// Measures the narrowest link.
#[derive(Debug, Default)]
pub struct Trains {
    arriving: Option<Arriving>,
    whole: VecDeque<Whole>,
}

impl Trains {
    /// A datagram of a train came. True when that has completed one.
    pub fn on_datagram(&mut self, now: Time, at: Place, size: usize) -> bool {
        let fresh = Arriving { at, size, since: now, bytes: 0, last: now, shortest: Duration::MAX };
        let Some(mut train) = self.arriving.take() else {
            self.arriving = (at.place == 0).then_some(fresh);
            return false;
        };
        let follows = at.train == train.at.train
            && at.place == train.at.place + 1
            && at.count == train.at.count
            && size == train.size;
        if !follows {
            // Something was lost or overtaken: that train says nothing.
            self.arriving = (at.place == 0).then_some(fresh);
            return false;
        }
        train.at = at;
        let leaves_out_first = at.count > GAPS_WITHOUT_FIRST;
        if leaves_out_first && at.place == 1 {
            train.since = now;
        } else {
            train.bytes += size as u64;
            train.shortest = train.shortest.min(now.since(train.last));
        }
        train.last = now;
        if at.place + 1 < at.count {
            self.arriving = Some(train);
            return false;
        }
        let took = now.since(train.since);
        let gaps = train.bytes / (size as u64).max(1);
        if train.shortest * TOGETHER * (gaps as u32) < took || took.is_zero() {
            return false;
        }
        if self.whole.len() == KEPT {
            self.whole.pop_front();
        }
        self.whole.push_back(Whole { at: now, bytes: train.bytes, took });
        true
    }

    /// What is known now; nothing while the trains together were too short for the stamps.
    #[must_use]
    pub fn capacity(&self, now: Time) -> Option<Capacity> {
        let young = self.whole.iter().filter(|train| now.since(train.at) <= AGE);
        let young: Vec<&Whole> = young.collect();
        let took: Duration = young.iter().map(|train| train.took).sum();
        if took < SIGMA * LEAST {
            return None;
        }
        let mut rates: Vec<u64> = young.iter().map(|train| train.bps()).collect();
        rates.sort_unstable();
        let at = |part: usize| rates.get((rates.len() - 1) * part / 4).copied().unwrap_or(0);
        // Cross traffic widens gaps, and a busy processor stamps late: too little is said by the one and
        // too much or too little by the other. Trains near the median count. Were only the slow ones left
        // out, a busy processor would make the link seem fast.
        if at(3) > at(1).saturating_mul(AGREE) {
            return None;
        }
        let (floor, ceiling) = (at(2) / 4 * 3, at(2) / 3 * 4);
        let clean = young.iter().filter(|train| (floor..=ceiling).contains(&train.bps()));
        let (mut bytes, mut seconds) = (0, 0.0);
        for train in clean {
            bytes += train.bytes;
            seconds += train.took.as_secs_f64();
        }
        Some(Capacity {
            bps: (bytes as f64 * 8.0 / seconds) as u64,
            quartiles: (at(1), at(3)),
            trains: rates.len() as u32,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: usize = 1200;

    /// Numbers from 0 to 1 that a seed repeats (the generator of Park and Miller).
    struct Chance(u64);

    impl Chance {
        fn next(&mut self) -> f64 {
            self.0 = self.0 * 48_271 % 0x7fff_ffff;
            self.0 as f64 / f64::from(0x7fff_ffff)
        }
    }

    /// A link with a queue, over which others send `share` of its rate in packets of 700 bytes, and stamps
    /// that err by `sigma` seconds. What is known after so many trains, one a second.
    fn measure(rate: f64, share: f64, sigma: f64, trains: u32, seed: u64) -> Option<Capacity> {
        let (mut chance, mut machine) = (Chance(seed * 7919 + 17), Trains::default());
        let (mut free, mut other) = (0.0f64, 0.0f64);
        let gap = 700.0 * 8.0 / (rate * share.max(1e-9));
        let mut now = Time::ZERO;
        for train in 0..trains {
            let sent = f64::from(train) + chance.next() * 0.5;
            for place in 0..COUNT {
                let arrives = sent + 0.000_01 * f64::from(place);
                while share > 0.0 && other < arrives {
                    free = free.max(other) + 700.0 * 8.0 / rate;
                    other += -gap * chance.next().max(1e-9).ln();
                }
                free = free.max(arrives) + SIZE as f64 * 8.0 / rate;
                // Three uniform numbers are near enough to a normal one.
                let error = (chance.next() + chance.next() + chance.next() - 1.5) * 2.0 * sigma;
                let stamp = (free + 0.1 + error.abs()).max(0.0);
                now = now.max(Time::from_nanos((stamp * 1e9) as u64));
                machine.on_datagram(now, Place { train, place, count: COUNT }, SIZE);
            }
        }
        machine.capacity(now)
    }

    /// Median and 90th percentile of the relative error, and the share that is more than a quarter too high.
    fn errors(rate: f64, share: f64, sigma: f64) -> (f64, f64, f64) {
        let runs = (1..=200).filter_map(|seed| measure(rate, share, sigma, 16, seed));
        let off: Vec<f64> = runs.map(|found| found.bps as f64 / rate - 1.0).collect();
        let high = off.iter().filter(|off| **off > 0.25).count() as f64 / off.len().max(1) as f64;
        let mut off: Vec<f64> = off.into_iter().map(f64::abs).collect();
        off.sort_by(f64::total_cmp);
        assert!(off.len() > 150, "{} of 200 are known", off.len());
        (off[off.len() / 2], off[off.len() * 9 / 10], high)
    }

    #[test]
    fn on_an_idle_path_half_of_the_reports_are_within_5_percent_and_nine_tenths_within_15() {
        for rate in [0.5e6, 1e6, 2e6, 4e6, 10e6] {
            let (median, p90, high) = errors(rate, 0.0, 1e-4);
            assert!(median <= 0.05 && p90 <= 0.15 && high < 0.01, "{rate}: {median} {p90} {high}");
        }
    }

    #[test]
    fn at_50_megabits_half_are_within_8_percent_and_nine_tenths_within_20() {
        let (median, p90, high) = errors(50e6, 0.0, 3e-5);
        assert!(median <= 0.08 && p90 <= 0.20 && high < 0.01, "{median} {p90} {high}");
    }

    #[test]
    fn what_the_stamps_cannot_tell_is_not_guessed() {
        // Sixteen trains at 1 Gbit/s last half a millisecond together.
        assert_eq!(measure(1e9, 0.0, 1e-5, 16, 1), None);
        assert_eq!(measure(1e6, 0.0, 1e-4, 0, 1), None);
    }

    #[test]
    fn where_trains_contradict_each_other_nothing_is_guessed() {
        let mut trains = Trains::default();
        let mut now = Time::ZERO;
        for train in 0..16 {
            let gap = if train % 2 == 0 { 220 } else { 70 };
            for place in 0..COUNT {
                now = now + Duration::from_micros(gap);
                trains.on_datagram(now, Place { train, place, count: COUNT }, SIZE);
            }
        }
        assert_eq!(trains.capacity(now), None);
    }

    #[test]
    fn a_train_of_which_two_datagrams_were_read_together_says_nothing() {
        let mut trains = Trains::default();
        let at = |micros: [u64; 5], trains: &mut Trains| {
            micros.into_iter().enumerate().any(|(place, micros)| {
                let place = Place { train: 1, place: place as u8, count: COUNT };
                trains.on_datagram(Time::from_nanos(micros * 1000), place, SIZE)
            })
        };
        assert!(at([0, 220, 440, 660, 880], &mut trains));
        assert!(!at([0, 430, 440, 870, 880], &mut trains));
    }

    #[test]
    fn trains_with_a_gap_another_size_or_another_order_say_nothing() {
        let mut trains = Trains::default();
        let at = |millis: u64| Time::from_nanos(millis * 1_000_000);
        let say = |trains: &mut Trains, places: &[(u8, usize)]| {
            let mut whole = false;
            for (n, (place, size)) in places.iter().enumerate() {
                let place = Place { train: 1, place: *place, count: 4 };
                whole |= trains.on_datagram(at(10 * n as u64), place, *size);
            }
            whole
        };
        assert!(!say(&mut trains, &[(0, 9), (1, 9), (3, 9)]));
        assert!(!say(&mut trains, &[(0, 9), (2, 9), (1, 9), (3, 9)]));
        assert!(!say(&mut trains, &[(0, 9), (1, 9), (2, 8), (3, 9)]));
        assert!(say(&mut trains, &[(0, 9), (1, 9), (2, 9), (3, 9)]));
        // Nothing is known of what was long ago.
        assert!(trains.capacity(at(1000)).is_some());
        assert_eq!(trains.capacity(at(1_000_000)), None);
    }

    #[test]
    fn places_and_reports_are_read_as_they_are_written_and_nothing_else_is() {
        let place = Place { train: 70_000, place: 2, count: 5 };
        assert_eq!(Place::parse(&place.to_bytes(1200)), Some(place));
        assert_eq!(Place::parse(&[0, 0, 0, 1, 5, 5]), None);
        assert_eq!(Place::parse(&[0; 5]), None);
        let capacity = Capacity { bps: 1_000_000, quartiles: (900_000, 1_100_000), trains: 16 };
        assert_eq!(Capacity::parse(&capacity.to_bytes()), Some(capacity));
        assert_eq!(Capacity::parse(&[0; 27]), None);
    }

    #[test]
    fn with_a_third_of_the_line_taken_by_others_the_report_is_between_25_percent_less_and_10_more()
    {
        let runs = (1..=100).filter_map(|seed| measure(2e6, 0.3, 1e-4, 16, seed));
        let off: Vec<f64> = runs.map(|found| found.bps as f64 / 2e6 - 1.0).collect();
        let within = off.iter().filter(|off| (-0.25..=0.10).contains(*off)).count();
        assert!(within * 10 >= off.len() * 9, "{within} of {}", off.len());
    }
}

//! A company of vehicles that drives in a column on a winding road. The speed of the rest follows
//! from that of the first vehicle, and now and then there are hills between them.
//!
//! It matches what is known of the first company of the Anglova scenario in its first 20 minutes,
//! whose data are not all public: 24 vehicles, the mean speed of each minute from its plot, 170 m
//! to the nearest vehicle on the march and 60 to 85 m when slow, and a network that is partitioned
//! around minutes 4, 8 and 14.

use core::{f64::consts::TAU, time::Duration};

use fanfare_proto::rng::Rng;

use super::{Moment, PathLoss};

/// Mean speed of the scenario's first company by minute, km/h, read off its plot.
const SPEEDS: [f64; 24] = [
    19.8, 17.7, 10.1, 10.1, 10.0, 9.3, 8.4, 7.7, 22.0, 35.6, 35.9, 36.7, 36.5, 34.4, 30.5, 26.7,
    24.8, 25.7, 27.3, 28.9, 29.9, 30.0, 29.9, 30.0,
];
/// Metres between vehicles that stand, and seconds of way more between those that drive: with 36 km/h
/// 170 m, with 10 km/h 80 m.
const STANDING: f64 = 45.0;
const HEADWAY: f64 = 12.5;
/// Vehicles keep up to so much less or more of it.
const UNLIKE: f64 = 0.2;
/// Nobody drives faster, m/s (72 km/h).
const FASTEST: f64 = 20.0;
/// The road swings so far to either side, m, over these lengths.
const SWING: f64 = 400.0;
const BENDS: [(f64, f64); 3] = [(0.5, 1_300.0), (0.3, 2_900.0), (0.2, 610.0)];
/// Path loss at 100 m, dB, and with ten times the distance: antennas a few metres above the ground.
const AT_100_M: f64 = 100.0;
const DECADE: f64 = 40.0;
/// Shadowing by trees and terrain: standard deviation in dB, and after how many metres it is another.
const SHADOW: f64 = 8.0;
const SHADOW_LENGTH: f64 = 100.0;
/// Hills: from and to (s), how many of 24 vehicles are before it. They take 70 dB.
const HILLS: [(f64, f64, usize); 3] = [(230.0, 265.0, 3), (466.0, 503.0, 6), (822.0, 871.0, 12)];
const HILL: f64 = 70.0;
const OF: usize = 24;
/// Hills come up to so many seconds earlier or later.
const HILL_SHIFT: f64 = 10.0;

/// Of columns beside each other: speeds by minute, km/h, again and again, with which vehicles are 60 to 130 m
/// apart, as larger parts of the scenario are; and how far the columns are from each other, m.
const SLOW: [f64; 8] = [5.0, 10.0, 15.0, 20.0, 23.0, 20.0, 15.0, 10.0];
const ABREAST: f64 = 300.0;

/// The path loss of a company of so many vehicles, by the second.
pub(super) fn path_loss(nodes: usize, seed: u64, until: Duration) -> PathLoss {
    recorded(Company::new(nodes, seed), until)
}

/// The same of so many columns beside each other, without hills.
pub(super) fn columns(nodes: usize, columns: usize, seed: u64, until: Duration) -> PathLoss {
    recorded(Company::beside(nodes, columns, seed), until)
}

fn recorded(mut company: Company, until: Duration) -> PathLoss {
    let nodes = company.way.len();
    let moments = (0..=until.as_secs()).map(|second| {
        let losses = company.losses(second as f64);
        company.drive(second as f64);
        Moment { at: Duration::from_secs(second), losses }
    });
    PathLoss { nodes, moments: moments.collect() }
}

struct Company {
    rng: Rng,
    /// Vehicles of each column, the last of which may be shorter; nothing of a single one.
    column: Option<usize>,
    /// How far along the road each is, the head first, and how fast it was.
    way: Vec<f64>,
    speed: Vec<f64>,
    headway: Vec<f64>,
    phases: [f64; 3],
    shifts: [f64; 3],
    /// For each pair, in standard deviations.
    shadows: Vec<f64>,
}

impl Company {
    fn new(nodes: usize, seed: u64) -> Self {
        Self::of(nodes, None, seed)
    }

    fn beside(nodes: usize, columns: usize, seed: u64) -> Self {
        Self::of(nodes, Some(nodes.div_ceil(columns.max(1)).max(1)), seed)
    }

    fn of(nodes: usize, column: Option<usize>, seed: u64) -> Self {
        let mut rng = Rng::new(seed ^ 0x636f_6d70_616e_7900);
        let mut spread = |around: f64, by: f64| around + by * (2.0 * rng.unit() - 1.0);
        let headway: Vec<f64> = (0..nodes).map(|_| spread(HEADWAY, HEADWAY * UNLIKE)).collect();
        let phases = core::array::from_fn(|_| spread(0.0, TAU));
        let shifts = core::array::from_fn(|_| spread(0.0, HILL_SHIFT));
        let start = head_speed(0.0, column.is_some());
        let mut way = vec![0.0; nodes];
        for vehicle in 1..nodes {
            if column.is_none_or(|column| vehicle % column != 0) {
                way[vehicle] = way[vehicle - 1] - STANDING - headway[vehicle] * start;
            }
        }
        let shadows = (0..nodes * nodes).map(|_| normal(&mut rng)).collect();
        Self { rng, column, way, speed: vec![start; nodes], headway, phases, shifts, shadows }
    }

    /// One second: each goes as fast as the way to the one before it allows.
    fn drive(&mut self, at: f64) {
        let before = self.way.clone();
        for vehicle in 0..before.len() {
            let heads = self.column.is_some_and(|column| vehicle % column == 0);
            let speed = match vehicle.checked_sub(1).filter(|_| !heads) {
                None => head_speed(at, self.column.is_some()),
                Some(ahead) => {
                    let gap = before[ahead] - before[vehicle] - STANDING;
                    (gap / self.headway[vehicle]).clamp(0.0, FASTEST)
                }
            };
            self.way[vehicle] += speed;
            self.speed[vehicle] = speed;
        }
        self.shade();
    }

    /// Shadowing changes as both ends move (a first-order Markov process, as Gudmundson has it).
    fn shade(&mut self) {
        let nodes = self.way.len();
        for a in 0..nodes {
            for b in 0..a {
                let moved = (self.speed[a] + self.speed[b]) / 2.0;
                let keeps = libm::exp(-moved / SHADOW_LENGTH);
                let new = normal(&mut self.rng) * libm::sqrt(1.0 - keeps * keeps);
                let shadow = &mut self.shadows[a * nodes + b];
                *shadow = *shadow * keeps + new;
            }
        }
    }

    fn losses(&self, at: f64) -> Vec<f32> {
        let nodes = self.way.len();
        let mut losses = vec![0.0; nodes * nodes];
        for a in 0..nodes {
            for b in 0..a {
                let metres = self.metres(a, b).max(1.0);
                let way = AT_100_M + DECADE * libm::log10(metres / 100.0);
                let shadow = SHADOW * self.shadows[a * nodes + b];
                let loss = way + shadow + self.hills(at, b, a);
                losses[a * nodes + b] = loss.max(0.0) as f32;
                losses[b * nodes + a] = losses[a * nodes + b];
            }
        }
        losses
    }

    fn metres(&self, a: usize, b: usize) -> f64 {
        let swing = |way: f64| {
            let bend = |((share, length), phase): ((f64, f64), f64)| {
                share * libm::sin(TAU * way / length + phase)
            };
            SWING * BENDS.into_iter().zip(self.phases).map(bend).sum::<f64>()
        };
        let column = |vehicle: usize| self.column.map_or(0, |column| vehicle / column) as f64;
        let beside = swing(self.way[a]) - swing(self.way[b]) + ABREAST * (column(a) - column(b));
        libm::hypot(self.way[a] - self.way[b], beside)
    }

    /// A hill between a vehicle and one behind it.
    fn hills(&self, at: f64, front: usize, behind: usize) -> f64 {
        let between = |((from, to, before), shift): &((f64, f64, usize), f64)| {
            let edge = before * self.way.len() / OF;
            (from + shift..to + shift).contains(&at) && (front < edge && edge <= behind)
        };
        if self.column.is_some() {
            return 0.0;
        }
        HILL * HILLS.into_iter().zip(self.shifts).filter(between).count() as f64
    }
}

/// Of the vehicle at the head, m/s: between the middles of minutes it changes evenly.
fn head_speed(at: f64, slow: bool) -> f64 {
    let minutes = (at / 60.0 - 0.5).max(0.0);
    let speed = |minute: usize| match slow {
        true => SLOW[minute % SLOW.len()],
        false => SPEEDS[minute.min(SPEEDS.len() - 1)],
    };
    let last = if slow { usize::MAX - 1 } else { SPEEDS.len() - 1 };
    let minute = (minutes as usize).min(last);
    let share = (minutes - minute as f64).min(1.0);
    (speed(minute) + (speed(minute + 1) - speed(minute)) * share) / 3.6
}

/// Normally distributed (Box and Muller).
fn normal(rng: &mut Rng) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - rng.unit()));
    radius * libm::cos(TAU * rng.unit())
}

#[cfg(test)]
mod tests {
    use fanfare_proto::Time;

    use super::*;
    use crate::path_loss::{Contacts, Mobility, Reach};

    const MINUTES_20: Duration = Duration::from_secs(1200);

    /// Of all pairs, those that a path joins, over some seconds.
    fn connected(contacts: &Contacts, seconds: core::ops::Range<u64>) -> f64 {
        let (mut joined, mut all) = (0, 0);
        for second in seconds {
            let at = Time::ZERO + Duration::from_secs(second);
            joined +=
                (0..24).map(|from| contacts.connected(at, from).count_ones() - 1).sum::<u32>();
            all += 24 * 23;
        }
        f64::from(joined) / f64::from(all)
    }

    #[test]
    fn a_company_is_another_one_for_each_seed_and_the_same_for_one() {
        let company = |seed| path_loss(24, seed, Duration::from_secs(10));
        assert_eq!(company(1), company(1));
        assert_ne!(company(1), company(2));
        assert_eq!((company(1).nodes(), company(1).moments().len()), (24, 11));
    }

    #[test]
    fn vehicles_keep_the_distances_of_the_scenario() {
        let mut company = Company::new(24, 1);
        let mut nearest = |until: u64| {
            (0..until).for_each(|second| company.drive(second as f64));
            let mut gaps: Vec<f64> = company.way.windows(2).map(|two| two[0] - two[1]).collect();
            gaps.sort_by(f64::total_cmp);
            gaps[gaps.len() / 2]
        };
        let slow = nearest(480);
        assert!((70.0..110.0).contains(&slow), "{slow}");
    }

    #[test]
    fn columns_beside_each_other_keep_together_and_reach_each_other() {
        for (nodes, columns) in [(48, 2), (96, 4)] {
            let mut company = Company::beside(nodes, columns, 1);
            for second in 0..900 {
                company.drive(f64::from(second));
                let gaps = company.way.windows(2).map(|two| two[0] - two[1]).enumerate();
                // Those from the last of a column to the head of the next are none.
                let gaps = gaps.filter(|(n, _)| (n + 1) % 24 != 0).map(|(_, gap)| gap);
                let mut gaps: Vec<f64> = gaps.collect();
                gaps.sort_by(f64::total_cmp);
                let middle = gaps[gaps.len() / 2];
                assert!((60.0..130.0).contains(&middle), "{second}: {middle}");
            }
            let reach =
                Reach { mobility: Mobility::Columns(columns), limit: 139.0, combined: true };
            let until = Duration::from_secs(60);
            let contacts = Contacts::new(&reach.path_loss(nodes, 1, until), &reach);
            let at = Time::ZERO + Duration::from_secs(30);
            let hear = |from| contacts.connected(at, from).count_ones() as usize;
            assert!((0..nodes).all(|from| hear(from) == nodes), "all hear all");
        }
    }

    #[test]
    fn the_network_falls_apart_at_hills_and_is_whole_for_most_of_the_time() {
        let reach = Reach { mobility: Mobility::Company, limit: 139.0, combined: false };
        for seed in 1..=3 {
            let contacts = Contacts::new(&path_loss(24, seed, MINUTES_20), &reach);
            let all = connected(&contacts, 0..1200);
            assert!((0.94..0.98).contains(&all), "{seed}: {all}, where 0.97 is published");
            // Half the company before the hill: 12 x 11 x 2 of 24 x 23 pairs.
            let hill = connected(&contacts, 835..850);
            assert!((0.40..0.50).contains(&hill), "{seed}: {hill}");
            let flat = connected(&contacts, 300..440);
            assert!(flat > 0.98, "{seed}: {flat}");
        }
    }
}

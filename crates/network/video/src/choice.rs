//! Which rendition a viewer's path bears.
//!
//! A segment is sent faster than it is shown, so how long it takes from its first packet to its last
//! tells what the path carries. Down goes at once; up needs time, and more of it after each try that
//! failed.

use std::time::{Duration, Instant};

/// The path carries so much more than the rendition, or the next lower one is taken.
const SPARE_LEAST: f64 = 1.2;
/// So much more than the next one's rate, for going up.
const SPARE_UP: f64 = 1.5;
/// How long all must have been well before the next one is tried: first, and at most.
const CALM: Duration = Duration::from_secs(4);
const CALM_MAX: Duration = Duration::from_secs(120);
/// A try has failed when the rendition is left within so long.
const TRIAL: Duration = Duration::from_secs(15);
/// Without a segment for so many of its durations something is wrong: they come evenly, and the rest is
/// more than repairs take, or an encoder on a busy machine. With 1.5 one run in four left its rendition
/// without need.
const SILENT: f64 = 1.8;
/// What came at nearly the sender's pace was held up by that, and not by the path.
const AT_PACE: f64 = 0.85;
/// Of the newest measurement in the mean, where it is less: two or three segments. A path that brought a
/// segment soon can do so, and few segments go fast enough to tell: what is more counts for most.
const GAIN: f64 = 0.4;
const GAIN_UP: f64 = 0.7;

/// Chooses a rendition, by its place in the ladder.
#[derive(Debug)]
pub struct Chooser {
    rates: Vec<f64>,
    segment: Duration,
    current: usize,
    /// What the path carries, bit/s.
    carries: Option<f64>,
    heard: Instant,
    calm_since: Instant,
    calm: Duration,
    climbed: Option<Instant>,
}

impl Chooser {
    /// Begins with the lowest.
    #[must_use]
    pub fn new(rates: Vec<u64>, segment: Duration, now: Instant) -> Self {
        let rates = rates.into_iter().map(|rate| rate as f64).collect();
        let (current, carries, climbed) = (0, None, None);
        let (heard, calm_since, calm) = (now, now, CALM);
        Self { rates, segment, current, carries, heard, calm_since, calm, climbed }
    }
    /// The rendition.
    #[must_use]
    pub fn current(&self) -> usize {
        self.current
    }
    /// What the path carries, bit/s, as far as it is known.
    #[must_use]
    pub fn carries(&self) -> Option<f64> {
        self.carries
    }

    /// A segment came whole: so many bytes, so long after its first packet. `pace`: of the sender, bit/s,
    /// where it held it back.
    pub fn on_segment(
        &mut self,
        now: Instant,
        (rendition, bytes): (usize, u64),
        took: Duration,
        pace: Option<u64>,
    ) {
        if rendition == self.current {
            self.heard = now;
        }
        // A packet or two tell nothing.
        let took = took.as_secs_f64().max(1e-3);
        let seen = bytes as f64 * 8.0 / took;
        let held_back = pace.is_some_and(|pace| seen >= pace as f64 * AT_PACE);
        let carries = match self.carries {
            None => seen,
            Some(known) if held_back && known > seen => known,
            Some(known) if seen > known => known + GAIN_UP * (seen - known),
            Some(known) => known + GAIN * (seen - known),
        };
        // What is worse than thought counts at once.
        let least = if held_back { carries } else { seen.max(carries / 4.0) };
        self.carries = Some(carries.min(least));
        let needed = self.rates[self.current] * SPARE_LEAST;
        if carries.min(seen) < needed {
            self.calm_since = now;
        }
        // What takes longer than it is shown is too much, whatever was before.
        if carries < needed || took > self.segment.as_secs_f64() {
            self.fall(now);
        } else {
            self.climb(now);
        }
    }
    /// Time passes; says whether the choice changed.
    pub fn on_time(&mut self, now: Instant) -> bool {
        let before = self.current;
        if now.duration_since(self.heard) > self.segment.mul_f64(SILENT) {
            // It carries less than it was to.
            let rate = self.rates[self.current];
            self.carries = self.carries.map(|carries| carries.min(rate));
            self.fall(now);
            self.heard = now;
        }
        self.current != before
    }

    fn fall(&mut self, now: Instant) {
        if self.climbed.is_some_and(|at| now.duration_since(at) < TRIAL) {
            self.calm = (self.calm * 2).min(CALM_MAX);
        }
        self.climbed = None;
        self.calm_since = now;
        if self.current == 0 {
            return;
        }
        let bears = |rate: &f64| rate * SPARE_LEAST <= self.carries.unwrap_or(0.0);
        let borne = self.rates.iter().take(self.current).rposition(bears).unwrap_or(0);
        self.current = borne;
        self.heard = now;
    }
    fn climb(&mut self, now: Instant) {
        if self.climbed.is_some_and(|at| now.duration_since(at) >= TRIAL) {
            (self.calm, self.climbed) = (CALM, None);
        }
        let Some(next) = self.rates.get(self.current + 1) else { return };
        let bears = self.carries.is_some_and(|carries| carries >= next * SPARE_UP);
        if bears && now.duration_since(self.calm_since) >= self.calm {
            self.current += 1;
            (self.calm_since, self.heard, self.climbed) = (now, now, Some(now));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Plays `seconds` on a path of `bps`; the rendition after each.
    fn play(chooser: &mut Chooser, now: &mut Instant, bps: f64, seconds: u32) -> Vec<usize> {
        let one = |_| {
            *now += SECOND;
            let rate = chooser.rates[chooser.current];
            let took = rate / bps;
            // What takes longer than it is shown does not come.
            if took <= 1.0 {
                let (bytes, took) = ((rate / 8.0) as u64, Duration::from_secs_f64(took));
                chooser.on_segment(*now, (chooser.current, bytes), took, None);
            }
            chooser.on_time(*now);
            chooser.current
        };
        (0..seconds).map(one).collect()
    }
    fn chooser(now: Instant) -> Chooser {
        Chooser::new(vec![64_000, 400_000, 1_500_000], SECOND, now)
    }

    #[test]
    fn a_wide_path_gets_the_best_after_some_calm_seconds() {
        let mut now = Instant::now();
        let mut chooser = chooser(now);
        let levels = play(&mut chooser, &mut now, 10e6, 12);
        assert_eq!((levels[0], levels[11]), (0, 2), "{levels:?}");
    }

    #[test]
    fn when_the_path_falls_the_lower_one_is_taken_within_two_segments() {
        let mut now = Instant::now();
        let mut chooser = chooser(now);
        play(&mut chooser, &mut now, 1e6, 20);
        assert_eq!(chooser.current(), 1);
        let levels = play(&mut chooser, &mut now, 128e3, 4);
        assert_eq!(levels[1], 0, "{levels:?}");
    }

    #[test]
    fn one_segment_that_takes_longer_than_it_is_shown_is_enough() {
        let mut now = Instant::now();
        let mut chooser = chooser(now);
        play(&mut chooser, &mut now, 1e6, 20);
        now += SECOND;
        chooser.on_segment(now, (1, 50_000), Duration::from_millis(1270), None);
        assert_eq!(chooser.current(), 0);
    }

    #[test]
    fn what_came_at_the_senders_pace_says_nothing_less_of_the_path() {
        let mut now = Instant::now();
        let mut chooser = chooser(now);
        play(&mut chooser, &mut now, 2e6, 3);
        let knew = chooser.carries().unwrap();
        let mut paced = |took| {
            now += SECOND;
            let took = Duration::from_millis(took);
            chooser.on_segment(now, (0, 8000), took, Some(102_400));
            chooser.carries().unwrap()
        };
        assert_eq!(paced(620), knew);
        // Slower than that is the path's fault.
        assert!(paced(900) < knew / 2.0);
    }

    #[test]
    fn a_path_between_two_renditions_does_not_make_it_swing() {
        let mut now = Instant::now();
        let mut chooser = chooser(now);
        let levels = play(&mut chooser, &mut now, 550e3, 600);
        let changes = levels.windows(2).filter(|two| two[0] != two[1]).count();
        assert!(changes <= 2, "{changes}: {levels:?}");
    }

    #[test]
    fn each_try_that_fails_makes_the_next_one_later() {
        let mut now = Instant::now();
        let mut chooser = chooser(now);
        let mut changes = 0;
        // The path promises much and keeps nothing at the higher rendition.
        for _ in 0..600 {
            now += SECOND;
            let before = chooser.current;
            if chooser.current == 0 {
                chooser.on_segment(now, (0, 8000), Duration::from_millis(10), None);
            }
            chooser.on_time(now);
            changes += u32::from(chooser.current != before);
        }
        assert!(changes < 30, "{changes}");
    }
}

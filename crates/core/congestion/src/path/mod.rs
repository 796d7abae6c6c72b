//! Measures the path from a sender: queueing delay, rate of arrivals, loss, ECN marks, and the
//! dispersion of packet pairs (EXT_PATH). It measures only when the sender asks.

use crate::auto::{
    law::{change, is_short, kept_of_lost, reckoned, wanted_delay},
    nearness::Nearness,
};
use base::Base;
use fanfare_wire::units::time::{Duration, Time};
use fanfare_wire::{
    QuantizedRate,
    ext::{ExtPath, ExtTime},
};
use slices::{Seen, Slices};

mod base;
mod pairs;
mod shift;
mod size;
mod slices;

pub(crate) use base::drain_interval;
use pairs::Pairs;
use shift::{Heard, Shift};
use size::Size;

/// A message that met so much more queue than the last report told is news, as a share of the
/// round trip.
const JUMP: f64 = 0.25;
/// Nor is less than this: scheduling, not a queue.
const JUMP_MIN: Duration = Duration::from_millis(1);

/// Weight of a message in the mean time from one to the next; a pause counts as no more than this.
const GAP_WEIGHT: f64 = 1.0 / 16.0;
const GAP_MAX: Duration = Duration::from_millis(250);

/// Time without a message, and messages that are missing then, after which the path is seen anew: it was gone, and what
/// was lost meanwhile says nothing of what it loses.
const GONE: Duration = Duration::from_millis(500);
const GONE_RTTS: u32 = 4;
const GONE_LOST: u64 = 4;

/// A message that was sent before the last one was overtaken, as long as it comes so soon. Later a clock was set.
const LATE: Duration = Duration::from_secs(1);

/// Reports in a round trip at most, on a short path: the sender cannot do more with them.
const NEWS_PER_RTT: u32 = 4;

/// Measures one sender's path.
#[derive(Debug, Default)]
pub struct PathMeter {
    /// Last stamp, unwrapped, in microseconds, and when it came.
    sent: Option<(u64, Time)>,
    /// Bytes of the present message, and how many were missing before it.
    message: (usize, u64),
    /// The round trip: as it is reckoned with for reports, and for how long the least delay is kept.
    rtt: Duration,
    long: Duration,
    short: bool,
    /// When the last message came, and the mean time from one to the next.
    arrived: Time,
    gap: Duration,
    nearness: Nearness,
    base: Base,
    size: Size,
    shift: Shift,
    slices: Slices,
    pairs: Pairs,
    /// Queueing delay that the sender was last told of, seconds.
    told: f64,
    jumped: bool,
    /// How long this machine has been behind with its reading, seconds: a queue like any other.
    behind: f64,
}

impl PathMeter {
    /// A message arrived, after `lost` that did not.
    pub fn on_message(&mut self, now: Time, bytes: usize, lost: u64, marked: bool, rtt: Duration) {
        let gap = now.since(core::mem::replace(&mut self.arrived, now));
        let was_gone = lost >= GONE_LOST && gap > GONE.max(rtt * GONE_RTTS);
        let lost = if was_gone { 0 } else { lost };
        self.message = (bytes, lost);
        if was_gone {
            self.slices = Slices::default();
            self.pairs.forget();
        }
        let gap = gap.min(GAP_MAX);
        self.gap = self.gap.mul_f64(1.0 - GAP_WEIGHT) + gap.mul_f64(GAP_WEIGHT);
        let nearest = self.nearness.on_rtt(now, rtt);
        self.rtt = reckoned(rtt, nearest, Duration::ZERO);
        self.long = reckoned(rtt, nearest, self.gap);
        self.short = is_short(nearest);
        self.slices.on_message(now, (bytes, lost, marked), self.rtt);
        self.pairs.on_message(lost);
        self.shift.on_messages(1 + lost);
    }

    /// It was stamped at sending.
    pub fn on_stamp(&mut self, now: Time, time: ExtTime) {
        let last = self.sent;
        let sent = self.unwrap(now, time);
        if last.is_some_and(|(last, heard)| sent < last && now.since(heard) < LATE) {
            // Others have overtaken it: it was late by more than a queue.
            self.sent = last;
            return;
        }
        let delay = now.as_nanos() as f64 / 1e9 - sent as f64 / 1e6;
        let Some(delay) = self.as_if_longest(delay) else { return };
        // The second of a pair waits for the first: that is no queue.
        let second = self.pairs.on_stamp(now, sent, self.message.0);
        let queue = delay - self.least_delay(now, delay, second);
        if !second {
            self.slices.on_queue(queue);
        }
        let jump = JUMP_MIN.max(self.rtt.mul_f64(JUMP)).as_secs_f64();
        if let Some(least) = self.slices.least()
            && least > self.told + jump
        {
            (self.told, self.jumped) = (least, true);
        }
    }

    /// What a message as long as the longest would have taken. `None` when that cannot be told.
    fn as_if_longest(&mut self, delay: f64) -> Option<f64> {
        if self.short {
            return Some(delay);
        }
        let (sized, longer) = self.size.on_message(self.message.0, self.pairs.rate());
        match longer {
            size::Longer::By(seconds) => self.base.lengthen(seconds),
            size::Longer::Unknown => self.base = Base::default(),
            size::Longer::No => {}
        }
        sized.map(|more| delay + more)
    }

    /// The delay that is no queue. On a short path noise is as long as what a longer one would add.
    fn least_delay(&mut self, now: Time, delay: f64, second: bool) -> f64 {
        let base = self.base.on_delay(now, delay, self.long);
        if self.short {
            return base;
        }
        let takes = self.size.longest() as f64 / self.pairs.rate();
        let takes = if takes.is_finite() { takes } else { 0.0 };
        let heard = Heard { delay, base, second, takes };
        let rtt = self.rtt.as_secs_f64();
        let wanted = |rate| wanted_delay(rate, rtt);
        let Some(longer) = self.shift.on_delay(now, heard, self.rtt, wanted) else {
            return base;
        };
        self.base.set(now, longer);
        self.slices.on_longer(longer - base);
        longer.min(delay)
    }

    /// This machine has been so long behind with its reading.
    pub fn on_behind(&mut self, behind: Duration) {
        self.behind = behind.as_secs_f64();
        let jump = JUMP_MIN.max(self.rtt.mul_f64(JUMP)).as_secs_f64();
        if self.behind > self.told + jump {
            (self.told, self.jumped) = (self.behind, true);
        }
    }

    /// From one report to the next at least: on a short path each message may bring news.
    pub fn pause(&self) -> Duration {
        if self.short { self.rtt / NEWS_PER_RTT } else { Duration::ZERO }
    }

    fn seen(&self) -> Option<Seen> {
        let seen = self.slices.seen(self.rtt, self.short)?;
        let (queue, standing) = (seen.queue + self.behind, seen.standing + self.behind);
        Some(Seen { queue, standing, ..seen })
    }

    /// The stamp's clock wraps every 16.8 s: what is nearest to the time passed since the last one
    /// is meant.
    fn unwrap(&mut self, now: Time, time: ExtTime) -> u64 {
        let modulus = u64::from(ExtTime::MODULUS);
        let (last, heard) = self.sent.unwrap_or((modulus + u64::from(time.micros()), now));
        let expected = last + now.since(heard).as_micros() as u64;
        let ahead = (u64::from(time.micros()) + modulus - expected % modulus) % modulus;
        let sent = if ahead < modulus / 2 { expected + ahead } else { expected + ahead - modulus };
        self.sent = Some((sent, now));
        sent
    }

    /// The queue has grown so much since the last report that the sender should know at once.
    pub fn take_jump(&mut self) -> bool {
        core::mem::take(&mut self.jumped)
    }

    /// By which factor this path would have a sender of `rate` messages a second change that.
    pub fn outlook(&self, rate: f64) -> Option<f64> {
        let seen = self.seen()?;
        let rtt = self.rtt.as_secs_f64();
        let wanted = wanted_delay(rate, rtt);
        let change = change(seen.standing, wanted, wanted, rtt);
        Some(seen.pace.min(1.0) * change * kept_of_lost(seen.lost))
    }

    /// What about the last round trip tells; `None` at first.
    pub fn report(&mut self) -> Option<ExtPath> {
        let seen = self.seen()?;
        // What stands is the least of a whole round trip on a short path: it lags behind a jump.
        let newest = self.slices.least().filter(|_| self.short).unwrap_or(0.0);
        self.told = seen.standing.max(newest);
        let micros = |seconds: f64| (seconds * 1e6).clamp(0.0, f64::from(u32::MAX)) as u32;
        Some(ExtPath {
            delivered: QuantizedRate::from_bytes_per_second(seen.delivered),
            queue_micros: micros(seen.queue),
            standing_micros: micros(seen.standing),
            lost: ExtPath::share(seen.lost),
            marked: ExtPath::share(seen.marked),
            bottleneck: QuantizedRate::from_bytes_per_second(self.pairs.rate()),
            pace: ExtPath::quantized_pace(seen.pace),
            base: ExtPath::quantized_base(self.base.least()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// A thousand bytes each 10 ms, delayed by `delay(n)` milliseconds.
    fn heard(messages: u64, delay: impl Fn(u64) -> u64) -> PathMeter {
        let mut meter = PathMeter::default();
        for n in 0..messages {
            let now = Time::ZERO + Duration::from_millis(10 * n + 100 + delay(n));
            meter.on_message(now, 1000, u64::from(n % 10 == 9), false, Duration::from_millis(100));
            meter.on_stamp(now, ExtTime::of_micros(10_000 * n + 77_000_000));
        }
        meter
    }

    #[test]
    fn delay_above_the_least_is_queueing_whatever_the_clocks_say() {
        let report = heard(300, |n| if n < 200 { 40 } else { 70 }).report().unwrap();
        assert!((29_000..=30_000).contains(&report.standing_micros), "{report:?}");
        assert!((29_000..=31_000).contains(&report.queue_micros), "{report:?}");
    }

    #[test]
    fn the_wrap_of_the_stamp_has_no_effect() {
        let report = heard(3_000, |_| 40).report().unwrap();
        assert_eq!((report.standing_micros, report.queue_micros), (0, 0));
    }

    #[test]
    fn rate_and_loss_are_counted() {
        let report = heard(1_000, |_| 5).report().unwrap();
        assert!((report.delivered.to_bytes_per_second() - 1e5).abs() < 5e3, "{report:?}");
        // A round trip has ten messages: one or two were lost.
        assert!((0.06..0.17).contains(&report.loss()), "{report:?}");
    }

    #[test]
    fn messages_that_were_overtaken_are_no_queue() {
        // Each twentieth comes 75 ms later than the others.
        let late = |n: u64| if n % 20 == 19 { 75 } else { 0 };
        let mut order: Vec<u64> = (0..399).collect();
        order.sort_by_key(|n| 10 * n + late(*n));
        let mut meter = PathMeter::default();
        for n in order {
            let now = Time::ZERO + Duration::from_millis(10 * n + 140 + late(n));
            meter.on_message(now, 1000, 0, false, Duration::from_millis(100));
            meter.on_stamp(now, ExtTime::of_micros(10_000 * n + 77_000_000));
        }
        assert_eq!((meter.pairs.rate(), meter.report().unwrap().queue_micros), (0.0, 0));
    }

    #[test]
    fn a_path_that_was_gone_is_seen_anew() {
        let mut meter = heard(100, |_| 40);
        let again = |meter: &mut PathMeter, n: u64| {
            let now = Time::ZERO + Duration::from_millis(10 * n + 140);
            let lost = if n == 300 { 200 } else { 0 };
            meter.on_message(now, 1000, lost, false, Duration::from_millis(100));
            meter.on_stamp(now, ExtTime::of_micros(10_000 * n + 77_000_000));
        };
        again(&mut meter, 300);
        assert_eq!(meter.report(), None, "one message says nothing of a rate");
        (301..310).for_each(|n| again(&mut meter, n));
        let report = meter.report().unwrap();
        assert_eq!(report.loss(), 0.0);
        assert!((report.delivered.to_bytes_per_second() - 1e5).abs() < 5e3, "{report:?}");
    }

    #[test]
    fn a_jump_of_the_queue_is_reported_once() {
        let mut meter = heard(300, |n| if n < 290 { 40 } else { 90 });
        assert!(meter.take_jump());
        assert!(!meter.take_jump());
        assert!(!heard(300, |_| 40).take_jump());
    }
}

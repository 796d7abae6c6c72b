//! The loss event fraction of TFMCC (RFC 5740 5.5.2.2, RFC 4654 2.3, RFC 5348 5.4).
//!
//! Losses within one round trip are one event. The fraction is the inverse of the weighted mean
//! number of messages between events. The sender tells what counts as an event ([`Mode`]).

use crate::{Mode, ecn, loss_tolerant::Confirmation};
use fanfare_wire::Sequence;
use fanfare_wire::units::time::{Duration, Time};

/// A gap wider than this is a break in the sequence, not a loss.
const GAP_MAX: i32 = 100;
/// Unless it takes no longer than this at the rate at which messages come: a receiver that is kept from
/// its processor loses what its buffer does not hold.
const OUTAGE: f64 = 0.1;
/// Half of what may be ahead of the last message.
const GAP_LIMIT: i32 = 16_383;
/// A message that is behind others is late for so long after the last of them. Later it is another count.
const LATE: Duration = Duration::from_secs(1);
/// Messages that a late one may be overtaken by before it counts as lost.
const TOLERANCE_MAX: u32 = 20;
/// RFC 5348 5.4: weights of the last eight loss intervals, newest first.
const WEIGHTS: [f64; 8] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];
/// RFC 5348 5.5: old intervals count less, but never less than half, while the present one is more
/// than twice their mean.
const DISCOUNT_MIN: f64 = 0.5;

/// What the first loss event needs to know: it ends slow start.
#[derive(Debug, Clone, Copy)]
pub struct PathState {
    /// Its round-trip time.
    pub rtt: Duration,
    /// Bytes a second received.
    pub rate: f64,
    /// Bytes of a message.
    pub size: f64,
}

/// Watches one sender's message counter.
#[derive(Debug)]
pub struct LossMeter {
    last: Option<Sequence>,
    /// Time at which that came.
    heard: Time,
    /// Bit i: message `last - i` was received, or has been counted as lost.
    seen: u128,
    tolerance: u32,
    event: Option<Time>,
    /// Messages since the last event, then the intervals before it, newest first.
    intervals: [f64; 9],
    events: u64,
    mode: Mode,
    confirmation: Confirmation,
}

impl Default for LossMeter {
    fn default() -> Self {
        Self::new()
    }
}

impl LossMeter {
    /// No message has come yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            last: None,
            heard: Time::ZERO,
            seen: u128::MAX,
            tolerance: 0,
            event: None,
            intervals: [0.0; 9],
            events: 0,
            mode: Mode::default(),
            confirmation: Confirmation::default(),
        }
    }

    /// The sender says what makes an event.
    pub fn set_mode(&mut self, mode: Mode) {
        self.mode = mode;
    }

    /// A message arrived; `marked` when a router marked it as congestion experienced. Returns the messages found missing.
    pub fn on_message(
        &mut self,
        now: Time,
        sequence: Sequence,
        marked: bool,
        path: PathState,
    ) -> u64 {
        let heard = now.since(self.heard);
        let lost = match self.last.map(|last| last.distance_to(sequence)) {
            None => {
                (self.last, self.heard) = (Some(sequence), now);
                0
            }
            Some(step)
                if (-GAP_LIMIT..=0).contains(&step) && (heard < LATE || step >= -GAP_MAX) =>
            {
                self.late(step.unsigned_abs());
                0
            }
            Some(step) if (1..=gap_max(path)).contains(&step) => {
                (self.last, self.heard) = (Some(sequence), now);
                self.advance(step)
            }
            Some(_) => {
                (self.last, self.heard) = (Some(sequence), now);
                self.seen = u128::MAX;
                0
            }
        };
        let open = self.event.is_some_and(|event| now.since(event) < self.window(path.rtt));
        // What falls into an event's window belongs to it, and makes nobody suspect another.
        if !open && self.is_event(now, lost, marked, path.rtt) {
            self.event(now, path);
        }
        lost
    }

    /// Of `count` unmarked messages numbered from `first` on, takes as many as find none missing, so that
    /// none of them can be an event. Returns how many: for these [`Self::on_message`] would do the same.
    pub fn on_calm(&mut self, now: Time, first: Sequence, count: u16) -> u16 {
        let Some(last) = self.last.filter(|last| last.distance_to(first) == 1) else { return 0 };
        // The oldest that is still waited for at the top: the next message judges it, and so on.
        let here = (self.seen << (u128::BITS - 1 - self.tolerance)).leading_ones();
        let calm = if here > self.tolerance { count } else { count.min(here as u16) };
        if calm > 0 {
            (self.last, self.heard) = (Some(Sequence(last.0.wrapping_add(calm))), now);
        }
        self.seen = !(!self.seen).checked_shl(calm.into()).unwrap_or(0);
        self.intervals[0] += f64::from(calm);
        calm
    }

    /// A mark counts as a loss does (RFC 3168) where loss counts.
    fn is_event(&mut self, now: Time, lost: u64, marked: bool, rtt: Duration) -> bool {
        match self.mode {
            Mode::Norm | Mode::Path => lost > 0 || marked,
            Mode::Ecn => ecn::is_event(lost, marked),
            Mode::LossTolerant => self.confirmation.is_event(now, lost, marked, rtt),
        }
    }

    fn window(&self, rtt: Duration) -> Duration {
        match self.mode {
            Mode::Ecn => ecn::window(rtt),
            Mode::Norm | Mode::Path | Mode::LossTolerant => rtt,
        }
    }

    fn late(&mut self, by: u32) {
        if by > 0 {
            // So far behind it has been counted as lost.
            self.seen |= 1_u128.checked_shl(by).unwrap_or(0);
            self.tolerance = self.tolerance.max(by.min(TOLERANCE_MAX));
        }
    }

    /// The counter went `step` further: what falls out of the tolerance and was not seen is lost.
    fn advance(&mut self, step: i32) -> u64 {
        let mut lost = 0;
        for n in 1..=step {
            self.seen = self.seen << 1 | u128::from(n == step);
            let judged = 1 << (self.tolerance + 1);
            if self.seen & judged == 0 {
                self.seen |= judged;
                lost += 1;
            }
            self.intervals[0] += 1.0;
        }
        lost
    }

    fn event(&mut self, now: Time, path: PathState) {
        self.event = Some(now);
        self.events += 1;
        if self.events == 1 {
            self.intervals[0] = 1.0 / first_fraction(self.intervals[0], path);
        }
        self.intervals.rotate_right(1);
        self.intervals[0] = 0.0;
    }

    /// Loss events so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Loss event fraction, 0 to 1.
    pub fn fraction(&self) -> f64 {
        if self.events == 0 {
            return 0.0;
        }
        let known = (self.events as usize).min(8);
        let closed = weighted_mean(&self.intervals[1..=known]);
        let discount = (2.0 * closed / self.intervals[0].max(1.0)).clamp(DISCOUNT_MIN, 1.0);
        let open = self.mean_with_open(known, discount);
        1.0 / closed.max(open).max(1.0)
    }

    /// The open interval counts in full, those before it discounted.
    fn mean_with_open(&self, known: usize, discount: f64) -> f64 {
        let older = &self.intervals[1..known];
        let weight: f64 = WEIGHTS[1..known].iter().sum::<f64>() * discount;
        let sum: f64 = older.iter().zip(&WEIGHTS[1..]).map(|(i, w)| i * w).sum::<f64>() * discount;
        (self.intervals[0] * WEIGHTS[0] + sum) / (WEIGHTS[0] + weight)
    }
}

fn gap_max(path: PathState) -> i32 {
    let messages = OUTAGE * path.rate / path.size.max(1.0);
    GAP_MAX.max(messages.min(f64::from(GAP_LIMIT)) as i32)
}

fn weighted_mean(intervals: &[f64]) -> f64 {
    let sum: f64 = intervals.iter().zip(WEIGHTS).map(|(i, w)| i * w).sum();
    sum / WEIGHTS[..intervals.len()].iter().sum::<f64>()
}

/// RFC 4654 2.3.4: the fraction at which the control equation gives about half the rate at which
/// the first loss happened, or what the messages so far say, whichever is less.
fn first_fraction(messages: f64, path: PathState) -> f64 {
    let counted = 1.0 / messages.max(2.0);
    let carried = path.rate * path.rtt.as_secs_f64();
    if carried <= 0.0 || path.size <= 0.0 {
        return counted;
    }
    let ratio = path.size / carried;
    (1.5 * ratio * ratio).clamp(1e-9, counted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{format, vec::Vec};
    use proptest::{collection::vec, prelude::*};

    const PATH: PathState = PathState { rtt: Duration::from_millis(10), rate: 0.0, size: 0.0 };

    /// One message a millisecond; returns the meter and the losses counted.
    fn heard(sequences: impl IntoIterator<Item = u16>) -> (LossMeter, u64) {
        let mut meter = LossMeter::new();
        let mut lost = 0;
        for (ms, sequence) in sequences.into_iter().enumerate() {
            let now = Time::ZERO + Duration::from_millis(ms as u64);
            lost += meter.on_message(now, Sequence(sequence), false, PATH);
        }
        (meter, lost)
    }

    #[test]
    fn no_gap_is_no_loss_even_across_the_wrap() {
        let (meter, lost) = heard((65_000..=65_535).chain(0..1000));
        assert_eq!((lost, meter.fraction()), (0, 0.0));
    }

    #[test]
    fn every_hundredth_message_lost_is_one_percent() {
        let (meter, lost) = heard((0..10_000).filter(|n| n % 100 != 99));
        assert_eq!(lost, 99);
        assert!((meter.fraction() - 0.01).abs() < 0.001, "{}", meter.fraction());
    }

    #[test]
    fn losses_within_one_rtt_are_one_event() {
        let (meter, lost) = heard((0..1000).filter(|n| !matches!(n, 500 | 502 | 505)));
        assert_eq!((lost, meter.events()), (3, 1));
    }

    #[test]
    fn reordering_is_loss_only_the_first_time() {
        let swapped = (0..1000u16).map(|n| n ^ 1);
        let (meter, lost) = heard(swapped);
        assert!(lost <= 1 && meter.events() <= 1, "{lost}");
    }

    #[test]
    fn one_that_hundreds_have_overtaken_is_lost_and_the_others_are_not() {
        // Every fiftieth comes after the three hundred that follow it.
        let mut order: Vec<u32> = (0..5_000).collect();
        order.sort_by_key(|n| if n % 50 == 49 { n + 300 } else { *n });
        let (_, lost) = heard(order.iter().map(|n| *n as u16));
        assert!((90..=100).contains(&lost), "{lost}");
    }

    #[test]
    fn a_count_that_is_behind_after_a_pause_is_another_one() {
        let mut meter = LossMeter::new();
        let mut lost = 0;
        for n in 0..400u16 {
            let pause = if n < 200 { 0 } else { 5_000 };
            let now = Time::ZERO + Duration::from_millis(u64::from(n) + pause);
            let sequence = if n < 200 { 20_000 + n } else { 10_000 + n };
            lost += meter.on_message(now, Sequence(sequence), false, PATH);
        }
        assert_eq!((lost, meter.last), (0, Some(Sequence(10_399))));
    }

    #[test]
    fn a_wide_gap_is_a_break_and_not_a_loss() {
        let (meter, lost) = heard((0..100).chain(5000..5100));
        assert_eq!((lost, meter.events()), (0, 0));
    }

    #[test]
    fn at_a_gigabit_a_gap_of_an_overrun_is_a_loss() {
        let path = PathState { rtt: Duration::from_millis(1), rate: 125e6, size: 1420.0 };
        let mut meter = LossMeter::new();
        let lost = |sequence, meter: &mut LossMeter| {
            meter.on_message(Time::ZERO, Sequence(sequence), false, path)
        };
        lost(0, &mut meter);
        assert_eq!(lost(5000, &mut meter), 4999);
        assert_eq!((lost(15_000, &mut meter), meter.events()), (0, 1), "longer: a break");
    }

    #[test]
    fn a_congestion_mark_counts_as_a_loss_event() {
        let mut meter = LossMeter::new();
        meter.on_message(Time::ZERO, Sequence(0), true, PATH);
        assert!(meter.events() == 1 && meter.fraction() > 0.0);
    }

    #[test]
    fn without_loss_for_long_the_past_counts_less() {
        let (meter, _) = heard((0..8_000).filter(|n| *n > 1_000 || n % 100 != 99));
        // Ten intervals of 100 and an open one of 6,900: undiscounted 1/1,233.
        assert!(meter.fraction() < 1.0 / 1_800.0, "1/{}", 1.0 / meter.fraction());
    }

    #[test]
    fn only_marks_are_events_when_the_sender_says_so() {
        let mut meter = LossMeter::new();
        meter.set_mode(Mode::Ecn);
        for (ms, sequence) in (0..500).filter(|n| n % 10 != 9).enumerate() {
            let now = Time::ZERO + Duration::from_millis(ms as u64);
            meter.on_message(now, Sequence(sequence), sequence == 300, PATH);
        }
        assert_eq!(meter.events(), 1);
    }

    #[test]
    fn an_isolated_loss_is_no_event_when_the_sender_says_so() {
        let mut meter = LossMeter::new();
        meter.set_mode(Mode::LossTolerant);
        for (ms, sequence) in (0..500).filter(|n| ![100, 200, 201].contains(n)).enumerate() {
            let now = Time::ZERO + Duration::from_millis(ms as u64);
            meter.on_message(now, Sequence(sequence), false, PATH);
        }
        assert_eq!(meter.events(), 1);
    }

    proptest! {
        #[test]
        fn messages_without_gaps_count_together_as_one_by_one(
            runs in vec((-30..=30_i32, 0..=200_u16), 1..20),
        ) {
            let [mut together, mut each] = [LossMeter::new(), LossMeter::new()];
            let mut next = 65_000_u16;
            for (step, count) in runs {
                next = next.wrapping_add(step as u16);
                let sequences: Vec<u16> = (0..count).map(|n| next.wrapping_add(n)).collect();
                let mut left = &sequences[..];
                while let Some(first) = left.first() {
                    let calm = together.on_calm(Time::ZERO, Sequence(*first), left.len() as u16);
                    if calm == 0 {
                        together.on_message(Time::ZERO, Sequence(*first), false, PATH);
                    }
                    left = &left[usize::from(calm.max(1))..];
                }
                for sequence in &sequences {
                    each.on_message(Time::ZERO, Sequence(*sequence), false, PATH);
                }
                prop_assert_eq!(format!("{together:?}"), format!("{each:?}"));
                next = next.wrapping_add(count);
            }
        }
    }
}

//! What the path does to a sender's messages: how long they queue, how many arrive, are lost or
//! marked (EXT_PATH). Only measured when the sender asks for it.

use crate::time::{Duration, Time};
use fanfare_wire::{
    QuantizedRate,
    ext::{ExtPath, ExtTime},
};

/// The least delay is looked for over two such spans, so that a changed route and drifting clocks
/// are forgotten. TFMCC's and BBR's bases live as long.
const BASE_SPAN: Duration = Duration::from_secs(10);
/// A report covers this at least: below it a mean is chance.
const WINDOW_MIN: Duration = Duration::from_millis(20);

/// What was seen within one window.
#[derive(Debug, Clone, Copy, Default)]
struct Window {
    since: Option<Time>,
    messages: u64,
    bytes: u64,
    lost: u64,
    marked: u64,
    stamped: u64,
    queue: f64,
    standing: f64,
}

/// Measures one sender's path.
#[derive(Debug, Default)]
pub(crate) struct PathMeter {
    /// Last stamp, unwrapped, in microseconds.
    sent: Option<u64>,
    /// Least relative one-way delay of this span and of the one before, microseconds.
    base: Option<(f64, f64)>,
    span: Option<Time>,
    window: Window,
    last: Option<ExtPath>,
}

impl PathMeter {
    /// A message arrived, after `lost` that did not.
    pub(crate) fn on_message(
        &mut self,
        now: Time,
        bytes: usize,
        lost: u64,
        marked: bool,
        rtt: Duration,
    ) {
        let window = &mut self.window;
        let since = *window.since.get_or_insert(now);
        window.lost += lost;
        window.marked += u64::from(marked);
        window.messages += 1;
        window.bytes += bytes as u64;
        if now.since(since) >= rtt.max(WINDOW_MIN) && window.messages > 1 {
            self.last = Some(window.report(now.since(since)));
            self.window = Window { since: Some(now), ..Window::default() };
        }
    }

    /// It was stamped at sending.
    pub(crate) fn on_stamp(&mut self, now: Time, time: ExtTime) {
        let sent = self.unwrap(time);
        let delay = now.as_nanos() as f64 / 1e3 - sent as f64;
        let queue = delay - self.base(now, delay);
        let window = &mut self.window;
        window.standing = if window.stamped == 0 { queue } else { window.standing.min(queue) };
        window.queue += queue;
        window.stamped += 1;
    }

    /// The stamp's clock wraps every 16.8 s: the nearest to the last one is meant.
    fn unwrap(&mut self, time: ExtTime) -> u64 {
        let modulus = u64::from(ExtTime::MODULUS);
        let last = self.sent.unwrap_or(modulus);
        let step = (u64::from(time.micros()) + modulus - last % modulus) % modulus;
        let sent = if step < modulus / 2 { last + step } else { last + step - modulus };
        self.sent = Some(sent.max(last));
        sent
    }

    fn base(&mut self, now: Time, delay: f64) -> f64 {
        let (current, before) = self.base.unwrap_or((delay, delay));
        let span = *self.span.get_or_insert(now);
        let over = now.since(span) >= BASE_SPAN;
        if over {
            self.span = Some(now);
        }
        let (current, before) = if over { (delay, current) } else { (current.min(delay), before) };
        self.base = Some((current, before));
        current.min(before)
    }

    /// What the last window tells; `None` before there was one.
    pub(crate) fn report(&self) -> Option<ExtPath> {
        self.last
    }
}

impl Window {
    fn report(&self, elapsed: Duration) -> ExtPath {
        let seconds = elapsed.as_secs_f64().max(1e-9);
        let share = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
        let micros = |micros: f64| micros.clamp(0.0, f64::from(u32::MAX)) as u32;
        ExtPath {
            delivered: QuantizedRate::from_bytes_per_second(self.bytes as f64 / seconds),
            queue_micros: micros(self.queue / self.stamped.max(1) as f64),
            standing_micros: micros(self.standing),
            lost: ExtPath::share(share(self.lost, self.lost + self.messages)),
            marked: ExtPath::share(share(self.marked, self.messages)),
            bottleneck: QuantizedRate::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thousand bytes each 10 ms, delayed by `delay(n)` milliseconds.
    fn heard(messages: u64, delay: impl Fn(u64) -> u64) -> PathMeter {
        let mut meter = PathMeter::default();
        for n in 0..messages {
            let now = Time::ZERO + Duration::from_millis(10 * n + 100 + delay(n));
            meter.on_stamp(now, ExtTime::of_micros(10_000 * n + 77_000_000));
            meter.on_message(now, 1000, u64::from(n % 10 == 9), false, Duration::from_millis(100));
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
    fn the_stamps_wrap_goes_unseen() {
        let report = heard(3_000, |_| 40).report().unwrap();
        assert_eq!((report.standing_micros, report.queue_micros), (0, 0));
    }

    #[test]
    fn rate_and_loss_are_counted() {
        let report = heard(1_000, |_| 5).report().unwrap();
        assert!((report.delivered.to_bytes_per_second() - 1e5).abs() < 2e3, "{report:?}");
        assert!((report.loss() - 0.09).abs() < 0.01, "{report:?}");
    }
}

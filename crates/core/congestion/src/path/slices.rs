//! Arrivals, counted in slices of a round trip, so that a report can cover the last round trip at
//! any time.

use crate::auto::law::NOISE;
use fanfare_wire::units::time::{Duration, Time};

/// Slices kept, and in a round trip.
const SLICES: usize = 12;
const PER_RTT: u32 = 4;
/// A report covers so many messages at least, as far as slices go: below it a rate is chance.
const MESSAGES_MIN: u64 = 6;
/// The queue that stands is the least of so few messages in a row, on average: small enough that
/// a slow flow sees it as often as a fast one, enough to leave out single delays.
const GROUP: u32 = 4;

/// One slice: what came after `begun` and until `ended`.
#[derive(Debug, Clone, Copy, Default)]
struct Slice {
    begun: Time,
    ended: Time,
    messages: u64,
    bytes: u64,
    lost: u64,
    marked: u64,
    queued: f64,
    stamped: u64,
    standing: f64,
    groups: u64,
    /// Least queueing delay of any message, if one was stamped.
    least: Option<f64>,
    /// Sums of arrival time (since the end of what is summed), its square, and its product with
    /// the queueing delay: for the trend.
    time: f64,
    square: f64,
    product: f64,
}

/// What a report tells.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Seen {
    /// Bytes a second.
    pub(super) delivered: f64,
    /// Mean and least queueing delay, seconds.
    pub(super) queue: f64,
    pub(super) standing: f64,
    /// The pace of arrivals to that of sending.
    pub(super) pace: f64,
    /// Shares of messages.
    pub(super) lost: f64,
    pub(super) marked: f64,
}

/// The last slices, newest first.
#[derive(Debug, Default)]
pub(super) struct Slices {
    slices: [Slice; SLICES],
    heard: bool,
    /// Messages of the present group, and their least queueing delay.
    group: (u32, f64),
    least: Option<f64>,
}

impl Slices {
    /// A message of so many bytes came after so many losses, marked or not.
    pub(super) fn on_message(
        &mut self,
        now: Time,
        (bytes, lost, marked): (usize, u64, bool),
        rtt: Duration,
    ) {
        if !self.heard {
            self.heard = true;
            self.slices[0] = Slice { begun: now, ended: now, ..Slice::default() };
            return;
        }
        let newest = &self.slices[0];
        if newest.messages > 0 && now.since(newest.begun) >= rtt / PER_RTT {
            let begun = newest.ended;
            self.slices.rotate_right(1);
            self.slices[0] = Slice { begun, ..Slice::default() };
        }
        let slice = &mut self.slices[0];
        slice.ended = now;
        slice.messages += 1;
        slice.bytes += bytes as u64;
        slice.lost += lost;
        slice.marked += u64::from(marked);
    }

    /// It queued for so many seconds.
    pub(super) fn on_queue(&mut self, queue: f64) {
        let slice = &mut self.slices[0];
        let time = slice.ended.since(slice.begun).as_secs_f64();
        slice.queued += queue;
        slice.stamped += 1;
        slice.least = Some(slice.least.map_or(queue, |least| least.min(queue)));
        slice.time += time;
        slice.square += time * time;
        slice.product += time * queue;
        let (count, least) = &mut self.group;
        *least = if *count == 0 { queue } else { least.min(queue) };
        *count += 1;
        if *count == GROUP {
            slice.standing += *least;
            slice.groups += 1;
            self.least = Some(*least);
            *count = 0;
        }
    }

    /// So many seconds of what was taken for a queue were none: the path is longer.
    pub(super) fn on_longer(&mut self, seconds: f64) {
        for slice in &mut self.slices {
            slice.queued = (slice.queued - seconds * slice.stamped as f64).max(0.0);
            slice.standing = (slice.standing - seconds * slice.groups as f64).max(0.0);
            slice.least = slice.least.map(|least| (least - seconds).max(0.0));
            slice.product -= seconds * slice.time;
        }
        self.group.1 = (self.group.1 - seconds).max(0.0);
        self.least = self.least.map(|least| (least - seconds).max(0.0));
    }

    /// The least of the last whole group.
    pub(super) fn least(&self) -> Option<f64> {
        self.least
    }

    /// The last round trip, or more where that is too few messages.
    pub(super) fn seen(&self, rtt: Duration, short: bool) -> Option<Seen> {
        let (sum, used) = self.sum(0, rtt);
        let seen = sum.seen()?;
        if !short {
            return Some(seen);
        }
        let standing = sum.least.unwrap_or(seen.standing);
        let (before, _) = self.sum(used, rtt);
        let pace = match before.least {
            Some(older) => 1.0 - rise(standing - older, sum.ended.since(before.ended)),
            None => 1.0,
        };
        Some(Seen { standing, pace, ..seen })
    }

    /// What came in a round trip, or more where that is too few messages, in slices from the `first` on;
    /// and the slice behind them.
    fn sum(&self, first: usize, rtt: Duration) -> (Slice, usize) {
        let end = self.slices[first.min(SLICES - 1)].ended;
        let mut sum = Slice { ended: end, ..Slice::default() };
        let mut used = first;
        for slice in self.slices.iter().skip(first).take_while(|slice| slice.messages > 0) {
            let enough = sum.messages >= MESSAGES_MIN && sum.groups > 0;
            if enough && end.since(sum.begun) >= rtt {
                break;
            }
            sum.add(slice, end);
            used += 1;
        }
        (sum, used)
    }
}

/// Seconds of queue that a second adds where the least delay has risen by `risen` in `time`. Less than
/// the noise of a short path is nothing.
fn rise(risen: f64, time: Duration) -> f64 {
    let sure = if risen < 0.0 { (risen + NOISE).min(0.0) } else { (risen - NOISE).max(0.0) };
    (sure / time.as_secs_f64().max(1e-6)).clamp(-3.0, 0.95)
}

impl Slice {
    fn seen(&self) -> Option<Seen> {
        let (sum, end) = (self, self.ended);
        let span = end.since(sum.begun).as_secs_f64();
        if sum.messages < 2 || span <= 0.0 || sum.stamped == 0 {
            return None;
        }
        let queue = sum.queued / sum.stamped as f64;
        let standing = if sum.groups > 0 { sum.standing / sum.groups as f64 } else { queue };
        Some(Seen {
            delivered: sum.bytes as f64 / span,
            queue,
            standing,
            pace: 1.0 - sum.trend(),
            lost: sum.lost as f64 / (sum.lost + sum.messages) as f64,
            marked: sum.marked as f64 / sum.messages as f64,
        })
    }

    /// Takes in an older slice; times count from `end`.
    fn add(&mut self, older: &Self, end: Time) {
        self.begun = older.begun;
        self.messages += older.messages;
        self.bytes += older.bytes;
        self.lost += older.lost;
        self.marked += older.marked;
        self.queued += older.queued;
        self.stamped += older.stamped;
        self.standing += older.standing;
        self.groups += older.groups;
        self.least = match (self.least, older.least) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        let (count, shift) = (older.stamped as f64, -end.since(older.begun).as_secs_f64());
        self.time += older.time + count * shift;
        self.square += older.square + 2.0 * shift * older.time + count * shift * shift;
        self.product += older.product + shift * older.queued;
    }

    /// Seconds of queue that a second of arrivals adds: the slope of the line of least squares.
    fn trend(&self) -> f64 {
        let count = self.stamped as f64;
        let spread = count * self.square - self.time * self.time;
        if self.stamped < 3 || spread <= 1e-18 {
            return 0.0;
        }
        ((count * self.product - self.time * self.queued) / spread).clamp(-3.0, 0.95)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanfare_wire::units::time::at;

    #[test]
    fn what_was_no_queue_is_taken_out_of_what_was_seen() {
        let rtt = Duration::from_millis(100);
        let mut slices = Slices::default();
        let hear = |slices: &mut Slices, messages: core::ops::Range<u64>, queue: f64| {
            for message in messages {
                slices.on_message(at(10 * message), (1000, 0, false), rtt);
                slices.on_queue(queue);
            }
        };
        hear(&mut slices, 0..40, 0.25);
        slices.on_longer(0.25);
        hear(&mut slices, 40..45, 0.0);
        let seen = slices.seen(rtt, false).unwrap();
        let none = |seconds: f64| seconds.abs() < 1e-9;
        assert!(none(seen.queue) && none(seen.standing) && none(seen.pace - 1.0), "{seen:?}");
    }
}

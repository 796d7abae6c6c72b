//! What the medium carries, as far as a node can know: what arrives here in a second, and the rates that publishers
//! say they have found. Those yield to a queue at any receiver, which is not seen here, and repairs with them: all
//! repairs together are less than one publisher more.

use fanfare_proto::{Bitrate, Duration, Time};

/// Part of it that repairs and requests may take: paper 000 of DisService asks for at most four fifths.
const SHARE: f64 = 0.8;
/// Where nothing is known: a quarter of the slowest links that groups are meant for (1 Mbit/s).
pub(crate) const UNKNOWN: Bitrate = Bitrate::kbps(250);
/// What may go at the least: a full datagram a second (RFC 8085 3.1.3).
const LEAST: f64 = 1500.0;
/// What was seen in so many spans counts, of a second each: shorter ones would take a burst for a rate.
const SPANS: usize = 10;
const SPAN: Duration = Duration::from_secs(1);
/// Part of what was seen before that is left after each span, half of it after ten minutes: a network is seldom
/// replaced by a slower one.
const KEPT: f64 = 0.998_845;

/// The most of late, bytes a second.
#[derive(Debug, Default)]
struct RecentMost([f64; SPANS]);

impl RecentMost {
    fn most(&self) -> f64 {
        self.0.iter().copied().fold(0.0, f64::max)
    }
    /// So many spans have passed.
    fn pass(&mut self, spans: u64) {
        let spans = spans.min(SPANS as u64) as usize;
        self.0.rotate_right(spans);
        self.0[..spans].fill(0.0);
    }
}

/// What is known.
#[derive(Debug)]
pub(crate) struct CarriedRate {
    begun: Time,
    arrived: RecentMost,
    told: RecentMost,
    before: f64,
    most: f64,
}

impl CarriedRate {
    /// Nothing is known yet; no more than `most` goes in any case.
    pub(crate) fn new(now: Time, most: Bitrate) -> Self {
        let (arrived, told) = (RecentMost::default(), RecentMost::default());
        Self { begun: now, arrived, told, before: 0.0, most: most.as_bytes_per_second() }
    }

    /// So many bytes arrived.
    pub(crate) fn on_arrived(&mut self, now: Time, bytes: usize) {
        self.pass(now);
        self.arrived.0[0] += bytes as f64;
    }

    /// A publisher, or this node, says at which rate it may send.
    pub(crate) fn on_told(&mut self, now: Time, rate: Bitrate) {
        self.pass(now);
        self.told.0[0] = self.told.0[0].max(rate.as_bytes_per_second());
    }

    /// What repairs may take of it.
    pub(crate) fn for_repairs(&mut self, now: Time) -> Bitrate {
        self.pass(now);
        let seen = SHARE * self.arrived.most().max(self.before);
        let told = SHARE * self.told().unwrap_or(f64::INFINITY);
        let rate = UNKNOWN.as_bytes_per_second().max(seen).min(told).max(LEAST);
        Bitrate::from_bytes_per_second(rate.min(self.most))
    }

    /// The rate of the fastest publisher. Nothing is believed to pass on its word alone.
    fn told(&self) -> Option<f64> {
        Some(self.told.most()).filter(|told| *told > 0.0)
    }

    fn pass(&mut self, now: Time) {
        let passed = now.since(self.begun);
        if passed < SPAN {
            return;
        }
        let spans = (passed.as_nanos() / SPAN.as_nanos()) as u64;
        self.before = self.arrived.most().max(self.before * power(KEPT, spans));
        self.begun = self.begun + SPAN * u32::try_from(spans).unwrap_or(u32::MAX);
        self.arrived.pass(spans);
        self.told.pass(spans);
    }
}

fn power(mut base: f64, mut times: u64) -> f64 {
    let mut product = 1.0;
    while times > 0 {
        product *= if times & 1 == 1 { base } else { 1.0 };
        (base, times) = (base * base, times >> 1);
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn kbps(carried: &mut CarriedRate, millis: u64) -> u64 {
        carried.for_repairs(at(millis)).as_bps() / 1000
    }

    /// `kbps` arrive from one second to another.
    fn arrive(carried: &mut CarriedRate, from: u64, until: u64, kbps: u64) {
        for tenth in 10 * from..10 * until {
            carried.on_arrived(at(100 * tenth), (kbps * 100 / 8) as usize);
        }
    }

    fn new() -> CarriedRate {
        CarriedRate::new(Time::ZERO, Bitrate::mbps(10_000))
    }

    #[test]
    fn where_nothing_is_known_or_little_is_sent_repairs_have_a_quarter_of_a_megabit() {
        assert_eq!(kbps(&mut new(), 5_000), 250);
        let mut carried = new();
        arrive(&mut carried, 0, 5, 2);
        assert_eq!(kbps(&mut carried, 5_000), 250, "a position now and then says nothing");
    }

    #[test]
    fn they_have_four_fifths_of_what_arrived_of_late() {
        for rate in [1_000, 10_000, 200_000] {
            let mut carried = new();
            arrive(&mut carried, 0, 5, rate);
            assert_eq!(kbps(&mut carried, 5_000), rate * 8 / 10);
        }
    }

    #[test]
    fn a_slow_line_shows_in_what_publishers_tell() {
        for rate in [20, 56, 200] {
            let mut carried = new();
            arrive(&mut carried, 0, 5, rate / 2);
            carried.on_told(at(4_900), Bitrate::kbps(rate));
            assert_eq!(kbps(&mut carried, 5_000), rate * 8 / 10);
        }
        for rate in [1_000, 10_000_000] {
            let mut carried = new();
            carried.on_told(at(4_900), Bitrate::kbps(rate));
            assert_eq!(kbps(&mut carried, 5_000), 250, "a word alone says nothing of a fast one");
        }
        let mut carried = new();
        carried.on_told(at(100), Bitrate::bps(1));
        assert_eq!(kbps(&mut carried, 5_000), 12, "a datagram a second");
    }

    #[test]
    fn a_line_that_has_become_slower_is_believed_after_ten_seconds() {
        let mut carried = new();
        arrive(&mut carried, 0, 5, 10_000);
        for second in 5..20 {
            arrive(&mut carried, second, second + 1, 500);
            carried.on_told(at(1000 * second), Bitrate::kbps(500));
        }
        assert_eq!(kbps(&mut carried, 20_000), 400);
        // The line of another receiver is slower than the one here.
        arrive(&mut carried, 20, 25, 10_000);
        carried.on_told(at(24_000), Bitrate::kbps(500));
        assert_eq!(kbps(&mut carried, 25_000), 400);
    }

    #[test]
    fn what_was_seen_is_forgotten_slowly_while_no_publisher_is_slower() {
        let mut carried = new();
        arrive(&mut carried, 0, 5, 100_000);
        let later = [60, 600, 3_600, 36_000].map(|second| kbps(&mut carried, 1000 * second));
        assert!((70_000..=80_000).contains(&later[0]), "{later:?}");
        assert!((38_000..44_000).contains(&later[1]), "{later:?}");
        assert!((1_000..2_000).contains(&later[2]), "{later:?}");
        assert_eq!(later[3], 250);
    }

    #[test]
    fn a_ceiling_holds_whatever_is_known() {
        for most in [1, 200, 5_000] {
            let mut carried = CarriedRate::new(Time::ZERO, Bitrate::kbps(most));
            arrive(&mut carried, 0, 5, 100_000);
            assert_eq!(kbps(&mut carried, 5_000), most);
        }
    }
}

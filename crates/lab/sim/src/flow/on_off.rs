//! On and off: a constant rate for a random time, then silence for a random time.

use fanfare_proto::{Duration, Time, rng::Rng};

use super::{Cbr, End, Incoming, Outgoing};

/// The sending end. Both times are exponential.
#[derive(Debug)]
pub struct OnOff {
    source: Cbr,
    on: Duration,
    off: Duration,
    /// When the present time on ends.
    until: Time,
    rng: Rng,
}

impl OnOff {
    /// Sends as `source` does while on; it begins at `now`.
    #[must_use]
    pub fn new(source: Cbr, on: Duration, off: Duration, now: Time, mut rng: Rng) -> Self {
        let until = now + exponential(on, &mut rng);
        Self { source, on, off, until, rng }
    }

    /// When the time on is over: silence, then another.
    fn turn(&mut self) {
        while self.source.next_timeout().is_some_and(|next| next >= self.until) {
            let silent = exponential(self.off, &mut self.rng);
            let begin = self.until + silent.max(Duration::from_nanos(1));
            self.source.resume(begin);
            self.until = begin + exponential(self.on, &mut self.rng);
        }
    }
}

/// Inverse of the distribution function, in software: the same bits everywhere.
fn exponential(mean: Duration, rng: &mut Rng) -> Duration {
    mean.mul_f64(-libm::log(1.0 - rng.unit()))
}

impl End for OnOff {
    fn on_packet(&mut self, _now: Time, _packet: Incoming<'_>) {}
    fn poll_packet(&mut self, now: Time) -> Option<Outgoing> {
        let packet = self.source.poll_packet(now);
        self.turn();
        packet
    }
    fn next_timeout(&self) -> Option<Time> {
        self.source.next_timeout()
    }
    fn delivered(&self) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use fanfare_proto::Bitrate;

    use super::*;

    #[test]
    fn it_sends_its_share_of_the_time_on_average() {
        let second = Duration::from_secs(1);
        let source = Cbr::new(Bitrate::mbps(1), 125, Time::ZERO);
        let mut flow = OnOff::new(source, second, 3 * second, Time::ZERO, Rng::new(1));
        let end = Time::ZERO + 4_000 * second;
        let (mut packets, mut last, mut gaps) = (0, Time::ZERO, 0);
        while let Some(at) = flow.next_timeout().filter(|at| *at < end) {
            packets += u64::from(flow.poll_packet(at).is_some());
            gaps += u32::from(at.since(last) > Duration::from_millis(2));
            last = at;
        }
        // A quarter of 4 million; about a thousand silences.
        assert!((900_000..1_100_000).contains(&packets), "{packets}");
        assert!((900..1_100).contains(&gaps), "{gaps}");
    }
}

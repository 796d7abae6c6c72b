//! What calls may take of a sender's rate.

use fanfare_wire::units::{
    rate::Bitrate,
    time::{Duration, Time},
};

/// Calls take at most this part of what a sender sends: on a radio of 10 kbit/s one call in 16 s. Those
/// who hear the group have nothing from them.
const SHARE: f64 = 0.005;
/// A call with its headers, sealed, bytes.
pub(crate) const CALL: f64 = 100.0;
/// The beginning has the share of so many seconds at once, so that deaf hosts are found soon: a pair of
/// calls at least, and no more than this many.
const BEGINNING: f64 = 20.0;
const CALLS_MIN: f64 = 2.0;
const CALLS_MAX: f64 = 16.0;
/// While no data flows, and a higher rate may be used, this much counts as sent: two calls in 0.25 s.
const QUIET: Bitrate = Bitrate::kbps(1280);
/// Data flows when some was sent within this: segments on a slow radio are seconds apart.
const FLOWING: Duration = Duration::from_secs(5);

/// Bytes that calls may still have.
#[derive(Debug)]
pub(crate) struct Budget {
    /// The most that the sender may use, by its user's word.
    most: Bitrate,
    credit: f64,
    at: Time,
    /// Bytes that went to the group since, and when the last data did.
    bytes: u64,
    data: Option<Time>,
}

impl Budget {
    pub(crate) fn new(most: Bitrate) -> Self {
        let credit = SHARE * most.as_bytes_per_second() * BEGINNING;
        let credit = credit.clamp(CALLS_MIN * CALL, CALLS_MAX * CALL);
        Self { most, credit, at: Time::ZERO, bytes: 0, data: None }
    }

    /// So much goes to the group.
    pub(crate) fn on_sent(&mut self, now: Time, bytes: usize, is_data: bool) {
        self.bytes += bytes as u64;
        if is_data {
            self.data = Some(now);
        }
    }

    /// Takes so many calls, if there is room for them.
    pub(crate) fn take(&mut self, now: Time, calls: u32) -> bool {
        let flows = self.data.is_some_and(|at| now.since(at) < FLOWING);
        let quiet = self.most.min(QUIET).as_bytes_per_second() * now.since(self.at).as_secs_f64();
        let sent = std::mem::take(&mut self.bytes) as f64;
        let counts = if flows { sent } else { sent.max(quiet) };
        self.at = now;
        self.credit = (self.credit + SHARE * counts).min(CALLS_MAX * CALL);
        let cost = f64::from(calls) * CALL;
        let may = self.credit >= cost;
        if may {
            self.credit -= cost;
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanfare_wire::units::time::at;

    /// Calls in an hour of data at this rate, asked for every 0.25 s, by a sender that may send `most`.
    fn calls(most: Bitrate, rate: Bitrate) -> f64 {
        let mut budget = Budget::new(most);
        let mut calls = 0.0;
        for step in 0..14_400 {
            let now = at(step * 250);
            budget.on_sent(now, rate.bytes_in(Duration::from_millis(250)) as usize, true);
            calls += f64::from(u8::from(budget.take(now, 1)));
        }
        calls
    }

    #[test]
    fn calls_take_half_a_percent_of_what_is_sent_also_where_more_may_be() {
        for rate in [Bitrate::kbps(10), Bitrate::kbps(100)] {
            for most in [rate, Bitrate::mbps(10_000)] {
                let share = calls(most, rate) * CALL / (rate.as_bytes_per_second() * 3600.0);
                assert!((0.004..=0.0055).contains(&share), "{share} of {rate:?}");
            }
        }
    }

    #[test]
    fn on_a_fast_network_there_is_a_call_every_time_and_while_nobody_sends_data_too() {
        assert_eq!(calls(Bitrate::mbps(10_000), Bitrate::mbps(10)) as u32, 14_400);
        let mut budget = Budget::new(Bitrate::mbps(10_000));
        assert!((0..14_400).all(|step| budget.take(at(step * 250), 2)));
    }

    #[test]
    fn a_slow_radio_has_a_pair_at_the_beginning_and_the_next_call_when_that_is_half_a_percent() {
        let mut budget = Budget::new(Bitrate::kbps(10));
        assert!(budget.take(at(0), 2));
        let times = (0..400).map(|tenth| at(tenth * 100)).filter(|now| budget.take(*now, 1));
        let times: Vec<Time> = times.collect();
        assert_eq!(times, [at(16_000), at(32_000)]);
    }
}

//! Runs on their way to those who are served.

use std::{collections::VecDeque, net::SocketAddr};

use fanfare_wire::units::time::{Duration, Time};

/// Bytes that wait, at most: more is dropped, and asked for again. 0.7 s of 100 Mbit/s.
const WAITING_MAX: usize = 8 << 20;
/// A burst of a limited rate.
const BURST: Duration = Duration::from_millis(20);

/// A run, and to whom it is still to go.
#[derive(Debug)]
struct Pass {
    run: Vec<u8>,
    stride: usize,
    to: Vec<SocketAddr>,
    done: usize,
    /// Bytes that the present one has had.
    sent: usize,
}

/// What is to be passed on.
#[derive(Debug)]
pub(crate) struct Passing {
    waiting: VecDeque<Pass>,
    bytes: usize,
    /// Bytes a second, if they are limited.
    limit: Option<f64>,
    tokens: f64,
    filled: Time,
    /// Bytes that were passed on, and that were dropped.
    pub(crate) passed: u64,
    pub(crate) dropped: u64,
}

impl Passing {
    pub(crate) fn new(limit: Option<f64>) -> Self {
        Self {
            waiting: VecDeque::new(),
            bytes: 0,
            limit,
            tokens: 0.0,
            filled: Time::ZERO,
            passed: 0,
            dropped: 0,
        }
    }

    pub(crate) fn push(&mut self, (run, stride): (&[u8], usize), to: Vec<SocketAddr>) {
        if to.is_empty() {
            return;
        }
        if self.bytes + run.len() * to.len() > WAITING_MAX {
            self.dropped += (run.len() * to.len()) as u64;
            return;
        }
        self.bytes += run.len() * to.len();
        self.waiting.push_back(Pass { run: run.to_vec(), stride, to, done: 0, sent: 0 });
    }

    /// The next: where to, in messages of how many bytes.
    pub(crate) fn next(&mut self, now: Time) -> Option<(SocketAddr, usize, &[u8])> {
        let pass = self.waiting.front()?;
        if let Some(limit) = self.limit {
            let burst = (limit * BURST.as_secs_f64()).max(65_536.0);
            let more = now.since(self.filled).as_secs_f64() * limit;
            (self.tokens, self.filled) = ((self.tokens + more).min(burst), now);
            if self.tokens <= 0.0 {
                return None;
            }
        }
        Some((pass.to[pass.done], pass.stride, &pass.run[pass.sent..]))
    }

    /// So many bytes of it went out.
    pub(crate) fn on_passed(&mut self, bytes: usize) {
        let Some(pass) = self.waiting.front_mut() else { return };
        pass.sent += bytes;
        self.bytes -= bytes;
        self.passed += bytes as u64;
        self.tokens -= bytes as f64;
        if pass.sent < pass.run.len() {
            return;
        }
        (pass.sent, pass.done) = (0, pass.done + 1);
        if pass.done >= pass.to.len() {
            self.waiting.pop_front();
        }
    }

    /// When [`Self::next`] has something, where the rate is limited and something waits.
    pub(crate) fn next_timeout(&self) -> Option<Time> {
        let limit = self.limit.filter(|_| !self.waiting.is_empty())?;
        let wait = (-self.tokens).max(0.0) / limit;
        Some(self.filled + Duration::from_secs_f64(wait.min(1.0)) + Duration::from_millis(1))
    }

    pub(crate) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanfare_wire::units::time::at;

    fn to(last: u8) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, last], 1))
    }

    #[test]
    fn a_run_goes_to_one_after_another_and_too_much_is_dropped() {
        let mut passing = Passing::new(None);
        passing.push((&[1; 30], 10), vec![to(1), to(2)]);
        let mut went = Vec::new();
        while let Some((to, stride, run)) = passing.next(Time::ZERO) {
            let all = run.len();
            went.push((to, stride, all));
            passing.on_passed(all);
        }
        assert_eq!(went, [(to(1), 10, 30), (to(2), 10, 30)]);
        assert_eq!((passing.passed, passing.is_waiting()), (60, false));
        passing.push((&vec![0; WAITING_MAX], 1000), vec![to(1), to(2)]);
        assert_eq!((passing.dropped, passing.is_waiting()), (2 * WAITING_MAX as u64, false));
    }

    #[test]
    fn a_limited_rate_is_kept_over_a_second() {
        let mut passing = Passing::new(Some(1e6));
        let mut sent = 0;
        for millis in 1000..2000 {
            passing.push((&[0; 10_000], 1000), vec![to(1)]);
            while let Some((_, _, run)) = passing.next(at(millis)) {
                let all = run.len();
                sent += all;
                passing.on_passed(all);
            }
        }
        assert!((900_000..1_100_000).contains(&sent), "{sent}");
    }
}

//! Random early detection: drops, or marks, before the queue is full, the more the longer it has
//! been on average.
//!
//! Floyd and Jacobson, "Random Early Detection Gateways for Congestion Avoidance", 1993, figure 2;
//! gentle: Floyd, "Recommendation on using the gentle_ variant of RED", 2000; marks: RFC 3168.

use std::collections::VecDeque;

use fanfare_proto::{Bitrate, Time, rng::Rng};

use super::{Discipline, Verdict};
use crate::packet::Packet;

/// Bytes of the packet by which idle time is counted. Floyd and Jacobson take a small typical one;
/// the simulators after them the mean.
const TYPICAL_BYTES: usize = 1000;
/// Idle packets after which nothing of an average is left.
const IDLE_MAX: u64 = 10_000;

/// What becomes of ECN-capable packets where RED drops all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AboveMax {
    /// They are dropped too (RFC 3168 7, Cisco's WRED, Linux with `harddrop`).
    Drop,
    /// They are marked, as long as the queue has room (Linux).
    Mark,
}

/// RED's settings. Thresholds in packets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Red {
    /// Below this average nothing happens.
    pub min: f64,
    /// From this average on every packet is dropped.
    pub max: f64,
    /// Share that the queue of this moment has in the average; 1 is no averaging.
    pub weight: f64,
    /// Probability just below `max`.
    pub max_p: f64,
    /// From `max` to twice `max` the probability grows from `max_p` to one, in place of a step.
    pub gentle: bool,
    /// ECN-capable packets are marked rather than dropped.
    pub ecn: bool,
    /// ECN-capable packets where all others are dropped.
    pub above_max: AboveMax,
    /// Packets that may wait at most.
    pub limit: u32,
    /// Of those that wait, so many have passed RED already: they are in the interface's transmit
    /// ring, which a router fills before its queue begins to grow.
    pub ring: u32,
}

impl Red {
    /// Floyd and Jacobson's advice: weight 0.002, `max_p` 0.1, gentle; marks what it can, and has
    /// room for four times `max`.
    #[must_use]
    pub fn new(min: f64, max: f64) -> Self {
        let limit = (4.0 * max) as u32;
        Self {
            min,
            max,
            weight: 0.002,
            max_p: 0.1,
            gentle: true,
            ecn: true,
            above_max: AboveMax::Mark,
            limit,
            ring: 0,
        }
    }
    /// As a Cisco router is told: an exponential weighting constant n (weight 2^-n) and a mark
    /// probability denominator (`max_p` = 1 / denominator). It has no gentle region and drops what
    /// comes above `max`, ECN-capable or not. 40 packets is IOS's default for its output queue.
    #[must_use]
    pub fn cisco(weighting_constant: u32, min: u32, max: u32, denominator: u32) -> Self {
        Self {
            min: f64::from(min),
            max: f64::from(max),
            weight: 1.0 / f64::from(1u32 << weighting_constant.min(31)),
            max_p: 1.0 / f64::from(denominator.max(1)),
            gentle: false,
            ecn: true,
            above_max: AboveMax::Drop,
            limit: 40,
            ring: 0,
        }
    }
    /// Without ECN: everything is dropped, nothing marked.
    #[must_use]
    pub fn dropping(self) -> Self {
        Self { ecn: false, ..self }
    }

    /// Probability before it is spread out; `None` where nothing escapes.
    fn probability(&self, average: f64) -> Option<f64> {
        if average < self.min {
            return Some(0.0);
        }
        if average < self.max {
            return Some(self.max_p * (average - self.min) / (self.max - self.min));
        }
        let gentle = self.max_p + (1.0 - self.max_p) * (average - self.max) / self.max;
        (self.gentle && average < 2.0 * self.max).then_some(gentle)
    }
}

/// A RED queue at work.
#[derive(Debug)]
pub(crate) struct RedQueue {
    red: Red,
    rate: Bitrate,
    waiting: VecDeque<Packet>,
    bytes: u64,
    average: f64,
    /// Packets since the last mark or drop; `None` below `min`.
    count: Option<u64>,
    /// Since when it has been empty.
    idle: Option<Time>,
}

/// What RED wants of the packet that comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RedDecision {
    Pass,
    /// Marked if it can be, else dropped.
    Signal,
    /// Above `max`.
    Refuse,
}

impl RedQueue {
    pub(crate) fn new(red: Red, rate: Bitrate) -> Self {
        let waiting = VecDeque::new();
        Self { red, rate, waiting, bytes: 0, average: 0.0, count: None, idle: Some(Time::ZERO) }
    }

    /// Packets behind the transmit ring.
    fn held(&self) -> usize {
        self.waiting.len().saturating_sub(self.red.ring as usize)
    }

    fn observe(&mut self, now: Time) {
        let weight = self.red.weight;
        if let Some(since) = self.idle {
            // As if so many packets had found it empty.
            let packet = self.rate.time_for(TYPICAL_BYTES).as_nanos().max(1);
            let missed = u64::try_from(now.since(since).as_nanos() / packet).unwrap_or(u64::MAX);
            self.average *= power(1.0 - weight, missed);
            self.idle = Some(now);
        }
        self.average += weight * (self.held() as f64 - self.average);
    }

    fn wish(&mut self, rng: &mut Rng) -> RedDecision {
        let Some(p) = self.red.probability(self.average) else {
            self.count = Some(0);
            return RedDecision::Refuse;
        };
        if p <= 0.0 {
            self.count = None;
            return RedDecision::Pass;
        }
        // Spreads signals evenly: the longer none came, the likelier one gets.
        let count = self.count.map_or(0, |count| count + 1);
        let spread = 1.0 - count as f64 * p;
        if spread <= p || rng.random_bool(p / spread) {
            self.count = Some(0);
            return RedDecision::Signal;
        }
        self.count = Some(count);
        RedDecision::Pass
    }
}

/// `base` to the `n`, the same on every machine.
fn power(base: f64, n: u64) -> f64 {
    let (mut base, mut n, mut result) = (base, n.min(IDLE_MAX), 1.0);
    while n > 0 {
        if n & 1 == 1 {
            result *= base;
        }
        base *= base;
        n >>= 1;
    }
    result
}

impl Discipline for RedQueue {
    fn on_packet(&mut self, now: Time, mut packet: Packet, rng: &mut Rng) -> Verdict {
        self.observe(now);
        let markable = self.red.ecn && packet.is_ect();
        let marked = match self.wish(rng) {
            _ if self.waiting.len() >= self.red.limit as usize => return Verdict::dropped(packet),
            RedDecision::Pass => false,
            RedDecision::Signal if markable => true,
            RedDecision::Refuse if markable && self.red.above_max == AboveMax::Mark => true,
            RedDecision::Signal | RedDecision::Refuse => return Verdict::dropped(packet),
        };
        if marked {
            packet.mark();
        }
        self.bytes += packet.bytes as u64;
        self.waiting.push_back(packet);
        if self.held() > 0 {
            self.idle = None;
        }
        Verdict { dropped: None, marked }
    }
    fn poll_packet(&mut self, now: Time) -> Option<Packet> {
        let packet = self.waiting.pop_front();
        if let Some(packet) = &packet {
            self.bytes -= packet.bytes as u64;
        }
        if self.held() == 0 && self.idle.is_none() {
            self.idle = Some(now);
        }
        packet
    }
    fn packets(&self) -> usize {
        self.waiting.len()
    }
    fn bytes(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use fanfare_proto::Ecn;

    use super::*;
    use crate::queue::tests::packet;

    /// Offers `n` packets at once; gives how many were taken and how many marked.
    fn offer(red: Red, n: usize, ecn: Option<Ecn>, seed: u64) -> (usize, usize) {
        let (mut queue, rng) = (RedQueue::new(red, Bitrate::mbps(1)), &mut Rng::new(seed));
        let mut marked = 0;
        for _ in 0..n {
            marked += usize::from(queue.on_packet(Time::ZERO, packet(0, 1000, ecn), rng).marked);
        }
        (queue.packets(), marked)
    }

    #[test]
    fn a_short_average_lets_everything_pass() {
        assert_eq!(offer(Red::new(5.0, 15.0), 60, None, 1), (60, 0));
    }

    #[test]
    fn ecn_capable_packets_are_marked_where_others_are_dropped() {
        let red = Red { weight: 1.0, ..Red::new(5.0, 15.0) };
        let ((dropped_to, _), (kept, marked)) =
            (offer(red, 50, None, 1), offer(red, 50, Some(Ecn::Ect0), 1));
        assert!(dropped_to < 31 && kept == 50 && marked >= 19, "{dropped_to} {kept} {marked}");
        assert!(offer(red.dropping(), 50, Some(Ecn::Ect0), 1).0 == dropped_to);
    }

    #[test]
    fn cisco_marks_up_to_max_and_drops_above_it_whatever_the_packet_says() {
        // Weight 1/2: the third packet meets an average of 1.25, the fourth one of 2.1.
        let red = Red::cisco(1, 1, 2, 1);
        assert_eq!(red.weight, 0.5);
        let offers: Vec<_> = (0..20).map(|seed| offer(red, 20, Some(Ecn::Ect0), seed)).collect();
        assert!(offers.iter().all(|(kept, _)| *kept < 5), "{offers:?}");
        assert!(offers.iter().any(|(_, marked)| *marked > 0), "{offers:?}");
    }

    #[test]
    fn what_is_in_the_transmit_ring_does_not_count() {
        let red = Red { ring: 4, ..Red::cisco(1, 1, 2, 1) };
        for seed in 0..20 {
            let (plain, ringed) =
                (offer(Red { ring: 0, ..red }, 20, None, seed), offer(red, 20, None, seed));
            assert_eq!((ringed.0, ringed.1), (plain.0 + 4, 0));
        }
    }

    #[test]
    fn the_probability_grows_from_min_to_max_and_gently_beyond() {
        let red = Red::new(5.0, 15.0);
        assert_eq!([red.probability(4.9), red.probability(10.0)], [Some(0.0), Some(0.05)]);
        assert!((red.probability(22.5).unwrap() - 0.55).abs() < 1e-12);
        assert_eq!(red.probability(30.0), None);
        assert_eq!(Red::cisco(1, 1, 2, 1).probability(2.0), None);
    }

    #[test]
    fn signals_come_at_even_distances() {
        // An average that stays at 10 packets: probability 0.05, so one signal in at most 20.
        let mut queue = RedQueue::new(Red::new(5.0, 15.0), Bitrate::mbps(1));
        let rng = &mut Rng::new(3);
        let mut last = 0;
        for n in 1..2_000 {
            queue.average = 10.0;
            if queue.wish(rng) == RedDecision::Signal {
                assert!(n - last <= 20, "{}", n - last);
                last = n;
            }
        }
        assert!(last > 1_900);
    }

    #[test]
    fn the_average_of_an_idle_queue_decays() {
        let mut queue = RedQueue::new(Red::new(5.0, 15.0), Bitrate::mbps(1));
        queue.average = 10.0;
        queue.observe(Time::ZERO + fanfare_proto::Duration::from_secs(10));
        // 1250 packets of 8 ms: 0.998^1250 = 0.08.
        assert!((0.7..0.9).contains(&queue.average), "{}", queue.average);
    }
}

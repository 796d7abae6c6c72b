//! The bottleneck that flows share: line rate, drop-tail queue, random loss.

use fanfare_proto::{Bitrate, Duration, Time, rng::Rng};

/// A line with a queue before it. The comparison with a kernel's TCP runs it in real time, the
/// [`Pipe`](super::Pipe) in virtual time.
#[derive(Debug, Clone)]
pub struct Bottleneck {
    /// Line rate, headers included.
    pub rate: Bitrate,
    /// Bytes that may wait, the packet on the line included; more are dropped.
    pub queue_bytes: u64,
    /// Time from the end of the line to the other end of the path.
    pub one_way: Duration,
    /// Share of packets lost after the line, each for itself.
    pub loss: f64,
    /// Marks ECN-capable packets that find more than this many bytes waiting.
    pub mark_above: Option<u64>,
    free_at: Time,
    rng: Rng,
}

/// What becomes of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure {
    /// When it arrives.
    pub at: Time,
    /// Whether the queue would mark it.
    pub marked: bool,
}

impl Bottleneck {
    /// A line of this rate and one-way delay, with a queue of one bandwidth-delay product and no
    /// loss; `seed` decides what will be lost.
    #[must_use]
    pub fn new(rate: Bitrate, one_way: Duration, seed: u64) -> Self {
        Self {
            rate,
            queue_bytes: rate.bytes_in(2 * one_way),
            one_way,
            loss: 0.0,
            mark_above: None,
            free_at: Time::ZERO,
            rng: Rng::new(seed),
        }
    }

    /// With this share of packets lost.
    #[must_use]
    pub fn loss(self, loss: f64) -> Self {
        Self { loss, ..self }
    }
    /// With a queue of so many bytes.
    #[must_use]
    pub fn queue(self, queue_bytes: u64) -> Self {
        Self { queue_bytes, ..self }
    }

    /// A packet of `bytes` comes; `None` when it does not arrive.
    pub fn carry(&mut self, now: Time, bytes: usize) -> Option<Departure> {
        let waiting = self.rate.bytes_in(self.free_at.since(now));
        if waiting > 0 && waiting + bytes as u64 > self.queue_bytes {
            return None;
        }
        self.free_at = self.free_at.max(now) + self.rate.time_for(bytes);
        let departure = Departure {
            at: self.free_at + self.one_way,
            marked: self.mark_above.is_some_and(|limit| waiting > limit),
        };
        (!self.rng.random_bool(self.loss)).then_some(departure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_leave_at_the_line_rate_and_the_queue_drops_at_its_tail() {
        let delay = Duration::from_millis(10);
        // 1000 bytes take 1 ms.
        let mut line = Bottleneck::new(Bitrate::mbps(8), delay, 1).queue(3_000);
        line.mark_above = Some(1_500);
        let departures: Vec<_> = (0..5)
            .map(|_| line.carry(Time::ZERO, 1000).map(|p| (p.at.as_nanos() / 1_000_000, p.marked)))
            .collect();
        let expected = [Some((11, false)), Some((12, false)), Some((13, true)), None, None];
        assert_eq!(departures, expected);
    }
}

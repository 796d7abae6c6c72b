//! The receiver: puts segments in order and acknowledges them.

use std::collections::VecDeque;

use fanfare_proto::Time;

use super::config::Config;
use super::segment::{Sack, SackRange, Segment};

/// RFC 5681 4.2: at least every second segment is acknowledged.
const SEGMENTS_PER_ACK: u32 = 2;
/// Linux `TCP_MAX_QUICKACKS`: at first every segment is, so that slow start is not slowed.
const QUICK_ACKS: u32 = 16;

/// What a receiver has seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReceiverStats {
    /// Segments with payload.
    pub segments: u64,
    /// Of them, with nothing new.
    pub duplicates: u64,
    /// Of them, marked by a queue.
    pub marked: u64,
    /// ACKs sent.
    pub acks: u64,
}

/// The receiving end of a flow. Whatever is in order counts as read at once.
#[derive(Debug, Clone)]
pub struct Receiver {
    config: Config,
    /// The byte that is waited for.
    next: u64,
    /// What is there beyond, the range that changed last in front.
    beyond: VecDeque<SackRange>,
    /// Segments not acknowledged yet.
    pending: u32,
    quick: u32,
    ack_due: bool,
    ack_at: Option<Time>,
    /// Timestamp to echo (RFC 7323 4.3): of the first segment since the last ACK.
    echo: Option<Time>,
    last_acked: u64,
    ecn_echo: bool,
    stats: ReceiverStats,
}

impl Receiver {
    /// A receiver that has got nothing.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            config,
            next: 0,
            beyond: VecDeque::new(),
            pending: 0,
            quick: QUICK_ACKS,
            ack_due: false,
            ack_at: None,
            echo: None,
            last_acked: 0,
            ecn_echo: false,
            stats: ReceiverStats::default(),
        }
    }

    /// Bytes that arrived in order: the flow's goodput.
    #[must_use]
    pub fn delivered(&self) -> u64 {
        self.next
    }
    /// What it has seen.
    #[must_use]
    pub fn stats(&self) -> ReceiverStats {
        self.stats
    }

    /// A segment of the other end has come.
    pub fn on_segment(&mut self, now: Time, segment: &Segment) {
        if segment.length == 0 {
            return;
        }
        self.stats.segments += 1;
        self.note_mark(segment);
        if segment.sequence <= self.last_acked {
            // RFC 7323 4.3 (2): the segment that the last ACK asked for, or an earlier one.
            self.echo = Some(self.echo.map_or(segment.timestamp, |t| t.max(segment.timestamp)));
        }
        if segment.end() <= self.next {
            self.stats.duplicates += 1;
            self.ack_due = true;
        } else if segment.sequence > self.next {
            self.keep(SackRange { start: segment.sequence, end: segment.end() });
            self.ack_due = true;
        } else {
            self.advance(now, segment.end());
        }
    }

    /// The ACK to send now, if any.
    pub fn poll_segment(&mut self, now: Time) -> Option<Segment> {
        if !self.ack_due {
            return None;
        }
        self.ack_due = false;
        self.ack_at = None;
        self.quick = self.quick.saturating_sub(self.pending);
        self.pending = 0;
        self.last_acked = self.next;
        self.stats.acks += 1;
        Some(Segment {
            sequence: 0,
            length: 0,
            ack: self.next,
            sack: self.beyond.iter().copied().collect::<Sack>(),
            timestamp: now,
            timestamp_echo: self.echo,
            ecn_capable: false,
            congestion_experienced: false,
            ecn_echo: self.ecn_echo,
            window_reduced: false,
            header_bytes: self.config.header_bytes,
        })
    }

    /// When [`Receiver::on_timeout`] is due.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Time> {
        self.ack_at
    }

    /// Time has come.
    pub fn on_timeout(&mut self, now: Time) {
        if self.ack_at.is_some_and(|at| at <= now) {
            self.ack_due = true;
        }
    }

    /// RFC 3168 6.1.3: a mark is echoed until the sender says that it has answered it.
    fn note_mark(&mut self, segment: &Segment) {
        if segment.window_reduced {
            self.ecn_echo = false;
        }
        if segment.congestion_experienced {
            self.ecn_echo = true;
            self.stats.marked += 1;
        }
    }

    /// The stream is whole up to `end`, and as far as what is beyond continues it.
    fn advance(&mut self, now: Time, end: u64) {
        let out_of_order = !self.beyond.is_empty();
        self.next = end;
        while let Some(at) = self.beyond.iter().position(|range| range.start <= self.next) {
            if let Some(range) = self.beyond.remove(at) {
                self.next = self.next.max(range.end);
            }
        }
        self.pending += 1;
        let wait = self.ack_at.unwrap_or(now + self.config.delayed_ack);
        self.ack_at = Some(wait);
        // RFC 5681 4.2: at once while there is a hole, or when one was filled.
        self.ack_due |= out_of_order || self.quick > 0 || self.pending >= SEGMENTS_PER_ACK;
    }

    /// Something is there beyond a hole: joined with what it touches, and in front (RFC 2018 4).
    fn keep(&mut self, mut new: SackRange) {
        if self.beyond.iter().any(|range| range.start <= new.start && new.end <= range.end) {
            self.stats.duplicates += 1;
        }
        self.beyond.retain(|range| {
            let touches = range.start <= new.end && new.start <= range.end;
            if touches {
                new = SackRange { start: new.start.min(range.start), end: new.end.max(range.end) };
            }
            !touches
        });
        self.beyond.push_front(new);
    }
}

#[cfg(test)]
mod tests {
    use fanfare_proto::Duration;

    use super::*;

    fn data(sequence: u64, at: u64) -> Segment {
        Segment {
            sequence,
            length: 100,
            ack: 0,
            sack: Sack::default(),
            timestamp: ms(at),
            timestamp_echo: None,
            ecn_capable: true,
            congestion_experienced: false,
            ecn_echo: false,
            window_reduced: false,
            header_bytes: 52,
        }
    }
    fn ms(n: u64) -> Time {
        Time::from_nanos(n * 1_000_000)
    }
    /// One that is past its quick ACKs, with 1600 bytes in order.
    fn settled() -> Receiver {
        let mut receiver = Receiver::new(Config::default());
        for n in 0..u64::from(QUICK_ACKS) {
            receiver.on_segment(ms(n), &data(n * 100, n));
            assert_eq!(receiver.poll_segment(ms(n)).unwrap().ack, (n + 1) * 100);
        }
        receiver
    }

    #[test]
    fn every_second_segment_is_acknowledged_and_a_lone_one_after_40_ms() {
        let mut receiver = settled();
        receiver.on_segment(ms(100), &data(1600, 100));
        assert_eq!(receiver.poll_segment(ms(100)), None);
        receiver.on_segment(ms(101), &data(1700, 101));
        let ack = receiver.poll_segment(ms(101)).unwrap();
        assert_eq!((ack.ack, ack.timestamp_echo), (1800, Some(ms(100))), "the earlier one's time");
        assert_eq!(receiver.next_timeout(), None);

        receiver.on_segment(ms(200), &data(1800, 200));
        let at = receiver.next_timeout().unwrap();
        assert_eq!(at, ms(200) + Duration::from_millis(40));
        receiver.on_timeout(at);
        assert_eq!(receiver.poll_segment(at).unwrap().ack, 1900);
    }

    #[test]
    fn what_is_out_of_order_is_acknowledged_at_once_with_the_newest_range_in_front() {
        let mut receiver = settled();
        let mut last = None;
        for sequence in [1700, 1900, 2100, 2300, 1800] {
            receiver.on_segment(ms(300), &data(sequence, 300));
            last = receiver.poll_segment(ms(300));
        }
        let ack = last.unwrap();
        let ranges: Vec<_> = ack.sack.ranges().iter().map(|r| (r.start, r.end)).collect();
        assert_eq!((ack.ack, ranges), (1600, vec![(1700, 2000), (2300, 2400), (2100, 2200)]));

        receiver.on_segment(ms(301), &data(1600, 301));
        let ack = receiver.poll_segment(ms(301)).unwrap();
        assert_eq!((ack.ack, ack.timestamp_echo), (2000, Some(ms(301))));
    }

    #[test]
    fn a_duplicate_is_acknowledged_at_once_and_not_counted_twice() {
        let mut receiver = settled();
        receiver.on_segment(ms(300), &data(500, 300));
        assert_eq!(receiver.poll_segment(ms(300)).unwrap().ack, 1600);
        assert_eq!((receiver.delivered(), receiver.stats().duplicates), (1600, 1));
    }

    #[test]
    fn a_mark_is_echoed_until_the_sender_has_answered_it() {
        let mut receiver = Receiver::new(Config::default());
        let echoes = [(true, false), (false, false), (false, true), (false, false)].map(
            |(congestion_experienced, window_reduced)| {
                let sequence = receiver.delivered();
                let segment =
                    Segment { congestion_experienced, window_reduced, ..data(sequence, 0) };
                receiver.on_segment(ms(0), &segment);
                receiver.poll_segment(ms(0)).unwrap().ecn_echo
            },
        );
        assert_eq!(echoes, [true, true, false, false]);
    }
}

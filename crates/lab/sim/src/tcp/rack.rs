//! RACK-TLP (RFC 8985): loss found by time, and a probe for lost tails.

use fanfare_proto::{Duration, Time};

use super::rto::Rto;
use super::scoreboard::{Delivered, Scoreboard, SegmentState, Sent};

/// RFC 8985 6.2 step 4: three arrivals out of order need no time for reordering.
const DUPLICATE_THRESHOLD: u32 = 3;

/// What RACK remembers.
#[derive(Debug, Clone, Default)]
pub(super) struct Rack {
    /// Of all segments that arrived the one sent last: when, and its end.
    newest: Option<(Time, u64)>,
    /// How long that one took.
    rtt: Duration,
    reordering_seen: bool,
    /// When the next segment will have to be held lost.
    pub(super) at: Option<Time>,
}

impl Rack {
    /// An ACK has come.
    pub(super) fn on_delivered(&mut self, now: Time, delivered: &Delivered, min_rtt: Duration) {
        self.reordering_seen |= delivered.reordered;
        let Some(sent) = delivered.newest else { return };
        let rtt = now.since(sent.at);
        // RFC 8985 6.2 step 2: so soon it must be the original that arrived.
        if sent.retransmitted && rtt < min_rtt {
            return;
        }
        if self.newest.is_none_or(|newest| newest < (sent.at, sent.end())) {
            self.newest = Some((sent.at, sent.end()));
            self.rtt = rtt;
        }
    }

    /// Marks what is lost by now and sets the time for the rest. Returns how many.
    pub(super) fn detect(
        &mut self,
        now: Time,
        board: &mut Scoreboard,
        rto: &Rto,
        recovering: bool,
    ) -> u32 {
        self.at = None;
        let Some(newest) = self.newest else { return 0 };
        let patience = self.rtt + self.window(board.sacked(), rto, recovering);
        let mut next: Option<Time> = None;
        let lost = board.mark_lost(|sent| {
            let due = sent.at + patience;
            let passed = sent.state == SegmentState::InFlight && (sent.at, sent.end()) < newest;
            if passed && due > now {
                next = Some(next.map_or(due, |at| at.max(due)));
            }
            passed && due <= now
        });
        self.at = next;
        lost
    }

    /// How long a segment may be late before that is loss.
    fn window(&self, sacked: u32, rto: &Rto, recovering: bool) -> Duration {
        if !self.reordering_seen && (recovering || sacked >= DUPLICATE_THRESHOLD) {
            return Duration::ZERO;
        }
        (rto.min_rtt() / 4).min(rto.smoothed().unwrap_or_default())
    }

    /// After a timeout: whether `sent` had its round trip, or may still arrive.
    pub(super) fn overdue(&self, now: Time, sent: &Sent, rto: &Rto) -> bool {
        sent.at + self.rtt + self.window(0, rto, true) <= now
    }
}

/// How long to wait for an ACK before a probe (RFC 8985 7.2).
pub(super) fn probe_timeout(rto: &Rto, outstanding: usize) -> Duration {
    /// A clock tick against rounding, as Linux has it.
    const TICK: Duration = Duration::from_millis(2);
    let Some(rtt) = rto.smoothed() else { return rto.timeout() };
    // A lone segment's ACK may be delayed.
    let slack = if outstanding == 1 { rto.floor() } else { TICK };
    (2 * rtt + slack).min(rto.timeout())
}

#[cfg(test)]
mod tests {
    use super::super::segment::SackRange;
    use super::*;

    fn ms(n: u64) -> Time {
        Time::from_nanos(n * 1_000_000)
    }
    fn settled() -> Rto {
        let mut rto = Rto::new(Duration::from_millis(200));
        (0..50).for_each(|n| rto.on_sample(Duration::from_millis(100), n % 5 == 0));
        rto
    }
    /// Five segments sent a millisecond apart; those in `start..end` arrive after 100 ms.
    fn after(start: u64, end: u64) -> (Rack, Scoreboard, Time) {
        let (mut rack, mut board) = (Rack::default(), Scoreboard::default());
        (0..5).for_each(|n| board.push(n * 100, 100, ms(n)));
        let now = ms(end / 100 - 1 + 100);
        let delivered = board.on_ack(0, &[SackRange { start, end }]);
        rack.on_delivered(now, &delivered, Duration::from_millis(100));
        (rack, board, now)
    }

    #[test]
    fn one_arrival_out_of_order_waits_a_quarter_round_trip_and_three_do_not() {
        let (mut rack, mut board, now) = after(100, 200);
        assert_eq!(rack.detect(now, &mut board, &settled(), false), 0);
        assert_eq!(rack.at, Some(ms(125)));
        assert_eq!(rack.detect(ms(125), &mut board, &settled(), false), 1);
        assert_eq!(rack.at, None);

        let (mut rack, mut board, now) = after(100, 400);
        assert_eq!(rack.detect(now, &mut board, &settled(), false), 1);
        assert_eq!(board.in_flight(), 1, "what was sent later is not judged");
    }

    #[test]
    fn a_retransmission_is_lost_when_something_sent_after_it_has_arrived() {
        let (mut rack, mut board, now) = after(100, 400);
        rack.detect(now, &mut board, &settled(), false);
        board.resend_lost(ms(103));
        board.push(500, 100, ms(104));
        let delivered = board.on_ack(0, &[SackRange { start: 100, end: 600 }]);
        rack.on_delivered(ms(204), &delivered, Duration::from_millis(100));
        assert_eq!(rack.detect(ms(204), &mut board, &settled(), true), 1);
        assert_eq!(board.lost(), 1);
    }

    #[test]
    fn a_probe_comes_after_two_round_trips_and_waits_for_the_ack_of_a_lone_segment() {
        let rto = settled();
        assert_eq!(probe_timeout(&rto, 5).as_millis(), 202);
        assert_eq!(probe_timeout(&rto, 1), rto.timeout());
    }
}

//! What was sent and not yet acknowledged, and the state of each segment.

use std::collections::VecDeque;

use fanfare_proto::Time;

use super::segment::SackRange;

/// What is known of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SegmentState {
    /// On its way, for the first time or again.
    InFlight,
    /// Held to be lost and not yet sent again.
    Lost,
    /// Arrived out of order.
    Sacked,
}

/// A segment that was sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sent {
    pub(super) sequence: u64,
    pub(super) length: u32,
    /// When last.
    pub(super) at: Time,
    pub(super) retransmitted: bool,
    pub(super) state: SegmentState,
}

impl Sent {
    pub(super) fn end(&self) -> u64 {
        self.sequence + u64::from(self.length)
    }
}

/// What an ACK has told.
#[derive(Debug, Clone, Default)]
pub(super) struct Delivered {
    /// Segments that are now known to have arrived.
    pub(super) segments: u32,
    /// Whether the cumulative acknowledgement moved.
    pub(super) advanced: bool,
    /// Whether something arrived out of order.
    pub(super) sacked: bool,
    /// When the earliest of those acknowledged in order was sent; only of those sent once (Karn).
    pub(super) earliest: Option<Time>,
    /// The same, of those that arrived out of order.
    pub(super) earliest_sacked: Option<Time>,
    /// Of all that arrived, the last that was sent.
    pub(super) newest: Option<Sent>,
    /// Whether one that was sent once arrived after a later one.
    pub(super) reordered: bool,
}

/// The segments between the cumulative acknowledgement and the next new byte.
#[derive(Debug, Clone, Default)]
pub(super) struct Scoreboard {
    sent: VecDeque<Sent>,
    /// All before this is acknowledged.
    acked: u64,
    /// Highest byte known to have arrived.
    highest: u64,
    in_flight: u32,
    lost: u32,
    sacked: u32,
}

impl Scoreboard {
    /// The cumulative acknowledgement.
    pub(super) fn acked(&self) -> u64 {
        self.acked
    }
    /// Segments in the network as far as is known: RFC 6675's pipe.
    pub(super) fn in_flight(&self) -> u32 {
        self.in_flight
    }
    /// Segments to be sent again.
    pub(super) fn lost(&self) -> u32 {
        self.lost
    }
    /// Segments that arrived out of order.
    pub(super) fn sacked(&self) -> u32 {
        self.sacked
    }
    /// Segments not acknowledged in order.
    pub(super) fn outstanding(&self) -> usize {
        self.sent.len()
    }

    /// When the earliest retransmission left that is still on its way.
    pub(super) fn earliest_resent(&self) -> Option<Time> {
        let resent = |sent: &&Sent| sent.retransmitted && sent.state == SegmentState::InFlight;
        self.sent.iter().filter(resent).map(|sent| sent.at).min()
    }

    /// A new segment has been sent.
    pub(super) fn push(&mut self, sequence: u64, length: u32, at: Time) {
        let sent =
            Sent { sequence, length, at, retransmitted: false, state: SegmentState::InFlight };
        self.sent.push_back(sent);
        self.in_flight += 1;
    }

    /// Takes the first lost segment as sent again.
    pub(super) fn resend_lost(&mut self, now: Time) -> Option<Sent> {
        if self.lost == 0 {
            return None;
        }
        let index = self.sent.iter().position(|sent| sent.state == SegmentState::Lost)?;
        self.resend(index, now)
    }

    /// Takes the last segment that has not arrived as sent again: a probe.
    pub(super) fn resend_last(&mut self, now: Time) -> Option<Sent> {
        let index = self.sent.iter().rposition(|sent| sent.state != SegmentState::Sacked)?;
        self.resend(index, now)
    }

    fn resend(&mut self, index: usize, now: Time) -> Option<Sent> {
        self.settle(index, SegmentState::InFlight);
        let sent = self.sent.get_mut(index)?;
        sent.at = now;
        sent.retransmitted = true;
        Some(*sent)
    }

    /// Marks as lost what is in flight and for which `is_lost` holds; it is called from the last
    /// segment to the first. Returns how many.
    pub(super) fn mark_lost(&mut self, mut is_lost: impl FnMut(&Sent) -> bool) -> u32 {
        let before = self.lost;
        for index in (0..self.sent.len()).rev() {
            if is_lost(&self.sent[index]) && self.sent[index].state == SegmentState::InFlight {
                self.settle(index, SegmentState::Lost);
            }
        }
        self.lost - before
    }

    /// Takes back what was held to be lost and has not been sent again.
    pub(super) fn unmark_lost(&mut self) {
        for index in 0..self.sent.len() {
            if self.sent[index].state == SegmentState::Lost {
                self.settle(index, SegmentState::InFlight);
            }
        }
    }

    /// An ACK has come.
    pub(super) fn on_ack(&mut self, ack: u64, ranges: &[SackRange]) -> Delivered {
        let mut delivered = Delivered::default();
        let highest = self.highest;
        while self.sent.front().is_some_and(|sent| sent.end() <= ack) {
            self.arrived(0, true, highest, &mut delivered);
            if self.sent.pop_front().is_some() {
                self.sacked -= 1;
            }
        }
        delivered.advanced = ack > self.acked;
        self.acked = self.acked.max(ack);
        for range in ranges {
            let first = self.sent.partition_point(|sent| sent.sequence < range.start);
            let last = self.sent.partition_point(|sent| sent.end() <= range.end);
            (first..last).for_each(|index| self.arrived(index, false, highest, &mut delivered));
        }
        delivered
    }

    /// The segment at `index` is there; `highest` was the highest byte before this ACK.
    fn arrived(&mut self, index: usize, in_order: bool, highest: u64, delivered: &mut Delivered) {
        let sent = self.sent[index];
        if sent.state == SegmentState::Sacked {
            return;
        }
        delivered.segments += 1;
        delivered.sacked |= !in_order;
        self.highest = self.highest.max(sent.end());
        if !sent.retransmitted {
            let earliest =
                if in_order { &mut delivered.earliest } else { &mut delivered.earliest_sacked };
            *earliest = Some(earliest.map_or(sent.at, |at| at.min(sent.at)));
            delivered.reordered |= sent.end() <= highest;
        }
        let newer = delivered.newest.is_none_or(|n| (n.at, n.end()) < (sent.at, sent.end()));
        if newer {
            delivered.newest = Some(sent);
        }
        self.settle(index, SegmentState::Sacked);
    }

    fn settle(&mut self, index: usize, state: SegmentState) {
        let from = std::mem::replace(&mut self.sent[index].state, state);
        *self.counter(from) -= 1;
        *self.counter(state) += 1;
    }

    fn counter(&mut self, state: SegmentState) -> &mut u32 {
        match state {
            SegmentState::InFlight => &mut self.in_flight,
            SegmentState::Lost => &mut self.lost,
            SegmentState::Sacked => &mut self.sacked,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(count: u64) -> Scoreboard {
        let mut board = Scoreboard::default();
        (0..count).for_each(|n| board.push(n * 100, 100, Time::from_nanos(n)));
        board
    }
    fn counts(board: &Scoreboard) -> (u32, u32, u32) {
        (board.in_flight(), board.lost(), board.sacked())
    }
    fn range(start: u64, end: u64) -> SackRange {
        SackRange { start, end }
    }

    #[test]
    fn an_ack_tells_once_what_arrived_in_and_out_of_order() {
        let mut board = sent(10);
        let first = board.on_ack(200, &[range(300, 500)]);
        assert_eq!((first.segments, first.advanced, first.sacked), (4, true, true));
        assert_eq!(first.earliest, Some(Time::ZERO));
        assert_eq!(first.earliest_sacked, Some(Time::from_nanos(3)));
        assert_eq!(first.newest.unwrap().sequence, 400);
        let again = board.on_ack(200, &[range(300, 500)]);
        assert_eq!((again.segments, again.advanced), (0, false));
        assert_eq!(counts(&board), (6, 0, 2));
    }

    #[test]
    fn a_hole_that_fills_itself_is_reordering_and_one_that_was_filled_is_not() {
        let mut board = sent(4);
        board.on_ack(0, &[range(100, 400)]);
        let mut late = board.clone();
        assert!(late.on_ack(400, &[]).reordered);
        board.mark_lost(|_| true);
        board.resend_lost(Time::from_nanos(9));
        assert!(!board.on_ack(400, &[]).reordered);
    }

    #[test]
    fn the_pipe_counts_what_is_neither_lost_nor_there() {
        let mut board = sent(5);
        board.on_ack(0, &[range(200, 300)]);
        assert_eq!(board.mark_lost(|sent| sent.sequence < 200), 2);
        assert_eq!(counts(&board), (2, 2, 1));
        assert_eq!(board.resend_lost(Time::from_nanos(9)).unwrap().sequence, 0);
        assert_eq!(counts(&board), (3, 1, 1));
        board.unmark_lost();
        assert_eq!(counts(&board), (4, 0, 1));
        board.on_ack(500, &[]);
        assert_eq!(counts(&board), (0, 0, 0));
    }
}

//! Loss detection by counting: IsLost of RFC 6675.

use super::scoreboard::{Scoreboard, SegmentState};

/// RFC 6675 2: DupThresh.
const THRESHOLD: u32 = 3;

/// Marks as lost what three arrivals lie above. Returns how many. A retransmission is not judged:
/// what lies above it was sent before it.
pub(super) fn detect(board: &mut Scoreboard) -> u32 {
    if board.sacked() < THRESHOLD {
        return 0;
    }
    let mut above = 0;
    board.mark_lost(|sent| {
        above += u32::from(sent.state == SegmentState::Sacked);
        above >= THRESHOLD && !sent.retransmitted
    })
}

#[cfg(test)]
mod tests {
    use fanfare_proto::Time;

    use super::super::segment::SackRange;
    use super::*;

    #[test]
    fn a_segment_is_lost_when_three_above_it_have_arrived() {
        let mut board = Scoreboard::default();
        (0..8).for_each(|n| board.push(n * 100, 100, Time::from_nanos(n)));
        let range = |start, end| SackRange { start, end };
        board.on_ack(0, &[range(100, 200), range(300, 400)]);
        assert_eq!(detect(&mut board), 0);
        board.on_ack(0, &[range(500, 600)]);
        assert_eq!(detect(&mut board), 1, "of three holes only the first has three above");
        board.on_ack(0, &[range(600, 700)]);
        assert_eq!(detect(&mut board), 1);
        board.resend_lost(Time::from_nanos(50));
        board.on_ack(0, &[range(500, 800)]);
        assert_eq!(detect(&mut board), 1, "the one at 400, and not again the one at 0");
    }
}

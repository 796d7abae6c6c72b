//! The list of experiments. Every value occurs in it, and so do the pairs of values that have
//! broken implementations.
//!
//! It is not the full product: loss is combined with parity and receivers, everything else is
//! varied once. Each condition runs in both mixed directions and, where that is useful, with
//! Fanfare or with NRL's NORM at both ends.

use crate::cell::{
    Cell, Conditions, Direction, NRL_TO_NRL, NRL_TO_OURS, OURS_TO_NRL, OURS_TO_OURS,
};

const ALL: &[Direction] = &[OURS_TO_NRL, NRL_TO_OURS, OURS_TO_OURS, NRL_TO_NRL];
const MIXED: &[Direction] = &[OURS_TO_NRL, NRL_TO_OURS];
const NO_CONTROL: &[Direction] = &[OURS_TO_NRL, NRL_TO_OURS, OURS_TO_OURS];
const NRL_SENDS: &[Direction] = &[NRL_TO_OURS];
const NRL_ALONE: &[Direction] = &[NRL_TO_NRL];
const OURS_SENDS: &[Direction] = &[OURS_TO_NRL, OURS_TO_OURS];

/// Every cell, in the order of the table.
pub fn all() -> Vec<Cell> {
    let mut cells = Vec::new();
    for (conditions, directions, quick) in conditions() {
        cells.extend(directions.iter().map(|&direction| Cell {
            conditions: conditions.clone(),
            direction,
            // The control is already known to work: it stays out of the short list.
            quick: quick && direction != NRL_TO_NRL,
        }));
    }
    cells
}

const SHORT: bool = true;
const FULL: bool = false;

fn conditions() -> Vec<(Conditions, &'static [Direction], bool)> {
    let mut list = sizes();
    list.extend(losses());
    list.extend(codes());
    list.extend(feedback());
    list.extend(company());
    list.extend(large());
    list
}

fn sizes() -> Vec<(Conditions, &'static [Direction], bool)> {
    let new = Conditions::new;
    vec![
        // libnorm's sender never counts the ack of an empty last object, so nobody asks for one.
        (new("empty").size(0).no_acks(), ALL, SHORT),
        (new("one-byte").size(1), ALL, SHORT),
        (new("one-segment").size(1400), MIXED, FULL),
        (new("segment-and-a-byte").size(1401), MIXED, FULL),
        (new("lossless"), ALL, SHORT),
        (
            new("names").files(&[
                ("plain.txt", 5_000),
                ("with space.bin", 40_000),
                ("naïve-ü-文.dat", 3_000),
                ("none.bin", 0),
                ("last.bin", 100),
            ]),
            NO_CONTROL,
            SHORT,
        ),
        (new("small-segments").segment(256).size(200_000), MIXED, FULL),
    ]
}

fn losses() -> Vec<(Conditions, &'static [Direction], bool)> {
    let new = Conditions::new;
    vec![
        (new("loss-1"), MIXED, FULL).lossy(1, 1),
        (new("loss-10"), MIXED, SHORT).lossy(10, 10),
        (new("loss-30"), ALL, FULL).lossy(30, 30),
        (new("loss-10-x3").receivers(3), ALL, SHORT).lossy(10, 10),
        (new("loss-30-x3").receivers(3), ALL, FULL).lossy(30, 30),
        (new("feedback-loss-30-x3").receivers(3), MIXED, FULL).lossy(1, 30),
        // Not from NRL: a NACK of the lost INFO's object kills libnorm 1.5.9's sender.
        (new("empty-loss-30").size(0), OURS_SENDS, FULL).lossy(30, 30),
        (new("one-byte-loss-30-x3").size(1).receivers(3), MIXED, FULL).lossy(30, 30),
    ]
}

fn codes() -> Vec<(Conditions, &'static [Direction], bool)> {
    let new = Conditions::new;
    vec![
        (new("no-parity").fec(64, 0, 0), MIXED, SHORT).lossy(10, 10),
        (new("proactive").fec(64, 16, 8), ALL, FULL).lossy(10, 10),
        (new("proactive-silent-repair").fec(16, 16, 16), MIXED, FULL).lossy(10, 0),
        (new("short-blocks").fec(16, 4, 0).receivers(3), MIXED, FULL).lossy(10, 10),
        (new("wide-code").fec(128, 64, 0), MIXED, FULL).lossy(30, 10),
        (new("id-129").small_block_systematic(), MIXED, SHORT).lossy(10, 10),
        (new("id-129-x3").small_block_systematic().receivers(3), ALL, FULL).lossy(30, 10),
    ]
}

fn feedback() -> Vec<(Conditions, &'static [Direction], bool)> {
    let new = Conditions::new;
    vec![
        (new("unicast-nack").unicast(), OURS_SENDS, SHORT).lossy(10, 10),
        // Not in the short list: NRL's sender gives up after two seconds of flushes, in which now
        // and then every one of our few unicast NACKs is lost.
        (new("unicast-nack").unicast(), NRL_SENDS, FULL).lossy(10, 10),
        (new("unicast-nack-x3").unicast().receivers(3), ALL, FULL).lossy(10, 10),
        (new("flush-only").no_acks(), MIXED, FULL).lossy(10, 10),
        (new("late-join").size(4_000_000).receivers(3).late(), ALL, FULL),
        (new("late-join-loss").size(4_000_000).receivers(3).late(), MIXED, FULL).lossy(10, 10),
    ]
}

/// As long as it takes the company to repair, and to serve one that comes after 9 s. Its nodes are NORM
/// receivers of the file, too: they ask for what they lack of it, and the sender repeats that.
fn company() -> Vec<(Conditions, &'static [Direction], bool)> {
    let cell = |name| Conditions::new(name).size(1_600_000).kbps(1_000).receivers(2).company(5);
    vec![
        (cell("company"), NRL_ALONE, FULL).lossy(0, 0),
        (cell("company-loss-10").limit(60), NRL_ALONE, FULL).lossy(10, 10),
    ]
}

fn large() -> Vec<(Conditions, &'static [Direction], bool)> {
    let big = |name| Conditions::new(name).size(100_000_000).mbps(100).limit(90);
    vec![(big("100MB"), ALL, FULL), (big("100MB-loss-1-x3").receivers(3), MIXED, FULL).lossy(1, 1)]
}

/// Adds loss to a line of the list, where the percentages read best at its end.
trait Lossy {
    fn lossy(self, inbound: u32, outbound: u32) -> Self;
}

impl Lossy for (Conditions, &'static [Direction], bool) {
    fn lossy(self, inbound: u32, outbound: u32) -> Self {
        (self.0.loss(inbound, outbound), self.1, self.2)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::cell::Feedback;

    #[test]
    fn every_cell_has_its_own_name() {
        let names: BTreeSet<String> = all().iter().map(Cell::name).collect();
        assert_eq!(names.len(), all().len());
    }

    #[test]
    fn the_short_list_holds_each_mixed_direction_and_no_large_file() {
        let quick: Vec<Cell> = all().into_iter().filter(|cell| cell.quick).collect();
        assert!((12..=30).contains(&quick.len()), "{} quick cells", quick.len());
        assert!(quick.iter().any(|c| c.direction == OURS_TO_NRL));
        assert!(quick.iter().any(|c| c.direction == NRL_TO_OURS));
        assert!(quick.iter().all(|c| c.conditions.bytes() < 10_000_000));
    }

    #[test]
    fn every_value_of_the_plan_occurs() {
        let cells = all();
        let any = |test: &dyn Fn(&Conditions) -> bool| cells.iter().any(|c| test(&c.conditions));
        for permille in [0, 10, 100, 300] {
            assert!(any(&|c| c.loss.inbound_permille == permille));
            assert!(any(&|c| c.loss.outbound_permille == permille));
        }
        for size in [0, 1, 1400, 800_000, 100_000_000] {
            assert!(any(&|c| c.bytes() == size), "no cell of {size} bytes");
        }
        for id in [5, 129] {
            assert!(any(&|c| c.fec.id == id));
        }
        assert!(any(&|c| c.fec.parity == 0) && any(&|c| c.fec.proactive > 0));
        assert!(any(&|c| c.feedback == Feedback::Unicast) && any(&|c| !c.acks));
        assert!(any(&|c| c.receivers == 1) && any(&|c| c.receivers == 3));
    }
}

//! The cells of `fanfare bench rate`, one on each line: name, link (bit/s), round trip (ms), loss
//! (%), receivers, buffer.
//!
//! The full product would have 2,400 cells. Here each pair of values occurs in some cell, except
//! for pairs that no real network has or that this laboratory cannot carry (`is_left_out` in the
//! tests says which, and why). For nearly each link and round trip there is one cell without loss
//! to three receivers.

use super::cell::{Buffer, Condition, LAN_MS, RateCell};

const KILO: u64 = 1_000;
const MEGA: u64 = 1_000 * KILO;
const GIGA: u64 = 1_000 * MEGA;
const MODEM: u64 = 56 * KILO;

const HALF: Buffer = Buffer::Products(0.5);
const ONE: Buffer = Buffer::Products(1.0);
const FOUR: Buffer = Buffer::Products(4.0);
/// A small switch.
const PACKETS: Buffer = Buffer::Packets(100);
/// A modem: 100 packets would be 21 s.
const FEW: Buffer = Buffer::Packets(10);
/// A switch with much memory.
const LONG: Buffer = Buffer::Bytes(MEGA);

// What receivers on this machine take, below and above.
const OF_ONE: &[u64] = &[6 * GIGA, 9 * GIGA, 12 * GIGA];
const OF_THREE: &[u64] = &[2 * GIGA, 4 * GIGA, 6 * GIGA];
const OF_TEN: &[u64] = &[GIGA, 1_500 * MEGA, 2 * GIGA];
const OF_SIXTY: &[u64] = &[100 * MEGA, 200 * MEGA, 300 * MEGA];
const OF_LOSSY: &[u64] = &[GIGA, 2 * GIGA, 4 * GIGA];
const OF_BUSY: &[u64] = &[GIGA, 2 * GIGA, 4 * GIGA];
// Ten gigabits are too much for a small machine, and 60 times 100 Mbit/s, too.
const OF_GIGABIT_TO_TEN: &[u64] = &[300 * MEGA, 600 * MEGA, 900 * MEGA];
const OF_100M_TO_SIXTY: &[u64] = &[40 * MEGA, 60 * MEGA, 90 * MEGA];

/// The time that a file takes at the link's full rate, seconds: less than this many round trips would
/// measure the start and the end.
const SECONDS: u64 = 5;
const ROUND_TRIPS: f64 = 33.0;

/// A link with this round trip and so many percent of loss.
const fn on(
    name: &'static str,
    rate: u64,
    round_trip_ms: f64,
    loss_percent: f64,
    receivers: usize,
    buffer: Buffer,
) -> RateCell {
    let long = (ROUND_TRIPS * round_trip_ms / 1e3) as u64;
    let seconds = if long > SECONDS { long } else { SECONDS };
    RateCell {
        rate_bps: Some(rate),
        round_trip_ms,
        buffer,
        ..free(name, loss_percent, receivers, rate / 8 * seconds, &[])
    }
}

/// No link, but what this machine can carry.
const fn free(
    name: &'static str,
    loss_percent: f64,
    receivers: usize,
    size: u64,
    sweep: &'static [u64],
) -> RateCell {
    RateCell {
        name,
        rate_bps: None,
        round_trip_ms: LAN_MS,
        loss: loss_percent / 100.0,
        receivers,
        buffer: Buffer::None,
        size,
        sweep,
        limit_ms: None,
        condition: Condition::Quiet,
    }
}

/// A small file to three, within so many milliseconds.
const fn small(name: &'static str, size: u64, limit_ms: u32) -> RateCell {
    limited(limit_ms, size, free(name, 0.0, 3, size, OF_THREE))
}

/// Another file, within so many milliseconds.
const fn limited(limit_ms: u32, size: u64, cell: RateCell) -> RateCell {
    RateCell { size, limit_ms: Some(limit_ms), ..cell }
}

const fn with(condition: Condition, cell: RateCell) -> RateCell {
    RateCell { condition, ..cell }
}

/// The link becomes ten times slower in the run, and as fast again; the file lasts longer.
const fn changing(name: &'static str, cell: RateCell) -> RateCell {
    let Some(rate) = cell.rate_bps else { panic!("only a link changes") };
    let size = 4 * cell.size;
    RateCell { name, size, condition: Condition::Change(rate / 10), ..cell }
}

/// The last receiver is ten times slower. It comes in the run, and goes; the file lasts longer.
const fn coming(name: &'static str, cell: RateCell) -> RateCell {
    let Some(rate) = cell.rate_bps else { panic!("only a link is ten times slower") };
    let size = 4 * cell.size;
    RateCell { name, size, condition: Condition::Comes(rate / 10), ..cell }
}

/// Beside so many TCP flows. The file is as much as a fair share brings in the same time.
const fn beside(name: &'static str, flows: usize, fair: bool, cell: RateCell) -> RateCell {
    let size = cell.size / (flows as u64 + 1);
    RateCell { name, size, condition: Condition::Beside { flows, fair }, ..cell }
}

/// Without a limit.
pub(super) const FREE: &[RateCell] = &[
    free("free-1", 0.0, 1, 2 * GIGA, OF_ONE),
    free("free-1-loss0.1", 0.1, 1, 2 * GIGA, OF_ONE),
    free("free-1-loss10", 10.0, 1, GIGA, OF_LOSSY),
    free("free-3", 0.0, 3, 1_500 * MEGA, OF_THREE),
    free("free-3-loss1", 1.0, 3, 1_500 * MEGA, OF_LOSSY),
    free("free-10", 0.0, 10, 600 * MEGA, OF_TEN),
    free("free-60", 0.0, 60, 20 * MEGA, OF_SIXTY),
];

/// On a link.
pub(super) const SHAPED: &[RateCell] = &[
    on("56k-3", MODEM, LAN_MS, 0.0, 3, FEW),
    on("56k-1-loss10", MODEM, LAN_MS, 10.0, 1, FEW),
    on("56k-10ms-3", MODEM, 10.0, 0.0, 3, ONE),
    on("56k-10ms-1-half-loss0.1", MODEM, 10.0, 0.1, 1, HALF),
    on("56k-10ms-60-loss1", MODEM, 10.0, 1.0, 60, ONE),
    on("56k-10ms-10-four-loss10", MODEM, 10.0, 10.0, 10, FOUR),
    on("56k-50ms-3", MODEM, 50.0, 0.0, 3, ONE),
    on("56k-250ms-3", MODEM, 250.0, 0.0, 3, ONE),
    on("56k-600ms-3", MODEM, 600.0, 0.0, 3, ONE),
    on("56k-600ms-10-half", MODEM, 600.0, 0.0, 10, HALF),
    on("56k-600ms-60-half", MODEM, 600.0, 0.0, 60, HALF),
    on("1M-3", MEGA, LAN_MS, 0.0, 3, PACKETS),
    on("1M-10ms-3", MEGA, 10.0, 0.0, 3, ONE),
    on("1M-50ms-3", MEGA, 50.0, 0.0, 3, ONE),
    on("1M-50ms-10-loss0.1", MEGA, 50.0, 0.1, 10, ONE),
    on("1M-50ms-1-four-loss1", MEGA, 50.0, 1.0, 1, FOUR),
    on("1M-50ms-60-half-loss10", MEGA, 50.0, 10.0, 60, HALF),
    on("1M-250ms-3", MEGA, 250.0, 0.0, 3, ONE),
    on("1M-600ms-3", MEGA, 600.0, 0.0, 3, ONE),
    on("10M-3", 10 * MEGA, LAN_MS, 0.0, 3, PACKETS),
    on("10M-60-long-loss0.1", 10 * MEGA, LAN_MS, 0.1, 60, LONG),
    on("10M-1-long-loss1", 10 * MEGA, LAN_MS, 1.0, 1, LONG),
    on("10M-1-long-loss10", 10 * MEGA, LAN_MS, 10.0, 1, LONG),
    on("10M-10ms-3", 10 * MEGA, 10.0, 0.0, 3, ONE),
    on("10M-50ms-3", 10 * MEGA, 50.0, 0.0, 3, ONE),
    on("10M-250ms-3", 10 * MEGA, 250.0, 0.0, 3, ONE),
    on("10M-250ms-60-four-loss0.1", 10 * MEGA, 250.0, 0.1, 60, FOUR),
    on("10M-250ms-10-half-loss1", 10 * MEGA, 250.0, 1.0, 10, HALF),
    on("10M-600ms-3", 10 * MEGA, 600.0, 0.0, 3, ONE),
    on("100M-1", 100 * MEGA, LAN_MS, 0.0, 1, PACKETS),
    on("100M-3", 100 * MEGA, LAN_MS, 0.0, 3, PACKETS),
    on("100M-3-long", 100 * MEGA, LAN_MS, 0.0, 3, LONG),
    on("100M-10", 100 * MEGA, LAN_MS, 0.0, 10, PACKETS),
    on("100M-10-long", 100 * MEGA, LAN_MS, 0.0, 10, LONG),
    RateCell { sweep: OF_100M_TO_SIXTY, ..on("100M-60", 100 * MEGA, LAN_MS, 0.0, 60, PACKETS) },
    on("100M-1-loss0.1", 100 * MEGA, LAN_MS, 0.1, 1, PACKETS),
    on("100M-10ms-3", 100 * MEGA, 10.0, 0.0, 3, ONE),
    on("100M-50ms-3", 100 * MEGA, 50.0, 0.0, 3, ONE),
    on("100M-250ms-3", 100 * MEGA, 250.0, 0.0, 3, ONE),
    on("100M-600ms-3", 100 * MEGA, 600.0, 0.0, 3, ONE),
    on("100M-600ms-1-half-loss1", 100 * MEGA, 600.0, 1.0, 1, HALF),
    on("100M-600ms-3-four-loss10", 100 * MEGA, 600.0, 10.0, 3, FOUR),
    on("1G-1", GIGA, LAN_MS, 0.0, 1, PACKETS),
    on("1G-3", GIGA, LAN_MS, 0.0, 3, PACKETS),
    on("1G-3-long", GIGA, LAN_MS, 0.0, 3, LONG),
    RateCell { sweep: OF_GIGABIT_TO_TEN, ..on("1G-10", GIGA, LAN_MS, 0.0, 10, PACKETS) },
    on("1G-1-loss1", GIGA, LAN_MS, 1.0, 1, PACKETS),
    on("1G-10ms-1-four", GIGA, 10.0, 0.0, 1, FOUR),
    on("1G-10ms-3", GIGA, 10.0, 0.0, 3, ONE),
    on("1G-50ms-3", GIGA, 50.0, 0.0, 3, ONE),
    on("1G-250ms-3", GIGA, 250.0, 0.0, 3, ONE),
    on("1G-250ms-1-loss10", GIGA, 250.0, 10.0, 1, ONE),
    RateCell { size: GIGA, ..on("1G-600ms-3-half-loss0.1", GIGA, 600.0, 0.1, 3, HALF) },
];

/// Other things that people do, and that happen to them.
pub(super) const OTHERS: &[RateCell] = &[
    small("small-1k", KILO, 60),
    small("small-1M", MEGA, 150),
    small("small-10M", 10 * MEGA, 250),
    small("small-100M", 100 * MEGA, 800),
    // Eight round trips more than its time on the wire.
    limited(2_828, MEGA, on("small-1M-250ms", 10 * MEGA, 250.0, 0.0, 3, ONE)),
    with(Condition::Busy, free("busy-free-3", 0.0, 3, 600 * MEGA, OF_BUSY)),
    with(Condition::Busy, on("busy-100M-3", 100 * MEGA, LAN_MS, 0.0, 3, PACKETS)),
    with(Condition::Ceiling(10 * GIGA), free("ceiling-free-3", 0.0, 3, 1_500 * MEGA, OF_THREE)),
    changing("change-100M", on("", 100 * MEGA, LAN_MS, 0.0, 3, PACKETS)),
    coming("comes-100M", on("", 100 * MEGA, LAN_MS, 0.0, 10, PACKETS)),
    beside("beside-100M-1", 1, false, on("", 100 * MEGA, LAN_MS, 0.0, 3, PACKETS)),
    beside("beside-100M-3", 3, false, on("", 100 * MEGA, LAN_MS, 0.0, 3, PACKETS)),
    beside("beside-100M-1-fair", 1, true, on("", 100 * MEGA, LAN_MS, 0.0, 3, PACKETS)),
    beside("beside-100M-3-fair", 3, true, on("", 100 * MEGA, LAN_MS, 0.0, 3, PACKETS)),
    beside("beside-1G-1", 1, false, on("", GIGA, LAN_MS, 0.0, 3, PACKETS)),
    beside("beside-1G-3", 3, false, on("", GIGA, LAN_MS, 0.0, 3, PACKETS)),
    beside("beside-1G-1-fair", 1, true, on("", GIGA, LAN_MS, 0.0, 3, PACKETS)),
    beside("beside-1G-3-fair", 3, true, on("", GIGA, LAN_MS, 0.0, 3, PACKETS)),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const LINKS: [Option<u64>; 6] =
        [Some(MODEM), Some(MEGA), Some(10 * MEGA), Some(100 * MEGA), Some(GIGA), None];
    const ROUND_TRIPS_MS: [f64; 5] = [LAN_MS, 10.0, 50.0, 250.0, 600.0];
    const LOSSES: [f64; 4] = [0.0, 0.1, 1.0, 10.0];
    const RECEIVERS: [usize; 4] = [1, 3, 10, 60];
    const BUFFERS: [Buffer; 5] = [HALF, ONE, FOUR, PACKETS, LONG];

    fn grid() -> impl Iterator<Item = &'static RateCell> {
        FREE.iter().chain(SHAPED)
    }

    /// The values of a cell, as positions in the lists above: link, round trip, loss, receivers, buffer.
    fn values(cell: &RateCell) -> [Option<usize>; 5] {
        let near = |list: &[f64], value: f64| list.iter().position(|it| (it - value).abs() < 1e-9);
        let buffer = if cell.buffer == FEW { PACKETS } else { cell.buffer };
        [
            LINKS.iter().position(|link| *link == cell.rate_bps),
            near(&ROUND_TRIPS_MS, cell.round_trip_ms),
            near(&LOSSES, cell.loss * 100.0),
            RECEIVERS.iter().position(|count| *count == cell.receivers),
            BUFFERS.iter().position(|it| *it == buffer),
        ]
    }

    /// Pairs that no cell has: link and round trip, link and receivers, link and buffer, round trip and
    /// buffer.
    fn is_left_out(one: (usize, usize), other: (usize, usize)) -> bool {
        match (one, other) {
            // Without a limit the emulator itself would be measured, and there is nothing to wait for.
            ((0, 5), (1, 1..) | (4, _)) => true,
            // 60 Gbit/s are more than this laboratory carries.
            ((0, 4), (3, 3)) => true,
            // 143 and 8 s of waiting.
            ((0, 0 | 1), (4, 4)) => true,
            // A LAN's product is less than two packets; longer paths have buffers of products.
            ((1, 0), (4, 0..=2)) | ((1, 1..), (4, 3 | 4)) => true,
            _ => false,
        }
    }

    #[test]
    fn each_pair_of_values_occurs_unless_it_is_left_out() {
        let cells: Vec<[Option<usize>; 5]> = grid().map(values).collect();
        let lengths =
            [LINKS.len(), ROUND_TRIPS_MS.len(), LOSSES.len(), RECEIVERS.len(), BUFFERS.len()];
        for one in 0..lengths.len() {
            for other in one + 1..lengths.len() {
                for (a, b) in
                    (0..lengths[one]).flat_map(|a| (0..lengths[other]).map(move |b| (a, b)))
                {
                    let occurs =
                        cells.iter().any(|cell| cell[one] == Some(a) && cell[other] == Some(b));
                    let left_out = is_left_out((one, a), (other, b));
                    assert_eq!(occurs, !left_out, "value {a} of {one} with value {b} of {other}");
                }
            }
        }
        assert_eq!(grid().count(), 60);
    }

    #[test]
    fn values_are_those_of_the_grid_and_a_name_says_them() {
        for cell in grid() {
            let [link, trip, loss, receivers, buffer] = values(cell);
            assert!(link.is_some() && trip.is_some() && loss.is_some(), "{cell:?}");
            assert!(receivers.is_some(), "{cell:?}");
            assert_eq!(buffer.is_some(), cell.rate_bps.is_some(), "{cell:?}");
            let mut name = ["56k", "1M", "10M", "100M", "1G", "free"][link.unwrap()].to_owned();
            if cell.round_trip_ms > LAN_MS {
                name += &format!("-{}ms", cell.round_trip_ms);
            }
            name += &format!("-{}", cell.receivers);
            name += buffer.map_or("", |buffer| ["-half", "", "-four", "", "-long"][buffer]);
            if cell.loss > 0.0 {
                name += &format!("-loss{}", (cell.loss * 1e3).round() / 10.0);
            }
            assert_eq!(cell.name, name);
        }
    }

    #[test]
    fn each_cell_has_its_own_name_and_a_network_that_can_be() {
        let all = || grid().chain(OTHERS);
        let names: BTreeSet<&str> = all().map(|cell| cell.name).collect();
        assert_eq!(names.len(), all().count());
        for cell in all() {
            assert!((1..=60).contains(&cell.receivers) && cell.size > 0, "{cell:?}");
            assert!(cell.sweep.is_sorted(), "{cell:?}");
            assert_eq!(cell.rate_bps.is_some(), cell.queue_bytes() > 0, "{cell:?}");
            let burst = cell.rate_bps.map(RateCell::burst);
            let fits = |burst| (1_514..cell.queue_bytes()).contains(&burst);
            assert!(burst.is_none_or(fits), "{cell:?}");
            let most = cell.rate_bps.map_or(u64::MAX, |rate| rate / 100 * 99);
            assert!(cell.told().iter().all(|told| *told <= most), "{cell:?}");
        }
    }

    #[test]
    fn a_file_takes_five_seconds_or_33_round_trips_on_its_link() {
        for cell in SHAPED.iter().filter(|cell| cell.name != "1G-600ms-3-half-loss0.1") {
            let seconds = (cell.size * 8) as f64 / cell.rate_bps.unwrap() as f64;
            let least = (ROUND_TRIPS * cell.round_trip_ms / 1e3 - 1.0).max(5.0);
            assert!((least..20.0).contains(&seconds), "{cell:?}");
        }
    }
}

//! The networks that `fanfare bench rate` measures on, one row each.

use serde::Serialize;

/// One network, one file, and the rates that are told beside `auto`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RateCell {
    /// Its name, in options and tables.
    pub name: &'static str,
    /// What the sender's link carries, bit/s of Ethernet frames; `None`: as much as this machine can.
    pub rate_bps: Option<u64>,
    /// Receivers.
    pub receivers: usize,
    /// The share of packets that each of Fanfare's receivers drops, each for itself.
    pub loss: f64,
    /// Bytes that may wait before the link; zero where there is no limit on it.
    pub queue: u64,
    /// Bytes of the file.
    pub size: u64,
    /// The rates that are told with `--rate`, bit/s: the best of them counts.
    pub told: &'static [u64],
    /// The time that `fanfare send` without `--rate` should not exceed, milliseconds.
    pub limit_ms: Option<u32>,
}

const KILO: u64 = 1_000;
const MEGA: u64 = 1_000 * KILO;
const GIGA: u64 = 1_000 * MEGA;

/// 100 packets of 1500 bytes: a small switch.
const SHORT: u64 = 150 * KILO;
/// A switch with much memory.
const LONG: u64 = MEGA;

// Headers that `--rate` does not count (Ethernet, IP and UDP) take 3 % of a link. So at most 0.97 of a
// link's rate can be told without loss.
const OF_GIGABIT: &[u64] = &[800 * MEGA, 930 * MEGA, 965 * MEGA];
const OF_100M: &[u64] = &[80 * MEGA, 93 * MEGA, 96_500 * KILO];
const OF_10M: &[u64] = &[8 * MEGA, 9_300 * KILO, 9_650 * KILO];
const OF_1M: &[u64] = &[800 * KILO, 930 * KILO, 965 * KILO];
const OF_56K: &[u64] = &[45 * KILO, 52 * KILO, 54 * KILO];
/// For small files to three, and what three can take.
const OF_THREE: &[u64] = &[2 * GIGA, 4 * GIGA, 6 * GIGA];

/// A link without a limit, and without loss.
const fn free(name: &'static str, receivers: usize, size: u64, told: &'static [u64]) -> RateCell {
    RateCell { name, rate_bps: None, receivers, loss: 0.0, queue: 0, size, told, limit_ms: None }
}

/// A link of this rate, with a queue before it.
const fn link(
    name: &'static str,
    (rate, told): (u64, &'static [u64]),
    receivers: usize,
    queue: u64,
    size: u64,
) -> RateCell {
    RateCell { rate_bps: Some(rate), queue, ..free(name, receivers, size, told) }
}

/// A small file to three, within so many milliseconds.
const fn small(name: &'static str, size: u64, limit_ms: u32) -> RateCell {
    RateCell { limit_ms: Some(limit_ms), ..free(name, 3, size, OF_THREE) }
}

/// All cells, in the order of tables. Files take about 5 s at the full rate, or as long as a machine
/// with 16 GB of memory can hold the copies.
pub const RATE_CELLS: &[RateCell] = &[
    free("free-1", 1, 2 * GIGA, &[6 * GIGA, 9 * GIGA, 12 * GIGA]),
    free("free-3", 3, 1_500 * MEGA, OF_THREE),
    free("free-10", 10, 600 * MEGA, &[GIGA, 1_500 * MEGA, 2 * GIGA]),
    free("free-60", 60, 20 * MEGA, &[100 * MEGA, 200 * MEGA, 300 * MEGA]),
    RateCell { loss: 0.01, ..free("free-3-loss", 3, 1_500 * MEGA, OF_THREE) },
    link("1G-3", (GIGA, OF_GIGABIT), 3, SHORT, 600 * MEGA),
    link("1G-3-long", (GIGA, OF_GIGABIT), 3, LONG, 600 * MEGA),
    link("100M-3", (100 * MEGA, OF_100M), 3, SHORT, 60 * MEGA),
    link("100M-3-long", (100 * MEGA, OF_100M), 3, LONG, 60 * MEGA),
    link("100M-10", (100 * MEGA, OF_100M), 10, SHORT, 60 * MEGA),
    link("100M-10-long", (100 * MEGA, OF_100M), 10, LONG, 60 * MEGA),
    link("10M-3", (10 * MEGA, OF_10M), 3, SHORT, 6 * MEGA),
    link("1M-3", (MEGA, OF_1M), 3, 64 * KILO, 600 * KILO),
    link("56k-3", (56 * KILO, OF_56K), 3, 15 * KILO, 35 * KILO),
    small("small-1k", KILO, 60),
    small("small-1M", MEGA, 150),
    small("small-10M", 10 * MEGA, 250),
    small("small-100M", 100 * MEGA, 800),
];

/// What `--quick` measures: a fast network, a slow one, and a small file.
const QUICK: [&str; 3] = ["free-3", "100M-3", "small-1M"];

impl RateCell {
    /// The cells of these names; all of them for no name.
    ///
    /// # Errors
    /// Which name is unknown, and which there are.
    pub fn chosen(names: &[String]) -> Result<Vec<Self>, String> {
        if names.is_empty() {
            return Ok(RATE_CELLS.to_vec());
        }
        let find = |name: &String| {
            let found = RATE_CELLS.iter().find(|cell| cell.name == name.trim());
            found.copied().ok_or_else(|| unknown(name))
        };
        names.iter().map(find).collect()
    }

    /// The cells of `--quick`.
    #[must_use]
    pub fn quick() -> Vec<Self> {
        RATE_CELLS.iter().filter(|cell| QUICK.contains(&cell.name)).copied().collect()
    }

    /// What a link of this rate may send at once, bytes. It covers a timer that is late by 0.25 ms. It
    /// is shorter than a super-packet of 64 KB, so that the kernel cuts long ones into packets.
    pub(crate) fn burst(rate_bps: u64) -> u64 {
        (rate_bps / 8 / 4000).clamp(5 * KILO, 32 * KILO)
    }
}

fn unknown(name: &str) -> String {
    let names: Vec<&str> = RATE_CELLS.iter().map(|cell| cell.name).collect();
    format!("cell ({name}): there is no such cell. Use some of {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_cell_has_its_own_name_and_a_network_that_can_be() {
        let names: BTreeSet<&str> = RATE_CELLS.iter().map(|cell| cell.name).collect();
        assert_eq!(names.len(), RATE_CELLS.len());
        for cell in RATE_CELLS {
            assert!((1..=60).contains(&cell.receivers) && cell.size > 0, "{cell:?}");
            assert!((0.0..1.0).contains(&cell.loss), "{cell:?}");
            assert!(!cell.told.is_empty() && cell.told.is_sorted(), "{cell:?}");
            assert_eq!(cell.rate_bps.is_some(), cell.queue > 0, "{cell:?}");
        }
    }

    #[test]
    fn no_rate_is_told_that_a_link_cannot_carry() {
        for cell in RATE_CELLS {
            let most = cell.rate_bps.map_or(u64::MAX, |rate| rate / 100 * 97);
            assert!(cell.told.iter().all(|told| *told <= most), "{cell:?}");
        }
    }

    #[test]
    fn a_burst_is_shorter_than_the_queue_and_longer_than_a_packet() {
        for cell in RATE_CELLS.iter().filter(|cell| cell.rate_bps.is_some()) {
            let burst = RateCell::burst(cell.rate_bps.unwrap());
            assert!((1514..cell.queue).contains(&burst), "{cell:?}");
        }
    }

    #[test]
    fn cells_are_chosen_by_name_and_an_unknown_name_is_told() {
        assert_eq!(RateCell::chosen(&[]).unwrap().len(), RATE_CELLS.len());
        let chosen = RateCell::chosen(&["56k-3".to_owned(), " free-1".to_owned()]).unwrap();
        assert_eq!(chosen.iter().map(|cell| cell.name).collect::<Vec<_>>(), ["56k-3", "free-1"]);
        assert!(RateCell::chosen(&["none".to_owned()]).unwrap_err().contains("56k-3"));
        assert_eq!(RateCell::quick().len(), QUICK.len());
    }
}

//! What all transfers of a cell came to.

use super::{RateCell, RateSender, RateShot};
use crate::bench::median;
use serde::Serialize;

/// Below this share of the best told rate `auto` has failed. It is far from 1, so that a busy machine
/// does not decide.
const ENOUGH: f64 = 0.5;

/// The middle of some values, and their range.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// The median.
    pub median: f64,
    /// The least.
    pub least: f64,
    /// The most.
    pub most: f64,
}

/// One cell: medians, and what they are beside each other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RateRow {
    /// The network.
    pub cell: RateCell,
    /// Bits of the file per second without `--rate`, from the sender's start until its end.
    pub auto_bps: Spread,
    /// Seconds of the same; none when no transfer was complete.
    pub auto_seconds: Option<Spread>,
    /// The rate that brought the file fastest, of those that were told; none when none brought it.
    pub best_told_bps: Option<u64>,
    /// What it brought.
    pub told_bps: Option<Spread>,
    /// What TCP to each receiver brought.
    pub tcp_bps: Option<Spread>,
    /// `auto` over the best told rate, by medians.
    pub over_told: Option<f64>,
    /// `auto` over TCP, by medians.
    pub over_tcp: Option<f64>,
    /// Bytes sent over the file's bytes: without `--rate`, and at the best told rate; medians.
    pub wire_per_file: [Option<f64>; 2],
    /// Transfers that came whole to all, of all, without `--rate`.
    pub complete: [usize; 2],
    /// Why some transfer was not complete, once.
    pub why: String,
}

impl Spread {
    /// `None` of nothing.
    fn of(values: &[f64]) -> Option<Self> {
        let least = values.iter().copied().min_by(f64::total_cmp)?;
        let most = values.iter().copied().max_by(f64::total_cmp)?;
        Some(Self { median: median(values.to_vec()), least, most })
    }
}

/// Bits per second of all transfers by this sender. A failed one counts as zero.
fn goodputs(shots: &[RateShot], sender: RateSender) -> Option<Spread> {
    let of_it = shots.iter().filter(|shot| shot.sender == sender);
    Spread::of(&of_it.map(|shot| shot.goodput_bps).collect::<Vec<f64>>())
}

fn wire_per_file(shots: &[RateShot], sender: RateSender) -> Option<f64> {
    let complete = shots.iter().filter(|shot| shot.sender == sender && shot.why.is_empty());
    let all: Vec<f64> = complete.filter_map(|shot| shot.wire_per_file).collect();
    Spread::of(&all).map(|spread| spread.median)
}

fn ratio(one: Spread, other: Option<Spread>) -> Option<f64> {
    other.filter(|other| other.median > 0.0).map(|other| one.median / other.median)
}

impl RateRow {
    /// Of the transfers of one cell.
    pub(super) fn of(cell: &RateCell, shots: &[RateShot]) -> Self {
        let nothing = Spread { median: 0.0, least: 0.0, most: 0.0 };
        let auto_bps = goodputs(shots, RateSender::Auto).unwrap_or(nothing);
        let told = cell.told.iter().filter_map(|rate| {
            goodputs(shots, RateSender::Told(*rate))
                .filter(|spread| spread.median > 0.0)
                .map(|spread| (*rate, spread))
        });
        let best = told.max_by(|one, other| one.1.median.total_cmp(&other.1.median));
        let told_bps = best.map(|(_, spread)| spread);
        let tcp_bps = goodputs(shots, RateSender::Tcp);
        let autos = || shots.iter().filter(|shot| shot.sender == RateSender::Auto);
        let seconds: Vec<f64> = autos().filter_map(|shot| shot.seconds).collect();
        let at_best = best.and_then(|(rate, _)| wire_per_file(shots, RateSender::Told(rate)));
        let why = shots.iter().find(|shot| !shot.why.is_empty());
        Self {
            cell: *cell,
            auto_bps,
            auto_seconds: Spread::of(&seconds),
            best_told_bps: best.map(|(rate, _)| rate),
            told_bps,
            tcp_bps,
            over_told: ratio(auto_bps, told_bps),
            over_tcp: ratio(auto_bps, tcp_bps),
            wire_per_file: [wire_per_file(shots, RateSender::Auto), at_best],
            complete: [seconds.len(), autos().count()],
            why: why.map(|shot| format!("{}: {}", shot.sender, shot.why)).unwrap_or_default(),
        }
    }

    /// Whether `auto` brought the file at half of the best told rate or more.
    #[must_use]
    pub fn is_enough(&self) -> bool {
        self.complete[0] > 0 && self.over_told.is_none_or(|ratio| ratio >= ENOUGH)
    }

    /// Whether `fanfare send` took no longer than it should; `None` where nothing is said of that.
    #[must_use]
    pub fn is_in_time(&self) -> Option<bool> {
        let limit = f64::from(self.cell.limit_ms?);
        Some(self.auto_seconds.is_some_and(|seconds| seconds.median * 1000.0 <= limit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shot(sender: RateSender, goodput_bps: f64, why: &str) -> RateShot {
        let seconds = why.is_empty().then(|| 8000.0 / goodput_bps);
        let wire_per_file = Some(1.0 + goodput_bps / 100.0);
        RateShot { cell: "c", sender, seconds, goodput_bps, wire_per_file, why: why.to_owned() }
    }

    fn cell() -> RateCell {
        RateCell { told: &[8, 10], ..RateCell::chosen(&["small-1k".to_owned()]).unwrap()[0] }
    }

    #[test]
    fn ratios_are_of_medians_and_of_the_best_told_rate() {
        use RateSender::{Auto, Tcp, Told};
        let shots = [
            shot(Auto, 4.0, ""),
            shot(Told(8), 8.0, ""),
            shot(Told(10), 10.0, ""),
            shot(Tcp, 2.0, ""),
            shot(Auto, 6.0, ""),
            shot(Told(8), 8.0, ""),
            shot(Told(10), 0.0, "lost"),
            shot(Tcp, 2.0, ""),
        ];
        let row = RateRow::of(&cell(), &shots);
        assert_eq!(row.auto_bps, Spread { median: 5.0, least: 4.0, most: 6.0 });
        assert_eq!((row.best_told_bps, row.over_told), (Some(8), Some(0.625)));
        assert_eq!((row.over_tcp, row.complete), (Some(2.5), [2, 2]));
        assert_eq!(row.wire_per_file, [Some(1.05), Some(1.08)]);
        assert_eq!(row.why, "told 10: lost");
        assert!(row.is_enough());
        assert_eq!(row.is_in_time(), Some(false));
    }

    #[test]
    fn half_of_the_told_rate_is_enough_and_less_is_not() {
        let row = |auto| {
            let shots = [shot(RateSender::Auto, auto, ""), shot(RateSender::Told(8), 8.0, "")];
            RateRow::of(&cell(), &shots)
        };
        assert!(row(4.0).is_enough());
        assert!(!row(3.9).is_enough());
    }

    #[test]
    fn what_never_came_is_not_enough_and_has_no_time() {
        let row = RateRow::of(&cell(), &[shot(RateSender::Auto, 0.0, "lost")]);
        assert!(!row.is_enough());
        assert_eq!((row.auto_seconds, row.over_told, row.over_tcp), (None, None, None));
        assert_eq!((row.complete, row.why.as_str()), ([0, 1], "auto: lost"));
        assert_eq!(row.is_in_time(), Some(false));
    }
}

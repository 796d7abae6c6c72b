//! The results of all transfers of a cell.

use super::{Condition, RateCell, RateSender, RateTransfer, reaction::Reaction, target};
use crate::bench::median;
use serde::Serialize;

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
    /// What the kernel moved without a protocol, at the slowest receiver, where there is no link.
    pub raw_bps: Option<Spread>,
    /// `auto` over what the link carries, less losses and headers.
    pub over_link: Option<f64>,
    /// `auto` over the best told rate, by medians.
    pub over_told: Option<f64>,
    /// `auto` over TCP, by medians.
    pub over_tcp: Option<f64>,
    /// Bytes sent over the file's bytes: without `--rate`, and at the best told rate; medians.
    pub wire_per_file: [Option<f64>; 2],
    /// What limited `auto` longest, by its code, in the last transfer.
    pub limited_by: Option<String>,
    /// What each TCP flow beside `auto` brought: mean of flows, median of transfers.
    pub beside_bps: Option<f64>,
    /// How soon `auto` followed the link: medians, `None` where half of the transfers never did.
    pub reaction: Option<Reaction>,
    /// One packet in a hundred was later than this in the emulator, milliseconds.
    pub emulator_late_ms: Option<f64>,
    /// Transfers that came whole to all, of all, without `--rate`.
    pub complete: [usize; 2],
    /// Why some transfer was not complete, once.
    pub why: String,
    /// The goals that it does not reach (docs/explanation/throughput.md).
    pub missed: Vec<String>,
}

impl Spread {
    /// `None` of nothing.
    pub(in crate::bench) fn of(values: &[f64]) -> Option<Self> {
        let least = values.iter().copied().min_by(f64::total_cmp)?;
        let most = values.iter().copied().max_by(f64::total_cmp)?;
        Some(Self { median: median(values.to_vec()), least, most })
    }
}

/// Bits per second of all transfers by this sender. A failed one counts as zero.
fn goodputs(transfers: &[RateTransfer], sender: RateSender) -> Option<Spread> {
    let of_it = transfers.iter().filter(|transfer| transfer.sender == sender);
    Spread::of(&of_it.map(|transfer| transfer.goodput_bps).collect::<Vec<f64>>())
}

fn wire_per_file(transfers: &[RateTransfer], sender: RateSender) -> Option<f64> {
    let complete =
        transfers.iter().filter(|transfer| transfer.sender == sender && transfer.seconds.is_some());
    let all: Vec<f64> = complete.filter_map(|transfer| transfer.wire_per_file).collect();
    Spread::of(&all).map(|spread| spread.median)
}

fn ratio(one: Spread, other: Option<Spread>) -> Option<f64> {
    other.filter(|other| other.median > 0.0).map(|other| one.median / other.median)
}

/// Of some reactions. Who never followed is later than all who did.
fn reaction(transfers: &[RateTransfer]) -> Option<Reaction> {
    let all: Vec<Reaction> = transfers.iter().filter_map(|transfer| transfer.reaction).collect();
    let middle = |of: fn(&Reaction) -> f64| median(all.iter().map(of));
    let finite = |value: f64| value.is_finite().then_some(value);
    (!all.is_empty()).then(|| Reaction {
        down_s: finite(middle(|it| it.down_s.unwrap_or(f64::INFINITY))),
        up_s: finite(middle(|it| it.up_s.unwrap_or(f64::INFINITY))),
        share_down: middle(|it| it.share_down),
        share_up: middle(|it| it.share_up),
    })
}

impl RateRow {
    /// Of the transfers of one cell.
    pub(super) fn of(
        cell: &RateCell,
        transfers: &[RateTransfer],
        emulator_late_ms: Option<f64>,
    ) -> Self {
        let nothing = Spread { median: 0.0, least: 0.0, most: 0.0 };
        let auto_bps = goodputs(transfers, RateSender::Auto).unwrap_or(nothing);
        let told = cell.told().into_iter().filter_map(|rate| {
            goodputs(transfers, RateSender::Told(rate))
                .filter(|spread| spread.median > 0.0)
                .map(|spread| (rate, spread))
        });
        let best = told.max_by(|one, other| one.1.median.total_cmp(&other.1.median));
        let told_bps = best.map(|(_, spread)| spread);
        let tcp_bps = goodputs(transfers, RateSender::Tcp);
        let autos = || transfers.iter().filter(|transfer| transfer.sender == RateSender::Auto);
        let seconds: Vec<f64> = autos().filter_map(|transfer| transfer.seconds).collect();
        let at_best = best.and_then(|(rate, _)| wire_per_file(transfers, RateSender::Told(rate)));
        let why = transfers.iter().find(|transfer| !transfer.why.is_empty());
        let watched = matches!(cell.condition, Condition::Change(_) | Condition::Comes(_));
        let well = autos()
            .filter(|transfer| transfer.seconds.is_some() || transfer.reaction.is_some())
            .count();
        let beside: Vec<f64> = autos()
            .filter(|transfer| !transfer.beside_bps.is_empty())
            .map(|transfer| {
                transfer.beside_bps.iter().sum::<f64>() / transfer.beside_bps.len() as f64
            })
            .collect();
        let alone = cell.carries_bps().filter(|_| cell.condition == Condition::Quiet);
        let mut row = Self {
            cell: *cell,
            auto_bps,
            auto_seconds: Spread::of(&seconds).filter(|_| !watched),
            best_told_bps: best.map(|(rate, _)| rate),
            told_bps,
            tcp_bps,
            raw_bps: None,
            over_link: alone.map(|carries| auto_bps.median / carries),
            over_told: ratio(auto_bps, told_bps),
            over_tcp: ratio(auto_bps, tcp_bps),
            wire_per_file: [wire_per_file(transfers, RateSender::Auto), at_best],
            limited_by: autos().filter_map(|transfer| transfer.limited_by.clone()).next_back(),
            beside_bps: Spread::of(&beside).map(|spread| spread.median),
            reaction: reaction(transfers),
            emulator_late_ms,
            complete: [well, autos().count()],
            why: why
                .map(|transfer| format!("{}: {}", transfer.sender, transfer.why))
                .unwrap_or_default(),
            missed: Vec::new(),
        };
        row.missed = target::missed(&row);
        row
    }

    /// Whether `fanfare send` took no longer than it should; `None` where nothing is said of that.
    #[must_use]
    pub fn is_in_time(&self) -> Option<bool> {
        let limit = f64::from(self.cell.limit_ms?);
        Some(self.auto_seconds.is_some_and(|seconds| seconds.median * 1000.0 <= limit))
    }

    /// The worst transfer of `auto`, of their median.
    #[must_use]
    pub fn worst_of_median(&self) -> Option<f64> {
        let Spread { median, least, .. } = self.auto_bps;
        (median > 0.0).then(|| least / median)
    }

    /// Of a fair share, what `auto` has and what the TCP flows beside it have; `None` without these.
    #[must_use]
    pub fn shares(&self) -> Option<[f64; 2]> {
        let Condition::Beside { flows, .. } = self.cell.condition else { return None };
        let fair = self.cell.carries_bps()? / (flows + 1) as f64;
        Some([self.auto_bps.median / fair, self.beside_bps? / fair])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transfer(sender: RateSender, goodput_bps: f64, why: &str) -> RateTransfer {
        RateTransfer {
            cell: "c",
            sender,
            seconds: why.is_empty().then(|| 8000.0 / goodput_bps),
            goodput_bps,
            wire_per_file: Some(1.0 + goodput_bps / 100.0),
            limited_by: None,
            beside_bps: Vec::new(),
            reaction: None,
            why: why.to_owned(),
        }
    }

    fn named(name: &str) -> RateCell {
        RateCell::chosen(&[name.to_owned()]).unwrap()[0]
    }
    fn cell() -> RateCell {
        RateCell { sweep: &[8, 10], ..named("small-1k") }
    }

    #[test]
    fn ratios_are_of_medians_and_of_the_best_told_rate() {
        use RateSender::{Auto, Tcp, Told};
        let transfers = [
            transfer(Auto, 4.0, ""),
            transfer(Told(8), 8.0, ""),
            transfer(Told(10), 10.0, ""),
            transfer(Tcp, 2.0, ""),
            transfer(Auto, 6.0, ""),
            transfer(Told(8), 8.0, ""),
            transfer(Told(10), 0.0, "lost"),
            transfer(Tcp, 2.0, ""),
        ];
        let row = RateRow::of(&cell(), &transfers, None);
        assert_eq!(row.auto_bps, Spread { median: 5.0, least: 4.0, most: 6.0 });
        assert_eq!((row.best_told_bps, row.over_told), (Some(8), Some(0.625)));
        assert_eq!((row.over_tcp, row.complete), (Some(2.5), [2, 2]));
        assert_eq!(row.wire_per_file, [Some(1.05), Some(1.08)]);
        assert_eq!((row.why.as_str(), row.worst_of_median()), ("told 10: lost", Some(0.8)));
        assert_eq!((row.is_in_time(), row.missed), (Some(false), vec!["time".to_owned()]));
    }

    #[test]
    fn what_never_came_has_no_time_and_misses_its_goals() {
        let row = RateRow::of(&cell(), &[transfer(RateSender::Auto, 0.0, "lost")], None);
        assert_eq!((row.auto_seconds, row.over_told, row.over_tcp), (None, None, None));
        assert_eq!((row.complete, row.why.as_str()), ([0, 1], "auto: lost"));
        assert_eq!(row.is_in_time(), Some(false));
        assert_eq!(row.missed, ["time", "complete"]);
    }

    #[test]
    fn a_link_that_is_not_used_and_a_faster_tcp_are_goals_that_were_missed() {
        let cell = named("100M-3");
        let missed = |auto: f64, tcp: f64| {
            let transfers =
                [transfer(RateSender::Auto, auto, ""), transfer(RateSender::Tcp, tcp, "")];
            let transfers =
                transfers.map(|transfer| RateTransfer { wire_per_file: Some(1.02), ..transfer });
            RateRow::of(&cell, &transfers, None).missed
        };
        assert_eq!(missed(91e6, 32e6), [""; 0]);
        assert_eq!(missed(50e6, 60e6), ["link below 0.93", "TCP below 1"]);
    }

    #[test]
    fn beside_tcp_each_has_a_share_of_the_fair_one() {
        let cell = named("beside-100M-3");
        let fair = cell.carries_bps().unwrap() / 4.0;
        let beside_bps = vec![fair * 1.2, fair * 1.3, fair * 1.4];
        let transfers = [RateTransfer { beside_bps, ..transfer(RateSender::Auto, fair * 0.1, "") }];
        let row = RateRow::of(&cell, &transfers, None);
        let [ours, theirs] = row.shares().unwrap();
        assert!((ours - 0.1).abs() < 1e-9 && (theirs - 1.3).abs() < 1e-9, "{row:?}");
        assert_eq!((row.over_link, row.missed), (None, vec!["share".to_owned()]));
    }

    #[test]
    fn who_did_not_follow_a_change_in_half_of_all_transfers_has_no_time() {
        let transfers = [Some(0.4), Some(0.6), None, None, None].map(|up_s| {
            let reaction = Reaction { down_s: Some(0.2), up_s, share_down: 0.9, share_up: 0.5 };
            RateTransfer {
                seconds: None,
                reaction: Some(reaction),
                ..transfer(RateSender::Auto, 1.0, "")
            }
        });
        let row = RateRow::of(&named("change-100M"), &transfers, None);
        let reaction = row.reaction.unwrap();
        assert_eq!((reaction.down_s, reaction.up_s), (Some(0.2), None));
        assert_eq!((row.complete, row.missed), ([5, 5], vec!["up".to_owned()]));
    }
}

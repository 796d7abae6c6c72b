//! What `auto` should reach in a cell, and where it falls short.

use super::{Condition, RateCell, RateRow};

/// Of what a link carries less losses and headers; at 1 Gbit/s.
const OF_LINK: f64 = 0.93;
const OF_GIGABIT: f64 = 0.90;
/// From here on, to all receivers together, this machine may be the limit, bit/s.
const FAST: u64 = 1_000_000_000;
/// Of the best told rate, without a limit; on busy processors; as a ceiling far too high.
const OF_TOLD: f64 = 0.85;
const OF_TOLD_BUSY: f64 = 0.7;
const OF_TOLD_CEILING: f64 = 0.9;
/// Of TCP to each of three receivers and more; of one TCP to one.
const OF_TCP: f64 = 1.0;
const OF_ONE_TCP: f64 = 0.95;
/// Bytes sent for each that has to be; where a tenth is lost.
const SENT: f64 = 1.03;
const SENT_AT_A_TENTH: f64 = 1.15;
/// Of the fair share, for both, beside TCP.
const SHARES: [f64; 2] = [0.3, 3.0];
/// Seconds to nine tenths of a new share, or ten round trips.
const REACTION_S: f64 = 1.0;
const REACTION_ROUND_TRIPS: f64 = 10.0;
/// The worst of some runs, of their median.
const WORST: f64 = 0.8;

/// The goals that a row does not reach, in a few words each.
pub(super) fn missed(row: &RateRow) -> Vec<String> {
    let cell = &row.cell;
    let mut missed = Vec::new();
    let mut below = |what: &str, value: Option<f64>, least: f64| {
        if value.is_some_and(|value| value < least) {
            missed.push(format!("{what} below {least}"));
        }
    };
    match cell.condition {
        Condition::Quiet if cell.limit_ms.is_none() => {
            let (of_link, of_told) = goals(row);
            below("link", row.over_link.filter(|_| of_link > 0.0), of_link);
            below("told", row.over_told.filter(|_| of_told > 0.0), of_told);
            let of_tcp = if cell.receivers == 1 { OF_ONE_TCP } else { OF_TCP };
            below("TCP", row.over_tcp.filter(|_| cell.rate_bps.is_some()), of_tcp);
        }
        Condition::Quiet => {}
        Condition::Busy => below("told", row.over_told, OF_TOLD_BUSY),
        Condition::Ceiling(_) => below("told", row.over_told, OF_TOLD_CEILING),
        Condition::Change(_) | Condition::Comes(_) | Condition::Beside { .. } => {}
    }
    below("worst", row.worst_of_median(), WORST);
    let too_much = row.wire_per_file[0].is_some_and(|sent| sent > sent_most(cell));
    if cell.condition == Condition::Quiet && cell.limit_ms.is_none() && too_much {
        missed.push(format!("sent above {:.3}", sent_most(cell)));
    }
    if row.is_in_time() == Some(false) {
        missed.push("time".to_owned());
    }
    missed.extend(unfair(row));
    missed.extend(slow(row));
    if row.complete[0] < row.complete[1] {
        missed.push("complete".to_owned());
    }
    missed
}

/// What `auto` should be of what the link carries, and of the best told rate; zero where nothing is
/// expected. Where this machine is the limit, only a told rate shows what can be had.
fn goals(row: &RateRow) -> (f64, f64) {
    let Some(rate) = row.cell.rate_bps else { return (0.0, OF_TOLD) };
    let of_link = if rate >= FAST { OF_GIGABIT } else { OF_LINK };
    let carried = row.told_bps.zip(row.cell.carries_bps()).map(|(told, all)| told.median / all);
    let is_fast = rate * row.cell.receivers as u64 >= FAST;
    match is_fast && carried.is_some_and(|carried| carried < of_link) {
        true => (0.0, OF_TOLD),
        false => (of_link, 0.0),
    }
}

/// Bytes that may be sent for each of the file.
fn sent_most(cell: &RateCell) -> f64 {
    let factor = if cell.loss >= 0.1 { SENT_AT_A_TENTH } else { SENT };
    factor / (1.0 - cell.loss)
}

/// Who has far less or more than a fair share.
fn unfair(row: &RateRow) -> Option<String> {
    let [ours, theirs] = row.shares()?;
    let is_fair = |share: f64| (SHARES[0]..=SHARES[1]).contains(&share);
    (!is_fair(ours) || !is_fair(theirs)).then(|| "share".to_owned())
}

/// Which change was followed too late, or never.
fn slow(row: &RateRow) -> Vec<String> {
    let Some(reaction) = row.reaction else { return Vec::new() };
    let longest = REACTION_S.max(row.cell.round_trip_ms / 1e3 * REACTION_ROUND_TRIPS);
    let late = |seconds: Option<f64>| seconds.is_none_or(|seconds| seconds > longest);
    let ways = [("down", reaction.down_s), ("up", reaction.up_s)];
    ways.into_iter().filter(|(_, s)| late(*s)).map(|(way, _)| way.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::rate::{RateSender, RateTransfer};

    /// `auto` and a told rate bring so much of what the link carries.
    fn of(cell: &str, auto: f64, told: f64) -> Vec<String> {
        let cell = RateCell::chosen(&[cell.to_owned()]).unwrap()[0];
        let transfer = |sender, share: f64| RateTransfer {
            cell: cell.name,
            sender,
            seconds: Some(5.0),
            goodput_bps: cell.carries_bps().unwrap_or(4e9) * share,
            wire_per_file: Some(1.02),
            limited_by: None,
            beside_bps: Vec::new(),
            reaction: None,
            why: String::new(),
        };
        let told = transfer(RateSender::Told(cell.told()[0]), told);
        RateRow::of(&cell, &[transfer(RateSender::Auto, auto), told], None).missed
    }

    #[test]
    fn a_link_is_the_measure_and_a_told_rate_where_this_machine_is_the_limit() {
        assert_eq!(of("100M-3", 0.92, 0.8), ["link below 0.93"]);
        assert_eq!(of("1G-3", 0.89, 0.95), ["link below 0.9"]);
        assert_eq!(of("1G-10", 0.3, 0.35), [""; 0]);
        assert_eq!(of("1G-10", 0.25, 0.35), ["told below 0.85"]);
        assert_eq!(of("free-3", 0.8, 1.0), ["told below 0.85"]);
        assert_eq!(of("busy-free-3", 0.8, 1.0), [""; 0]);
        assert_eq!(of("ceiling-free-3", 0.88, 1.0), ["told below 0.9"]);
    }

    #[test]
    fn what_is_lost_may_be_sent_again() {
        let most = |name: &str| sent_most(&RateCell::chosen(&[name.to_owned()]).unwrap()[0]);
        assert!((most("100M-3") - 1.03).abs() < 1e-9);
        assert!((most("1G-1-loss1") - 1.03 / 0.99).abs() < 1e-9);
        assert!((most("56k-1-loss10") - 1.15 / 0.9).abs() < 1e-9);
    }
}

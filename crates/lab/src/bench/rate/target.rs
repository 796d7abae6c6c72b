//! What `auto` should reach in a cell, and where it falls short.

use super::{Circumstance, RateCell, RateRow};

/// Of what a link carries less losses and headers; at 1 Gbit/s.
const OF_LINK: f64 = 0.93;
const OF_GIGABIT: f64 = 0.90;
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
    let gigabit = cell.rate_bps.is_some_and(|rate| rate >= 1_000_000_000);
    match cell.circumstance {
        Circumstance::Quiet if cell.limit_ms.is_none() => {
            below("link", row.over_link, if gigabit { OF_GIGABIT } else { OF_LINK });
            let told = row.over_told.filter(|_| cell.rate_bps.is_none());
            below("told", told, OF_TOLD);
            let [of_tcp, tcp] = match cell.receivers {
                1 => [OF_ONE_TCP, row.over_tcp.unwrap_or(1.0)],
                _ => [OF_TCP, row.over_tcp.unwrap_or(1.0)],
            };
            below("TCP", cell.rate_bps.map(|_| tcp), of_tcp);
        }
        Circumstance::Quiet => {}
        Circumstance::Busy => below("told", row.over_told, OF_TOLD_BUSY),
        Circumstance::Ceiling(_) => below("told", row.over_told, OF_TOLD_CEILING),
        Circumstance::Change(_) | Circumstance::Beside { .. } => {}
    }
    below("worst", row.worst_of_median(), WORST);
    let too_much = row.wire_per_file[0].is_some_and(|sent| sent > sent_most(cell));
    if cell.circumstance == Circumstance::Quiet && cell.limit_ms.is_none() && too_much {
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

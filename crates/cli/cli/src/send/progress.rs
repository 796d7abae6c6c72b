//! What a terminal shows while data flows: a line for each receiver, and one for all.

use std::time::Instant;

use fanfare_command::{Output, units};
use fanfare_files::event::{Outcome, ReceiverProgress, SendProgress};

use crate::estimate::Estimate;

/// Widest column of names and addresses.
const COLUMN_MAX: usize = 24;

/// How far all are.
#[derive(Debug, Default)]
pub(super) struct Progress {
    estimate: Estimate,
    each: Vec<ReceiverProgress>,
    total: u64,
    /// How many are done, and what limits the rate.
    reason: String,
}

impl Progress {
    /// All together: the bar, and what is said beside it.
    pub(super) fn on_progress(&mut self, now: Instant, progress: &SendProgress, output: &Output) {
        self.total = progress.total_bytes;
        let done = self.done(progress);
        self.estimate.on_done(now, done);
        let (amounts, reason) = self.describe(progress);
        // Beneath the bar there is a line for it, where there are lines at all.
        let message = match output.row_room() {
            0 => format!("{amounts}, {reason}"),
            _ => amounts,
        };
        output.progress(done, progress.total_bytes, message);
        self.reason = reason;
    }

    /// Each of them.
    pub(super) fn on_receivers(&mut self, each: &[ReceiverProgress], output: &Output) {
        self.each = each.to_vec();
        let room = output.row_room();
        let mut lines = rows(&self.each, self.total, room.saturating_sub(1));
        if room > 0 && !self.reason.is_empty() {
            lines.insert(0, format!("  {}", self.reason));
        }
        output.show_rows(&lines);
    }

    /// Bytes that have been sent, or that everybody has: where all have a part already, less is sent.
    fn done(&self, progress: &SendProgress) -> u64 {
        let open = self.each.iter().filter(|one| one.outcome.is_none());
        let least = open.map(|one| one.bytes.unwrap_or(0)).min().unwrap_or(0);
        progress.sent_bytes.max(least).min(progress.total_bytes)
    }

    /// How much there is of it, and who has it: at most 68 columns each.
    fn describe(&self, p: &SendProgress) -> (String, String) {
        let (done, of) = (units::size(self.done(p)), units::size(p.total_bytes));
        let rate = self.estimate.rate().map_or_else(String::new, |rate| format!(", {rate}"));
        let left = match self.estimate.left(p.total_bytes) {
            Some(left) => format!(", {} left", units::about(left)),
            None if p.sent_bytes >= p.total_bytes => ", repairing".to_owned(),
            None => String::new(),
        };
        let repair = (p.repair_bytes * 100).checked_div(p.wire_bytes).unwrap_or(0);
        let repair = if repair > 0 { format!(", repair {repair} %") } else { String::new() };
        let (complete, receivers, limit) = (p.complete, p.receivers, &p.limit);
        (
            format!("{done} of {of}{rate}{left}"),
            format!("{complete} of {receivers} done{repair}: {limit}"),
        )
    }
}

/// A line for each, at most `room`: those first that are not done.
fn rows(each: &[ReceiverProgress], total: u64, room: usize) -> Vec<String> {
    let mut order: Vec<&ReceiverProgress> = each.iter().collect();
    order
        .sort_by_key(|one| (one.outcome.is_some(), one.receiver.name.clone(), one.receiver.source));
    let shown = if order.len() > room { room.saturating_sub(1) } else { order.len() };
    let width = |text: &dyn Fn(&ReceiverProgress) -> String| {
        let widths = order[..shown].iter().map(|one| text(one).chars().count());
        widths.max().unwrap_or(0).min(COLUMN_MAX)
    };
    let (names, addresses) = (width(&name), width(&address));
    let row = |one: &&ReceiverProgress| {
        let rate = one.rate.filter(|_| one.outcome.is_none());
        let rate = rate.map_or_else(String::new, |rate| rate.to_string());
        let (name, address, percent) = (name(one), address(one), percent(one, total));
        let loss = if one.loss < 0.001 || one.outcome.is_some() {
            String::new()
        } else {
            format!(", loses {:.1} %", one.loss * 100.0)
        };
        format!(
            "  {name:<names$}  {address:<addresses$}  {percent:>5}  {rate:>12}  {}{loss}",
            state(one)
        )
    };
    let mut rows: Vec<String> = order[..shown].iter().map(row).collect();
    if shown < order.len() && room > 0 {
        let hidden = &order[shown..];
        let done = hidden.iter().filter(|one| one.outcome.is_some()).count();
        rows.push(format!("  and {} more, {done} of them done", hidden.len()));
    }
    rows
}

fn name(one: &ReceiverProgress) -> String {
    one.receiver.name.clone().unwrap_or_else(|| "(plain NORM)".to_owned())
}

fn address(one: &ReceiverProgress) -> String {
    one.receiver.source.map_or_else(String::new, |source| source.ip().to_string())
}

fn percent(one: &ReceiverProgress, total: u64) -> String {
    if one.outcome == Some(Outcome::Complete) {
        return "100 %".to_owned();
    }
    // What is received and not yet in its place is not all.
    let share = |bytes: u64| (u128::from(bytes) * 100).checked_div(u128::from(total));
    let share = one.bytes.and_then(share).map(|share| share.min(99));
    share.map_or_else(String::new, |share| format!("{share} %"))
}

fn state(one: &ReceiverProgress) -> &'static str {
    match (&one.outcome, one.receiver.state) {
        (Some(outcome), _) => outcome.name(),
        (None, Some(state)) => state.name(),
        (None, None) => "no status",
    }
}

#[cfg(test)]
mod tests {
    use fanfare_files::{
        event::{Limit, ReceiverView, ToldBy},
        receipt::State,
    };
    use fanfare_node::proto::{Bitrate, NodeId};

    use super::*;

    fn one(id: u8, name: &str, bytes: u64) -> ReceiverProgress {
        let receiver = ReceiverView {
            id: NodeId(u32::from(id)),
            name: Some(name.to_owned()),
            told_by: ToldBy::Address,
            state: Some(State::Receiving),
            source: Some(([10, 0, 0, id], 4000).into()),
            free: None,
        };
        let (bytes, rate) = (Some(bytes), Some(Bitrate::mbps(93)));
        ReceiverProgress {
            receiver,
            bytes,
            rate,
            loss: 0.02,
            rtt: None,
            overruns: 0,
            outcome: None,
        }
    }

    #[test]
    fn each_receiver_has_a_line_with_name_address_percent_rate_and_state() {
        let done = ReceiverProgress { outcome: Some(Outcome::Complete), ..one(8, "a", 1000) };
        let lines = rows(&[done, one(9, "lab", 420), one(7, "lab", 1000)], 1000, 10);
        let expected = [
            "  lab  10.0.0.7   99 %   93.0 Mbit/s  receiving, loses 2.0 %",
            "  lab  10.0.0.9   42 %   93.0 Mbit/s  receiving, loses 2.0 %",
            "  a    10.0.0.8  100 %                complete",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn where_there_is_little_room_those_who_are_done_are_counted() {
        let done = |id| ReceiverProgress { outcome: Some(Outcome::Complete), ..one(id, "a", 10) };
        let lines = rows(&[done(1), done(2), one(3, "b", 5), one(4, "c", 5)], 10, 3);
        assert_eq!(lines.len(), 3);
        assert!(lines[0].contains("10.0.0.3") && lines[1].contains("10.0.0.4"), "{lines:?}");
        assert_eq!(lines[2], "  and 2 more, 2 of them done");
        assert_eq!(rows(&[done(1)], 10, 0), [""; 0]);
    }

    #[test]
    fn all_together_are_told_in_bytes_with_rate_and_time_left() {
        let mut all = Progress::default();
        let mut progress = SendProgress {
            sent_bytes: 1 << 20,
            total_bytes: 8 << 20,
            rate: Bitrate::mbps(10),
            repair_bytes: 0,
            wire_bytes: 1,
            lossiest: None,
            limit: Limit::set(),
            complete: 0,
            receivers: 2,
        };
        let begun = Instant::now();
        all.estimate.on_done(begun, 0);
        all.estimate.on_done(begun + std::time::Duration::from_secs(1), 1 << 20);
        let told = all.describe(&progress);
        let expected =
            ("1.0 MiB of 8.0 MiB, 8.4 Mbit/s, 7 s left", "0 of 2 done: the rate limit is reached");
        assert_eq!((&*told.0, &*told.1), expected);
        // Nothing is sent of what everybody has already.
        (progress.sent_bytes, all.each) = (0, vec![one(7, "a", 4 << 20), one(8, "b", 6 << 20)]);
        assert_eq!(all.done(&progress), 4 << 20);
    }
}

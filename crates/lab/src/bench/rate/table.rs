//! The rows as files: one for people, one for programs.

use super::{RateRow, RateSender, Spread};
use std::fmt::{self, Write as _};

/// What is the same for all rows.
pub(super) struct Heading<'a> {
    pub(super) repetitions: u32,
    pub(super) version: &'a str,
}

const COLUMNS: &str = "\
| cell | link | to | loss | queue | file | auto, Mbit/s | told | told, Mbit/s | TCP, Mbit/s | auto/told | auto/TCP | sent/file, auto | sent/file, told | auto, ms | limit, ms | complete |
|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|
";

const FIELDS: &str = "cell,link_bps,receivers,loss,queue_bytes,file_bytes,auto_bps,auto_least_bps,\
    auto_most_bps,told,told_bps,told_least_bps,told_most_bps,tcp_bps,tcp_least_bps,tcp_most_bps,\
    auto_over_told,auto_over_tcp,auto_sent_per_file,told_sent_per_file,auto_ms,auto_least_ms,\
    auto_most_ms,limit_ms,complete,transfers\n";

impl fmt::Display for RateSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Told(rate) => write!(f, "told {}", short(*rate)),
            Self::Tcp => f.write_str("tcp"),
        }
    }
}

/// For people: Markdown.
pub(super) fn markdown(rows: &[RateRow], heading: &Heading<'_>) -> String {
    let Heading { repetitions, version } = heading;
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let mut text = format!(
        "# rate\n\n\
         `fanfare send` without `--rate` (`auto`), beside the best of some rates that it is told, and beside TCP to \
         each receiver at once. Medians of {repetitions}, with least and most in brackets. Mbit/s are bits of the file \
         over the time from the start of the sender's program until its end. Made by `fanfare bench rate`; \
         docs/explanation/throughput.md says what the columns mean.\n\n\
         Fanfare {version}, {processors} processors for all programs together.\n\n{COLUMNS}"
    );
    for row in rows {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| {} |", cells(row).join(" | "));
    }
    for row in rows.iter().filter(|row| !row.why.is_empty()) {
        let _ = write!(text, "\nNot complete in {}: {}.\n", row.cell.name, row.why);
    }
    text
}

fn cells(row: &RateRow) -> Vec<String> {
    let cell = &row.cell;
    vec![
        cell.name.to_owned(),
        cell.rate_bps.map_or_else(|| "free".to_owned(), short),
        cell.receivers.to_string(),
        if cell.loss > 0.0 { format!("{} %", cell.loss * 100.0) } else { String::new() },
        if cell.queue > 0 { short(cell.queue) } else { String::new() },
        short(cell.size),
        mega(&row.auto_bps),
        row.best_told_bps.map(short).unwrap_or_default(),
        row.told_bps.as_ref().map(mega).unwrap_or_default(),
        row.tcp_bps.as_ref().map(mega).unwrap_or_default(),
        figure(row.over_told, 2),
        figure(row.over_tcp, 2),
        figure(row.wire_per_file[0], 3),
        figure(row.wire_per_file[1], 3),
        row.auto_seconds.as_ref().map(milliseconds).unwrap_or_default(),
        limit(row),
        format!("{} of {}", row.complete[0], row.complete[1]),
    ]
}

/// With a word where it was exceeded.
fn limit(row: &RateRow) -> String {
    let limit = row.cell.limit_ms.map(|limit| limit.to_string()).unwrap_or_default();
    match row.is_in_time() {
        Some(false) => format!("{limit}, exceeded"),
        _ => limit,
    }
}

/// For programs: comma-separated values.
pub(super) fn csv(rows: &[RateRow]) -> String {
    let mut text = FIELDS.to_owned();
    for row in rows {
        let cell = &row.cell;
        let mut fields = vec![
            cell.name.to_owned(),
            cell.rate_bps.map(|rate| rate.to_string()).unwrap_or_default(),
            cell.receivers.to_string(),
            cell.loss.to_string(),
            cell.queue.to_string(),
            cell.size.to_string(),
        ];
        fields.extend(spread(Some(&row.auto_bps), 1.0));
        fields.push(row.best_told_bps.map(|rate| rate.to_string()).unwrap_or_default());
        fields.extend(spread(row.told_bps.as_ref(), 1.0));
        fields.extend(spread(row.tcp_bps.as_ref(), 1.0));
        fields.extend([row.over_told, row.over_tcp].map(|ratio| figure(ratio, 4)));
        fields.extend(row.wire_per_file.map(|ratio| figure(ratio, 4)));
        fields.extend(spread(row.auto_seconds.as_ref(), 1000.0));
        fields.push(cell.limit_ms.map(|limit| limit.to_string()).unwrap_or_default());
        fields.extend(row.complete.map(|count| count.to_string()));
        text.push_str(&fields.join(","));
        text.push('\n');
    }
    text
}

fn spread(spread: Option<&Spread>, factor: f64) -> [String; 3] {
    let value = |value: f64| format!("{:.0}", value * factor);
    spread.map_or_else(Default::default, |it| [it.median, it.least, it.most].map(value))
}

/// Nothing where there is none.
fn figure(value: Option<f64>, digits: usize) -> String {
    value.map(|value| format!("{value:.digits$}")).unwrap_or_default()
}

/// In millions: three digits at least of what slow links carry.
fn mega(spread: &Spread) -> String {
    let digits = match spread.median {
        0.0..1e6 => 4,
        1e6..1e8 => 2,
        _ => 0,
    };
    let value = |value: f64| format!("{:.digits$}", value / 1e6);
    format!("{} ({} to {})", value(spread.median), value(spread.least), value(spread.most))
}

fn milliseconds(spread: &Spread) -> String {
    let value = |value: f64| format!("{:.0}", value * 1000.0);
    format!("{} ({} to {})", value(spread.median), value(spread.least), value(spread.most))
}

/// A number with the letter of its unit, as options take it.
fn short(value: u64) -> String {
    let units = [(1e9, "G"), (1e6, "M"), (1e3, "k")];
    let unit = units.into_iter().find(|(unit, _)| value as f64 >= *unit);
    unit.map_or_else(|| value.to_string(), |(unit, name)| format!("{}{name}", value as f64 / unit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::rate::{RATE_CELLS, RateShot};

    fn rows() -> Vec<RateRow> {
        let shot = |cell, sender, seconds: f64| RateShot {
            cell,
            sender,
            seconds: Some(seconds),
            goodput_bps: 8e6 / seconds,
            wire_per_file: Some(1.02),
            why: String::new(),
        };
        let row = |cell: &crate::RateCell| {
            let (auto, told) = (RateSender::Auto, RateSender::Told(cell.told[0]));
            RateRow::of(cell, &[shot(cell.name, auto, 2.0), shot(cell.name, told, 1.0)])
        };
        RATE_CELLS.iter().map(row).collect()
    }

    #[test]
    fn each_row_has_a_field_for_each_column() {
        let heading = Heading { repetitions: 1, version: "0" };
        let text = markdown(&rows(), &heading);
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
        assert_eq!(lines.len(), RATE_CELLS.len() + 2);
        let columns = |line: &str| line.matches('|').count();
        assert!(lines.iter().all(|line| columns(line) == columns(lines[0])), "{text}");
        let text = csv(&rows());
        let fields = |line: &str| line.split(',').count();
        let first = fields(FIELDS);
        assert!(text.lines().all(|line| fields(line) == first), "{text}");
    }

    #[test]
    fn a_row_tells_the_ratio_and_that_a_limit_was_exceeded() {
        let text = markdown(&rows(), &Heading { repetitions: 1, version: "0" });
        let small = text.lines().find(|line| line.starts_with("| small-1k")).unwrap();
        assert!(small.contains("| 0.50 |") && small.contains("60, exceeded"), "{small}");
        assert!(small.contains("| 2000 (2000 to 2000) |"), "{small}");
    }

    #[test]
    fn numbers_are_short() {
        let shown = [965_000, 1_500_000_000, 56_000, 12].map(short);
        assert_eq!(shown, ["965k", "1.5G", "56k", "12"]);
    }
}

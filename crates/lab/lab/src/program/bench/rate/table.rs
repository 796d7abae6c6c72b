//! What was measured, as tables on the terminal.

use fanfare_lab::{RateCell, RateRow, Spread};
use fanfare_sim::Table;

/// All rows. Those in which something else happens on the link have a table of their own.
pub(super) fn rows(rows: &[RateRow]) -> String {
    let is_shared = |row: &&RateRow| row.shares().is_some() || row.reaction.is_some();
    let (others, quiet): (Vec<&RateRow>, Vec<&RateRow>) = rows.iter().partition(is_shared);
    let quiet = (!quiet.is_empty()).then(|| alone(&quiet).to_string());
    let others = (!others.is_empty()).then(|| shared(&others).to_string());
    [quiet, others].into_iter().flatten().collect::<Vec<String>>().join("\n")
}

fn alone(rows: &[&RateRow]) -> Table {
    let mut table = Table::new(&[
        "cell",
        "auto",
        "least",
        "most",
        "told",
        "brings",
        "TCP",
        "auto/link",
        "auto/told",
        "auto/TCP",
        "sent/file",
        "ms",
        "limit",
        "by",
        "complete",
        "goals missed",
    ]);
    let none = || String::from("-");
    let rate = |spread: &Option<Spread>| spread.map_or_else(none, |spread| mega(spread.median));
    let ratio = |value: Option<f64>| value.map_or_else(none, |value| format!("{value:.2}"));
    for row in rows {
        let RateRow { cell, auto_bps, .. } = row;
        table.row([
            cell.name.to_owned(),
            mega(auto_bps.median),
            mega(auto_bps.least),
            mega(auto_bps.most),
            row.best_told_bps.map_or_else(none, |rate| mega(rate as f64)),
            rate(&row.told_bps),
            rate(&row.tcp_bps),
            ratio(row.over_link),
            ratio(row.over_told),
            ratio(row.over_tcp),
            row.wire_per_file[0].map_or_else(none, |value| format!("{value:.3}")),
            row.auto_seconds.map_or_else(none, |spread| format!("{:.0}", spread.median * 1000.0)),
            cell.limit_ms.map_or_else(none, |limit| limit.to_string()),
            row.limited_by.clone().unwrap_or_else(none),
            format!("{} of {}", row.complete[0], row.complete[1]),
            if row.missed.is_empty() { none() } else { row.missed.join("; ") },
        ]);
    }
    table
}

fn shared(rows: &[&RateRow]) -> Table {
    let mut table = Table::new(&[
        "cell",
        "auto",
        "each TCP",
        "share, auto",
        "share, TCP",
        "down, s",
        "up, s",
        "share, down",
        "share, up",
        "goals missed",
    ]);
    let none = || String::from("-");
    let figure = |value: Option<f64>| value.map_or_else(none, |value| format!("{value:.2}"));
    for row in rows {
        let (shares, reaction) = (row.shares(), row.reaction);
        let never = |seconds: Option<f64>| {
            seconds.map_or_else(|| "never".to_owned(), |seconds| format!("{seconds:.1}"))
        };
        table.row([
            row.cell.name.to_owned(),
            if reaction.is_some() { none() } else { mega(row.auto_bps.median) },
            row.beside_bps.map_or_else(none, mega),
            figure(shares.map(|[auto, _]| auto)),
            figure(shares.map(|[_, tcp]| tcp)),
            reaction.map_or_else(none, |it| never(it.down_s)),
            reaction.map_or_else(none, |it| never(it.up_s)),
            figure(reaction.map(|it| it.share_down)),
            figure(reaction.map(|it| it.share_up)),
            if row.missed.is_empty() { none() } else { row.missed.join("; ") },
        ]);
    }
    table
}

/// The cells, for people.
pub(super) fn cells(cells: &[RateCell]) -> Table {
    let mut table = Table::new(&["cell", "Mbit/s", "ms", "loss, %", "to", "buffer", "file"]);
    for cell in cells {
        let rate = cell.rate_bps.map_or_else(|| "free".to_owned(), |rate| mega(rate as f64));
        table.row([
            cell.name.to_owned(),
            rate,
            cell.round_trip_ms.to_string(),
            ((cell.loss * 1e4).round() / 1e2).to_string(),
            cell.receivers.to_string(),
            cell.queue_bytes().to_string(),
            cell.size.to_string(),
        ]);
    }
    table
}

/// In millions; slow links with more digits.
pub(super) fn mega(value: f64) -> String {
    let digits = match value {
        0.0..1e6 => 4,
        1e6..1e8 => 2,
        _ => 0,
    };
    format!("{:.digits$}", value / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::rate::tests::row;

    fn columns(line: &str) -> usize {
        line.split("  ").filter(|cell| !cell.is_empty()).count()
    }

    #[test]
    fn a_row_has_a_cell_for_each_column() {
        let text = rows(&[row("100M-3", 0.75)]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!((columns(lines[0]), columns(lines[1])), (16, 16), "{text}");
        assert!(lines[1].contains("0.75") && lines[1].contains("3000"), "{text}");
        assert!(lines[1].contains("link below 0.93"), "{text}");
    }

    #[test]
    fn what_shares_its_link_has_a_table_of_its_own() {
        let beside = RateRow { beside_bps: Some(40e6), ..row("beside-100M-1", 0.5) };
        let text = rows(&[beside, row("100M-3", 0.75)]);
        let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
        assert!(lines[1].contains("100M-3") && columns(lines[2]) == 10, "{text}");
        // 45 and 40 Mbit/s, of 47.9 each.
        assert!(lines[3].contains("0.94") && lines[3].contains("0.84"), "{text}");
    }

    #[test]
    fn slow_links_have_digits_behind_the_point() {
        assert_eq!([54e3, 9.5e6, 4e9].map(mega), ["0.0540", "9.50", "4000"]);
    }

    #[test]
    fn all_cells_can_be_listed() {
        let all = RateCell::chosen(&[]).unwrap();
        assert_eq!(cells(&all).to_string().lines().count(), all.len() + 1);
    }
}

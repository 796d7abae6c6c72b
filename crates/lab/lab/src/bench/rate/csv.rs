//! The rows as comma-separated values: bit/s, bytes, seconds.

use super::{Condition, RateRow, Spread};

const FIELDS: [&str; 41] = [
    "cell",
    "condition",
    "link_bps",
    "round_trip_ms",
    "loss",
    "receivers",
    "buffer_bytes",
    "file_bytes",
    "auto_bps",
    "auto_least_bps",
    "auto_most_bps",
    "told",
    "told_bps",
    "told_least_bps",
    "told_most_bps",
    "tcp_bps",
    "tcp_least_bps",
    "tcp_most_bps",
    "raw_bps",
    "auto_over_link",
    "auto_over_told",
    "auto_over_tcp",
    "auto_worst_over_median",
    "auto_sent_per_file",
    "told_sent_per_file",
    "auto_s",
    "auto_least_s",
    "auto_most_s",
    "limit_s",
    "limited_by",
    "beside_bps",
    "share_auto",
    "share_beside",
    "down_s",
    "up_s",
    "share_down",
    "share_up",
    "emulator_late_ms",
    "complete",
    "transfers",
    "missed",
];

/// All rows, below their names.
pub(super) fn csv(rows: &[RateRow]) -> String {
    let lines = rows.iter().map(|row| fields(row).join(",") + "\n");
    FIELDS.join(",") + "\n" + &lines.collect::<String>()
}

fn fields(row: &RateRow) -> Vec<String> {
    let cell = &row.cell;
    let mut fields = vec![
        cell.name.to_owned(),
        condition(cell.condition),
        cell.rate_bps.map(|rate| rate.to_string()).unwrap_or_default(),
        cell.round_trip_ms.to_string(),
        cell.loss.to_string(),
        cell.receivers.to_string(),
        cell.queue_bytes().to_string(),
        cell.size.to_string(),
    ];
    fields.extend(spread(Some(&row.auto_bps), 0));
    fields.push(row.best_told_bps.map(|rate| rate.to_string()).unwrap_or_default());
    fields.extend(spread(row.told_bps.as_ref(), 0));
    fields.extend(spread(row.tcp_bps.as_ref(), 0));
    fields.push(figure(row.raw_bps.map(|raw| raw.median), 0));
    let ratios = [row.over_link, row.over_told, row.over_tcp, row.worst_of_median()];
    fields.extend(ratios.map(|ratio| figure(ratio, 4)));
    fields.extend(row.wire_per_file.map(|ratio| figure(ratio, 4)));
    fields.extend(spread(row.auto_seconds.as_ref(), 4));
    fields.push(figure(cell.limit_ms.map(|limit| f64::from(limit) / 1e3), 3));
    fields.push(row.limited_by.clone().unwrap_or_default());
    fields.push(figure(row.beside_bps, 0));
    let shares = row.shares();
    fields.extend([0, 1].map(|who| figure(shares.map(|shares| shares[who]), 4)));
    let reaction = row.reaction;
    fields.push(figure(reaction.and_then(|it| it.down_s), 2));
    fields.push(figure(reaction.and_then(|it| it.up_s), 2));
    fields.push(figure(reaction.map(|it| it.share_down), 4));
    fields.push(figure(reaction.map(|it| it.share_up), 4));
    fields.push(figure(row.emulator_late_ms, 3));
    fields.extend(row.complete.map(|count| count.to_string()));
    fields.push(row.missed.join("; "));
    fields
}

fn condition(condition: Condition) -> String {
    match condition {
        Condition::Quiet => "quiet".to_owned(),
        Condition::Busy => "busy".to_owned(),
        Condition::Ceiling(rate) => format!("ceiling {rate}"),
        Condition::Change(rate) => format!("change {rate}"),
        Condition::Comes(rate) => format!("comes {rate}"),
        Condition::Beside { flows, fair: true } => format!("beside {flows} tcp fair"),
        Condition::Beside { flows, fair: false } => format!("beside {flows} tcp"),
    }
}

fn spread(spread: Option<&Spread>, digits: usize) -> [String; 3] {
    let value = |value: f64| figure(Some(value), digits);
    spread.map_or_else(Default::default, |it| [it.median, it.least, it.most].map(value))
}

/// Nothing where there is none.
fn figure(value: Option<f64>, digits: usize) -> String {
    value.map(|value| format!("{value:.digits$}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::rate::table::tests::rows;

    #[test]
    fn each_row_has_a_field_for_each_name() {
        let text = csv(&rows());
        assert_eq!(text.lines().count(), rows().len() + 1);
        for line in text.lines() {
            assert_eq!(line.split(',').count(), FIELDS.len(), "{line}");
        }
    }

    #[test]
    fn a_field_is_below_its_name() {
        let text = csv(&rows());
        let line = text.lines().find(|line| line.starts_with("100M-50ms-3,")).unwrap();
        let field = |name: &str| {
            line.split(',').nth(FIELDS.iter().position(|field| *field == name).unwrap())
        };
        assert_eq!(field("round_trip_ms"), Some("50"));
        assert_eq!(field("buffer_bytes"), Some("625000"));
        assert_eq!((field("auto_s"), field("auto_over_told")), (Some("2.0000"), Some("0.5000")));
        assert_eq!((field("complete"), field("transfers")), (Some("1"), Some("1")));
    }
}

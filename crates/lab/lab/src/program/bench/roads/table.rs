//! Results as tables on the terminal.

use fanfare_lab::{BesideRun, GroupRun, RoadCase, RoadRow};
use fanfare_sim::Table;

use crate::bench::lines::mega;

/// A row for each sender on each road.
pub(super) fn rows(rows: &[RoadRow]) -> Table {
    let mut table = Table::new(&[
        "road",
        "to",
        "sender",
        "seconds",
        "sent/file",
        "dropped",
        "exit",
        "of told",
        "of best",
    ]);
    let ratio = |value: Option<f64>| value.map_or_else(none, |value| format!("{value:.2}"));
    for row in rows {
        table.row([
            row.road.clone(),
            row.receivers.to_string(),
            row.sender.to_string(),
            row.seconds.map_or_else(|| "no end".to_owned(), |it| format!("{:.2}", it.median)),
            format!("{:.2}", row.sent_per_file),
            row.dropped.to_string(),
            codes(&row.exits),
            ratio(row.of_told),
            ratio(row.of_best),
        ]);
    }
    table
}

/// A row for each run of a group.
pub(super) fn groups(runs: &[GroupRun]) -> Table {
    let mut table = Table::new(&[
        "case",
        "publisher",
        "seconds",
        "came",
        "msg/s",
        "dropped",
        "exit",
        "Mbit/s",
        "Jain",
    ]);
    for run in runs {
        let shared = run.jain.is_some();
        let sum: f64 = run.each_bps.iter().sum();
        table.row([
            run.case.to_string(),
            run.who(),
            run.seconds.map_or_else(none, |seconds| format!("{seconds:.2}")),
            run.came.to_string(),
            format!("{:.0}", run.per_second),
            run.dropped.to_string(),
            if shared { none() } else { codes(&[run.exit]) },
            if shared { mega(sum) } else { none() },
            run.jain.map_or_else(none, |jain| format!("{jain:.3}")),
        ]);
    }
    table
}

/// A row for each run beside others.
pub(super) fn beside(runs: &[BesideRun]) -> Table {
    let mut table =
        Table::new(&["case", "ours", "others", "Jain", "of the line", "dropped", "exit"]);
    let words = |shares: &[f64]| {
        shares.iter().map(|share| format!("{share:.2}")).collect::<Vec<String>>().join(",")
    };
    for run in runs {
        let (own, others) = run.shares.split_at(1.min(run.shares.len()));
        table.row([
            run.case.to_string(),
            words(own),
            words(others),
            format!("{:.3}", run.jain),
            format!("{:.2}", run.used),
            run.dropped.to_string(),
            codes(&[run.exit]),
        ]);
    }
    table
}

/// The roads, for people.
pub(super) fn roads(roads: &[RoadCase]) -> Table {
    let mut table = Table::new(&["road", "to", "file", "told"]);
    for road in roads {
        let told: Vec<String> = road.told().iter().map(ToString::to_string).collect();
        table.row([road.name(), road.receivers.to_string(), road.size.to_string(), told.join(",")]);
    }
    table
}

/// Exit codes of all runs; a sender that was stopped has none.
fn codes(exits: &[Option<i32>]) -> String {
    let word = |code: &Option<i32>| code.map_or_else(none, |code| code.to_string());
    exits.iter().map(word).collect::<Vec<String>>().join(",")
}

fn none() -> String {
    "-".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_road_is_listed_with_what_is_told_there() {
        let all = RoadCase::chosen(&["tbf-1M-*".to_owned()], &[1, 3]).unwrap();
        let text = roads(&all).to_string();
        assert_eq!(text.lines().count(), 1 + 8, "{text}");
        assert!(text.contains("960000"), "{text}");
    }

    #[test]
    fn a_sender_that_was_stopped_has_no_code() {
        assert_eq!(codes(&[Some(0), None, Some(6)]), "0,-,6");
    }
}

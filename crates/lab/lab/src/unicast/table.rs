//! The matrix for people and for programs, with the paper's words beside.

use fanfare_sim::Sorted;
use std::{collections::BTreeSet, fmt::Write as _};

use super::{
    protocol::{Pattern, Protocol},
    row::UnicastRow,
    trial::FILE,
};
use crate::trials::versions;

/// What the paper has and this does not, and why.
const MISSING: [(&str, &str); 2] = [
    ("CTCP", "one way excellent without loss, falls quickly; no Linux kernel has it any more"),
    (
        "Mockets",
        "one way above the others as loss grows, weaker at low loss; RPC much better than its \
         handshake; two way best. Its source is in no package",
    ),
];

/// Median and how many there are, of all that were tried.
fn cell(rows: &[UnicastRow], protocol: Protocol, pattern: Pattern, loss: u32) -> Option<String> {
    let about =
        |row: &&UnicastRow| (row.protocol, row.pattern, row.loss) == (protocol, pattern, loss);
    let all: Vec<&UnicastRow> = rows.iter().filter(about).collect();
    let there: Sorted = all.iter().filter_map(|row| row.seconds).collect();
    let counted = match there.len() == all.len() {
        true => String::new(),
        false => format!(" ({} of {})", there.len(), all.len()),
    };
    if all.is_empty() {
        return None;
    }
    let Some(median) = there.median() else { return Some(format!("-{counted}")) };
    Some(match pattern.is_transfer() {
        true => format!("{:.0}{counted}", FILE as f64 * 8.0 / median / 1e3),
        false => format!("{median:.2}{counted}"),
    })
}

const fn title(pattern: Pattern) -> &'static str {
    match pattern {
        Pattern::Handshake => "Handshake, seconds until it is connected",
        Pattern::Rpc => "RPC over a connection that is there, seconds",
        Pattern::OneWay => "1 MB one way, kbit/s from the first to the last byte",
        Pattern::TwoWay => "1 MB both ways at once, kbit/s of the slower direction",
    }
}

pub(super) fn markdown(rows: &[UnicastRow], name: &str, changing: bool) -> String {
    let mut losses: Vec<u32> = rows.iter().map(|row| row.loss).collect();
    losses.sort_unstable();
    losses.dedup();
    let runs = rows.iter().map(|row| row.repetition).collect::<BTreeSet<u32>>().len();
    let (title_of_road, changes) = match changing {
        true => (
            "a bad road that changes",
            " Every 10 s the road changes, to\n256 kbit/s and 500 ms and back: 384 kbit/s are its mean.",
        ),
        false => ("a bad road", ""),
    };
    let mut text = format!(
        "# Unicast over {title_of_road}\n\n*For people who choose a protocol for a road with \
         loss and delay. Made by `fanfare lab reproduce\n{name}`.*\n\n512 kbit/s, \
         250 ms one way, a queue of 21 packets, loss both ways.{changes}\nMedians of {runs} runs. In \
         brackets stands how many were whole, where not all were. A run of more\nthan 160 s is missing, \
         as in the paper.\n"
    );
    for pattern in Pattern::ALL {
        if rows.iter().all(|row| row.pattern != pattern) {
            continue;
        }
        let heads: String = losses.iter().map(|loss| format!(" {loss} % |")).collect();
        let bars = "---|".repeat(losses.len());
        let _ = write!(text, "\n## {}\n\n| protocol |{heads}\n|---|{bars}\n", title(pattern));
        for protocol in Protocol::ALL {
            let cells: Vec<Option<String>> =
                losses.iter().map(|&loss| cell(rows, protocol, pattern, loss)).collect();
            if cells.iter().any(Option::is_some) {
                let cells = cells.into_iter().map(Option::unwrap_or_default);
                let cells: String = cells.map(|cell| format!(" {cell} |")).collect();
                let _ = writeln!(text, "| {protocol} |{cells}");
            }
        }
    }
    text.push_str("\n## What the paper says\n\n| protocol | its words |\n|---|---|\n");
    let said = Protocol::ALL.map(|protocol| (protocol.name(), protocol.published()));
    for (name, words) in said.into_iter().chain(MISSING) {
        if !words.is_empty() {
            let _ = writeln!(text, "| {name} | {words} |");
        }
    }
    text + &versions(rows.iter().map(|row| (row.protocol.name(), row.version.as_str())))
}

pub(super) fn csv(rows: &[UnicastRow]) -> String {
    let mut text = "protocol,pattern,loss,repetition,seconds,why\n".to_owned();
    for row in rows {
        let seconds = row.seconds.map_or_else(String::new, |seconds| format!("{seconds:.6}"));
        let UnicastRow { protocol, loss, repetition, why, .. } = row;
        let pattern = row.pattern.name();
        let _ = writeln!(text, "{protocol},{pattern},{loss},{repetition},{seconds},{why}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_a_median_and_says_how_many_runs_were_not_whole() {
        let row = |repetition, seconds: Option<f64>| UnicastRow {
            protocol: Protocol::Bbr,
            pattern: Pattern::OneWay,
            loss: 5,
            repetition,
            seconds,
            version: "1".to_owned(),
            why: String::new(),
        };
        let rows = [row(0, Some(20.0)), row(1, None), row(2, Some(16.0))];
        let text = markdown(&rows, "s002-unicast", false);
        assert!(text.contains("| bbr | 444 (2 of 3) |"), "{text}");
        assert!(text.contains("| CTCP | one way excellent"), "{text}");
        assert!(!text.contains("| cubic | 4"), "{text}");
        assert!(text.contains("Medians of 3 runs.") && !text.contains("Handshake"), "{text}");
        assert!(csv(&rows).contains("bbr,one-way,5,1,,"));
    }
}

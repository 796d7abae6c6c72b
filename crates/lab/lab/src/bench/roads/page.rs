//! The rows as a page for people, and as comma-separated values for programs.

use std::{fmt::Write as _, fs, process::Command};

use super::{peers::RoadPeers, row::RoadRow, sender::RoadSender};
use crate::{
    bench::rate::{Spread, short},
    reproduce::machine,
};

/// Facts that are the same for all rows.
#[derive(Debug, Clone)]
pub(super) struct PageHead<'a> {
    /// Number of times that each was measured.
    pub(super) runs: u32,
    /// Number of slow roads at the same time.
    pub(super) jobs: usize,
    /// Version and hash of the program.
    pub(super) version: &'a str,
    /// Note of the user about the run.
    pub(super) note: &'a str,
    /// Load average when it began.
    pub(super) load: &'a str,
}

/// A row for these is right: `default` has so much of the best of our controllers and of the told rate.
const GOAL: f64 = 0.9;

const COLUMNS: [&str; 11] = [
    "road",
    "to",
    "file",
    "sender",
    "seconds",
    "sent/file",
    "dropped",
    "complete",
    "exit",
    "of told",
    "of best",
];

/// Says when, where and with what it was run.
pub(super) fn when_and_where(head: &PageHead<'_>) -> String {
    let PageHead { version, note, load: before, .. } = head;
    let date = Command::new("date").args(["-u", "+%F"]).output();
    let date = date.map(|told| String::from_utf8_lossy(&told.stdout).trim().to_owned());
    let note = if note.is_empty() { String::new() } else { format!(" {note}") };
    format!(
        "Run on {}, on {}. Fanfare {version}. The load average was {before} before and {} after.{note}\n",
        date.unwrap_or_default(),
        machine(),
        load(),
    )
}

/// The load average of the last minute.
pub(super) fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().unwrap_or("unknown").to_owned()
}

/// Number of runs, as a sentence says it.
pub(super) fn times(runs: u32) -> String {
    match runs {
        1 => "One run each, in place of medians of three".to_owned(),
        runs => format!("Medians of {runs} runs"),
    }
}

/// Sentence about roads that were measured at the same time.
fn together(jobs: usize) -> String {
    match jobs {
        1 => String::new(),
        jobs => format!(
            "Up to {jobs} roads of at most 10 Mbit/s were measured at the same time, each faster one \
             alone. "
        ),
    }
}

/// All rows as a page.
pub(super) fn markdown(rows: &[RoadRow], head: &PageHead<'_>, peers: &RoadPeers) -> String {
    let mut text = format!(
        "# Roads: real programs, shaped by the kernel or by an emulator\n\n\
         *For network engineers who want to know how a transfer ends on a slow, shaped or lossy network. \
         Made by `fanfare bench roads`.\n\
         [Throughput](../docs/explanation/throughput.md#roads-with-shapers-bench-roads) says how roads are \
         made and what the columns mean.*\n\n\
         Nothing here is simulated: programs run in network namespaces of one machine, in real time. Roads \
         `tbf-`,\n`police-` and `lan` are shaped by its kernel. All others are emulated: the laboratory's \
         emulator makes their line,\nqueue, delay and loss.\n\n\
         {}. {}Whole processes from start to exit. `default` is `fanfare send FILE --expect N`; `told` the \
         same with\n`--cc fixed --rate`, `norm` and `loss-tolerant` with `--cc`. `libnorm` is NRL's library \
         with its congestion\ncontrol, `uftp` is `uftp -C tfmcc`. `tcp` is CUBIC and `tcp-bbr` BBR, to each \
         receiver at once. *Of told* is\nthe seconds of the best told rate over these; *of best* the \
         seconds of the best of our controllers over these.\n\n{}{}",
        times(head.runs),
        together(head.jobs),
        when_and_where(head),
        left_out(peers),
    );
    text += &table(&COLUMNS, 4, rows.iter().map(cells));
    text += &summary(rows);
    for row in rows.iter().filter(|row| !row.why.is_empty()) {
        let _ = write!(
            text,
            "\nNot complete: {} to {}, {}: {}.\n",
            row.road, row.receivers, row.sender, row.why
        );
    }
    text
}

/// Names what others have written, and what of it is not here.
fn left_out(peers: &RoadPeers) -> String {
    let versions = peers.versions();
    let mut text = match versions.is_empty() {
        true => String::new(),
        false => format!("Beside it: {versions}.\n"),
    };
    for missing in &peers.missing {
        let _ = write!(text, "\n**Not measured: `{}`.** {}.\n", missing.sender, missing.why);
    }
    text
}

/// A table whose columns from this one on are figures.
pub(super) fn table(
    columns: &[&str],
    figures_from: usize,
    lines: impl Iterator<Item = Vec<String>>,
) -> String {
    let rule: String =
        (0..columns.len()).map(|at| if at < figures_from { "---|" } else { "--:|" }).collect();
    let lines: String = lines.map(|line| format!("| {} |\n", line.join(" | "))).collect();
    format!("\n| {} |\n|{rule}\n{lines}", columns.join(" | "))
}

/// Text that says in how many cells `default` does what it should.
fn summary(rows: &[RoadRow]) -> String {
    let defaults: Vec<&RoadRow> =
        rows.iter().filter(|row| row.sender == RoadSender::Default).collect();
    let ended = defaults.iter().filter(|row| row.is_complete()).count();
    let is_right = |row: &&&RoadRow| row.worst_ratio().is_none_or(|ratio| ratio >= GOAL);
    let right = defaults.iter().filter(is_right).count();
    let count = defaults.len();
    let mut text = format!(
        "\n`default` ends in every run of {ended} of {count} cells. It has {GOAL} of the told rate and of \
         the best of our controllers in {right}.\n"
    );
    let below = defaults.iter().filter(|row| !is_right(row) || !row.is_complete());
    let lines: String = below
        .map(|row| {
            let of = row.worst_ratio().map(|ratio| format!(": {ratio:.2}")).unwrap_or_default();
            format!("- {} to {}{of}\n", row.road, row.receivers)
        })
        .collect();
    if !lines.is_empty() {
        let _ = write!(text, "The others:\n\n{lines}");
    }
    text
}

fn cells(row: &RoadRow) -> Vec<String> {
    vec![
        row.road.clone(),
        row.receivers.to_string(),
        short(row.size),
        row.sender.to_string(),
        seconds(row.seconds),
        format!("{:.3}", row.sent_per_file),
        row.dropped.to_string(),
        format!("{} of {}", row.complete, row.exits.len()),
        exits(&row.exits),
        figure(row.of_told),
        figure(row.of_best),
    ]
}

/// Text with least and most, where there are several.
pub(super) fn seconds(spread: Option<Spread>) -> String {
    let Some(Spread { median, least, most }) = spread else { return "no end".to_owned() };
    let value = |value: f64| match value.is_finite() {
        true => format!("{value:.2}"),
        false => "no end".to_owned(),
    };
    match least.total_cmp(&most).is_eq() {
        true => value(median),
        false => format!("{} ({} to {})", value(median), value(least), value(most)),
    }
}

/// One code where all are the same.
pub(super) fn exits(codes: &[Option<i32>]) -> String {
    let word =
        |code: &Option<i32>| code.map_or_else(|| "stopped".to_owned(), |code| code.to_string());
    match codes {
        [first, rest @ ..] if rest.iter().all(|code| code == first) => word(first),
        codes => codes.iter().map(word).collect::<Vec<String>>().join(", "),
    }
}

/// Nothing where there is none.
pub(super) fn figure(value: Option<f64>) -> String {
    value.map(|value| format!("{value:.2}")).unwrap_or_default()
}

/// All rows as comma-separated values: bytes, seconds.
pub(super) fn csv(rows: &[RoadRow]) -> String {
    let mut text =
        "road,receivers,file_bytes,sender,seconds,least_s,most_s,sent_per_file,dropped,exits,\
                    complete,of_told,of_best\n"
            .to_owned();
    for row in rows {
        let second = |of: fn(&Spread) -> f64| {
            let value = row.seconds.as_ref().map(of).filter(|value| value.is_finite());
            value.map(|value| format!("{value:.4}")).unwrap_or_default()
        };
        let fields = [
            row.road.clone(),
            row.receivers.to_string(),
            row.size.to_string(),
            row.sender.to_string(),
            second(|it| it.median),
            second(|it| it.least),
            second(|it| it.most),
            format!("{:.4}", row.sent_per_file),
            row.dropped.to_string(),
            exits(&row.exits).replace(", ", " "),
            row.complete.to_string(),
            figure(row.of_told),
            figure(row.of_best),
        ];
        text += &(fields.join(",") + "\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        bench::roads::{peers::MissingSender, row::tests::rows},
        peer::Tools,
    };

    fn text() -> String {
        let head = PageHead { runs: 3, jobs: 8, version: "0", note: "A note.", load: "0.1" };
        markdown(&rows(), &head, &peers())
    }

    /// Nothing of others is here.
    fn peers() -> RoadPeers {
        let tools = Tools::of("/proc/self/exe".as_ref());
        let mut peers = RoadPeers::prepare(&[], &tools).unwrap();
        let why = "program (uftp): not installed. Install the package uftp".to_owned();
        peers.missing.push(MissingSender { sender: "uftp", why });
        peers
    }

    #[test]
    fn the_page_says_what_is_emulated_how_often_it_ran_and_who_is_missing() {
        let text = text();
        for part in [
            "# Roads: real programs, shaped by the kernel or by an emulator",
            "Nothing here is simulated",
            "Medians of 3 runs. Up to 8 roads",
            "**Not measured: `uftp`.** program (uftp): not installed. Install the package uftp.",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(times(1).starts_with("One run each"), "{}", times(1));
    }

    #[test]
    fn each_row_has_a_field_for_each_column() {
        let text = text();
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
        assert_eq!(lines.len(), rows().len() + 2, "{text}");
        for line in lines {
            assert_eq!(line.matches('|').count(), COLUMNS.len() + 1, "{line}");
        }
        let csv = csv(&rows());
        let fields = csv.lines().map(|line| line.split(',').count());
        assert!(fields.clone().all(|count| count == 13), "{csv}");
        assert_eq!(fields.count(), rows().len() + 1);
    }

    #[test]
    fn what_did_not_end_is_said_and_counted() {
        let text = text();
        assert!(text.contains(
            "| 8.00 (7.00 to no end) | 1.250 | 7 | 2 of 3 | 0, 0, stopped | 0.75 | 1.00 |"
        ));
        assert!(
            text.contains("| norm | no end | 1.250 | 7 | 0 of 3 | stopped | 0.00 | 0.00 |"),
            "{text}"
        );
        assert!(text.contains("`default` ends in every run of 0 of 1 cells."), "{text}");
        assert!(
            text.contains("The others:\n\n- tbf-1M-64k to 3: 0.75\n") && text.contains("A note."),
            "{text}"
        );
    }
}

//! The runs beside others as a page for people, and as comma-separated values for programs.

use std::fmt::Write as _;

use super::{
    BesideRun, LeftOutCase,
    case::{BesideRival, RATE, ROUND_TRIP_MS},
};
use crate::bench::{
    median,
    rate::{Spread, short},
    roads::page::{PageHead, exits, figure, seconds, table, times, when_and_where},
};

const COLUMNS: [&str; 9] = [
    "case",
    "ours, of its share",
    "others: least",
    "others: most",
    "Jain's index",
    "of the line",
    "dropped",
    "exit",
    "kbit/s of each, ours first",
];
/// Shares of each flow that are right beside TCP.
const SHARES: std::ops::RangeInclusive<f64> = 0.3..=3.0;
/// Index that is right among transfers of ours.
const FAIR: f64 = 0.95;

/// All runs as a page.
pub(super) fn markdown(
    runs: &[BesideRun],
    left_out: &[LeftOutCase],
    head: &PageHead<'_>,
) -> String {
    let mut text = format!(
        "# Roads, beside others: real programs on an emulated line\n\n\
         *For network engineers who want to know what a transfer leaves to others, and they to it. Made by \
         `fanfare bench roads --beside`.\n\
         [Throughput](../docs/explanation/throughput.md#roads-with-shapers-bench-roads) says how it is \
         measured.*\n\n\
         Nothing here is simulated: `fanfare send FILE` without options and the kernel's own TCP run in real \
         time.\nTheir line is emulated by the laboratory: {}bit/s, {ROUND_TRIP_MS} ms. `cubic3-tail0.5` \
         is beside three TCP\nwith CUBIC, in a drop-tail queue of half a product; `ours1` beside another \
         transfer. A share is what a flow has\nover an equal part of what all have; packets with headers \
         that reach its receiver in 30 s count.\n\n\
         {}. All are stopped at the end, so `stopped` is the right exit.\n\n{}",
        short(RATE),
        times(head.runs),
        when_and_where(head)
    );
    for LeftOutCase { case, why } in left_out {
        let _ = write!(text, "\n**Not measured: `{case}`.** {why}.\n");
    }
    let cases = grouped(runs);
    text += &table(&COLUMNS, 1, cases.iter().map(|runs| cells(runs)));
    text += &summary(&cases);
    for run in runs.iter().filter(|run| !run.is_complete()) {
        let _ = write!(text, "\nNot complete: {}: {}.\n", run.case, run.why);
    }
    text
}

/// Runs of the same case.
type CaseRuns<'a> = Vec<&'a BesideRun>;

fn grouped(runs: &[BesideRun]) -> Vec<CaseRuns<'_>> {
    let mut all: Vec<CaseRuns<'_>> = Vec::new();
    for run in runs {
        match all.iter_mut().find(|runs| runs[0].case == run.case) {
            Some(runs) => runs.push(run),
            None => all.push(vec![run]),
        }
    }
    all
}

fn own(run: &BesideRun) -> f64 {
    run.shares.first().copied().unwrap_or_default()
}

fn least_other(run: &BesideRun) -> f64 {
    run.shares.iter().skip(1).copied().fold(f64::INFINITY, f64::min)
}

fn most_other(run: &BesideRun) -> f64 {
    run.shares.iter().skip(1).copied().fold(0.0, f64::max)
}

fn middle(runs: &[&BesideRun], of: fn(&BesideRun) -> f64) -> f64 {
    median(runs.iter().map(|run| of(run)))
}

fn cells(runs: &[&BesideRun]) -> Vec<String> {
    let own_shares: Vec<f64> = runs.iter().map(|run| own(run)).collect();
    // Of the run whose share is in the middle.
    let near = |run: &&&BesideRun| (own(run) - middle(runs, own)).abs();
    let shown = runs.iter().min_by(|one, other| near(one).total_cmp(&near(other)));
    let each: Vec<String> = shown
        .map(|run| run.each_bps.iter().map(|bps| format!("{:.0}", bps / 1e3)).collect())
        .unwrap_or_default();
    let ended: Vec<Option<i32>> = runs.iter().map(|run| run.exit).collect();
    vec![
        runs[0].case.to_string(),
        seconds(Spread::of(&own_shares)),
        figure(Some(middle(runs, least_other))),
        figure(Some(middle(runs, most_other))),
        format!("{:.3}", middle(runs, |run| run.jain)),
        figure(Some(middle(runs, |run| run.used))),
        format!("{:.0}", middle(runs, |run| run.dropped as f64)),
        exits(&ended),
        each.join(" "),
    ]
}

/// Text that says in how many cases shares are right.
fn summary(cases: &[CaseRuns<'_>]) -> String {
    let is_right = |runs: &&CaseRuns<'_>| match runs[0].case.rival {
        BesideRival::Ours => middle(runs, |run| run.jain) >= FAIR,
        BesideRival::Cubic | BesideRival::Bbr => {
            [own, least_other, most_other].iter().all(|of| SHARES.contains(&middle(runs, *of)))
        }
    };
    let right = cases.iter().filter(is_right).count();
    let others: Vec<String> =
        cases.iter().filter(|runs| !is_right(runs)).map(|runs| runs[0].case.to_string()).collect();
    let mut text = format!(
        "\nIn {right} of {} cases shares are right: each between {} and {} of an equal one beside TCP, \
         Jain's index at least {FAIR} among ours.\n",
        cases.len(),
        SHARES.start(),
        SHARES.end(),
    );
    if !others.is_empty() {
        let _ = writeln!(text, "The others: {}.", others.join(", "));
    }
    text
}

/// All runs as comma-separated values, one on each line.
pub(super) fn csv(runs: &[BesideRun]) -> String {
    let mut text = "case,share,least_other,most_other,jain,used,dropped,exit,each_bps\n".to_owned();
    for run in runs {
        let each: Vec<String> = run.each_bps.iter().map(|bps| format!("{bps:.0}")).collect();
        let fields = [
            run.case.to_string(),
            format!("{:.4}", own(run)),
            format!("{:.4}", least_other(run)),
            format!("{:.4}", most_other(run)),
            format!("{:.4}", run.jain),
            format!("{:.4}", run.used),
            run.dropped.to_string(),
            run.exit.map(|code| code.to_string()).unwrap_or_default(),
            each.join(" "),
        ];
        text += &(fields.join(",") + "\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::roads::{
        beside::BesideCase,
        fairness::{jain, shares},
    };

    fn run(case: &str, each: &[f64]) -> BesideRun {
        BesideRun {
            case: BesideCase::chosen(&[case.to_owned()]).unwrap()[0],
            each_bps: each.to_vec(),
            shares: shares(each),
            jain: jain(each),
            used: each.iter().sum::<f64>() / RATE as f64,
            dropped: 9,
            exit: None,
            why: String::new(),
        }
    }

    fn text(runs: &[BesideRun], left_out: &[LeftOutCase]) -> String {
        let head = PageHead { runs: 1, jobs: 1, version: "0", note: "", load: "0.1" };
        markdown(runs, left_out, &head)
    }

    #[test]
    fn each_case_has_a_row_and_the_page_says_which_shares_are_not_right() {
        let runs = [
            run("cubic1-tail1", &[4e6, 5e6]),
            run("bbr3-tail4", &[0.5e6, 3e6, 3e6, 3e6]),
            run("ours1-fair", &[4e6, 5e6]),
            run("ours1-tail4", &[1e6, 8e6]),
            run("cubic1-tail1", &[4e6, 5e6]),
        ];
        let text = text(&runs, &[]);
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
        assert_eq!(lines.len(), 2 + 4, "{text}");
        assert!(lines.iter().all(|line| line.matches('|').count() == COLUMNS.len() + 1), "{text}");
        assert!(text.contains("In 2 of 4 cases shares are right"), "{text}");
        assert!(text.contains("The others: bbr3-tail4, ours1-tail4."), "{text}");
        assert!(
            text.contains("| cubic1-tail1 | 0.89 | 1.11 | 1.11 | 0.988 | 0.90 | 9 |"),
            "{text}"
        );
        assert!(csv(&runs).lines().all(|line| line.split(',').count() == 9));
    }

    #[test]
    fn a_transfer_that_ended_and_a_case_that_is_left_out_are_named() {
        let ended = BesideRun {
            exit: Some(6),
            why: "no receiver".to_owned(),
            ..run("ours1-tail1", &[0.0, 9e6])
        };
        let why = "congestion control (bbr): not here".to_owned();
        let text = text(&[ended], &[LeftOutCase { case: "bbr1-tail1".to_owned(), why }]);
        assert!(text.contains("Not complete: ours1-tail1: no receiver."), "{text}");
        assert!(
            text.contains("**Not measured: `bbr1-tail1`.** congestion control (bbr)"),
            "{text}"
        );
        assert!(text.contains("| 9 | 6 |"), "{text}");
    }
}

//! The runs of groups as a page for people, and as comma-separated values for programs.

use super::{GroupRun, case::GroupCase};
use crate::bench::{
    median,
    rate::{Spread, short},
    roads::page::{PageHead, exits, figure, seconds, table, times, when_and_where},
};

const ALONE: [&str; 11] = [
    "case",
    "to",
    "messages",
    "bytes of each",
    "publisher",
    "seconds",
    "came",
    "messages/s",
    "sent/messages",
    "dropped",
    "exit",
];
const SHARED: [&str; 6] =
    ["case", "publisher", "of the line", "Jain's index", "kbit/s of each", "dropped"];

/// All runs as a page.
pub(super) fn markdown(runs: &[GroupRun], head: &PageHead<'_>) -> String {
    let mut text = format!(
        "# Roads, by groups: real programs, shaped by the kernel\n\n\
         *For network engineers who want to know how messages of a group end on a slow road. Made by \
         `fanfare bench roads --groups`.\n\
         [Throughput](../docs/explanation/throughput.md#roads-with-shapers-bench-roads) says how roads are \
         made and what the columns mean.*\n\n\
         Nothing here is simulated or emulated: programs run in network namespaces of one machine, behind token \
         buckets of its kernel.\n\n\
         {}. `default` is `fanfare pub TOPIC - --lines`, `told` the same with `--rate`.\n\n{}",
        times(head.runs),
        when_and_where(head)
    );
    let cases = grouped(runs).into_iter();
    let (alone, shared) = cases.partition::<Vec<_>, _>(|rows| rows[0].jain.is_none());
    if !alone.is_empty() {
        text += &table(&ALONE, 5, alone.iter().map(|rows| of_one(rows)));
    }
    if !shared.is_empty() {
        text += &table(&SHARED, 2, shared.iter().map(|rows| of_several(rows)));
    }
    text
}

/// Runs of the same case by the same publisher.
type CaseRuns<'a> = Vec<&'a GroupRun>;

fn grouped(runs: &[GroupRun]) -> Vec<CaseRuns<'_>> {
    let mut all: Vec<CaseRuns<'_>> = Vec::new();
    for run in runs {
        let same = |rows: &&mut CaseRuns<'_>| rows[0].case == run.case && rows[0].told == run.told;
        match all.iter_mut().find(same) {
            Some(rows) => rows.push(run),
            None => all.push(vec![run]),
        }
    }
    all
}

fn middle(rows: &[&GroupRun], of: fn(&GroupRun) -> f64) -> f64 {
    median(rows.iter().map(|run| of(run)))
}

fn of_one(rows: &[&GroupRun]) -> Vec<String> {
    let case = rows[0].case;
    let to = match case {
        GroupCase::Alone { subscribers, .. } => subscribers,
        GroupCase::Shared { .. } => 1,
    };
    let times: Vec<f64> = rows.iter().map(|run| run.seconds.unwrap_or(f64::INFINITY)).collect();
    let spread = Spread::of(&times).filter(|spread| spread.median.is_finite());
    let codes: Vec<Option<i32>> = rows.iter().map(|run| run.exit).collect();
    let least = rows.iter().map(|run| run.came).min().unwrap_or(0);
    vec![
        case.to_string(),
        to.to_string(),
        case.messages().to_string(),
        short(case.size()),
        rows[0].who(),
        seconds(spread),
        least.to_string(),
        format!("{:.1}", middle(rows, |run| run.per_second)),
        format!("{:.3}", middle(rows, |run| run.sent_per_message.unwrap_or(0.0))),
        format!("{:.0}", middle(rows, |run| run.dropped as f64)),
        exits(&codes),
    ]
}

fn of_several(rows: &[&GroupRun]) -> Vec<String> {
    // Of the run whose index is in the middle.
    let index = middle(rows, |run| run.jain.unwrap_or(0.0));
    let near = |run: &&&GroupRun| (run.jain.unwrap_or(0.0) - index).abs();
    let shown = rows.iter().min_by(|one, other| near(one).total_cmp(&near(other)));
    let each: Vec<String> = shown
        .map(|run| run.each_bps.iter().map(|bps| format!("{:.0}", bps / 1e3)).collect())
        .unwrap_or_default();
    let used = middle(rows, |run| {
        run.each_bps.iter().sum::<f64>() / run.case.rate_bps().unwrap_or(1) as f64
    });
    vec![
        rows[0].case.to_string(),
        rows[0].who(),
        figure(Some(used)),
        format!("{index:.3}"),
        each.join(" "),
        format!("{:.0}", middle(rows, |run| run.dropped as f64)),
    ]
}

/// All runs as comma-separated values, one on each line.
pub(super) fn csv(runs: &[GroupRun]) -> String {
    let mut text =
        "case,publisher,seconds,exit,came,published,per_second,sent_per_message,dropped,\
                    jain,each_bps\n"
            .to_owned();
    let figure = |value: Option<f64>| value.map(|value| format!("{value:.4}")).unwrap_or_default();
    for run in runs {
        let each: Vec<String> = run.each_bps.iter().map(|bps| format!("{bps:.0}")).collect();
        let fields = [
            run.case.to_string(),
            run.who(),
            figure(run.seconds),
            run.exit.map(|code| code.to_string()).unwrap_or_default(),
            run.came.to_string(),
            run.published.to_string(),
            format!("{:.1}", run.per_second),
            figure(run.sent_per_message),
            run.dropped.to_string(),
            figure(run.jain),
            each.join(" "),
        ];
        text += &(fields.join(",") + "\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(case: &str, told: Option<u64>, jain: Option<f64>) -> GroupRun {
        GroupRun {
            case: GroupCase::chosen(&[case.to_owned()], &[3]).unwrap()[0],
            told,
            seconds: jain.is_none().then_some(4.0),
            exit: jain.is_none().then_some(0),
            came: 100,
            published: 100,
            per_second: 25.0,
            sent_per_message: Some(1.2),
            dropped: 9,
            each_bps: jain.map(|_| vec![3e6; 3]).unwrap_or_default(),
            jain,
        }
    }

    #[test]
    fn one_publisher_and_several_have_tables_of_their_own() {
        let runs = [
            run("lines-1M", None, None),
            run("lines-1M", Some(900_000), None),
            run("lines-1M", None, None),
            run("share-10M-3", None, Some(0.95)),
        ];
        let text =
            markdown(&runs, &PageHead { runs: 2, jobs: 1, version: "0", note: "", load: "0.1" });
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
        assert_eq!(lines.len(), 3 + 4, "{text}");
        let columns = |line: &str| line.matches('|').count() - 1;
        assert_eq!((columns(lines[2]), columns(lines[6])), (ALONE.len(), SHARED.len()));
        assert!(lines[3].contains("| told 900k | 4.00 |"), "{text}");
        assert!(lines[6].contains("| default | 0.90 | 0.950 | 3000 3000 3000 | 9 |"), "{text}");
        assert!(csv(&runs).lines().all(|line| line.split(',').count() == 11));
    }
}

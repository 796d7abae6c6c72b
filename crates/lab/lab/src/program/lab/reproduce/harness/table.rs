//! The comparison for people and for programs.

use std::fmt::Write as _;

use fanfare_lab::{Company, CompanyRow, Cut, HarnessCell, MedianOf, MessagingSystem, versions};

use super::{faults, published};

/// Positions within 5 s, within 10 s, and all.
const CUTS: [&str; 3] = ["5 s", "10 s", "the end"];
/// Who delivers less than that below ours, in points of a hundred, delivers as much.
const AS_MUCH: f64 = 1.0;

pub(super) fn markdown(company: &Company, cells: &[HarnessCell], rows: &[CompanyRow]) -> String {
    let Company { vehicles, duration, rest, .. } = company;
    let most = cells.iter().map(|cell| cell.shares[0].runs).max().unwrap_or(0);
    let mut text = format!(
        "# harness\n\n{vehicles} vehicles on one radio of 600 kbit/s, real programs in the laboratory: \
         positions of 128 bytes from all to all every 10 s for {} s, then {} s until the end; sensor \
         data of 128 KiB from one to three at 30 s, a document of 512 KiB from one to two at 60 s if \
         that is before the end. Made by `fanfare lab reproduce s002-harness`; every trial is a line of \
         trials.jsonl, with every message and delay, and the order of systems is by chance.\n\n\
         Medians of {most} repetitions at most (`runs`), each with another seed. After ± is half of the interval in which \
         the mean of many more lies with 95 % confidence (Student's t). Seed 002 ran for 20 minutes over \
         a moving company; its latencies (Table 5.4, in ms) stand beside ours. Shares are of all pairs of \
         a position and another vehicle. CPU and memory are of all programs together; `late` is the \
         emulator's own lateness, 99th percentile: where it is much, latencies are upper bounds.\n\n",
        duration.as_secs(),
        rest.as_secs(),
    );
    text += "| radio | system | runs | within 5 s, % | within 10 s, % | at the end, % | mean within 5 s, ms | seed \
             002 | 95 % within 5 s, ms | mean within 10 s, ms | seed 002 | mean of all, ms | seed 002 | \
             sensor, % | documents, % | air, kB | CPU, s | memory, MiB | late, ms |\n|---|---|";
    text += &"--:|".repeat(17);
    text.push('\n');
    cells.iter().for_each(|cell| line(&mut text, cell));
    text += &beside_the_best(cells);
    text += &faults::markdown(cells, rows);
    text += &versions(cells.iter().map(|cell| (&*cell.system, &*cell.version)));
    let shown = |row: &&CompanyRow| cells.iter().any(|cell| faults::is_of(row, cell));
    for row in rows.iter().filter(shown).filter(|row| row.is_broken()) {
        let (system, radio, seed) = (row.system(), row.radio(), row.seed());
        // Writing to a string cannot fail.
        let _ = writeln!(text, "\n{system} on the {radio} radio, seed {seed}: {}.", row.why());
    }
    let _ = writeln!(text, "\n{}", published::LEFT_OUT);
    text
}

fn line(text: &mut String, cell: &HarnessCell) {
    let published = published::of(&cell.system);
    let kilobytes = MedianOf {
        median: cell.bytes.median / 1e3,
        interval: cell.bytes.interval / 1e3,
        ..cell.bytes
    };
    let HarnessCell { shares, means, p95s, long, .. } = cell;
    let fields = [
        shares[0].runs.to_string(),
        shares[0].text(1),
        shares[1].text(1),
        shares[2].text(1),
        means[0].text(0),
        published[0].to_owned(),
        p95s[0].text(0),
        means[1].text(0),
        published[1].to_owned(),
        means[2].text(0),
        published[2].to_owned(),
        long[0].text(0),
        long[1].text(0),
        kilobytes.text(0),
        cell.cpu.text(1),
        cell.memory.text(0),
        cell.late.text(2),
    ];
    let _ = writeln!(text, "| {} | {} | {} |", cell.radio, cell.system, fields.join(" | "));
}

/// What was wanted: at every cut ours delivers as much as the best, and of those that deliver as much
/// nobody's 95th percentile is less.
fn beside_the_best(cells: &[HarnessCell]) -> String {
    let mut text = "\n## Ours beside the best\n\n\
        Wanted: ours delivers at least as much as the best of the others, and its 95th percentile is at \
        most the best of those that deliver within a point of ours.\n\n\
        | radio | until | ours, % | the best other, % | | ours, 95 %, ms | the best other that delivers as \
        much, ms | |\n|---|---|--:|--:|---|--:|--:|---|\n"
        .to_owned();
    for ours in cells.iter().filter(|cell| cell.is_ours()) {
        let others = || cells.iter().filter(|cell| cell.radio == ours.radio && !cell.is_ours());
        for (n, cut) in CUTS.iter().enumerate() {
            let share = |cell: &HarnessCell| cell.shares[n].median;
            let p95 = |cell: &HarnessCell| cell.p95s[n].median;
            let best = others().max_by(|a, b| share(a).total_cmp(&share(b)));
            let Some(best) = best else { continue };
            let as_much = others().filter(|other| share(other) + AS_MUCH >= share(ours));
            let soonest = as_much.min_by(|a, b| p95(a).total_cmp(&p95(b)));
            let delivers = verdict(share(ours) + 0.05 >= share(best));
            let (soon, holds) = match soonest {
                Some(one) => (
                    format!("{:.0} ({})", p95(one), one.system),
                    verdict(p95(ours) <= p95(one) + 0.5),
                ),
                None => ("nobody".to_owned(), verdict(true)),
            };
            let _ = writeln!(
                text,
                "| {} | {cut} | {:.1} | {:.1} ({}) | {delivers} | {:.0} | {soon} | {holds} |",
                ours.radio,
                share(ours),
                share(best),
                best.system,
                p95(ours),
            );
        }
    }
    text
}

fn verdict(holds: bool) -> &'static str {
    if holds { "holds" } else { "**short**" }
}

pub(super) fn csv(rows: &[CompanyRow]) -> String {
    let cuts = ["5s", "10s", "all"];
    let columns = cuts.map(|cut| format!("share_{cut},mean_ms_{cut},p95_ms_{cut}")).join(",");
    let mut text = format!(
        "radio,system,version,seed,{columns},sensor,documents,bytes,cpu_s,memory,late_ms,ours,parted,meanwhile,first_s,\
         caught_up_s,why\n"
    );
    for row in rows {
        let cuts = row
            .cuts()
            .map(|Cut { share, mean_ms, p95_ms }| format!("{share:.3},{mean_ms:.1},{p95_ms:.1}"));
        let long =
            row.long().map(|share| share.map_or(String::new(), |share| format!("{share:.1}")));
        let is_ours = row.system() == MessagingSystem::Fanfare.name();
        let after = faults::Aftermath::of(row).unwrap_or_default();
        let after = [after.parted, after.all, after.first, after.caught_up];
        let after = after.map(|one| one.map_or(String::new(), |one| format!("{one:.3}")));
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{},{},{:?},{},{},{},{},{:.2},{},{:.3},{is_ours},{},{:?}",
            row.radio(),
            row.system(),
            row.version(),
            row.seed(),
            cuts.join(","),
            long.join(","),
            row.bytes(),
            row.cpu(),
            row.memory(),
            row.late_ms(),
            after.join(","),
            row.why()
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::tests::{cell, row};
    use super::*;

    #[test]
    fn ours_is_short_where_another_delivers_more_or_as_much_in_less_time() {
        let mut sooner = cell("fixed", "nats", 99.5);
        sooner.p95s[2].median = 299.0;
        let cells = [cell("fixed", "fanfare", 99.0), sooner, cell("fixed", "zenoh", 50.0)];
        let text = beside_the_best(&cells);
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("| fixed")).collect();
        assert_eq!(
            lines,
            [
                "| fixed | 5 s | 99.0 | 99.5 (nats) | **short** | 300 | 300 (nats) | holds |",
                "| fixed | 10 s | 99.0 | 99.5 (nats) | **short** | 300 | 300 (nats) | holds |",
                "| fixed | the end | 99.0 | 99.5 (nats) | **short** | 300 | 299 (nats) | **short** |",
            ]
        );
        let rows = [row("fixed", "nats", 60, &[]), row("late", "fanfare", 180, &[])];
        let table = csv(&rows);
        let fields = table.lines().map(|line| line.split(',').count()).collect::<Vec<_>>();
        assert_eq!(fields, [fields[0]; 3], "{table}");
    }
}

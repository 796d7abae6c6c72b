//! All runs as tables.

use fanfare_sim::Sorted;
use std::fmt::Write as _;

use super::LinkRun;

/// Latencies of all runs, in Markdown.
#[must_use]
pub fn link_table(runs: &[LinkRun]) -> String {
    let mut text =
        "| loss | beside it | class | median, ms | p95 | longest | came | first message, s | warm |\n\
                    |---|---|---|---|---|---|---|---|---|\n"
            .to_owned();
    let cells = cells(runs);
    for cell in &cells {
        let took = gathered(runs, cell, |run| &run.took_ms);
        let sent: u32 = of(runs, cell).map(|run| run.sent).sum();
        let first = |first: fn(&LinkRun) -> Option<f64>| {
            let firsts: Sorted = of(runs, cell).filter_map(first).collect();
            firsts.median().map_or("-".to_owned(), |first| format!("{first:.2}"))
        };
        let _ = writeln!(
            text,
            "| {} % | {} | {} | {} | {} of {sent} | {} | {} |",
            cell.0,
            shown(cell.1),
            cell.2,
            figures(&took),
            took.len(),
            first(|run| run.first_s),
            first(|run| run.warm_s)
        );
    }
    text.push_str(
        "\nA request of 256 bytes and its answer of 2,048, over links that are there:\n\n\
         | loss | beside it | class | median, ms | p95 | longest | answered |\n\
         |---|---|---|---|---|---|---|\n",
    );
    for cell in cells.iter().filter(|cell| cell.2.starts_with('r')) {
        let answered = gathered(runs, cell, |run| &run.answered_ms);
        let without: u32 = of(runs, cell).map(|run| run.unanswered).sum();
        let _ = writeln!(
            text,
            "| {} % | {} | {} | {} | {} of {} |",
            cell.0,
            shown(cell.1),
            cell.2,
            figures(&answered),
            answered.len(),
            answered.len() + without as usize
        );
    }
    text
}

type Cell<'a> = (f64, &'a str, &'static str);

fn shown(beside: &str) -> &str {
    if beside.is_empty() { "nothing" } else { beside }
}

fn cells(runs: &[LinkRun]) -> Vec<Cell<'_>> {
    let mut cells: Vec<Cell<'_>> = Vec::new();
    for run in runs {
        let cell = (run.loss, run.beside.as_str(), run.class);
        if !cells.contains(&cell) {
            cells.push(cell);
        }
    }
    cells.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(b.1)));
    cells
}

fn of<'a>(runs: &'a [LinkRun], cell: &Cell<'a>) -> impl Iterator<Item = &'a LinkRun> {
    let (loss, beside, class) = *cell;
    runs.iter()
        .filter(move |run| (run.loss, run.beside.as_str(), run.class) == (loss, beside, class))
}

/// Of all runs, in order.
fn gathered(runs: &[LinkRun], cell: &Cell<'_>, figures: fn(&LinkRun) -> &[f64]) -> Sorted {
    of(runs, cell).flat_map(figures).copied().collect()
}

/// Median, 95th percentile and longest.
fn figures(sorted: &Sorted) -> String {
    let figure = |figure: Option<f64>| figure.map_or("-".to_owned(), |ms| format!("{ms:.0}"));
    [sorted.median(), sorted.percentile(95), sorted.last().copied()].map(figure).join(" | ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_all_runs_are_gathered_and_those_that_did_not_come_are_counted() {
        let run = |seed, took_ms: Vec<f64>| LinkRun {
            class: "ru",
            loss: 10.0,
            seed,
            first_s: Some(0.5 + seed as f64),
            warm_s: Some(0.25 * seed as f64),
            sent: 11,
            took_ms,
            answered_ms: vec![500.0, 1500.0],
            unanswered: 1,
            ..LinkRun::default()
        };
        let text = link_table(&[
            run(1, vec![250.0; 10]),
            run(2, (0..10).map(|n| f64::from(n) + 260.0).collect()),
        ]);
        assert!(
            text.contains("| 10 % | nothing | ru | 255 | 268 | 269 | 20 of 22 | 2.00 | 0.38 |"),
            "{text}"
        );
        assert!(text.contains("| 10 % | nothing | ru | 1000 | 1500 | 1500 | 4 of 6 |"), "{text}");
    }
}

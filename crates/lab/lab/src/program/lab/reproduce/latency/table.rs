//! The figures of all runs, for people and for programs.

use std::fmt::Write as _;

use fanfare_lab::MedianOf;
use fanfare_sim::Sorted;

use super::{
    figures::Figures,
    plan::{LOADS, NAME, name, on_the_line},
};

/// One run.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    /// bit/s.
    pub(super) load: u32,
    pub(super) seed: u32,
    pub(super) steps: usize,
    /// The emulator was late.
    pub(super) void: bool,
    /// In the order of `ESTIMATES`.
    pub(super) estimates: [Figures; 4],
}

impl Row {
    pub(super) fn line(&self) -> String {
        let of = |figures: &Figures| {
            let Figures { rest_off_line, tail, .. } = figures;
            format!("{:.1} ms off, tails of {tail:.1} s", rest_off_line * 1e3)
        };
        let void = if self.void { " (void: the emulator was late)" } else { "" };
        let [ping, tcp] = [of(&self.estimates[0]), of(&self.estimates[2])];
        format!("{} kbit/s #{}: pings {ping}; TCP {tcp}{void}", name(self.load), self.seed)
    }
}

/// The round trip that a sensor tells, and the least lately, by what.
const ESTIMATES: [&str; 4] = ["ICMP, now", "ICMP, least", "TCP, now", "TCP, least"];
/// The paper's (6.7): errors with tails and without, ms, and tails, s; by load.
const PAPER: [[(f64, f64, f64); 3]; 2] = [
    [(124.4, 29.0, 4.0), (178.6, 32.8, 4.0), (116.5, 38.2, 3.0)],
    [(100.7, 69.7, 2.0), (118.0, 60.5, 2.0), (97.8, 61.0, 2.0)],
];

/// A figure: what it is called, its factor, and how it is taken.
type Column = (&'static str, f64, fn(&Figures) -> f64);
const COLUMNS: [Column; 10] = [
    ("error_ms", 1e3, |f| f.all),
    ("error_no_tails_ms", 1e3, |f| f.rest),
    ("error_off_line_ms", 1e3, |f| f.all_off_line),
    ("error_off_line_no_tails_ms", 1e3, |f| f.rest_off_line),
    ("path_error_no_tails_ms", 1e3, |f| f.path),
    ("path_agrees_percent", 1e2, |f| f.agree),
    ("tail_s", 1.0, |f| f.tail),
    ("tail_most_s", 1.0, |f| f.tail_most),
    ("tail_after_first_answer_s", 1.0, |f| f.after),
    ("answers_until_told", 1.0, |f| f.answers),
];

pub(super) fn markdown(rows: &[Row]) -> String {
    let [ping, tcp] = on_the_line().map(|time| time * 1e3);
    let counted: Vec<&Row> = rows.iter().filter(|row| !row.void).collect();
    let void = rows.len() - counted.len();
    let steps: usize = counted.iter().map(|row| row.steps).sum();
    let mut text = format!(
        "# Round trips that change, as a sensor tells them\n\n*For people who want to know how far a \
         round trip on the page can be trusted, and how soon it follows.\nMade by `fanfare lab \
         reproduce {NAME}`.*\n\n\
         Three hosts share a line of 256 kbit/s. The latency of its round trip jumps every ten seconds, by \
         50 ms\nat least, between 50 ms and 1 s. One host pings the second once a second, and sends full \
         TCP segments\nto the third at an even pace, which are the load. `fanfare sensor` on the first host \
         only looks.\n\n\
         - **error**: mean distance of what was told from the configured latency.\n\
         - **off the line**: the same, after the packets' own time on the line is taken off: {ping:.1} ms \
         for a\n  ping and its answer, {tcp:.1} ms for a segment and its acknowledgement.\n\
         - **now**: the median of the last second; **least**: the least of 30 s, or since a step was seen.\n\
         - **path**: mean distance from what the path took those packets, by the emulator; and the share \
         that\n  agrees within 1 ms or 5 %.\n\
         - **tail**: how long the sensor still tells the old latency after a step. A tail ends when what it \
         tells is\n  at most a quarter of the step away from the new latency, or 10 ms. Figures without tails \
         begin there.\n\
         - **after**: the same from the first answer that had the new latency; and answers until then.\n\n\
         Medians of runs; after ± half of the interval in which the mean of many more runs lies with 95 %\n\
         confidence. {} runs, {steps} steps; {void} runs more were void, because the emulator was late. \
         Reports came\nevery 200 ms. Every run is in {NAME}.csv.\n\n\
         | | load, kbit/s | error, ms: paper | ours | without tails: paper | ours | off the line | path | agree, \
         % | tail, s: paper | ours | longest | after, s | answers |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
        counted.len()
    );
    for (number, name_of) in ESTIMATES.iter().enumerate() {
        for (place, load) in LOADS.iter().enumerate() {
            let same: Vec<&&Row> = counted.iter().filter(|row| row.load == *load).collect();
            if same.is_empty() {
                continue;
            }
            let column = |column: usize, digits| {
                let (_, factor, take) = COLUMNS[column];
                let values = same.iter().map(|row| take(&row.estimates[number]) * factor);
                let values: Sorted = values.filter(|value| !value.is_nan()).collect();
                MedianOf::of(&values).text(digits)
            };
            let (all, rest, tail) = match number % 2 {
                0 => paper(PAPER[number / 2][place]),
                _ => Default::default(),
            };
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "| {name_of} | {} | {all} | {} | {rest} | {} | {} | {} | {} | {tail} | {} | {} | {} | {} |",
                name(*load),
                column(0, 1),
                column(1, 1),
                column(3, 1),
                column(4, 1),
                column(5, 0),
                column(6, 1),
                column(7, 1),
                column(8, 2),
                column(9, 1),
            );
        }
    }
    text
}

/// As a table has it.
fn paper((all, rest, tail): (f64, f64, f64)) -> (String, String, String) {
    (all.to_string(), rest.to_string(), tail.to_string())
}

pub(super) fn csv(rows: &[Row]) -> String {
    let mut text = "load_kbps,seed,void,estimate,figure,value\n".to_owned();
    for row in rows {
        for (estimate, figures) in ESTIMATES.iter().zip(&row.estimates) {
            for (figure, factor, take) in COLUMNS {
                let (load, value) = (name(row.load), take(figures) * factor);
                let _ = writeln!(
                    text,
                    "{load},{},{},{estimate:?},{figure},{value:.3}",
                    row.seed, row.void
                );
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(seed: u32, void: bool, error: f64) -> Row {
        let figures = Figures {
            all: error,
            rest: error,
            all_off_line: error,
            rest_off_line: error,
            path: error,
            agree: 1.0,
            tail: 1.5,
            tail_most: 2.0,
            after: 0.5,
            answers: 2.0,
        };
        Row { load: LOADS[1], seed, steps: 4, void, estimates: [figures; 4] }
    }

    #[test]
    fn the_papers_figures_stand_beside_ours_and_void_runs_do_not_count() {
        let rows = [row(0, false, 0.004), row(1, true, 0.9)];
        let text = markdown(&rows);
        let expected = "| ICMP, now | 128 | 178.6 | 4.0 | 32.8 | 4.0 | 4.0 | 4.0 | 100 | 4 | 1.5 | 2.0 | 0.50 | 2.0 |";
        assert!(text.contains(expected), "{text}");
        assert!(text.contains("1 runs, 4 steps; 1 runs more were void"), "{text}");
        assert!(!text.contains("| 25.6 |"), "{text}");
        assert_eq!(csv(&rows).lines().count(), 1 + 2 * 4 * 10);
        assert!(rows[1].line().contains("void"));
    }
}

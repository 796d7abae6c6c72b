//! The figures of all runs, for people and for programs.

use std::fmt::Write as _;

use fanfare_lab::MedianOf;
use fanfare_sim::Sorted;

use super::{
    case::{CASES, Case, NAME},
    figures::FIGURES,
};

/// One run.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) case: &'static Case,
    pub(super) repetition: u32,
    /// The emulator was late.
    pub(super) void: bool,
    /// In the order of their names.
    pub(super) figures: Vec<f64>,
}

impl Row {
    pub(super) fn line(&self) -> String {
        let void = if self.void { " (void: the emulator was late)" } else { "" };
        format!("{} #{}: {:.2?}{void}", self.case.name, self.repetition, self.figures)
    }
}

pub(super) fn markdown(rows: &[Row]) -> String {
    let counted: Vec<&Row> = rows.iter().filter(|row| !row.void).collect();
    let mut text = format!(
        "# A sender that a monitor advises\n\n*For people who ask what `--adapt obey` is good for. Made by \
         `fanfare lab reproduce {NAME}`.*\n\n\
         A line of 1 Mbit/s falls to 128 kbit/s after 20 s, and comes back after 30 s (seed 002, 6.8). \
         `fanfare send`\nsends a file over it; control traffic of 300 bytes a second goes by TCP beside it. A \
         queue of 16 kB is a second of\nthe narrow line. The modem tells the monitor the line's rate and use four \
         times a second. The paper: by hand\nno latency rises; by its monitor spikes are very high, and over in \
         seconds.\n\nWanted of `act`: action within 2 s (95 %), spikes of 1 s at most that are over within 3 s, \
         and no oscillation in\nten minutes.\n\n"
    );
    let named = |case: &&Case| counted.iter().any(|row| row.case.name == case.name);
    let cases: Vec<&Case> = CASES.iter().filter(named).collect();
    for case in &cases {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "- `{}`: {}.", case.name, case.about);
    }
    let _ = writeln!(
        text,
        "\nMedians of runs; after ± half of the interval in which the mean of many more lies with 95 % confidence; \
         in\nparentheses the greatest. {} runs were void. Every run is in {NAME}.csv.\n",
        rows.len() - counted.len()
    );
    let names: Vec<String> = cases
        .iter()
        .map(|case| {
            let runs = counted.iter().filter(|row| row.case.name == case.name).count();
            format!("{} ({runs} runs)", case.name)
        })
        .collect();
    let _ = writeln!(text, "| | {} |\n|---|{}", names.join(" | "), "--:|".repeat(names.len()));
    for (place, name) in FIGURES.iter().enumerate() {
        let _ = write!(text, "| {name} |");
        for case in &cases {
            let of = counted.iter().filter(|row| row.case.name == case.name);
            let values: Sorted = of
                .filter_map(|row| row.figures.get(place).copied())
                .filter(|value| !value.is_nan())
                .collect();
            let digits = if name.ends_with(", s") { 2 } else { 0 };
            let most = values.last().filter(|_| values.len() > 1);
            let most = most.map(|most| format!(" ({most:.digits$})")).unwrap_or_default();
            let _ = write!(text, " {}{most} |", MedianOf::of(&values).text(digits));
        }
        text.push('\n');
    }
    text
}

pub(super) fn csv(rows: &[Row]) -> String {
    let mut text = "case,repetition,void,figure,value\n".to_owned();
    for Row { case, repetition, void, figures } in rows {
        for (name, value) in FIGURES.iter().zip(figures) {
            let _ = writeln!(text, "{},{repetition},{void},{name:?},{value:.3}", case.name);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_is_a_column_and_void_runs_do_not_count() {
        let row = |repetition, void, action| {
            let mut figures = vec![action; FIGURES.len()];
            figures[8] = f64::NAN;
            Row { case: &CASES[3], repetition, void, figures }
        };
        let rows = [row(0, false, 1.0), row(1, false, 2.0), row(2, true, 90.0)];
        let text = markdown(&rows);
        assert!(text.contains("| | act (2 runs) |\n|---|--:|\n"), "{text}");
        assert!(text.contains("| action after the fall, s | 1.50 ± 6.35 (2.00) |"), "{text}");
        assert!(text.contains("| free again after the line is back, s |  |"), "{text}");
        assert!(text.contains("1 runs were void"), "{text}");
        assert_eq!(csv(&rows).lines().count(), 1 + 3 * FIGURES.len());
    }
}

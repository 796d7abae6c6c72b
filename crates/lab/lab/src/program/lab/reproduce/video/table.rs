//! The figures of video, for people and for programs.

use fanfare_lab::MedianOf;
use fanfare_sim::Sorted;
use std::fmt::Write as _;

use super::course::{Case, NAME};

/// One run: its figures in the order of the case's.
pub(super) struct RunLine {
    pub(super) case: &'static Case,
    pub(super) seed: u64,
    pub(super) figures: Vec<f64>,
}

impl RunLine {
    pub(super) fn line(&self) -> String {
        format!("{} seed {}: {:.3?}", self.case.name, self.seed, self.figures)
    }
}

/// Runs of one case stand together.
pub(super) fn markdown(runs: &[RunLine]) -> String {
    let mut text = format!(
        "# {NAME}\n\nVideo to a group by real programs in the laboratory: `fanfare video send` and `serve`, \
         ffmpeg's test picture, segments of a second. Medians; after ± half of the interval in which the \
         mean of many more runs lies with 95 % confidence (Student's t). Made by `fanfare lab reproduce \
         {NAME}`; every run is in {NAME}.csv.\n"
    );
    for runs in runs.chunk_by(|one, next| one.case.name == next.case.name) {
        let Some(RunLine { case, .. }) = runs.first() else { continue };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "\n## {}\n\n{} {} runs.\n", case.name, case.about, runs.len());
        text += "| | median ± interval | least | most |\n|---|--:|--:|--:|\n";
        for (place, name) in case.figures.iter().enumerate() {
            let values = runs.iter().filter_map(|run| run.figures.get(place).copied());
            let values: Sorted = values.filter(|value| !value.is_nan()).collect();
            let missing = match runs.len() - values.len() {
                0 => String::new(),
                count => format!(" (not in {count} of {})", runs.len()),
            };
            let digits = if name.ends_with("ms") { 0 } else { 2 };
            let end =
                |value: Option<&f64>| value.map(|v| format!("{v:.digits$}")).unwrap_or_default();
            let (least, most) = (end(values.first()), end(values.last()));
            let median = MedianOf::of(&values).text(digits);
            let _ = writeln!(text, "| {name} | {median}{missing} | {least} | {most} |");
        }
    }
    text
}

pub(super) fn csv(runs: &[RunLine]) -> String {
    let mut text = "case,seed,figure,value\n".to_owned();
    for RunLine { case, seed, figures } in runs {
        for (name, value) in case.figures.iter().zip(figures) {
            let _ = writeln!(text, "{},{seed},{name:?},{value:.3}", case.name);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_that_a_run_lacks_is_said_and_not_counted() {
        static CASE: Case = Case {
            name: "case",
            about: "Something.",
            figures: &["time, s", "file, s", "all, s"],
            run: |_, _| Ok(Vec::new()),
        };
        let run = |t| RunLine { case: &CASE, seed: 1, figures: vec![t, f64::NAN, t / 2.0] };
        let runs = [1.0, 2.0, 3.0].map(run);
        let text = markdown(&runs);
        assert!(text.contains("| 2.00 ± 2.48 | 1.00 | 3.00 |"), "{text}");
        assert!(text.contains("file, s |  (not in 3 of 3) |  |  |"), "{text}");
        assert_eq!(csv(&runs).lines().count(), 10);
    }
}

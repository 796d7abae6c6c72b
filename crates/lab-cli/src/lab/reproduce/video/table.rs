//! The figures of video, for people and for programs.

use fanfare_sim::Sorted;
use std::{fmt::Write as _, fs, io, path::Path};

use fanfare_lab::MedianOf;

use super::course::{Case, NAME};

/// One run: its figures in the order of the case's.
pub(super) struct RunLine {
    pub(super) seed: u64,
    pub(super) figures: Vec<f64>,
}

/// All runs of a case.
pub(super) struct Measured {
    pub(super) case: &'static Case,
    pub(super) runs: Vec<RunLine>,
}

/// Writes s002-video.md and the runs behind it.
pub(super) fn write(out: &Path, measured: &[Measured]) -> io::Result<()> {
    fs::create_dir_all(out)?;
    fs::write(out.join(format!("{NAME}.md")), markdown(measured))?;
    fs::write(out.join(format!("{NAME}.runs.csv")), csv(measured))
}

fn markdown(measured: &[Measured]) -> String {
    let mut text = format!(
        "# {NAME}\n\nVideo to a group by real programs in the laboratory: `fanfare video send` and `serve`, \
         ffmpeg's test picture, segments of a second. Medians; after ± half of the interval in which the \
         mean of many more runs lies with 95 % confidence (Student's t). Made by `fanfare lab reproduce \
         {NAME}`; every run is in {NAME}.runs.csv.\n"
    );
    for Measured { case, runs } in measured {
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

fn csv(measured: &[Measured]) -> String {
    let mut text = "case,seed,figure,value\n".to_owned();
    for Measured { case, runs } in measured {
        for RunLine { seed, figures } in runs {
            for (name, value) in case.figures.iter().zip(figures) {
                let _ = writeln!(text, "{},{seed},{name:?},{value:.3}", case.name);
            }
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
        let case = &CASE;
        let runs =
            [1.0, 2.0, 3.0].map(|t| RunLine { seed: 1, figures: vec![t, f64::NAN, t / 2.0] });
        let measured = [Measured { case, runs: runs.into() }];
        let text = markdown(&measured);
        assert!(text.contains("| 2.00 ± 2.48 | 1.00 | 3.00 |"), "{text}");
        assert!(text.contains("file, s |  (not in 3 of 3) |  |  |"), "{text}");
        assert_eq!(csv(&measured).lines().count(), 10);
    }
}

//! The table of an experiment as Markdown.

use std::fmt::Write;

use super::{factors::Cell, results::Results, verdicts::Verdict};

impl Results<'_> {
    /// What it is, the table, and what was expected. `picture` is the plot's file.
    #[must_use]
    pub fn to_markdown(&self, picture: Option<&str>) -> String {
        let experiment = self.experiment;
        let mut text = format!("# {}\n\n{}\n", experiment.name, experiment.about);
        if !experiment.source.is_empty() {
            let _ = write!(text, "\nBeside: {}\n", experiment.source);
        }
        let _ = write!(
            text,
            "\nScenario `{}`; ± is half the 95 % confidence interval of {} runs. Made by `fanfare sim \
             table`; all numbers are in `{name}.csv`, those of each run in `{name}.runs.csv`.\n",
            experiment.scenario,
            self.runs(),
            name = experiment.name,
        );
        if let Some(picture) = picture {
            let _ = write!(text, "\n![{}]({picture})\n", experiment.about);
        }
        let _ = write!(text, "\n{}", self.expected());
        text + &self.rows()
    }

    fn runs(&self) -> String {
        let all = self.cells().iter().flat_map(|cell| {
            (0..self.experiment.figures.len()).filter_map(|n| Some(self.summary(cell, n)?.runs))
        });
        let (least, most) = all.fold((usize::MAX, 0), |(a, b), runs| (a.min(runs), b.max(runs)));
        if least < most { format!("{least} to {most}") } else { most.to_string() }
    }

    fn expected(&self) -> String {
        let verdicts = self.verdicts();
        if verdicts.is_empty() {
            return String::new();
        }
        let mut text = String::from("Expected:\n\n");
        for verdict in verdicts {
            let _ = writeln!(text, "- {verdict}");
        }
        text + "\n"
    }

    /// Figures and references that some cell has, as columns.
    fn columns(&self) -> Vec<(usize, Option<&str>)> {
        let mut columns = Vec::new();
        for figure in 0..self.experiment.figures.len() {
            columns.push((figure, None));
            for name in self.reference_names() {
                if self.cells().iter().any(|cell| self.named(cell, figure, name).is_some()) {
                    columns.push((figure, Some(name)));
                }
            }
        }
        columns
    }

    fn rows(&self) -> String {
        let columns = self.columns();
        let mut heading: Vec<String> =
            self.experiment.factors.iter().map(|factor| factor.name.clone()).collect();
        let factors = heading.len();
        for (figure, reference) in &columns {
            match reference {
                None => heading.push(self.experiment.figures[*figure].title()),
                Some(name) => heading.extend([(*name).to_owned(), format!("of {name}")]),
            }
        }
        let rule = |n| if n < factors { "---" } else { "--:" };
        let rules: Vec<&str> = (0..heading.len()).map(rule).collect();
        let mut text = format!("| {} |\n|{}|\n", heading.join(" | "), rules.join("|"));
        for cell in self.cells() {
            let _ = writeln!(text, "| {} |", self.row(cell, &columns).join(" | "));
        }
        text
    }

    fn row(&self, cell: &Cell, columns: &[(usize, Option<&str>)]) -> Vec<String> {
        let labels = self.experiment.labels(cell).into_iter();
        let mut row: Vec<String> = labels.map(str::to_owned).collect();
        for (number, reference) in columns {
            let figure = &self.experiment.figures[*number];
            let Some(summary) = self.summary(cell, *number) else {
                row.extend(vec![String::new(); 1 + usize::from(reference.is_some())]);
                continue;
            };
            match reference.map(|name| self.named(cell, *number, name)) {
                None => {
                    let (mean, ci95) = (figure.shown(summary.mean), figure.shown(summary.ci95));
                    row.push(format!("{mean} ± {ci95}"));
                }
                Some(Some(beside)) => {
                    row.extend([short(beside, figure.digits), ratio(summary.mean, beside)]);
                }
                Some(None) => row.extend([String::new(), String::new()]),
            }
        }
        row
    }
}

fn ratio(mean: f64, beside: f64) -> String {
    let ratio = mean / beside;
    if ratio.is_finite() { format!("{ratio:.3}") } else { String::from("-") }
}

/// As many decimals as the figure has, without zeros that say nothing.
fn short(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

impl core::fmt::Display for Verdict {
    /// A sentence, whether it is so, and where it is not.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self { that, held, missed } = self;
        let all = held + missed.len();
        match (all, missed.len()) {
            (0, _) => write!(f, "**{that}**: of no cell"),
            (_, 0) => write!(f, "{that}: so in all {all}"),
            _ => {
                write!(f, "**{that}**: not so in {} of {all}:", missed.len())?;
                let shown = |(labels, value): &(String, f64)| format!(" {labels} ({value:.3})");
                write!(f, "{}", missed.iter().map(shown).collect::<Vec<_>>().join(";"))
            }
        }
    }
}

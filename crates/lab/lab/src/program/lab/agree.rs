//! `fanfare lab agree`: whether two campaigns say the same.

use std::path::PathBuf;

use clap::Args;
use fanfare_lab::{Agreement, AgreementRow, Figure};
use fanfare_sim::Table;
use serde::Serialize;

use fanfare_command::{Exit, Failure, Help, Output, OutputArgs};

use crate::ending::give_up;

const HELP: Help = Help::new(&[
    ("fanfare lab agree results/s000 results/s000-again", "two days"),
    ("fanfare lab agree a b --json", "for programs"),
])
.files(&[("DIR", "records of 'fanfare lab reproduce --out DIR'")]);

/// Compare two measurements, and say whether they agree within their spread
///
/// Compares time and bytes of each system, cell by cell, for the newest version that both measured.
/// Fails if more cells differ than chance explains.
#[derive(Debug, Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
pub(super) struct AgreeArgs {
    /// Output directory of one 'fanfare lab reproduce'
    first: PathBuf,
    /// Output directory of the other
    second: PathBuf,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Serialize)]
struct RowLine<'a> {
    event: &'static str,
    #[serde(flatten)]
    row: &'a AgreementRow,
    agrees: bool,
}

#[derive(Serialize)]
struct EndLine<'a> {
    event: &'static str,
    rows: usize,
    apart: usize,
    agree: bool,
    versions_differ: &'a [String],
}

pub(super) fn run(args: &AgreeArgs) -> Exit {
    let output = Output::new(args.output);
    let agreement = match Agreement::of(&args.first, &args.second) {
        Ok(agreement) => agreement,
        Err(error) => return give_up(&output, &error),
    };
    for what in &agreement.versions_differ {
        output.warn("lab.versions_differ", format!("{what}: other versions are not compared"));
    }
    show(&agreement, &output);
    if agreement.holds() {
        return Exit::Done;
    }
    let text = format!(
        "campaigns ({}, {}): {} of {} rows differ by more than chance explains. Look for what was \
         different: machine, load, settings",
        args.first.display(),
        args.second.display(),
        agreement.apart(),
        agreement.rows.len()
    );
    fanfare_command::give_up(&output, &Failure::new(Exit::Failed, "lab.campaigns_differ", text))
}

fn show(agreement: &Agreement, output: &Output) {
    let mut table = Table::new(&[
        "experiment",
        "cell",
        "system",
        "of",
        "first",
        "second",
        "trials",
        "differs, %",
        "chance, %",
        "",
    ]);
    for row in &agreement.rows {
        output.json(&RowLine { event: "row", row, agrees: row.agrees() });
        let digits = |value: f64| match row.figure {
            Figure::Time => format!("{value:.3}"),
            Figure::Bytes => format!("{value:.0}"),
        };
        let name = match row.figure {
            Figure::Time => "time over bound",
            Figure::Bytes => "bytes",
        };
        let verdict = if row.agrees() { "" } else { "apart" };
        table.row([
            row.experiment.clone(),
            row.cell.clone(),
            row.system.clone(),
            name.to_owned(),
            digits(row.means[0]),
            digits(row.means[1]),
            format!("{} {}", row.trials[0], row.trials[1]),
            format!("{:+.2}", row.difference * 100.0),
            format!("{:.2}", row.allowed * 100.0),
            verdict.to_owned(),
        ]);
    }
    output.data(&table.to_string());
    let (apart, rows) = (agreement.apart(), agreement.rows.len());
    let end = EndLine {
        event: "end",
        rows,
        apart,
        agree: agreement.holds(),
        versions_differ: &agreement.versions_differ,
    };
    output.json(&end);
    output.data(&format!(
        "{} of {rows} rows agree; chance alone sets one in twenty apart",
        rows - apart
    ));
}

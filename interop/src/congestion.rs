//! NORM-CC compared with NRL's over a real, narrow line: how much of it each fills, in each
//! direction.
//!
//! A token bucket in the bridge's namespace makes the line; it is the only queue. A run is measured
//! from the sender's start to the last byte, so that a slow start counts, too.

use std::fmt::Write as _;

use crate::cell::{
    Cell, Conditions, LINE_QUEUE_MS, NRL_TO_NRL, NRL_TO_OURS, OURS_TO_NRL, OURS_TO_OURS,
};
use crate::report::Head;
use crate::run::{self, Options, Outcome, Peers};
use crate::tool::ToolError;

const NORM_CC: &str = "norm-cc";
/// A file that takes CCE about a second without marks, and how many messages are marked otherwise.
const MARKED_BYTES: u64 = 30_000_000;
const MARKED_PERCENT: u32 = 5;

/// What is measured.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Bytes of the file.
    pub size: u64,
    /// The line's rate in kbit/s, all headers counted.
    pub kbps: u64,
    /// Runs of each direction.
    pub runs: u32,
    /// Only cells whose name contains this.
    pub filter: String,
}

/// One run.
#[derive(Clone, Debug)]
pub struct Line {
    /// What ran.
    pub cell: Cell,
    /// What it gave.
    pub outcome: Outcome,
}

impl Line {
    /// File bytes by time, in kbit/s.
    pub fn goodput_kbps(&self) -> f64 {
        self.cell.conditions.bytes() as f64 * 8e-3 / self.outcome.seconds
    }
}

impl Plan {
    /// Our own on both ends with marks and without, on a line far wider than its rate.
    fn marked(&self, percent: u32) -> Cell {
        let name = if percent == 0 { "ecn" } else { "ecn-marked" };
        let conditions =
            Conditions::new(name).size(MARKED_BYTES).mbps(400).limit(60).marked(percent);
        Cell { conditions, direction: OURS_TO_OURS, quick: false }
    }

    fn cell(&self, direction: crate::cell::Direction) -> Cell {
        // At a tenth of the line it must still end.
        let seconds = self.size * 8 / self.kbps / 100 + 30;
        let conditions =
            Conditions::new(NORM_CC).size(self.size).line_kbps(self.kbps).limit(seconds);
        Cell { conditions, direction, quick: false }
    }
}

/// Runs the plan one cell after the other, directions in turn; calls `said` with each line.
///
/// # Errors
/// As [`run::run`].
pub fn measure(plan: &Plan, peers: &Peers, said: impl Fn(&Line)) -> Result<Vec<Line>, ToolError> {
    let mut lines = Vec::new();
    for _ in 0..plan.runs {
        let directions = [NRL_TO_NRL, OURS_TO_NRL, NRL_TO_OURS, OURS_TO_OURS];
        let marked = [plan.marked(0), plan.marked(MARKED_PERCENT)];
        let cells = directions.map(|direction| plan.cell(direction)).into_iter().chain(marked);
        for cell in cells.filter(|cell| cell.name().contains(&plan.filter)) {
            let outcome = run::run(&cell, peers, &Options::default())?;
            let line = Line { cell, outcome };
            said(&line);
            lines.push(line);
        }
    }
    Ok(lines)
}

/// One line as text, used on the terminal and in the page.
pub fn row(line: &Line) -> String {
    let Line { cell, outcome } = line;
    format!(
        "| {} | {} | {:.1} | {:.0} | {:.3} | {} |",
        cell.conditions.name,
        cell.direction,
        outcome.seconds,
        line.goodput_kbps(),
        outcome.sent.payload_bytes() as f64 / cell.conditions.bytes() as f64,
        outcome.failure.as_deref().unwrap_or("complete"),
    )
}

/// Whether both mixed directions and ours did at least as well as NRL's with itself, and whether
/// marks slow CCE down: by medians.
pub fn holds(lines: &[Line]) -> bool {
    let median = |name, direction| {
        let mut rates: Vec<f64> = lines
            .iter()
            .filter(|line| line.cell.direction == direction && line.cell.conditions.name == name)
            .filter(|line| line.outcome.failure.is_none())
            .map(Line::goodput_kbps)
            .collect();
        rates.sort_by(f64::total_cmp);
        rates.get(rates.len() / 2).copied().unwrap_or(0.0)
    };
    let control = median(NORM_CC, NRL_TO_NRL);
    let marks_count = median("ecn-marked", OURS_TO_OURS) < median("ecn", OURS_TO_OURS);
    [OURS_TO_NRL, NRL_TO_OURS, OURS_TO_OURS].into_iter().all(|d| median(NORM_CC, d) >= control)
        && marks_count
}

/// The whole page.
pub fn page(head: &Head, plan: &Plan, lines: &[Line]) -> String {
    let mut out = String::new();
    let _ = write!(
        out,
        "# NORM-CC over a narrow line\n\n\
         Does each program find the rate of a line that it does not know? Made by\n\
         `{}` on {}; peer: Debian `libnorm1` {}.\n\n\
         {:.1} MB through a {} kbit/s token bucket with {} ms of queue, namespaces, no loss but the\n\
         queue's, NORM-CC on (`--cc norm`; libnorm's congestion control), first round trip guessed\n\
         as 20 ms by NRL's sender. Goodput counts from the sender's start to the last byte.\n\
         `ecn` is `--cc ecn` over a line without limit, at most 400 Mbit/s, 30 MB; in `ecn-marked` a\n\
         packet filter marks {} % of its messages as having met congestion (no loss).\n\n\
         | cell | direction | s | goodput, kbit/s | sent/file | result |\n|---|---|---|---|---|---|\n",
        head.command,
        head.date,
        head.nrl_version,
        plan.size as f64 / 1e6,
        plan.kbps,
        LINE_QUEUE_MS,
        MARKED_PERCENT,
    );
    for line in lines {
        out += &row(line);
        out.push('\n');
    }
    out
}

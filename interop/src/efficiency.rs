//! How many bytes a reliable transfer costs under heavy loss, with Fanfare and with NRL's NORM.
//!
//! The bound: a receiver that loses a fraction p must be sent at least size / (1 - p), whatever the
//! code; each segment has its NORM headers. With several receivers that lose independently no block
//! code reaches that bound, because a block must last until its unluckiest receiver has enough.

use std::fmt::Write as _;

use crate::cell::{Cell, Conditions, Fec, NRL_TO_NRL, OURS_TO_OURS};
use crate::report::Head;
use crate::run::{self, Options, Outcome, Peers};
use crate::tool::ToolError;

/// NORM_DATA header with FEC payload id 5 (20 bytes) and EXT_FTI (12): RFC 5740 4.2.1, RFC 5510.
const HEADER_BYTES: f64 = 32.0;

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Bytes of the file.
    pub size: u64,
    /// Sending rate in Mbit/s.
    pub mbps: u64,
    /// Source and parity symbols of NRL's blocks; parity is sent only when asked for.
    pub nrl: (u16, u16),
    /// The same of ours.
    pub ours: (u16, u16),
    /// Inbound loss of each receiver in percent.
    pub loss_percent: u32,
    /// Seconds that one run may take.
    pub limit_seconds: u64,
}

/// One line of the table.
#[derive(Clone, Debug)]
pub struct Line {
    /// What ran.
    pub cell: Cell,
    /// What it gave.
    pub outcome: Outcome,
}

impl Plan {
    /// The runs: 1 and 3 receivers, each with NRL's and, when it is there, our program.
    pub fn cells(&self, ours: bool) -> Vec<Cell> {
        let counts = [("efficiency", 1), ("efficiency-x3", 3)];
        let mut cells = Vec::new();
        for (name, receivers) in counts {
            let conditions = Conditions::new(name)
                .size(self.size)
                .mbps(self.mbps)
                .receivers(receivers)
                .loss(self.loss_percent, 0)
                .limit(self.limit_seconds);
            let ours = ours.then_some((OURS_TO_OURS, self.ours));
            for (direction, (data, parity)) in
                [Some((NRL_TO_NRL, self.nrl)), ours].into_iter().flatten()
            {
                let mut conditions = conditions.clone();
                conditions.fec = Fec { id: 5, data, parity, proactive: 0 };
                cells.push(Cell { conditions, direction, quick: false });
            }
        }
        cells
    }

    /// Fewest UDP payload bytes that one receiver at this loss needs.
    pub fn bound_bytes(&self, segment: u16) -> f64 {
        let segment = f64::from(segment);
        let arriving = 1.0 - f64::from(self.loss_percent) / 100.0;
        self.size as f64 / arriving * (segment + HEADER_BYTES) / segment
    }
}

/// Runs the plan one cell after the other; calls `said` with each line.
///
/// # Errors
/// As [`run::run`].
pub fn measure(plan: &Plan, peers: &Peers, said: impl Fn(&Line)) -> Result<Vec<Line>, ToolError> {
    let mut lines = Vec::new();
    for cell in plan.cells(peers.fanfare.is_some()) {
        let outcome = run::run(&cell, peers, &Options::default())?;
        let line = Line { cell, outcome };
        said(&line);
        lines.push(line);
    }
    Ok(lines)
}

/// One line as text, used on the terminal and in the page.
pub fn row(plan: &Plan, line: &Line) -> String {
    let c = &line.cell.conditions;
    let bound = plan.bound_bytes(c.segment);
    let payload = line.outcome.sent.payload_bytes();
    format!(
        "| {} | {}+{} | {} | {} | {:.1} | {:.1} | {:.3} | {:.1} | {} |",
        line.cell.direction.sender,
        c.fec.data,
        c.fec.parity,
        c.receivers,
        line.outcome.sent.packets,
        payload as f64 / 1e6,
        bound / 1e6,
        payload as f64 / bound,
        line.outcome.seconds,
        line.outcome.failure.as_deref().unwrap_or("complete"),
    )
}

/// The whole page.
pub fn page(head: &Head, plan: &Plan, lines: &[Line]) -> String {
    let mut out = String::new();
    let _ = write!(
        out,
        "# Bytes on the wire under loss\n\n\
         What does it cost to bring {} MB to everyone when each receiver loses {} % on its own?\n\
         Made by `{}` on {}; peer: Debian `libnorm1` {}. One run each.\n\n\
         {} Mbit/s, segments of 1400 bytes, parity only on request (NRL's at the code that served it\n\
         best of 64+16, 64+32, 64+64 with three receivers; ours at its default), no loss of feedback,\n\
         network namespaces on one bridge. `sent` is the UDP payload of everything the\n\
         sender's host sent. `bound` is size/(1-loss) plus 32 bytes of header per segment: nothing\n\
         beats it on average with one receiver (a single run may fall a few tenths of a percent\n\
         either side); with several, blocks must last for the unluckiest.\n\n\
         | program | code | receivers | datagrams | sent, MB | bound, MB | sent/bound | s | result |\n\
         |---|---|---|---|---|---|---|---|---|\n",
        plan.size as f64 / 1e6,
        plan.loss_percent,
        head.command,
        head.date,
        head.nrl_version,
        plan.mbps,
    );
    for line in lines {
        out += &row(plan, line);
        out.push('\n');
    }
    if lines.iter().all(|line| line.cell.direction == NRL_TO_NRL) {
        out += "\nOur program was not measured: there was no executable.\n";
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_is_size_over_what_arrives_plus_headers() {
        let plan = Plan {
            size: 70_000_000,
            mbps: 50,
            nrl: (64, 64),
            ours: (128, 127),
            loss_percent: 30,
            limit_seconds: 1,
        };
        let bound = plan.bound_bytes(1400);
        assert!((bound - 100_000_000.0 * 1432.0 / 1400.0).abs() < 1.0, "{bound}");
    }
}

//! Writes the table of a matrix run as Markdown.

use std::fmt::Write as _;

use crate::cell::{Arrival, Cell, Conditions, Feedback};
use crate::matrix::Status;
use crate::run::Outcome;

/// What the head of the page says.
#[derive(Clone, Debug)]
pub struct Head {
    /// The command that makes the page.
    pub command: String,
    /// Day of the run, `2026-11-21`.
    pub date: String,
    /// Version of Debian's libnorm1.
    pub nrl_version: String,
}

/// The whole page.
pub fn page(head: &Head, rows: &[(Cell, Status)]) -> String {
    let passed = rows.iter().filter(|(_, s)| s.passed()).count();
    let failed = rows.iter().filter(|(_, s)| s.failed()).count();
    let skipped = rows.len() - passed - failed;
    let mut out = String::new();
    // Writing to a String can't fail.
    let _ = write!(
        out,
        "# Interoperability with NRL's NORM\n\n\
         Which of our program's runs against NRL's reference implementation work? Made by\n\
         `{}` on {}; peer: Debian `libnorm1` {}.\n\n\
         {passed} passed, {failed} failed, {skipped} not run, of {} cells. One run each.\n\n\
         A cell passes when every receiver has every file under its name with the same BLAKE3 hash,\n\
         the sender and our receivers end by themselves with exit code 0, all within the time limit.\n\
         Hosts are network namespaces on one bridge; loss is independent per receiver and segment,\n\
         `in` what a receiver gets, `out` what it answers. `NRL→NRL` is the control. Seconds run from\n\
         the sender's start until sender and files are done; `wire/data` is the sender's UDP payload\n\
         bytes over the files' bytes.\n\n\
         | cell | direction | rx | loss in/out | code | feedback | acks | data | result | s | wire/data |\n\
         |---|---|---|---|---|---|---|---|---|---|---|\n",
        head.command,
        head.date,
        head.nrl_version,
        rows.len(),
    );
    for (cell, status) in rows {
        out += &row(cell, status);
    }
    out
}

fn row(cell: &Cell, status: &Status) -> String {
    let c = &cell.conditions;
    let (result, seconds, ratio) = match status {
        Status::Skipped(why) => (format!("not run: {why}"), "–".into(), "–".into()),
        Status::Ran(outcome) => (
            outcome
                .failure
                .as_ref()
                .map_or("pass".into(), |why| format!("**fail**: {}", flat(why))),
            format!("{:.2}", outcome.seconds),
            ratio(outcome, c.bytes()),
        ),
    };
    format!(
        "| {} | {} | {}{} | {}/{} % | {} | {} | {} | {} | {result} | {seconds} | {ratio} |\n",
        c.name,
        cell.direction,
        c.receivers,
        beside(c),
        c.loss.inbound_permille / 10,
        c.loss.outbound_permille / 10,
        code(c),
        if c.feedback == Feedback::Unicast { "unicast" } else { "multicast" },
        if c.acks { "yes" } else { "no" },
        amount(c),
    )
}

/// What is special of those who are there.
fn beside(c: &Conditions) -> String {
    match (c.arrival, c.company) {
        (Arrival::Late, _) => ", one late".into(),
        (Arrival::Early, 0) => String::new(),
        (Arrival::Early, nodes) => format!(", beside {nodes} group nodes"),
    }
}

fn flat(text: &str) -> String {
    text.replace('|', "/").replace('\n', " ")
}

fn ratio(outcome: &Outcome, bytes: u64) -> String {
    // Below a few segments the ratio says only that commands cost more than data.
    if bytes < 100_000 {
        return "–".into();
    }
    format!("{:.3}", outcome.sent.payload_bytes() as f64 / bytes as f64)
}

fn code(c: &Conditions) -> String {
    let proactive = match c.fec.proactive {
        0 => String::new(),
        n => format!(", {n} at once"),
    };
    format!("id {} {}+{}{proactive}", c.fec.id, c.fec.data, c.fec.parity)
}

fn amount(c: &Conditions) -> String {
    match c.files.as_slice() {
        [(_, size)] => format!("{size} B"),
        files => format!("{} files, {} B", files.len(), c.bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::OURS_TO_NRL;
    use crate::impair::Sent;

    fn cell() -> Cell {
        Cell { conditions: Conditions::new("lossless"), direction: OURS_TO_NRL, quick: true }
    }

    #[test]
    fn a_failing_cell_says_why_in_its_row() {
        let outcome = Outcome { failure: Some("a|b".into()), seconds: 1.5, sent: Sent::default() };
        let text = row(&cell(), &Status::Ran(outcome));
        assert!(text.contains("**fail**: a/b"), "{text}");
    }

    #[test]
    fn the_ratio_counts_udp_payload_only() {
        let sent = Sent { packets: 1000, ip_bytes: 800_000 + 28_000 };
        let outcome = Outcome { failure: None, seconds: 1.0, sent };
        assert_eq!(ratio(&outcome, 800_000), "1.000");
    }
}

//! The results, for people and for programs, beside the published figures.

use super::{
    Relay, Situation,
    trial::{SENDING, SUBSCRIBERS},
};
use crate::trials::versions;
use fanfare_sim::Sorted;
use std::fmt::Write as _;

/// The paper's figures, as the simulated table has them.
const NORM: &str = include_str!("s000-table3-norm.csv");
const DISSERVICE: &str = include_str!("s000-table3-disservice.csv");

/// One system in one situation, once.
#[derive(Debug, Clone, PartialEq)]
pub struct TacticalRow {
    pub(super) situation: Situation,
    pub(super) relay: Relay,
    pub(super) version: String,
    pub(super) repetition: u32,
    pub(super) sent: f64,
    pub(super) success: f64,
    pub(super) sender_overhead: f64,
    pub(super) peer_overhead: f64,
    pub(super) late_ms: f64,
    pub(super) void: bool,
    pub(super) why: String,
}

impl TacticalRow {
    pub(super) fn order(&self) -> (bool, std::cmp::Reverse<u8>, usize, Relay, u32) {
        let Situation { deaf, reliability, size } = self.situation;
        (deaf, std::cmp::Reverse(reliability), size, self.relay, self.repetition)
    }

    /// In a line.
    #[must_use]
    pub fn line(&self) -> String {
        let Self { situation, relay, repetition, sent, success, .. } = self;
        let why = if self.why.is_empty() { String::new() } else { format!("; {}", self.why) };
        let void = if self.void { "; the machine was too busy" } else { "" };
        format!(
            "{situation} {relay} #{repetition}: {sent:.0} sent, {success:.2} % there, beside each \
             {:.0} bytes of the sender's and {:.0} of others{void}{why}",
            self.sender_overhead, self.peer_overhead
        )
    }

    /// Whether a program has ended before its time.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        !self.why.is_empty()
    }

    fn figures(&self) -> [f64; 4] {
        [self.sent, self.success, self.sender_overhead, self.peer_overhead]
    }
}

/// The paper's four figures of a system in this situation.
fn published(csv: &str, situation: &Situation) -> Option<[f64; 4]> {
    let system = format!("cooperating-{}", situation.link());
    let reliability = format!("{}%", situation.reliability);
    let size = situation.size.to_string();
    let fits = |fields: &[&str]| match fields {
        [one, rest @ ..] if *one == system => rest.starts_with(&[&reliability, &size]),
        fields => fields.starts_with(&[&reliability, &size]),
    };
    let line =
        csv.lines().map(|line| line.split(',').collect::<Vec<_>>()).find(|line| fits(line))?;
    let figures: Vec<f64> =
        line[line.len() - 4..].iter().filter_map(|one| one.parse().ok()).collect();
    figures.try_into().ok()
}

/// The middle one, and from where to where.
fn spread(values: &Sorted, digits: usize) -> String {
    let median = values.median().unwrap_or_default();
    match (values.first(), values.last()) {
        (Some(least), Some(most)) if values.len() > 1 => {
            format!("{median:.digits$} ({least:.digits$} to {most:.digits$})")
        }
        _ => format!("{median:.digits$}"),
    }
}

const DIGITS: [usize; 4] = [0, 2, 0, 0];

fn line_of(
    text: &mut String,
    situation: &Situation,
    system: &str,
    figures: &[String; 4],
    late: &str,
) {
    let Situation { reliability, size, .. } = situation;
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "| {} | {reliability} | {size} | {system} | {} | {late} |",
        situation.link(),
        figures.join(" | ")
    );
}

pub(super) fn markdown(rows: &[TacticalRow]) -> String {
    let mut text = format!(
        "# s000-table3, real programs\n\n\
         The tactical test (Table 3 of the paper) in the laboratory: one sender on a link of 230 kbit/s \
         that loses packets to each of nine others, {SUBSCRIBERS} of which subscribe; these have 1 Mbit/s \
         and 10 % loss among themselves. Messages for {} s, the next as soon as one alone waits; then \
         until all are there, at most 60 s more. `hearing`: what is sent to the sender is lost as often as \
         what it sends; `deaf`: it hears nothing. Both programs send at most 220 kbit/s of UDP payload. \
         Fanfare: `fanfare node` on all ten; libnorm on the sender and the subscribers, with parity on \
         request alone, and with a deaf sender a third unasked, as in the paper. Made by \
         `fanfare lab reproduce s000-table3`; docs/reference/measuring.md says how.\n\n\
         Overhead is bytes with Ethernet, IP and UDP headers for each message: of the sender beside the \
         message itself, of all others together. Medians, and from least to greatest; `late` is the \
         emulator's lateness, 99th percentile, the worst. Lines in brackets are the paper's.\n\n\
         | sender | reliability, % | size | system | sent | success, % | sender overhead | peer overhead \
         | late, ms |\n|---|--:|--:|---|--:|--:|--:|--:|--:|\n",
        SENDING.as_secs()
    );
    let mut situations: Vec<Situation> = rows.iter().map(|row| row.situation).collect();
    situations.dedup();
    for situation in situations {
        for relay in Relay::ALL {
            let of = |row: &&TacticalRow| row.situation == situation && row.relay == relay;
            let of: Vec<&TacticalRow> = rows.iter().filter(of).collect();
            if of.is_empty() {
                continue;
            }
            let figures = [0, 1, 2, 3].map(|which| {
                spread(&of.iter().map(|row| row.figures()[which]).collect(), DIGITS[which])
            });
            let late = of.iter().map(|row| row.late_ms).fold(0.0, f64::max);
            let void = if of.iter().any(|row| row.void) { " (void)" } else { "" };
            line_of(&mut text, &situation, relay.name(), &figures, &format!("{late:.2}{void}"));
        }
        for (name, csv) in [("[NORM]", NORM), ("[DisService]", DISSERVICE)] {
            if let Some(figures) = published(csv, &situation) {
                let figures = [0, 1, 2, 3]
                    .map(|n| spread(&[figures[n]].into_iter().collect(), [0, 1, 0, 0][n]));
                line_of(&mut text, &situation, name, &figures, "");
            }
        }
    }
    text.push_str("\nDisService's sender never answers, whether it hears or not.\n");
    text += &versions(rows.iter().map(|row| (row.relay.name(), row.version.as_str())));
    for row in rows.iter().filter(|row| row.is_broken()) {
        let _ = writeln!(text, "\n{}", row.line());
    }
    text
}

pub(super) fn csv(rows: &[TacticalRow]) -> String {
    let mut text = String::from(
        "sender,reliability,size,system,version,repetition,sent,success,sender_overhead,peer_overhead,late_ms,void,why\n",
    );
    for row in rows {
        let Situation { reliability, size, .. } = row.situation;
        let [sent, success, sender, peer] = row.figures();
        let _ = writeln!(
            text,
            "{},{reliability},{size},{},{:?},{},{sent:.0},{success:.3},{sender:.1},{peer:.1},{:.3},{},{:?}",
            row.situation.link(),
            row.relay,
            row.version,
            row.repetition,
            row.late_ms,
            row.void,
            row.why
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_situation_has_the_papers_figures_of_both_systems() {
        for situation in Situation::all() {
            assert!(published(NORM, &situation).is_some(), "{situation}");
            assert!(published(DISSERVICE, &situation).is_some(), "{situation}");
        }
        let deaf = "deaf:50:7168".parse().unwrap();
        assert_eq!(published(NORM, &deaf), Some([166.0, 12.8, 3835.0, 347.7]));
        let hearing = "hearing:50:7168".parse().unwrap();
        assert_eq!(published(NORM, &hearing), Some([84.0, 96.6, 14512.5, 707.8]));
        assert_eq!(published(DISSERVICE, &deaf), Some([228.0, 99.6, 834.0, 11020.9]));
    }

    #[test]
    fn repetitions_are_told_by_their_median_and_range() {
        let sorted = |values: &[f64]| values.iter().copied().collect();
        assert_eq!(spread(&sorted(&[3.0]), 0), "3");
        assert_eq!(spread(&sorted(&[3.0, 1.0, 2.0]), 1), "2.0 (1.0 to 3.0)");
        assert_eq!(spread(&sorted(&[4.0, 1.0]), 1), "2.5 (1.0 to 4.0)");
        let row = |repetition, sent| TacticalRow {
            situation: "deaf:80:1024".parse().unwrap(),
            relay: Relay::Norm,
            version: "1".to_owned(),
            repetition,
            sent,
            success: 100.0,
            sender_overhead: 10.0,
            peer_overhead: 20.0,
            late_ms: 0.1,
            void: false,
            why: String::new(),
        };
        let text = markdown(&[row(0, 10.0), row(1, 30.0)]);
        assert!(
            text.contains(
                "| deaf | 80 | 1024 | norm | 20 (10 to 30) | 100.00 (100.00 to 100.00) |"
            )
        );
        assert!(text.contains("| [DisService] | 1578 | 100.0 | 139 | 910 |"));
        assert_eq!(csv(&[row(0, 10.0)]).lines().count(), 2);
    }
}

//! What monitors took, for people and for programs.

use std::fmt::Write as _;

use fanfare_lab::MedianOf;
use fanfare_sim::Sorted;

use super::trial::{CHANNEL, Group, NAME};

/// The same group with monitors and without.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    pub(super) case: &'static str,
    pub(super) nodes: usize,
    pub(super) repetition: u32,
    pub(super) with: Group,
    pub(super) without: Group,
}

impl Row {
    /// Percent of the channel.
    fn share(&self) -> f64 {
        (self.with.bps - self.without.bps) * 100.0 / CHANNEL
    }
    fn void(&self) -> bool {
        self.with.void || self.without.void
    }
    pub(super) fn line(&self) -> String {
        let (with, without) = (middle(&self.with.cores), middle(&self.without.cores));
        let void = if self.void() { " (void: the emulator was late)" } else { "" };
        format!(
            "{} #{}: {:.2} % of the channel, {with:.2} % of a core a node, {without:.2} % without{void}",
            self.case,
            self.repetition,
            self.share()
        )
    }
}

/// Percent of a core: the median of nodes.
fn middle(cores: &[f64]) -> f64 {
    sorted(cores).median().unwrap_or(f64::NAN) * 100.0
}
/// The busiest node's.
fn most(cores: &[f64]) -> f64 {
    sorted(cores).last().copied().unwrap_or(f64::NAN) * 100.0
}
fn sorted(cores: &[f64]) -> Sorted {
    cores.iter().copied().filter(|core| !core.is_nan()).collect()
}

/// A figure: its name, its digits, and how it is taken.
type Column = (&'static str, usize, fn(&Row) -> f64);
const COLUMNS: [Column; 10] = [
    ("channel_without_bps", 0, |row| row.without.bps),
    ("channel_with_bps", 0, |row| row.with.bps),
    ("monitors_percent_of_channel", 2, Row::share),
    ("core_without_percent", 2, |row| middle(&row.without.cores)),
    ("core_with_percent", 2, |row| middle(&row.with.cores)),
    ("core_most_without_percent", 2, |row| most(&row.without.cores)),
    ("core_most_with_percent", 2, |row| most(&row.with.cores)),
    ("memory_without_mib", 1, |row| row.without.memory),
    ("memory_with_mib", 1, |row| row.with.memory),
    ("nodes_on_the_page", 0, |row| row.with.known.map_or(f64::NAN, |known| known as f64)),
];

pub(super) fn markdown(rows: &[Row]) -> String {
    let counted: Vec<&Row> = rows.iter().filter(|row| !row.void()).collect();
    let mut text = format!(
        "# What monitors cost\n\n*For people who ask whether they can afford `--monitor`. Made by `fanfare lab \
         reproduce {NAME}`.*\n\n\
         Real nodes on one emulated channel of {} kbit/s, each group twice at the same time: with `fanfare \
         node\n--monitor` and without. `quiet`: nobody publishes. `positions`: the nodes publish positions of \
         128 bytes in\nturns, one a second. A minute is counted, after {} s. Wanted: at most 2 % of the \
         channel and 1 % of a core a node.\n\n\
         Bytes are those of the emulator's account, with IP headers. A core is that of this machine, and what \
         a\nnode's program took, its page included, which nobody looks at. Medians; {} runs in all. After ± half of \
         the\ninterval in which the mean of many more runs lies with 95 % confidence. {} runs more were void. \
         Every run is in\n{NAME}.csv.\n\n\
         | group | bit/s without | with | monitors, % of the channel | a core, median node, % without | with | \
         busiest node, % without | with | memory, MiB without | with | nodes that the page knows |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
        CHANNEL / 1e3,
        25,
        counted.len(),
        rows.len() - counted.len()
    );
    let mut cases: Vec<&str> = Vec::new();
    for row in &counted {
        if !cases.contains(&row.case) {
            cases.push(row.case);
        }
    }
    for case in cases {
        let _ = write!(text, "| {case} |");
        for (_, digits, take) in COLUMNS {
            let of = counted.iter().filter(|row| row.case == case).map(|row| take(row));
            let values: Sorted = of.filter(|value| !value.is_nan()).collect();
            // Writing to a string cannot fail.
            let _ = write!(text, " {} |", MedianOf::of(&values).text(digits));
        }
        text.push('\n');
    }
    text
}

pub(super) fn csv(rows: &[Row]) -> String {
    let mut text = "group,nodes,repetition,void,figure,value\n".to_owned();
    for row in rows {
        for (name, _, take) in COLUMNS {
            let Row { case, nodes, repetition, .. } = row;
            let _ = writeln!(
                text,
                "{case},{nodes},{repetition},{},{name},{:.3}",
                row.void(),
                take(row)
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_what_is_more_on_the_channel_and_void_runs_do_not_count() {
        let group = |bps: f64, core: f64, known| Group {
            bps,
            cores: vec![core, core * 3.0, core * 2.0],
            memory: 20.0,
            known,
            void: false,
        };
        let with = group(2187.5, 0.004, Some(4));
        let without = group(0.0, 0.001, None);
        let row = Row { case: "quiet-4", nodes: 4, repetition: 0, with, without };
        let mut void = row.clone();
        void.without.void = true;
        let text = markdown(&[row.clone(), void.clone()]);
        let expected =
            "| quiet-4 | 0 | 2188 | 1.00 | 0.20 | 0.80 | 0.30 | 1.20 | 20.0 | 20.0 | 4 |";
        assert!(text.contains(expected), "{text}");
        assert!(text.contains("Medians; 1 runs in all") && text.contains("1 runs more were void"));
        assert_eq!(csv(&[row, void.clone()]).lines().count(), 21);
        assert!(void.line().contains("void"));
    }
}

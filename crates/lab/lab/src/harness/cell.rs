//! What the repetitions of one system on one radio say together.

use std::collections::BTreeMap;

use fanfare_sim::{Sorted, Summary};

use crate::company::{CompanyRow, Cut};

/// A figure of several repetitions: in a table a median and how far the interval of 95 % reaches.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct MedianOf {
    /// The median of the repetitions.
    pub median: f64,
    /// Half of the interval in which the mean of many more lies with 95 % confidence (Student's t); zero
    /// where there is one repetition.
    pub interval: f64,
    /// Repetitions.
    pub runs: usize,
}

impl MedianOf {
    /// Of these.
    #[must_use]
    pub fn of(values: &Sorted) -> Self {
        let Some(median) = values.median() else { return Self::default() };
        Self { median, interval: Summary::of(values).ci95, runs: values.len() }
    }

    /// For a table, with so many digits.
    #[must_use]
    pub fn text(&self, digits: usize) -> String {
        let Self { median, interval, runs } = *self;
        match runs {
            0 => String::new(),
            1 => format!("{median:.digits$}"),
            _ => format!("{median:.digits$} ± {interval:.digits$}"),
        }
    }
}

/// One system on one radio.
#[derive(Debug, Clone, PartialEq)]
pub struct HarnessCell {
    /// The radio.
    pub radio: String,
    /// The system.
    pub system: String,
    /// Its version, and a hash of how it is set.
    pub version: String,
    /// Of all pairs of a position and a recipient, percent: within 5 s, within 10 s, and at the end.
    pub shares: [MedianOf; 3],
    /// Mean delay of those that came in that time, ms.
    pub means: [MedianOf; 3],
    /// The delay that 95 of a hundred of them did not exceed, ms.
    pub p95s: [MedianOf; 3],
    /// Sensor data and documents that came, percent.
    pub long: [MedianOf; 2],
    /// Bytes on the air.
    pub bytes: MedianOf,
    /// Processor seconds of all programs.
    pub cpu: MedianOf,
    /// Memory of all programs, MiB.
    pub memory: MedianOf,
    /// How late the emulator was, 99th percentile, ms.
    pub late: MedianOf,
    /// Delays of all positions of all repetitions that came, sorted, s.
    pub delays: Sorted,
    /// Positions that should have come.
    pub pairs: usize,
    /// In how many repetitions a program has ended before its time.
    pub broken: usize,
}

impl HarnessCell {
    fn of(rows: &[&CompanyRow]) -> Self {
        let of = |value: &dyn Fn(&CompanyRow) -> f64| {
            MedianOf::of(&rows.iter().map(|row| value(row)).collect())
        };
        let cut = |value: fn(&Cut) -> f64| [0, 1, 2].map(|n| of(&|row| value(&row.cuts()[n])));
        let (mut delays, mut pairs) = (Vec::new(), 0);
        for (came, all) in rows.iter().map(|row| row.delays()) {
            delays.extend(came);
            pairs += all;
        }
        let name = |of: fn(&CompanyRow) -> &str| rows.first().map_or("", |row| of(row)).to_owned();
        Self {
            radio: name(CompanyRow::radio),
            system: name(CompanyRow::system),
            version: name(CompanyRow::version),
            shares: cut(|cut| cut.share),
            means: cut(|cut| cut.mean_ms),
            p95s: cut(|cut| cut.p95_ms),
            long: [0, 1].map(|kind| {
                MedianOf::of(&rows.iter().filter_map(|row| row.long()[kind]).collect())
            }),
            bytes: of(&|row| row.bytes() as f64),
            cpu: of(&|row| row.cpu()),
            memory: of(&|row| row.memory() as f64 / f64::from(1 << 20)),
            late: of(&|row| row.late_ms()),
            delays: delays.into_iter().collect(),
            pairs,
            broken: rows.iter().filter(|row| row.is_broken()).count(),
        }
    }

    /// Whether it is of our own program.
    #[must_use]
    pub fn is_ours(&self) -> bool {
        self.system == crate::MessagingSystem::Fanfare.name()
    }
}

/// All of them: radios and systems in the order of tables. Of each cell the version that was measured last.
pub(super) fn cells(rows: &[CompanyRow]) -> Vec<HarnessCell> {
    let mut newest: BTreeMap<(&str, &str), &str> = BTreeMap::new();
    for row in rows {
        newest.insert((row.radio(), row.system()), row.version());
    }
    let radios = crate::Radio::ALL.map(crate::Radio::name);
    let systems = crate::MessagingSystem::ALL.map(crate::MessagingSystem::name);
    let mut cells = Vec::new();
    for (radio, system) in radios.iter().flat_map(|radio| systems.map(|system| (*radio, system))) {
        let of = |row: &&CompanyRow| {
            (row.radio(), row.system()) == (radio, system)
                && newest.get(&(radio, system)) == Some(&row.version())
        };
        let of: Vec<&CompanyRow> = rows.iter().filter(of).collect();
        if !of.is_empty() {
            cells.push(HarnessCell::of(&of));
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::company::tests::row;

    #[test]
    fn three_repetitions_have_a_median_and_an_interval_of_two_degrees_of_freedom() {
        let of = MedianOf::of(&[99.0, 90.0, 96.0].into_iter().collect());
        // The standard deviation is the square root of 21, and t is 4.303.
        assert!((of.interval - 4.303 * (21.0f64 / 3.0).sqrt()).abs() < 1e-9, "{of:?}");
        assert_eq!(of.text(1), "96.0 ± 11.4");
        assert_eq!(MedianOf::of(&[7.0].into_iter().collect()).text(0), "7");
        assert_eq!(MedianOf::of(&Sorted::default()).text(0), "");
    }

    #[test]
    fn a_cell_has_all_seeds_of_the_newest_version_only() {
        let mut rows: Vec<_> =
            (1..=3).map(|seed| row("nats", seed, [90.0 + seed as f64, 95.0, 99.0])).collect();
        rows.insert(0, crate::company::tests::of_version(row("nats", 1, [1.0, 1.0, 1.0]), "0"));
        rows.push(row("fanfare", 1, [99.0, 99.0, 100.0]));
        let cells = cells(&rows);
        let names: Vec<&str> = cells.iter().map(|cell| cell.system.as_str()).collect();
        assert_eq!((names, cells[1].shares[0].median), (vec!["fanfare", "nats"], 92.0));
        assert_eq!((cells[1].shares[0].runs, cells[1].pairs), (3, 9));
        assert_eq!(cells[1].delays[..], [0.01, 0.01, 0.01, 0.02, 0.02, 0.02]);
        assert!(cells[0].is_ours() && !cells[1].is_ours());
    }
}

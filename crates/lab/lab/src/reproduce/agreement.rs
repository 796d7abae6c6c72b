//! Whether two campaigns agree, such as those of two days.
//!
//! A trial's figure depends on its random losses, so two campaigns never agree exactly. The trials
//! themselves say how much they may differ: the spread within a campaign, pooled over cells of the
//! same reliability, tells how far the means of two campaigns differ by chance (a two-sample t-test
//! of logarithms, 95 %). One row in twenty is then expected to differ, and the verdict counts these
//! rows.

use super::{
    experiment::Experiment,
    record::{Outcome, Record, read_all},
};
use crate::error::{LabError, Refusal};
use fanfare_sim::t_975;
use serde::Serialize;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

/// Differences that no conclusion depends on: half a percent, a third of what the tables' second
/// digit after the point shows.
const NO_MATTER: f64 = 0.005;
/// Share of rows that differ by chance: what the t-test is set to.
const BY_CHANCE: f64 = 0.05;
/// So many rows that differ are still chance if chance makes as many once in a thousand times.
const SURPRISE: f64 = 0.001;

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// Time over the bound with the losses that there were.
    Time,
    /// Bytes of all hosts.
    Bytes,
}

/// One system in one cell.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AgreementRow {
    /// Which table.
    pub experiment: String,
    /// Which network of it.
    pub cell: String,
    /// Who sent and received.
    pub system: String,
    /// Of what.
    pub figure: Figure,
    /// Geometric means of the two campaigns.
    pub means: [f64; 2],
    /// Complete trials of each.
    pub trials: [usize; 2],
    /// How much the second is more than the first, as a share of it (as a logarithm).
    pub difference: f64,
    /// How much chance explains, 95 times of 100.
    pub allowed: f64,
}

impl AgreementRow {
    /// Whether chance explains the difference.
    #[must_use]
    pub fn agrees(&self) -> bool {
        self.difference.abs() <= self.allowed
    }
}

/// Two campaigns side by side.
#[derive(Debug, Clone, PartialEq)]
pub struct Agreement {
    /// In the order of their names.
    pub rows: Vec<AgreementRow>,
    /// Systems that have no version in common: nothing is said of them.
    pub versions_differ: Vec<String>,
}

type Key = (String, String, String, Figure);
type Pool = (String, String, String, Figure);
type Samples = BTreeMap<Key, [Vec<f64>; 2]>;

impl Agreement {
    /// Of the records in two output directories.
    ///
    /// # Errors
    /// When one cannot be read, or they have nothing in common.
    pub fn of(first: &Path, second: &Path) -> Result<Self, LabError> {
        let agreement = Self::between(&[read_all(first)?, read_all(second)?]);
        if agreement.rows.is_empty() {
            let text = format!(
                "records ({}, {}): no cell has complete trials of the same version of a system in \
                 both, and two in one. Run `fanfare lab reproduce` with the same build and `--out`",
                first.display(),
                second.display()
            );
            return Err(LabError::new(Refusal::Usage, "lab.nothing_in_common", text));
        }
        Ok(agreement)
    }

    fn between(campaigns: &[Vec<Record>; 2]) -> Self {
        let versions = campaigns.each_ref().map(|records| versions(records));
        let (mut common, mut versions_differ) = (BTreeSet::new(), Vec::new());
        for (system, first) in &versions[0] {
            let Some(second) = versions[1].get(system) else { continue };
            match first.iter().rfind(|version| second.contains(version)) {
                Some(version) => _ = common.insert((*system, *version)),
                None => {
                    let newest = |all: &[&str]| all.last().map_or("none", |v| *v).to_owned();
                    versions_differ.push(format!("{system} {}, {}", newest(first), newest(second)));
                }
            }
        }
        let mut samples = Samples::new();
        for (side, records) in campaigns.iter().enumerate() {
            let counts = |record: &&Record| common.contains(&(&*record.system, &*record.version));
            records.iter().filter(counts).for_each(|record| add(&mut samples, side, record));
        }
        Self { rows: rows(&samples), versions_differ }
    }

    /// Rows that chance does not explain, one by one.
    #[must_use]
    pub fn apart(&self) -> usize {
        self.rows.iter().filter(|row| !row.agrees()).count()
    }

    /// Whether so many rows may differ when nothing but chance differs.
    #[must_use]
    pub fn holds(&self) -> bool {
        at_least(self.apart(), self.rows.len(), BY_CHANCE) >= SURPRISE
    }
}

/// The versions of each system, the one that was measured last at the end.
fn versions(records: &[Record]) -> BTreeMap<&str, Vec<&str>> {
    let mut by_day: Vec<&Record> = records.iter().collect();
    by_day.sort_by_key(|record| core::cmp::Reverse(record.when));
    let mut versions = BTreeMap::<&str, Vec<&str>>::new();
    for record in by_day {
        let known = versions.entry(&record.system).or_default();
        if !known.contains(&&*record.version) {
            known.insert(0, &record.version);
        }
    }
    versions
}

fn add(samples: &mut Samples, side: usize, record: &Record) {
    let Ok(experiment) = Experiment::find(&record.experiment) else { return };
    let Some(cell) = experiment.cells.iter().find(|cell| cell.key == record.cell) else { return };
    if record.outcome != Outcome::Complete {
        return;
    }
    let perfect = record.size as f64 * 8.0 / cell.capacity as f64;
    let figures =
        [(Figure::Time, record.over_realised(perfect)), (Figure::Bytes, Some(record.bytes as f64))];
    for (figure, value) in figures {
        let Some(value) = value.filter(|value| *value > 0.0) else { continue };
        // Files of another size are another network to all intents.
        let table = format!("{} {}", record.experiment, record.size);
        let key = (table, record.cell.clone(), record.system.clone(), figure);
        samples.entry(key).or_default()[side].push(value.ln());
    }
}

fn rows(samples: &Samples) -> Vec<AgreementRow> {
    let mut pools = BTreeMap::<Pool, (f64, usize)>::new();
    for (key, sides) in samples {
        let pool = pools.entry(pool(key)).or_default();
        for side in sides.iter().filter(|side| !side.is_empty()) {
            let mean = mean(side);
            pool.0 += side.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>();
            pool.1 += side.len() - 1;
        }
    }
    let row = |(key, sides): (&Key, &[Vec<f64>; 2])| {
        let (squares, freedom) = *pools.get(&pool(key))?;
        if sides.iter().any(Vec::is_empty) || freedom == 0 {
            return None;
        }
        let means = sides.each_ref().map(|side| mean(side));
        let shares: f64 = sides.iter().map(|side| 1.0 / side.len() as f64).sum();
        let error = (squares / freedom as f64 * shares).sqrt();
        let (experiment, cell, system, figure) = key.clone();
        Some(AgreementRow {
            experiment,
            cell,
            system,
            figure,
            means: means.map(f64::exp),
            trials: sides.each_ref().map(Vec::len),
            difference: means[1] - means[0],
            allowed: (t_975(freedom) * error).max(NO_MATTER),
        })
    };
    samples.iter().filter_map(row).collect()
}

/// Cells that spread alike: those of the same reliability.
fn pool((experiment, cell, system, figure): &Key) -> Pool {
    let second = cell.split(':').next_back().unwrap_or(cell).to_owned();
    (experiment.clone(), second, system.clone(), *figure)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// How likely at least `count` of `all` are where each is so with probability `p` (binomial).
fn at_least(count: usize, all: usize, p: f64) -> f64 {
    let mut exactly = (1.0 - p).powf(all as f64);
    let mut fewer = 0.0;
    for k in 0..count {
        fewer += exactly;
        exactly *= (all - k) as f64 / (k + 1) as f64 * p / (1.0 - p);
    }
    1.0 - fewer
}

#[cfg(test)]
mod tests {
    use super::super::record::tests::record;
    use super::*;
    use crate::peer::System;

    fn campaign(times: &[f64]) -> Vec<Record> {
        times.iter().map(|time| record(System::Norm, &[*time])).collect()
    }

    fn time(agreement: &Agreement) -> &AgreementRow {
        agreement.rows.iter().find(|row| row.figure == Figure::Time).unwrap()
    }

    #[test]
    fn campaigns_within_their_spread_agree_and_a_slower_one_does_not() {
        let day = campaign(&[7.5, 7.6, 7.7]);
        let like = Agreement::between(&[day.clone(), campaign(&[7.55, 7.75, 7.6])]);
        assert!(time(&like).agrees() && like.holds(), "{like:?}");
        let slower = Agreement::between(&[day, campaign(&[8.4, 8.5, 8.6])]);
        let row = time(&slower);
        assert!(!row.agrees() && row.difference > 0.1, "{row:?}");
        assert_eq!(row.trials, [3, 3]);
    }

    #[test]
    fn spread_is_pooled_over_cells_of_the_same_reliability_alone() {
        let elsewhere = |cell: &str, times: &[f64]| -> Vec<Record> {
            let of = |r| Record { cell: cell.into(), ..r };
            campaign(times).into_iter().map(of).collect()
        };
        let mut days = [campaign(&[7.5]), campaign(&[8.4])];
        assert!(Agreement::between(&days).rows.is_empty(), "one trial has no spread");
        days[0].extend(elsewhere("256:100", &[25.0, 29.0]));
        assert!(Agreement::between(&days).rows.iter().all(|row| row.cell != "1024:90"));
        days[0].extend(elsewhere("256:90", &[27.0, 31.0]));
        assert!(time(&Agreement::between(&days)).agrees());
    }

    #[test]
    fn another_build_is_not_compared_and_is_named() {
        let of = |version: &'static str, when| {
            let records = campaign(&[7.5, 7.6]).into_iter();
            records.map(move |r| Record { version: version.into(), when, ..r })
        };
        let (old, new) = (of("1", 0).collect::<Vec<_>>(), of("2", 9).collect::<Vec<_>>());
        let agreement = Agreement::between(&[old.clone(), new.clone()]);
        assert!(agreement.rows.is_empty());
        assert_eq!(agreement.versions_differ, ["norm 1, 2"]);
        // Of several builds, the newest that both have.
        let both: Vec<Record> = old.iter().chain(&new).cloned().collect();
        let trials = |other| time(&Agreement::between(&[both.clone(), other])).trials;
        assert_eq!(trials([old, new.clone()].concat()), [2, 2]);
        assert_eq!(trials(new), [2, 2]);
    }

    #[test]
    fn one_in_twenty_is_chance_and_one_in_three_is_not() {
        assert!((at_least(1, 20, BY_CHANCE) - 0.6415).abs() < 1e-4);
        assert!((at_least(0, 20, BY_CHANCE) - 1.0).abs() < 1e-12);
        assert!(at_least(7, 20, BY_CHANCE) < SURPRISE);
    }
}

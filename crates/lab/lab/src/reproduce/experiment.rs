//! What can be measured again: networks, sizes, and the published figures.

use crate::{
    error::{LabError, Refusal},
    peer::System,
};
use fanfare_sim::Scenario;
use std::time::Duration;

const S000: &str = include_str!("s000.toml");
const S000_PUBLISHED: &str = include_str!("s000.csv");
const S003: &str = include_str!("s003.toml");
const S003_GIGABIT: &str = include_str!("s003-gigabit.toml");
/// 800 KB: the published totals fit 819,200 bytes in packets of 1400.
const S000_SIZE: u64 = 819_200;
/// Large enough that the start does not count, small enough that a run takes seconds.
const S003_SIZE: u64 = 100_000_000;
/// What all peers can hold with four hosts on two cores, so that the network decides and not the
/// processor.
const S003_CAPACITY: u64 = 100_000_000;
/// Large enough that a few round trips at the end are less than a twentieth of a run.
const GIGABIT_SIZE: u64 = 1_000_000_000;
/// What was asked for after s003's systems had ended at a quarter of it.
const GIGABIT: u64 = 1_000_000_000;
/// Without delay and loss.
const PLAIN: &str = "0:0";
/// A trial is given up after so many times the bound, and the time below besides: NORM's slowest
/// published cell takes 19 times, at 0.9 s.
const LIMIT_FACTOR: f64 = 8.0;
const LIMIT_MORE: f64 = 60.0;

/// One table.
#[derive(Debug, Clone)]
pub struct Experiment {
    /// Its name.
    pub name: &'static str,
    /// What it shows, in a line.
    pub about: &'static str,
    /// Who receives.
    pub receivers: usize,
    /// Bytes of the file: the experiment's own, or another size for a quick look.
    pub size: u64,
    /// What the two halves of a cell's key are.
    pub axes: [&'static str; 2],
    /// Who takes part.
    pub systems: Vec<System>,
    /// Its cells, slowest first.
    pub cells: Vec<Cell>,
    /// The key of the cell that all others are compared with, where there is one for all.
    pub reference: Option<&'static str>,
    template: &'static str,
}

/// One network.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Its two coordinates, as options and records have them: `1024:90`.
    pub key: String,
    /// What each system is told its network carries, bit/s of IP packets.
    pub capacity: u64,
    /// The share of packets that arrives.
    pub reliability: f64,
    /// Added delay, one way.
    pub delay: Duration,
    /// What was published.
    pub published: Vec<Published>,
}

/// A published figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Published {
    /// Whose.
    pub system: String,
    /// Average time of delivery.
    pub seconds: f64,
    /// All that was sent.
    pub bytes: f64,
    /// More than the links could have carried in that time.
    pub suspect: bool,
}

impl Experiment {
    /// The names of all experiments.
    pub const NAMES: [&'static str; 4] = ["s000-table1", "s000-table2", "s003", "s003-gigabit"];

    /// The experiment of this name.
    ///
    /// # Errors
    /// The names that there are.
    pub fn find(name: &str) -> Result<Self, LabError> {
        match name {
            "s000-table1" => Ok(Self::s000(name_of(0), 1)),
            "s000-table2" => Ok(Self::s000(name_of(1), 3)),
            "s003" => Ok(Self::s003(name_of(2), S003, (S003_CAPACITY, S003_SIZE))),
            "s003-gigabit" => Ok(Self::s003(name_of(3), S003_GIGABIT, (GIGABIT, GIGABIT_SIZE))),
            _ => {
                let names = Self::NAMES.join(", ");
                let text = format!("experiment ({name}): unknown. Use one of {names}");
                Err(LabError::new(Refusal::Usage, "lab.experiment", text))
            }
        }
    }

    fn s000(name: &'static str, receivers: usize) -> Self {
        use System::{Fanfare, JGroups, Norm, OpenPgm, Tcp, Udpcast, Uftp};
        let mut cells: Vec<Cell> = S000_PUBLISHED
            .lines()
            .filter(|line| line.starts_with(&format!("{receivers},")))
            .filter_map(published_cell)
            .collect();
        cells.sort_by_key(|cell| cell.capacity);
        Self {
            name,
            about: "800 KB over links of 56 kbit/s to 10 Mbit/s that lose 0 to 30 %",
            receivers,
            size: S000_SIZE,
            axes: ["kbit/s (of 1024)", "reliability, %"],
            systems: vec![Fanfare, Norm, OpenPgm, JGroups, Uftp, Udpcast, Tcp],
            cells,
            reference: None,
            template: S000,
        }
    }

    fn s003(name: &'static str, template: &'static str, (capacity, size): (u64, u64)) -> Self {
        use System::{Fanfare, Norm, OpenPgm, Tcp, Udpcast, Uftp};
        let cell = |(round_trip, loss): (u64, f64)| Cell {
            key: format!("{round_trip}:{loss}"),
            capacity,
            reliability: 1.0 - loss / 100.0,
            delay: Duration::from_micros(round_trip * 500),
            published: Vec::new(),
        };
        let losses = [0.0, 0.1, 0.3, 1.0, 5.0];
        let pairs = [0, 10, 25, 50].into_iter().flat_map(|rtt| losses.map(|loss| (rtt, loss)));
        Self {
            name,
            about: "a large file over fast links with delay and loss",
            receivers: 3,
            size,
            axes: ["round trip, ms", "loss, %"],
            systems: vec![Fanfare, Norm, OpenPgm, Uftp, Udpcast, Tcp],
            cells: pairs.map(cell).collect(),
            reference: Some(PLAIN),
            template,
        }
    }

    /// The cells that `cell_filter` names: keys with commas; a half may be a star, or left out with its
    /// colon.
    ///
    /// # Errors
    /// Which part of the choice names none.
    pub fn choose(&self, choice: &str) -> Result<Vec<Cell>, LabError> {
        let mut chosen = Vec::new();
        for part in choice.split(',') {
            let (first, second) = part.split_once(':').unwrap_or((part, "*"));
            let fits = |wanted: &str, is: &str| wanted == "*" || wanted == is;
            let mut some = self.cells.iter().filter(|cell| {
                let (one, two) = cell.key.split_once(':').unwrap_or((&cell.key, ""));
                fits(first, one) && fits(second, two)
            });
            let Some(one) = some.next() else {
                let axes = self.axes.join(" : ");
                let text = format!(
                    "cells ({part}): no such cell. Use {axes}, for example {}",
                    self.cells[0].key
                );
                return Err(LabError::new(Refusal::Usage, "lab.cells", text));
            };
            chosen.push(one.clone());
            chosen.extend(some.cloned());
        }
        // In the experiment's order, each once.
        Ok(self.cells.iter().filter(|cell| chosen.contains(cell)).cloned().collect())
    }

    /// The least time that any code could need without receivers helping each other: the content
    /// over what arrives, headers not counted.
    #[must_use]
    pub fn bound(&self, cell: &Cell) -> f64 {
        self.size as f64 * 8.0 / (cell.capacity as f64 * cell.reliability)
    }
    /// After so long a trial is given up.
    #[must_use]
    pub fn limit(&self, cell: &Cell) -> Duration {
        Duration::from_secs_f64(self.bound(cell) * LIMIT_FACTOR + LIMIT_MORE)
    }

    /// The network of a cell.
    ///
    /// # Errors
    /// When the template cannot be read: a mistake of ours.
    pub(super) fn scenario(&self, cell: &Cell) -> Result<Scenario, LabError> {
        let text = self
            .template
            .replace("{receivers}", &self.receivers.to_string())
            .replace("{capacity}", &format!("{}bps", cell.capacity))
            .replace("{reliability}", &format!("{:.1} %", cell.reliability * 100.0))
            .replace("{loss}", &format!("{:.4}", 1.0 - cell.reliability))
            .replace("{delay}", &format!("{}us", cell.delay.as_micros()))
            // Start and end of the programs are outside of the trial's own limit.
            .replace("{duration}", &format!("{}s", self.limit(cell).as_secs() + 600));
        let none = |file: &str| Err(format!("{file} is not part of it. Report this"));
        Scenario::parse_for_laboratory(&text, &none).map_err(|mistakes| {
            let all: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
            let text = format!("scenario ({}): {}. Report this", self.name, all.join("; "));
            LabError::new(Refusal::System, "lab.experiment", text)
        })
    }
}

fn name_of(number: usize) -> &'static str {
    Experiment::NAMES[number]
}

/// A line of the published tables: receivers, reliability, capacity, then time and bytes of each.
fn published_cell(line: &str) -> Option<Cell> {
    let fields: Vec<&str> = line.split(',').collect();
    let (reliability, capacity) = (fields.get(1)?, fields.get(2)?);
    let suspects = fields.last().unwrap_or(&"");
    let figure = |(system, pair): (&str, &[&str])| {
        let (seconds, bytes) = (pair.first()?.parse().ok()?, pair.get(1)?.parse().ok()?);
        let suspect = suspects.split(' ').any(|name| name == system);
        Some(Published { system: system.to_owned(), seconds, bytes, suspect })
    };
    let systems = ["norm", "disservice", "openpgm", "jgroups"];
    Some(Cell {
        key: format!("{capacity}:{reliability}"),
        // Of 1024 bits.
        capacity: capacity.parse::<u64>().ok()? * 1024,
        reliability: reliability.parse::<f64>().ok()? / 100.0,
        delay: Duration::ZERO,
        published: systems
            .into_iter()
            .zip(fields.get(3..11)?.chunks(2))
            .filter_map(figure)
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_tables_have_24_cells_with_their_published_figures() {
        for (name, missing) in [("s000-table1", 0), ("s000-table2", 10)] {
            let experiment = Experiment::find(name).unwrap();
            assert_eq!(experiment.cells.len(), 24);
            let figures: usize = experiment.cells.iter().map(|cell| cell.published.len()).sum();
            assert_eq!(figures, 24 * 4 - missing, "{name}");
        }
        let table = Experiment::find("s000-table1").unwrap();
        let cell = &table.choose("128:70").unwrap()[0];
        let jgroups = &cell.published[3];
        assert!(jgroups.suspect && jgroups.seconds == 66.8 && !cell.published[0].suspect);
        assert!((table.bound(cell) - 71.43).abs() < 0.01);
    }

    #[test]
    fn every_cell_becomes_a_network() {
        for name in Experiment::NAMES {
            let experiment = Experiment::find(name).unwrap();
            for cell in &experiment.cells {
                let scenario = experiment.scenario(cell).unwrap();
                let hosts = scenario.plan(1).emulated_hosts();
                assert_eq!(hosts.len(), experiment.receivers + 1, "{name} {}", cell.key);
            }
        }
    }

    #[test]
    fn cells_are_chosen_by_either_half_and_an_unknown_one_is_refused() {
        let table = Experiment::find("s000-table2").unwrap();
        assert_eq!(table.choose("1024,256:*").unwrap().len(), 8);
        assert_eq!(table.choose("*:90").unwrap().len(), 6);
        assert_eq!(table.choose("56:100,56:100").unwrap().len(), 1);
        assert!(table.choose("57").unwrap_err().to_string().contains("cells (57)"));
        assert_eq!(Experiment::find("s003").unwrap().choose("*:0.1").unwrap().len(), 4);
    }
}

//! The result of a trial, and the file that keeps all of them: one JSON object on each line,
//! appended when a trial ends. So an interrupted campaign continues where it stopped.

use super::experiment::Experiment;
use crate::{error::LabError, peer::System};
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, OpenOptions},
    io::{ErrorKind, Write as _},
    path::{Path, PathBuf},
};

/// Name of the file of records.
const FILE: &str = "trials.jsonl";

/// How a trial ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Every receiver has the file, verified.
    Complete,
    /// Not all of them by the limit, or the system gave up.
    Incomplete,
    /// The machine was too busy: figures do not count, and the trial is run again.
    Void,
}

/// One trial. docs/reference/measuring.md has the meaning of each figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Which table.
    pub experiment: String,
    /// Which network of it.
    pub cell: String,
    /// Who sent and received.
    pub system: String,
    /// Its version.
    pub version: String,
    /// From 0.
    pub repetition: u32,
    /// Of the network's losses and the file's content.
    pub seed: u64,
    /// Bytes of the file. Records that are older than this field are of the experiment's own.
    #[serde(default)]
    pub size: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// Why it did not complete.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// From the first data packet to completion, of each receiver that completed; s.
    pub seconds: Vec<f64>,
    /// The share of the sender's packets that the network let through to each receiver: what the
    /// cell's reliability came to this time.
    #[serde(default)]
    pub arrived: Vec<f64>,
    /// From the start of the sender's program to its first data packet; s.
    pub startup: f64,
    /// IP bytes that all hosts together sent, from the start of the sender's program until the last
    /// receiver was complete.
    pub bytes: u64,
    /// The same in packets.
    pub packets: u64,
    /// Of these bytes, the sender's.
    pub sender_bytes: u64,
    /// Packets that links dropped because their queues were full.
    pub queue_drops: u64,
    /// CPU seconds of the sender's program.
    pub sender_cpu: f64,
    /// The mean of the receivers'.
    pub receiver_cpu: f64,
    /// Peak resident memory of the sender's program, bytes.
    pub sender_memory: u64,
    /// The largest of the receivers'.
    pub receiver_memory: u64,
    /// How late the emulator was in one of a hundred packets, ms.
    pub late_ms: f64,
    /// How late this program, of ordinary priority as the systems are, woke in one of a hundred
    /// short sleeps, ms: how much the machine kept them waiting.
    #[serde(default)]
    pub starved_ms: f64,
    /// The same on average, ms.
    #[serde(default)]
    pub starved_mean_ms: f64,
    /// When it ended, seconds since 1970.
    pub when: u64,
}

impl Record {
    /// Whether it is of this table, with this size of file.
    #[must_use]
    pub fn is_of(&self, experiment: &Experiment) -> bool {
        self.experiment == experiment.name && self.size == experiment.size
    }

    /// The average time of delivery over receivers; `None` unless all have the file.
    #[must_use]
    pub fn mean_seconds(&self) -> Option<f64> {
        let complete = self.outcome == Outcome::Complete && !self.seconds.is_empty();
        complete.then(|| self.seconds.iter().sum::<f64>() / self.seconds.len() as f64)
    }

    /// Time over the least that any code could need with the losses of this very trial, where
    /// `perfect` is the least without any loss; averaged over receivers.
    #[must_use]
    pub fn over_realised(&self, perfect: f64) -> Option<f64> {
        self.mean_seconds()?;
        let ratio = |(time, arrived): (&f64, &f64)| time * arrived / perfect;
        let ratios = self.seconds.iter().zip(&self.arrived).map(ratio);
        (self.arrived.len() == self.seconds.len())
            .then(|| ratios.sum::<f64>() / self.seconds.len() as f64)
    }

    /// Bytes over the least that must be sent to a receiver with the losses of this very trial:
    /// all bytes times the share that arrived, averaged over receivers, over the content's.
    #[must_use]
    pub fn bytes_over_realised(&self) -> Option<f64> {
        self.mean_seconds()?;
        let arrived = self.arrived.iter().sum::<f64>() / self.arrived.len() as f64;
        (!self.arrived.is_empty()).then(|| self.bytes as f64 * arrived / self.size as f64)
    }
}

/// The file of records.
#[derive(Debug)]
pub(super) struct RecordFile {
    path: PathBuf,
    records: Vec<Record>,
}

impl RecordFile {
    /// Reads what is there. A line that was cut off by a crash is passed over.
    pub(super) fn open(directory: &Path) -> Result<Self, LabError> {
        let path = directory.join(FILE);
        let failed = |error: &std::io::Error| {
            LabError::system(format_args!("file ({})", path.display()), error)
        };
        fs::create_dir_all(directory).map_err(|error| failed(&error))?;
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            Err(error) => return Err(failed(&error)),
        };
        let records = text.lines().filter_map(read).collect();
        Ok(Self { path, records })
    }

    /// Appends one.
    pub(super) fn add(&mut self, record: Record) -> Result<(), LabError> {
        let failed = |error: std::io::Error| {
            LabError::system(format_args!("file ({})", self.path.display()), &error)
        };
        let line = serde_json::to_string(&record).map_err(|error| failed(error.into()))?;
        let mut file =
            OpenOptions::new().create(true).append(true).open(&self.path).map_err(failed)?;
        writeln!(file, "{line}").map_err(failed)?;
        self.records.push(record);
        Ok(())
    }

    pub(super) fn records(&self) -> &[Record] {
        &self.records
    }

    /// Whether this trial has been run, by this version, and counts.
    pub(super) fn has(
        &self,
        experiment: &Experiment,
        cell: &str,
        trial: (System, &str, u32),
    ) -> bool {
        let (system, version, repetition) = trial;
        self.records.iter().any(|record| {
            record.outcome != Outcome::Void
                && record.is_of(experiment)
                && record.cell == cell
                && record.system == system.name()
                && record.version == version
                && record.repetition == repetition
        })
    }
}

/// The records of an output directory, which must have some.
pub(super) fn read_all(directory: &Path) -> Result<Vec<Record>, LabError> {
    let path = directory.join(FILE);
    let text = fs::read_to_string(&path)
        .map_err(|error| LabError::system(format_args!("file ({})", path.display()), &error))?;
    Ok(text.lines().filter_map(read).collect())
}

/// A line of the file; `None` for one that was cut off.
fn read(line: &str) -> Option<Record> {
    let mut record: Record = serde_json::from_str(line).ok()?;
    if record.size == 0 {
        record.size = Experiment::find(&record.experiment).ok()?.size;
    }
    Some(record)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(crate) fn record(system: System, seconds: &[f64]) -> Record {
        Record {
            experiment: "s000-table1".into(),
            cell: "1024:90".into(),
            system: system.name().into(),
            version: "1".into(),
            repetition: 0,
            seed: 7,
            size: 819_200,
            outcome: Outcome::Complete,
            why: String::new(),
            seconds: seconds.to_vec(),
            arrived: vec![0.9; seconds.len()],
            startup: 0.5,
            bytes: 950_000,
            packets: 700,
            sender_bytes: 940_000,
            queue_drops: 0,
            sender_cpu: 0.1,
            receiver_cpu: 0.1,
            sender_memory: 1 << 20,
            receiver_memory: 1 << 20,
            late_ms: 0.2,
            starved_ms: 0.4,
            starved_mean_ms: 0.1,
            when: 0,
        }
    }

    #[test]
    fn a_ledger_knows_after_a_crash_what_has_been_run_and_a_void_trial_is_not() {
        let place = std::env::temp_dir().join(format!("fanfare-ledger-{}", std::process::id()));
        let mut record_file = RecordFile::open(&place).unwrap();
        record_file.add(record(System::Norm, &[7.5])).unwrap();
        let void = Record { outcome: Outcome::Void, ..record(System::Tcp, &[]) };
        record_file.add(void).unwrap();
        let path = place.join("trials.jsonl");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{text}{{\"experiment\":\"s0")).unwrap();
        let again = RecordFile::open(&place).unwrap();
        let mut table = Experiment::find("s000-table1").unwrap();
        let has = |system, version| again.has(&table, "1024:90", (system, version, 0));
        assert!(has(System::Norm, "1") && !has(System::Norm, "2") && !has(System::Tcp, "1"));
        table.size /= 2;
        assert!(!again.has(&table, "1024:90", (System::Norm, "1", 0)));
        assert_eq!(again.records().len(), 2);
        fs::remove_dir_all(place).unwrap();
    }

    #[test]
    fn a_record_without_a_size_is_of_the_experiments_own() {
        let line = serde_json::to_string(&record(System::Norm, &[7.5])).unwrap();
        let old = line.replace("\"size\":819200,", "");
        assert!(old.len() < line.len());
        assert_eq!(read(&old), read(&line));
    }

    #[test]
    fn a_trial_without_all_receivers_has_no_time() {
        assert_eq!(record(System::Norm, &[1.0, 3.0]).mean_seconds(), Some(2.0));
        let some = Record { outcome: Outcome::Incomplete, ..record(System::Norm, &[1.0]) };
        assert_eq!(some.mean_seconds(), None);
        assert_eq!(some.over_realised(1.0), None);
    }

    #[test]
    fn a_time_is_compared_with_the_losses_that_there_were() {
        let lucky = Record { arrived: vec![1.0, 0.8], ..record(System::Norm, &[11.0, 12.5]) };
        let ratio = lucky.over_realised(10.0).unwrap();
        assert!((ratio - (1.1 + 1.0) / 2.0).abs() < 1e-9);
    }
}

//! The results, for people and for programs.

use super::{
    Company,
    tally::{Cut, Share},
};
use crate::trials::versions;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// One system on one radio.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CompanyRow {
    pub(super) radio: String,
    pub(super) system: String,
    pub(super) version: String,
    pub(super) seconds: u64,
    pub(super) seed: u64,
    pub(super) vehicles: usize,
    /// Bytes of all messages.
    pub(super) content: u64,
    /// Positions, sensor data, documents.
    pub(super) shares: [Share; 3],
    /// Positions within 5 s, within 10 s, and all.
    pub(super) cuts: [Cut; 3],
    pub(super) again: u64,
    pub(super) packets: u64,
    pub(super) bytes: u64,
    pub(super) drops: u64,
    pub(super) late_ms: f64,
    pub(super) why: String,
    /// Processor seconds of all programs, from the first message to the end.
    pub(super) cpu: f64,
    /// The most memory of each program, of all together, bytes.
    pub(super) memory: u64,
    /// Every message, and what each recipient had of it.
    pub(super) messages: Vec<RawMessage>,
}

/// A message as it went: its topic, when it was published, and after how long each of those that are to
/// have it had it, in the order of their numbers; `None`: never. All in ms.
pub type RawMessage = (String, u64, Vec<Option<u64>>);

impl CompanyRow {
    /// In a line.
    #[must_use]
    pub fn line(&self) -> String {
        let [positions, sensor, documents] = self.shares;
        let had = |share: Share| format!("{} of {}", share.had, share.pairs);
        let why = if self.why.is_empty() { String::new() } else { format!("; {}", self.why) };
        format!(
            "company {} {}: positions {:.2} % within 5 s, {:.2} % at the end; sensor data {}, \
             documents {}; {} bytes on the air{why}",
            self.radio,
            self.system,
            Share::percent(positions.in_time, positions.pairs),
            Share::percent(positions.had, positions.pairs),
            had(sensor),
            had(documents),
            self.bytes
        )
    }

    /// The system's name.
    #[must_use]
    pub fn system(&self) -> &str {
        &self.system
    }
    /// The radio's name.
    #[must_use]
    pub fn radio(&self) -> &str {
        &self.radio
    }
    /// The system's version, and a hash of how it is set.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }
    /// What decided losses and paths.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }
    /// Positions within 5 s, within 10 s, and all.
    #[must_use]
    pub fn cuts(&self) -> [Cut; 3] {
        self.cuts
    }
    /// Sensor data and documents: those that came, in percent. None where none was published.
    #[must_use]
    pub fn long(&self) -> [Option<f64>; 2] {
        [1, 2].map(|kind| {
            let Share { pairs, had, .. } = self.shares[kind];
            (pairs > 0).then(|| Share::percent(had, pairs))
        })
    }
    /// Bytes on the air.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
    /// How late the emulator was, 99th percentile, ms.
    #[must_use]
    pub fn late_ms(&self) -> f64 {
        self.late_ms
    }
    /// Processor seconds of all programs.
    #[must_use]
    pub fn cpu(&self) -> f64 {
        self.cpu
    }
    /// Memory of all programs, bytes.
    #[must_use]
    pub fn memory(&self) -> u64 {
        self.memory
    }
    /// How many vehicles there were.
    #[must_use]
    pub fn vehicles(&self) -> usize {
        self.vehicles
    }
    /// How long messages were published, seconds.
    #[must_use]
    pub fn seconds(&self) -> u64 {
        self.seconds
    }
    /// Every message, and what each recipient had of it.
    #[must_use]
    pub fn messages(&self) -> &[RawMessage] {
        &self.messages
    }
    /// After how long each position came, in seconds, and how many should have come.
    pub(crate) fn delays(&self) -> (Vec<f64>, usize) {
        let positions = self.messages.iter().filter(|(topic, ..)| topic.starts_with("position"));
        let all: Vec<Option<u64>> = positions.flat_map(|(.., delays)| delays.clone()).collect();
        (all.iter().flatten().map(|ms| *ms as f64 / 1e3).collect(), all.len())
    }
    /// Which program has ended before its time, if any.
    #[must_use]
    pub fn why(&self) -> &str {
        &self.why
    }

    /// Whether a program has ended before its time.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        !self.why.is_empty()
    }
}

pub(super) fn markdown(company: &Company, rows: &[CompanyRow]) -> String {
    let mut text = format!(
        "# company-systems\n\n\
         {} vehicles on one radio of 600 kbit/s, real programs in the laboratory: reports of \
         position (128 bytes) from all to all every 10 s, sensor data (128 KiB) from one to three, \
         documents (512 KiB) from one to two; for {} s, and {} s more until the end. Seed {}.\n\n\
         Radio `moving` is the simulated company's, another part of which is always out of another's \
         sight; `fixed`: all hear all and lose 5 % of packets; `clear`: they lose none. There is no routing below the \
         systems. NATS and MQTT have their server on the first vehicle. Made by \
         `fanfare lab reproduce company`; docs/reference/measuring.md says how.\n\n\
         Shares are of all pairs of a message and a vehicle that is to have it, whether or not a path \
         joins them. `air` is IP bytes of all hosts from the first message to the end, with \
         acknowledgements, announcements and what keeps connections; `late` is the emulator's lateness, \
         99th percentile.\n\n",
        company.vehicles,
        company.duration.as_secs(),
        company.rest.as_secs(),
        company.seed
    );
    text.push_str(
        "| radio | system | positions within 5 s, % | at the end, % | mean delay, s | sensor data | \
         documents | twice | air, bytes | air, packets | late, ms |\n\
         |---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for row in rows {
        let [positions, sensor, documents] = row.shares;
        let had = |share: Share| format!("{}/{} ({:.1} s)", share.had, share.pairs, share.delay);
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| {} | {} | {:.2} | {:.2} | {:.2} | {} | {} | {} | {} | {} | {:.2} |",
            row.radio,
            row.system,
            Share::percent(positions.in_time, positions.pairs),
            Share::percent(positions.had, positions.pairs),
            positions.delay,
            had(sensor),
            had(documents),
            row.again,
            row.bytes,
            row.packets,
            row.late_ms
        );
    }
    text += &versions(rows.iter().map(|row| (row.system.as_str(), row.version.as_str())));
    for row in rows.iter().filter(|row| row.is_broken()) {
        let _ = writeln!(text, "\n{} on the {} radio: {}.", row.system, row.radio, row.why);
    }
    text
}

pub(super) fn csv(rows: &[CompanyRow]) -> String {
    let kinds = ["positions", "sensor", "documents"];
    let columns = ["pairs", "in_time", "had", "delay_s"];
    let of_kinds = kinds.map(|kind| columns.map(|column| format!("{kind}_{column}")).join(","));
    let mut text = format!(
        "radio,system,version,seed,seconds,content,{},again,packets,bytes,queue_drops,late_ms,why\n",
        of_kinds.join(",")
    );
    for row in rows {
        let shares = row.shares.map(|share| {
            format!("{},{},{},{:.3}", share.pairs, share.in_time, share.had, share.delay)
        });
        let _ = writeln!(
            text,
            "{},{},{:?},{},{},{},{},{},{},{},{},{:.3},{:?}",
            row.radio,
            row.system,
            row.version,
            row.seed,
            row.seconds,
            row.content,
            shares.join(","),
            row.again,
            row.packets,
            row.bytes,
            row.drops,
            row.late_ms,
            row.why
        );
    }
    text
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A row of the fixed radio, of which these shares came.
    pub(crate) fn row(system: &str, seed: u64, shares: [f64; 3]) -> CompanyRow {
        CompanyRow {
            radio: "fixed".to_owned(),
            system: system.to_owned(),
            version: "1".to_owned(),
            seconds: 60,
            seed,
            vehicles: 6,
            content: 128,
            shares: [Share::default(); 3],
            cuts: shares.map(|share| Cut { share, mean_ms: 15.0, p95_ms: 20.0 }),
            again: 0,
            packets: 1,
            bytes: 1000,
            drops: 0,
            late_ms: 0.1,
            why: String::new(),
            cpu: 0.5,
            memory: 1 << 20,
            messages: vec![
                ("position/v1".to_owned(), 0, vec![Some(10), None, Some(20)]),
                ("sensor/v6".to_owned(), 5, vec![Some(9)]),
            ],
        }
    }
    pub(crate) fn of_version(row: CompanyRow, version: &str) -> CompanyRow {
        CompanyRow { version: version.to_owned(), ..row }
    }
}

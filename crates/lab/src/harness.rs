//! Seed 002's comparison of systems for group communication (5.8 and 5.9): the same messages at the
//! same times by all of them, over the same radio, and this process as the one clock.
//!
//! Driver and StatServer of the paper are `peer::messaging` and `company` here: what a system does on
//! a host, and what is published when. This repeats that with other seeds, and makes medians.

use std::{collections::BTreeMap, fmt::Write as _, ops::Range};

use crate::{
    company::{Company, CompanyProgress, CompanyRow, Cut},
    error::LabError,
    stop::Stop,
    trials::versions,
};

/// The paper's Table 5.4: mean latency of positions within 5 s, within 10 s, and of all, in ms.
const PUBLISHED: [(&str, [&str; 3]); 7] = [
    ("fanfare", ["95 (DisService, reliable)", "95", "8755"]),
    ("nats", ["1832", "5206", "13,998"]),
    ("zeromq-norm", ["105", "222", "27,266"]),
    ("redis", ["1883", "3859", "50,874"]),
    ("redis-streams", ["1883 (its channels)", "3859", "50,874"]),
    ("rabbitmq", ["2219", "4425", "15,750"]),
    ("cyclonedds", ["4174 (OpenDDS)", "5005", "5068"]),
];

/// What is left out, and why: said in the table, so that nobody looks for it.
const LEFT_OUT: &str = "Left out: Kafka (its packages are in Maven only, and its driver is not written), \
    JGroups and ZeroMQ over TCP (as messages; JGroups is there for files), NATS without JetStream, \
    TamTam, Edgware, GDEM, RTI-DDS and OpenDDS (no package, or none that may be used); priorities, \
    failures of nodes and brokers, partitions, CPU and memory; the LAN, the cooperative radio and \
    several companies, which are in the simulator's tables.";

/// A comparison with several seeds.
#[derive(Debug, Clone)]
pub struct Harness {
    /// What is run with each seed.
    pub company: Company,
    /// Numbers of repetitions; the seed is one more.
    pub repetitions: Range<u32>,
}

impl Harness {
    /// Runs all of it, and writes the tables.
    ///
    /// # Errors
    /// As [`Company::run`].
    pub fn run(
        &self,
        stop: &Stop,
        tell: &mut (dyn FnMut(CompanyProgress<'_>) + Send),
    ) -> Result<Vec<CompanyRow>, LabError> {
        let mut rows = Vec::new();
        for repetition in self.repetitions.clone() {
            let company = Company { seed: u64::from(repetition) + 1, ..self.company.clone() };
            rows.extend(company.measure(stop, tell)?);
        }
        self.company.trials.write("harness", &self.markdown(&rows), &csv(&rows))?;
        Ok(rows)
    }

    fn markdown(&self, rows: &[CompanyRow]) -> String {
        let Company { vehicles, duration, rest, .. } = &self.company;
        let mut text = format!(
            "# harness\n\n{vehicles} vehicles on one radio of 600 kbit/s, real programs in the laboratory: \
             positions of 128 bytes from all to all every 10 s for {} s, then {} s until the end; sensor \
             data of 128 KiB from one to three at 30 s, a document of 512 KiB from one to two at 60 s if \
             that is before the end. Medians of {} repetitions, least and most in brackets. Made by `fanfare \
             lab reproduce s002-harness`.\n\n\
             Seed 002 ran for 20 minutes over a moving company; its latencies (Table 5.4, in ms) stand \
             beside ours. Shares are of all pairs of a position and another vehicle. `late` is the \
             emulator's own lateness, 99th percentile: where it is much, latencies are upper bounds.\n\n",
            duration.as_secs(),
            rest.as_secs(),
            self.repetitions.len(),
        );
        text += "| radio | system | within 5 s, % | at the end, % | mean within 5 s, ms | seed 002 | \
                 95 % within 5 s, ms | mean within 10 s, ms | seed 002 | mean of all, ms | seed 002 | \
                 sensor, % | documents, % | air, bytes | late, ms |\n\
                 |---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n";
        for ((radio, system), cell) in cells(rows) {
            row(&mut text, (radio, system), &cell);
        }
        text += &versions(rows.iter().map(|row| (row.system(), row.version())));
        for row in rows.iter().filter(|row| row.is_broken()) {
            let (system, radio, seed) = (row.system(), row.radio(), row.seed());
            // Writing to a string cannot fail.
            let _ = writeln!(text, "\n{system} on the {radio} radio, seed {seed}: {}.", row.why());
        }
        let _ = writeln!(text, "\n{LEFT_OUT}");
        text
    }
}

/// Rows of one radio and system, in the order in which they were measured.
fn cells(rows: &[CompanyRow]) -> Vec<((&str, &str), Vec<&CompanyRow>)> {
    let mut order = Vec::new();
    let mut found: BTreeMap<(&str, &str), Vec<&CompanyRow>> = BTreeMap::new();
    for row in rows {
        let key = (row.radio(), row.system());
        if !found.contains_key(&key) {
            order.push(key);
        }
        found.entry(key).or_default().push(row);
    }
    order.into_iter().map(|key| (key, found.remove(&key).unwrap_or_default())).collect()
}

fn row(text: &mut String, (radio, system): (&str, &str), cell: &[&CompanyRow]) {
    let cut = |which: usize, of: fn(Cut) -> f64| spread(cell, 1, |row| of(row.cuts()[which]));
    let known = PUBLISHED.iter().find(|(name, _)| *name == system);
    let published = known.map_or([""; 3], |(_, figures)| *figures);
    let long = |which: usize| spread(cell, 0, |row| row.long()[which]);
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "| {radio} | {system} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
        cut(0, |cut| cut.share),
        cut(2, |cut| cut.share),
        cut(0, |cut| cut.mean_ms),
        published[0],
        cut(0, |cut| cut.p95_ms),
        cut(1, |cut| cut.mean_ms),
        published[1],
        cut(2, |cut| cut.mean_ms),
        published[2],
        long(0),
        long(1),
        spread(cell, 0, |row| row.bytes() as f64),
        spread(cell, 2, CompanyRow::late_ms),
    );
}

/// The median, and the least and the most where there are several.
fn spread(cell: &[&CompanyRow], digits: usize, of: impl Fn(&CompanyRow) -> f64) -> String {
    let mut all: Vec<f64> = cell.iter().map(|row| of(row)).collect();
    all.sort_by(f64::total_cmp);
    let (Some(least), Some(most)) = (all.first(), all.last()) else { return String::new() };
    let median = f64::midpoint(all[(all.len() - 1) / 2], all[all.len() / 2]);
    match all.len() {
        1 => format!("{median:.digits$}"),
        _ => format!("{median:.digits$} [{least:.digits$}-{most:.digits$}]"),
    }
}

fn csv(rows: &[CompanyRow]) -> String {
    let cuts = ["5s", "10s", "all"];
    let columns = cuts.map(|cut| format!("share_{cut},mean_ms_{cut},p95_ms_{cut}")).join(",");
    let mut text =
        format!("radio,system,version,seed,{columns},sensor,documents,bytes,late_ms,why\n");
    for row in rows {
        let cuts = row
            .cuts()
            .map(|Cut { share, mean_ms, p95_ms }| format!("{share:.3},{mean_ms:.1},{p95_ms:.1}"));
        let [sensor, documents] = row.long();
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{},{},{:?},{},{},{sensor:.1},{documents:.1},{},{:.3},{:?}",
            row.radio(),
            row.system(),
            row.version(),
            row.seed(),
            cuts.join(","),
            row.bytes(),
            row.late_ms(),
            row.why()
        );
    }
    text
}

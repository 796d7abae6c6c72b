//! Records as tables: Markdown for people, CSV for programs.

use super::{
    experiment::{Cell, Experiment},
    record::{Outcome, Record},
};
use crate::{error::LabError, peer::System};
use fanfare_sim::Sorted;
use std::{fmt::Write as _, fs, path::Path};

/// A system's trials in one cell.
struct Summary {
    complete: usize,
    trials: usize,
    seconds: Spread,
    launch: Spread,
    /// 0 where a record does not tell.
    over_realised: f64,
    bytes: Spread,
    /// 0 where a record does not tell.
    bytes_over_realised: f64,
    sender_cpu: f64,
    receiver_cpu: f64,
    sender_memory: f64,
    receiver_memory: f64,
    queue_drops: f64,
    late_ms: f64,
}

/// Median, least and most.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Spread {
    median: f64,
    least: f64,
    most: f64,
}

impl Spread {
    fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        let values: Sorted = values.collect();
        Some(Self { median: values.median()?, least: *values.first()?, most: *values.last()? })
    }
}

impl Summary {
    /// `None` when nothing completed.
    fn of(records: &[&Record], perfect: f64) -> Option<Self> {
        let counted: Vec<_> = records.iter().filter(|r| r.outcome != Outcome::Void).collect();
        let complete: Vec<_> =
            counted.iter().filter_map(|r| r.mean_seconds().map(|time| (time, **r))).collect();
        let middle = |figure: &dyn Fn(&Record) -> f64| {
            Spread::of(complete.iter().map(|(_, r)| figure(r))).map_or(0.0, |s| s.median)
        };
        Some(Self {
            complete: complete.len(),
            trials: counted.len(),
            seconds: Spread::of(complete.iter().map(|(time, _)| *time))?,
            launch: Spread::of(complete.iter().map(|(time, r)| time + r.startup))?,
            over_realised: middle(&|r| r.over_realised(perfect).unwrap_or(0.0)),
            bytes: Spread::of(complete.iter().map(|(_, r)| r.bytes as f64))?,
            bytes_over_realised: middle(&|r| r.bytes_over_realised().unwrap_or(0.0)),
            sender_cpu: middle(&|r| r.sender_cpu),
            receiver_cpu: middle(&|r| r.receiver_cpu),
            sender_memory: middle(&|r| r.sender_memory as f64),
            receiver_memory: middle(&|r| r.receiver_memory as f64),
            queue_drops: middle(&|r| r.queue_drops as f64),
            late_ms: middle(&|r| r.late_ms),
        })
    }
}

/// A system in a cell, to be drawn: time over the bound.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Which network.
    pub cell: String,
    /// Who sent and received.
    pub system: System,
    /// Median of complete trials.
    pub median: f64,
    /// Least.
    pub least: f64,
    /// Most.
    pub most: f64,
}

/// What the tables are made of.
struct Tables<'a> {
    experiment: &'a Experiment,
    versions: &'a [(System, &'a str)],
    records: &'a [Record],
}

/// Writes `NAME.md` and `NAME.csv` of all records of these versions; returns what can be drawn.
pub(super) fn write(
    experiment: &Experiment,
    versions: &[(System, &str)],
    records: &[Record],
    out: &Path,
) -> Result<Vec<Point>, LabError> {
    let tables = Tables { experiment, versions, records };
    for (kind, text) in [("md", tables.markdown()), ("csv", tables.csv())] {
        let path = out.join(format!("{}.{kind}", experiment.name));
        fs::write(&path, text)
            .map_err(|error| LabError::system(format_args!("file ({})", path.display()), &error))?;
    }
    Ok(tables.points())
}

impl Tables<'_> {
    fn points(&self) -> Vec<Point> {
        let mut points = Vec::new();
        for cell in self.measured() {
            let bound = self.experiment.bound(cell);
            let point = |&(system, version): &(System, &str)| {
                let (_, summary) = self.summary(cell, system, version);
                let Spread { median, least, most } = summary?.seconds;
                let [median, least, most] = [median, least, most].map(|time| time / bound);
                Some(Point { cell: cell.key.clone(), system, median, least, most })
            };
            points.extend(self.versions.iter().filter_map(point));
        }
        points
    }

    fn summary(&self, cell: &Cell, system: System, version: &str) -> (usize, Option<Summary>) {
        let records = self.of(cell, system, version);
        let perfect = self.experiment.size as f64 * 8.0 / cell.capacity as f64;
        (records.len(), Summary::of(&records, perfect))
    }

    fn measured(&self) -> impl Iterator<Item = &Cell> {
        let known = |cell: &&Cell| {
            let of_cell = |r: &Record| r.is_of(self.experiment) && r.cell == cell.key;
            self.records.iter().any(of_cell)
        };
        self.experiment.cells.iter().filter(known)
    }

    fn markdown(&self) -> String {
        let mut text = format!(
            "# {}\n\n{}; {} bytes to {}.\n",
            self.experiment.name,
            self.experiment.about,
            self.experiment.size,
            self.experiment.receivers
        );
        text.push_str(
            "Columns and method: docs/reference/measuring.md. Made by `fanfare lab reproduce ",
        );
        let _ = writeln!(text, "{}` on {}.\n", self.experiment.name, machine());
        for (system, version) in self.versions {
            let _ = writeln!(text, "- {system} {version}");
        }
        text.push_str("\n## Time of delivery, s, and over the bound\n\n");
        self.section(
            &mut text,
            |cell, _, s| {
                let bound = self.experiment.bound(cell);
                format!(
                    "{} ({:.2}) {}",
                    seconds(s.seconds.median),
                    s.seconds.median / bound,
                    spread(s)
                )
            },
            true,
        );
        text.push_str("\n## Time over the bound with the losses that there were\n\n");
        self.section(&mut text, |_, _, s| format!("{:.3}", s.over_realised), false);
        self.of_reference(&mut text);
        text.push_str("\n## Bytes until the last receiver was complete, thousands\n\n");
        self.section(&mut text, |_, _, s| format!("{:.1}", s.bytes.median / 1e3), false);
        text.push_str("\n## Bytes over the content with the losses that there were\n\n");
        self.section(&mut text, |_, _, s| format!("{:.4}", s.bytes_over_realised), false);
        text.push_str("\n## Time from starting the sender's program, s\n\n");
        self.section(&mut text, |_, _, s| seconds(s.launch.median), false);
        text.push_str("\n## CPU of the sender and of a receiver, s; memory of both, MiB\n\n");
        self.section(
            &mut text,
            |_, _, s| {
                let mib = |bytes: f64| bytes / f64::from(1 << 20);
                let (one, other) = (mib(s.sender_memory), mib(s.receiver_memory));
                format!("{:.2} {:.2}; {one:.0} {other:.0}", s.sender_cpu, s.receiver_cpu)
            },
            false,
        );
        self.failures(&mut text);
        text
    }

    /// What a system does where nothing is lost or delayed, s.
    fn at_reference(&self, of: (System, &str)) -> Option<f64> {
        let key = self.experiment.reference?;
        let cell = self.experiment.cells.iter().find(|cell| cell.key == key)?;
        Some(self.summary(cell, of.0, of.1).1?.seconds.median)
    }

    /// What delay and loss cost beside what was lost.
    fn of_reference(&self, text: &mut String) {
        let Some(key) = self.experiment.reference else { return };
        let _ = write!(text, "\n## Goodput, Mbit/s, and over that of {key} times what arrives\n\n");
        self.section(
            text,
            |cell, of, s| {
                let goodput = self.experiment.size as f64 * 8e-6 / s.seconds.median;
                let share = self.at_reference(of).map(|reference| {
                    format!(" ({:.3})", reference / s.seconds.median / cell.reliability)
                });
                format!("{goodput:.0}{}", share.unwrap_or_default())
            },
            false,
        );
    }

    /// Who did not deliver where, and why: a `none` above must not leave it open.
    fn failures(&self, text: &mut String) {
        let mut lines = String::new();
        for cell in self.measured() {
            for (system, version) in self.versions {
                let records = self.of(cell, *system, version);
                let failed = records.iter().filter(|r| r.outcome == Outcome::Incomplete);
                let (count, why) = failed.fold((0, ""), |(count, _), r| (count + 1, &*r.why));
                if count > 0 {
                    let _ = writeln!(lines, "- {} {system}, {count} times: {why}", cell.key);
                }
            }
        }
        if !lines.is_empty() {
            let _ = write!(text, "\n## Not complete, and why the last time\n\n{lines}");
        }
    }

    fn of(&self, cell: &Cell, system: System, version: &str) -> Vec<&Record> {
        let of_cell = |r: &&Record| {
            r.is_of(self.experiment)
                && r.cell == cell.key
                && r.system == system.name()
                && r.version == version
        };
        self.records.iter().filter(of_cell).collect()
    }

    fn section(
        &self,
        text: &mut String,
        show: impl Fn(&Cell, (System, &str), &Summary) -> String,
        published: bool,
    ) {
        let mut heads: Vec<String> = self.experiment.axes.map(str::to_owned).to_vec();
        heads.push("bound".into());
        if published {
            heads.push("published NORM".into());
            heads.push("published best".into());
        }
        heads.extend(self.versions.iter().map(|(system, _)| system.to_string()));
        let _ = writeln!(text, "| {} |", heads.join(" | "));
        let _ = writeln!(text, "|{}", "---|".repeat(heads.len()));
        for cell in self.measured() {
            let mut row: Vec<String> = cell.key.split(':').map(str::to_owned).collect();
            row.push(seconds(self.experiment.bound(cell)));
            if published {
                row.push(published_norm(cell));
                row.push(published_best(cell));
            }
            row.extend(self.versions.iter().map(|(system, version)| {
                match self.summary(cell, *system, version) {
                    (0, _) => String::new(),
                    (_, None) => "none".into(),
                    (_, Some(summary)) => {
                        show(cell, (*system, version), &summary) + &shortfall(&summary)
                    }
                }
            }));
            let _ = writeln!(text, "| {} |", row.join(" | "));
        }
    }

    fn csv(&self) -> String {
        let mut text = "experiment,first,second,bound_s,system,version,trials,complete,seconds,seconds_least,\
                        seconds_most,over_bound,over_realised,launch_seconds,bytes,bytes_least,bytes_most,bytes_over_realised,sender_cpu,\
                        receiver_cpu,sender_memory,receiver_memory,queue_drops,late_ms,published_s,\
                        published_bytes,published_suspect\n"
            .to_owned();
        for cell in self.measured() {
            for (system, version) in self.versions {
                let (_, Some(summary)) = self.summary(cell, *system, version) else { continue };
                let line = self.csv_line(cell, (*system, version), &summary);
                let _ = writeln!(text, "{line}");
            }
        }
        text
    }

    fn csv_line(&self, cell: &Cell, (system, version): (System, &str), s: &Summary) -> String {
        let bound = self.experiment.bound(cell);
        let published = cell.published.iter().find(|p| p.system == system.name());
        let published = published.map_or_else(
            || ",,".to_owned(),
            |p| format!("{},{},{}", p.seconds, p.bytes, p.suspect),
        );
        format!(
            "{},{},{bound:.4},{system},{version},{},{},{:.4},{:.4},{:.4},{:.4},{:.4},{:.4},{:.0},{:.0},{:.0},\
             {:.4},{:.3},{:.3},{:.0},{:.0},{:.0},{:.3},{published}",
            self.experiment.name,
            cell.key.replace(':', ","),
            s.trials,
            s.complete,
            s.seconds.median,
            s.seconds.least,
            s.seconds.most,
            s.seconds.median / bound,
            s.over_realised,
            s.launch.median,
            s.bytes.median,
            s.bytes.least,
            s.bytes.most,
            s.bytes_over_realised,
            s.sender_cpu,
            s.receiver_cpu,
            s.sender_memory,
            s.receiver_memory,
            s.queue_drops,
            s.late_ms,
        )
    }
}

/// Three digits, whatever the size.
fn seconds(time: f64) -> String {
    match time {
        ..10.0 => format!("{time:.3}"),
        ..100.0 => format!("{time:.2}"),
        _ => format!("{time:.1}"),
    }
}

fn spread(summary: &Summary) -> String {
    let Spread { least, most, .. } = summary.seconds;
    if summary.complete < 2 {
        String::new()
    } else {
        format!("[{}-{}]", seconds(least), seconds(most))
    }
}

/// What did not complete must not hide behind what did.
fn shortfall(summary: &Summary) -> String {
    match summary.complete == summary.trials {
        true => String::new(),
        false => format!(" {} of {}", summary.complete, summary.trials),
    }
}

fn published_norm(cell: &Cell) -> String {
    let norm = cell.published.iter().find(|p| p.system == "norm");
    norm.map(|p| p.seconds.to_string() + if p.suspect { "?" } else { "" }).unwrap_or_default()
}

/// The best that is not suspect, and the suspect ones that are better, with a question mark.
fn published_best(cell: &Cell) -> String {
    let by_time = |a: &&super::Published, b: &&super::Published| a.seconds.total_cmp(&b.seconds);
    let best = cell.published.iter().filter(|p| !p.suspect).min_by(by_time);
    let Some(best) = best else { return String::new() };
    let better = cell.published.iter().filter(|p| p.suspect && p.seconds < best.seconds);
    let doubtful: String = better.map(|p| format!(", {} {}?", p.seconds, p.system)).collect();
    format!("{} {}{doubtful}", best.seconds, best.system)
}

/// Processor, cores, kernel, and the day.
pub(crate) fn machine() -> String {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    let info = read("/proc/cpuinfo");
    let model = info.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or("");
    let model = model.trim_start_matches([':', '\t', ' ']).to_owned();
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!("{model}, {cores} cores, Linux {}", read("/proc/sys/kernel/osrelease").trim())
}

#[cfg(test)]
mod tests {
    use super::super::record::tests::record;
    use super::*;

    #[test]
    fn a_table_has_medians_ratios_and_what_did_not_complete() {
        let experiment = Experiment::find("s000-table1").unwrap();
        let mut records: Vec<Record> =
            [7.5, 7.3, 8.0].map(|time| record(System::Fanfare, &[time])).to_vec();
        let why = "not within 60 s".to_owned();
        let outcome = Outcome::Incomplete;
        records.push(Record { outcome, why, ..record(System::Fanfare, &[]) });
        records.push(Record { outcome: Outcome::Void, ..record(System::Fanfare, &[99.0]) });
        let versions = [(System::Fanfare, "1"), (System::Tcp, "1")];
        let tables = Tables { experiment: &experiment, versions: &versions, records: &records };
        let text = tables.markdown();
        let row =
            "| 1024 | 90 | 6.944 | 10.6 | 9.6 jgroups | 7.500 (1.08) [7.300-8.000] 3 of 4 |  |";
        assert!(text.contains(row), "{text}");
        assert!(text.ends_with("- 1024:90 fanfare, 1 times: not within 60 s\n"), "{text}");
        let csv = tables.csv();
        assert_eq!(csv.lines().count(), 2);
        let fields = csv.lines().map(|line| line.split(',').count()).collect::<Vec<_>>();
        assert_eq!(fields[0], fields[1], "{csv}");
        let points = tables.points();
        assert_eq!((points.len(), points[0].system), (1, System::Fanfare));
        assert!((points[0].most - 8.0 / 6.944).abs() < 1e-3, "{points:?}");
    }

    #[test]
    fn suspect_figures_are_shown_as_such() {
        let experiment = Experiment::find("s000-table1").unwrap();
        let cell = &experiment.choose("256:70").unwrap()[0];
        assert_eq!(published_best(cell), "43.4 openpgm, 38.9 jgroups?");
    }

    #[test]
    fn the_middle_of_an_even_number_is_between_two() {
        let spread = Spread::of([4.0, 1.0, 2.0, 3.0].into_iter()).unwrap();
        assert_eq!(spread, Spread { median: 2.5, least: 1.0, most: 4.0 });
        assert_eq!(Spread::of(std::iter::empty()), None);
    }
}

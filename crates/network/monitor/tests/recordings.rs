//! Recorded devices of the Python package snmpsim-data, served by snmpsim and read as any agent is. The
//! tests run where these variables are set:
//!
//! - `FANFARE_SNMPSIM`: the program `snmpsim-command-responder` of the package snmpsim
//! - `FANFARE_SNMPSIM_DATA`: the folder with the recordings (`*.snmprec`, `*.snmprec.bz2`)
//!
//! Root gives its rights up for this: `nobody` has to be able to start that program. Of each recording only the
//! system, its interfaces and their extension are served: snmpsim would search others for minutes.
#![cfg(target_os = "linux")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    net::{SocketAddr, UdpSocket},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use fanfare_monitor::sensor::snmp::{Agent, AgentReport, SnmpError};

/// Parts of a recording that are served.
const SERVED: [&str; 3] = ["1.3.6.1.2.1.1.", "1.3.6.1.2.1.2.", "1.3.6.1.2.1.31."];
const TABLE: &str = "1.3.6.1.2.1.2.2.1.";
const MORE: &str = "1.3.6.1.2.1.31.1.1.1.";
/// The full ifSpeed (RFC 2863).
const FULL: u64 = u32::MAX as u64;
/// Indexes of all recordings are made first.
const START: Duration = Duration::from_secs(300);

/// A row: values by table (true: the extension) and column.
type RecordedRow = BTreeMap<(bool, u32), (String, Vec<u8>)>;

struct DeviceSimulator {
    child: Child,
    folder: PathBuf,
    address: SocketAddr,
    recordings: BTreeMap<String, Vec<String>>,
}

impl DeviceSimulator {
    /// `None` where the variables are not set. Lines of recordings go through `change` before they are
    /// served.
    fn start(name: &str, change: fn(&str) -> String) -> Option<Self> {
        let variable = |name| std::env::var_os(name).map(PathBuf::from);
        let (program, data) = (variable("FANFARE_SNMPSIM")?, variable("FANFARE_SNMPSIM_DATA")?);
        let folder = std::env::temp_dir().join(format!("snmpsim-{name}-{}", std::process::id()));
        for part in ["data", "cache"] {
            fs::create_dir_all(folder.join(part)).unwrap();
            let all = fs::Permissions::from_mode(0o777);
            fs::set_permissions(folder.join(part), all).unwrap();
        }
        let recordings = recordings(&data);
        assert!(!recordings.is_empty(), "no recordings in {}", data.display());
        for (name, lines) in &recordings {
            let text: String = lines.iter().map(|line| change(line) + "\n").collect();
            fs::write(folder.join(format!("data/{name}.snmprec")), text).unwrap();
        }
        let address = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let mut command = Command::new(program);
        let option = |name: &str, value: &Path| format!("--{name}={}", value.display());
        command.arg(option("data-dir", &folder.join("data")));
        command.arg(option("cache-dir", &folder.join("cache")));
        command.arg(format!("--agent-udpv4-endpoint={address}"));
        if rustix::process::geteuid().is_root() {
            command.args(["--process-user=nobody", "--process-group=nogroup"]);
        }
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let simulator = Self { child, folder, address, recordings };
        simulator.await_first();
        Some(simulator)
    }

    fn await_first(&self) {
        let begun = std::time::Instant::now();
        let first = self.recordings.keys().next().unwrap();
        while self.agent(first, Duration::from_secs(1)).read().is_err() {
            assert!(begun.elapsed() < START, "snmpsim does not answer");
        }
    }

    fn agent(&self, community: &str, every: Duration) -> Agent {
        Agent::new(self.address, community, every).unwrap()
    }
}

impl Drop for DeviceSimulator {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Lines that are served, by names that can be communities.
fn recordings(data: &Path) -> BTreeMap<String, Vec<String>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![data.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(data).unwrap().to_str().unwrap().replace('/', "_");
            let bytes = match name.strip_suffix(".snmprec.bz2") {
                Some(_) => Command::new("bzcat").arg(&path).output().unwrap().stdout,
                None if name.ends_with(".snmprec") => fs::read(&path).unwrap(),
                None => continue,
            };
            let name = name.split(".snmprec").next().unwrap().to_owned();
            let text = String::from_utf8_lossy(&bytes);
            let served = |line: &&str| SERVED.iter().any(|part| line.starts_with(part));
            let lines = text.lines().map(|line| line.trim_end_matches('\r'));
            found.insert(name, lines.filter(served).map(str::to_owned).collect());
        }
    }
    found
}

fn rows(lines: &[String]) -> BTreeMap<u32, RecordedRow> {
    let mut rows: BTreeMap<u32, RecordedRow> = BTreeMap::new();
    for line in lines {
        let mut parts = line.splitn(3, '|');
        let (Some(name), Some(tag), Some(value)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        let is_more = name.starts_with(MORE);
        let Some(rest) = name.strip_prefix(if is_more { MORE } else { TABLE }) else { continue };
        let numbers: Vec<u32> = rest.split('.').filter_map(|n| n.parse().ok()).collect();
        let [column, row] = numbers[..] else { continue };
        let bytes = match tag.strip_suffix('x') {
            Some(_) => hexadecimal(value),
            None => value.as_bytes().to_vec(),
        };
        rows.entry(row).or_default().insert((is_more, column), (tag.to_owned(), bytes));
    }
    rows
}

fn hexadecimal(text: &str) -> Vec<u8> {
    let pair = |pair: &[u8]| {
        let text = std::str::from_utf8(pair).ok()?;
        u8::from_str_radix(text, 16).ok()
    };
    text.as_bytes().chunks(2).filter_map(pair).collect()
}

fn number(row: &RecordedRow, column: (bool, u32)) -> Option<u64> {
    let (_, value) = row.get(&column)?;
    std::str::from_utf8(value).ok()?.trim().parse().ok()
}

fn words(row: &RecordedRow, column: (bool, u32)) -> Option<String> {
    let text = String::from_utf8_lossy(&row.get(&column)?.1).into_owned();
    let text = text.trim_matches(|c: char| c == '\0' || c.is_whitespace()).to_owned();
    (!text.is_empty()).then_some(text)
}

/// Its rows by the names that they should have.
fn named(rows: &BTreeMap<u32, RecordedRow>) -> BTreeMap<String, (u32, &RecordedRow)> {
    let mut named = BTreeMap::new();
    for (number, row) in rows {
        let known = [(false, 2), (false, 3), (false, 5), (false, 8), (false, 10), (false, 16)];
        let more = [(true, 1), (true, 6), (true, 10), (true, 15), (false, 13), (false, 14)];
        if !known.iter().chain(&more).any(|column| row.contains_key(column)) {
            continue;
        }
        let labels = [(true, 1), (false, 2)].into_iter().filter_map(|column| words(row, column));
        let label = labels.into_iter().find(|label| !named.contains_key(label));
        named.insert(label.unwrap_or_else(|| format!("#{number}")), (*number, row));
    }
    named
}

/// Value of one of the two columns, of those that say something.
fn speeds(row: &RecordedRow) -> BTreeSet<Option<u64>> {
    let (speed, high) = (number(row, (false, 5)), number(row, (true, 15)));
    let mut said: BTreeSet<Option<u64>> = BTreeSet::new();
    said.extend(speed.filter(|speed| *speed > 0 && *speed < FULL - 1).map(Some));
    said.extend(high.filter(|high| *high > 0).map(|high| Some(high * 1_000_000)));
    if said.is_empty() {
        said.insert(speed.filter(|speed| *speed >= FULL - 1).map(|_| FULL));
    }
    said
}

fn report(agent: &mut Agent, name: &str) -> AgentReport {
    // A machine that does something else, too, is asked again.
    for _ in 0..3 {
        match agent.read() {
            Ok(report) => return report,
            Err(SnmpError::Silent(_)) => {}
            Err(error) => panic!("{name}: {error}"),
        }
    }
    panic!("{name}: does not answer");
}

#[test]
fn recorded_devices_have_the_names_speeds_and_counters_of_their_recordings() {
    let Some(simulator) = DeviceSimulator::start("still", str::to_owned) else { return };
    let mut seen = 0;
    for (name, lines) in &simulator.recordings {
        let report = report(&mut simulator.agent(name, Duration::from_secs(1)), name);
        let rows = rows(lines);
        let expected = named(&rows);
        let (told, wanted) = (report.interfaces.keys(), expected.keys());
        assert_eq!(told.collect::<Vec<_>>(), wanted.collect::<Vec<_>>(), "{name}");
        assert_eq!(report.missing.is_some(), expected.is_empty(), "{name}");
        for (label, (_, row)) in &expected {
            let interface = &report.interfaces[label];
            let said = speeds(row);
            assert!(said.contains(&interface.speed_bps), "{name} {label}: {said:?} {interface:?}");
            for (long, short, told) in [(6, 10, interface.in_bytes), (10, 16, interface.out_bytes)]
            {
                let (long, short) = (number(row, (true, long)), number(row, (false, short)));
                // A long counter of 0 beside a short one that counts is not served.
                let served = long.filter(|long| *long > 0 || short.is_none_or(|short| short == 0));
                assert_eq!(told, served.or(short), "{name} {label}");
            }
            seen += 1;
        }
    }
    println!("{} recordings, {seen} interfaces", simulator.recordings.len());
}

/// Bytes a second of each counter of a row.
fn flow(row: u32) -> u64 {
    10_000 + u64::from(row % 50) * 1000
}

/// Counters grow evenly from 1,000 on.
fn evenly(line: &str) -> String {
    let mut parts = line.splitn(3, '|');
    let (Some(name), Some(tag), Some(_)) = (parts.next(), parts.next(), parts.next()) else {
        return line.to_owned();
    };
    let counters = [(TABLE, "10."), (TABLE, "16."), (MORE, "6."), (MORE, "10.")];
    let row = counters.iter().find_map(|(table, column)| {
        name.strip_prefix(table)?.strip_prefix(column)?.parse::<u32>().ok()
    });
    match row {
        Some(row) => format!("{name}|{tag}:numeric|rate={},offset=1000", flow(row)),
        None => line.to_owned(),
    }
}

#[test]
fn even_flows_of_recorded_devices_are_told_within_5_percent() {
    let Some(simulator) = DeviceSimulator::start("even", evenly) else { return };
    let (mut seen, mut missing) = (0, 0);
    for (name, lines) in &simulator.recordings {
        let rows = rows(lines);
        let expected = named(&rows);
        let mut agent = simulator.agent(name, Duration::from_secs(3));
        report(&mut agent, name);
        let report = report(&mut agent, name);
        for (label, (number, row)) in &expected {
            let interface = &report.interfaces[label];
            let told = [
                (row.contains_key(&(false, 10)) || row.contains_key(&(true, 6)), interface.in_bps),
                (
                    row.contains_key(&(false, 16)) || row.contains_key(&(true, 10)),
                    interface.out_bps,
                ),
            ];
            for (_, told) in told.iter().filter(|(is_there, _)| *is_there) {
                // A short counter of a fast line may have gone round, and then there is no rate.
                let Some(told) = told else {
                    missing += 1;
                    continue;
                };
                let share = *told as f64 / (flow(*number) * 8) as f64;
                assert!((share - 1.0).abs() < 0.05, "{name} {label}: {share} of {interface:?}");
                seen += 1;
            }
        }
    }
    println!("{seen} flows, {missing} without a rate");
    assert!(missing * 20 <= seen, "{seen} flows, {missing} without a rate");
}

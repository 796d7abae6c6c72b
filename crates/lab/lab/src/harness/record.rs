//! The file that keeps all trials: one JSON object on each line, appended when a trial ends. So an
//! interrupted comparison continues where it stopped, and each figure can be looked after.

use std::{
    fs::{self, OpenOptions},
    io::{ErrorKind, Write as _},
    path::{Path, PathBuf},
};

use crate::{
    company::{Company, CompanyRow},
    error::LabError,
};

/// Name of the file.
const FILE: &str = "trials.jsonl";

/// The file of records.
#[derive(Debug)]
pub(super) struct RecordFile {
    path: PathBuf,
    rows: Vec<CompanyRow>,
}

impl RecordFile {
    /// Reads what is there. A line that was cut off by a crash is passed over.
    pub(super) fn open(directory: &Path) -> Result<Self, LabError> {
        let path = directory.join(FILE);
        let failed = |error: std::io::Error| {
            LabError::system(format_args!("file ({})", path.display()), &error)
        };
        fs::create_dir_all(directory).map_err(failed)?;
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            Err(error) => return Err(failed(error)),
        };
        let rows = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        Ok(Self { path, rows })
    }

    /// Keeps one.
    pub(super) fn add(&mut self, row: CompanyRow) -> Result<CompanyRow, LabError> {
        let failed = |error: std::io::Error| {
            LabError::system(format_args!("file ({})", self.path.display()), &error)
        };
        let line = serde_json::to_string(&row).map_err(|error| failed(error.into()))?;
        let file = OpenOptions::new().create(true).append(true).open(&self.path);
        // A line that a crash has cut off stays alone.
        let cut =
            fs::read(&self.path).is_ok_and(|text| text.last().is_some_and(|end| *end != b'\n'));
        let text = format!("{}{line}\n", if cut { "\n" } else { "" });
        file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(failed)?;
        self.rows.push(row.clone());
        Ok(row)
    }

    /// Whether it has been run: on this radio, by this version of this system, with this seed, for this
    /// long and by as many.
    pub(super) fn has(
        &self,
        company: &Company,
        (radio, system, version): (&str, &str, &str),
    ) -> bool {
        self.rows.iter().any(|row| {
            is_of(row, company)
                && row.seed() == company.seed
                && (row.radio(), row.system(), row.version()) == (radio, system, version)
        })
    }

    /// All of this size.
    pub(super) fn of(&self, company: &Company) -> Vec<CompanyRow> {
        self.rows.iter().filter(|row| is_of(row, company)).cloned().collect()
    }
}

/// As many vehicles, for as long as on its radio: each of them reports at once in its turn.
fn is_of(row: &CompanyRow, company: &Company) -> bool {
    let duration = row.radio().parse().map(|radio| company.times(radio)[0]);
    duration.is_ok_and(|duration| row.seconds() == duration.as_secs())
        && row.vehicles() == company.vehicles
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::company::tests::row;

    #[test]
    fn what_has_been_run_is_known_after_a_crash_and_another_version_is_not() {
        let place = std::env::temp_dir().join(format!("fanfare-harness-{}", std::process::id()));
        let company = crate::company::tests::company();
        let mut file = RecordFile::open(&place).unwrap();
        file.add(row("nats", 1, [90.0, 95.0, 99.0])).unwrap();
        let path = place.join(FILE);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{text}{{\"radio\":\"fi")).unwrap();
        let mut again = RecordFile::open(&place).unwrap();
        assert!(again.has(&company, ("fixed", "nats", "1")));
        assert!(!again.has(&company, ("fixed", "nats", "2")));
        assert!(!again.has(&Company { seed: 2, ..company.clone() }, ("fixed", "nats", "1")));
        again.add(row("redis", 1, [80.0, 85.0, 89.0])).unwrap();
        let rows = RecordFile::open(&place).unwrap().of(&company);
        let expected = [("nats", [90.0, 95.0, 99.0]), ("redis", [80.0, 85.0, 89.0])];
        assert_eq!(rows, expected.map(|(system, shares)| row(system, 1, shares)));
        fs::remove_dir_all(place).unwrap();
    }
}

//! Numbers in a file: means of ten seconds for a day, and of five minutes for thirty days.

use std::{
    collections::BTreeMap,
    fmt, fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
};

use redb::{Database, ReadableDatabase as _, ReadableTable as _, TableDefinition};

use super::series::SERIES_MAX;

/// Points: of which grain, and when, in seconds since 1970. Values are number and value of each series.
const POINTS: TableDefinition<'_, (u8, u64), &[u8]> = TableDefinition::new("points");
const NAMES: TableDefinition<'_, u32, &str> = TableDefinition::new("names");
const FILE: &str = "history.redb";
/// Each grain: seconds of a point, and of all that is kept.
const GRAINS: [(u64, u64); 2] = [(10, 86_400), (300, 30 * 86_400)];
/// Names that are known; those of nodes that will never come again are among them.
const NAMES_MAX: usize = 8 * SERIES_MAX;
/// Memory of the store; its own default is 1 GiB.
const CACHE: usize = 4 << 20;
/// Points of one answer: a day of ten seconds.
const ANSWER_MAX: usize = 8640;

/// All numbers at one time.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// When it begins, in seconds since 1970.
    pub at: u64,
    /// Seconds that it is the mean of.
    pub span: u64,
    /// By name.
    pub values: BTreeMap<String, f64>,
}

/// Why there is no history.
#[derive(Debug)]
pub struct HistoryError(String);

impl fmt::Display for HistoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for HistoryError {}

/// Means that grow until their span is over.
#[derive(Debug, Default)]
struct Grain {
    begun: Option<u64>,
    sums: BTreeMap<u32, (f64, u32)>,
}

/// The file.
#[derive(Debug)]
pub struct History {
    database: Database,
    names: BTreeMap<String, u32>,
    grains: [Grain; 2],
}

impl History {
    /// Opens it in this directory, or makes it. A file that is damaged is put aside.
    pub fn open(dir: &Path) -> Result<Self, HistoryError> {
        fs::create_dir_all(dir).map_err(|error| no(dir, &error))?;
        let path = dir.join(FILE);
        match begin(&path) {
            Ok(history) => Ok(history),
            Err(Fault::Damaged(_)) => {
                let aside = path.with_extension("damaged");
                fs::rename(&path, &aside).map_err(|error| no(&path, &error))?;
                begin(&path).map_err(|fault| fault.told(&path))
            }
            Err(fault) => Err(fault.told(&path)),
        }
    }

    /// Opens one that is there, to read it.
    pub fn open_existing(dir: &Path) -> Result<Self, HistoryError> {
        let path = dir.join(FILE);
        if !path.exists() {
            return Err(HistoryError(format!("{}: is not there", path.display())));
        }
        begin(&path).map_err(|fault| fault.told(&path))
    }

    /// Numbers of this second. What fails is left out: a history must not end what it tells of.
    pub fn add(&mut self, now: u64, values: &BTreeMap<String, f64>) {
        let mut numbered = Vec::with_capacity(values.len());
        for (name, value) in values {
            if let Some(number) = self.number(name) {
                numbered.push((number, *value));
            }
        }
        for (at, (span, _)) in GRAINS.into_iter().enumerate() {
            let begins = now / span * span;
            let grain = &mut self.grains[at];
            if grain.begun.is_some_and(|begun| begun != begins) {
                self.close(at);
            }
            let grain = &mut self.grains[at];
            grain.begun = Some(begins);
            for (number, value) in &numbered {
                let sum = grain.sums.entry(*number).or_default();
                *sum = (sum.0 + value, sum.1 + 1);
            }
        }
    }

    /// Writes what has not had its whole span yet.
    pub fn flush(&mut self) {
        (0..GRAINS.len()).for_each(|at| self.close(at));
    }

    /// Points from `from` to `to`, of names that begin so: fine ones as far back as there are such.
    #[must_use]
    pub fn read(&self, from: u64, to: u64, prefix: &str) -> Vec<Point> {
        let read = || self.points(from, to, prefix).unwrap_or_default();
        catch_unwind(AssertUnwindSafe(read)).unwrap_or_default()
    }

    fn points(&self, from: u64, to: u64, prefix: &str) -> Result<Vec<Point>, redb::Error> {
        let names: BTreeMap<u32, &str> =
            self.names.iter().map(|(name, number)| (*number, &**name)).collect();
        let reading = self.database.begin_read()?;
        let table = reading.open_table(POINTS)?;
        let fine = table.range((0_u8, 0)..(1, 0))?.next().transpose()?;
        let fine_from = fine.map_or(u64::MAX, |(key, _)| key.value().1);
        let mut points = Vec::new();
        for (grain, from, to) in
            [(1_u8, from, to.min(fine_from)), (0, from.max(fine_from), to.saturating_add(1))]
        {
            if from >= to {
                continue;
            }
            for entry in table.range((grain, from)..(grain, to))? {
                let (key, value) = entry?;
                let values = unpack(value.value(), &names, prefix);
                if !values.is_empty() {
                    let span = GRAINS[usize::from(grain)].0;
                    points.push(Point { at: key.value().1, span, values });
                }
                if points.len() >= ANSWER_MAX {
                    return Ok(points);
                }
            }
        }
        Ok(points)
    }

    fn number(&mut self, name: &str) -> Option<u32> {
        if let Some(number) = self.names.get(name) {
            return Some(*number);
        }
        if self.names.len() >= NAMES_MAX {
            return None;
        }
        let number = self.names.len() as u32;
        let write = || -> Result<(), redb::Error> {
            let writing = self.database.begin_write()?;
            writing.open_table(NAMES)?.insert(number, name)?;
            Ok(writing.commit()?)
        };
        catch_unwind(AssertUnwindSafe(write)).ok()?.ok()?;
        self.names.insert(name.to_owned(), number);
        Some(number)
    }

    fn close(&mut self, at: usize) {
        let Grain { begun, sums } = std::mem::take(&mut self.grains[at]);
        let Some(begun) = begun.filter(|_| !sums.is_empty()) else { return };
        let mut packed = Vec::with_capacity(sums.len() * 8);
        for (number, (sum, count)) in sums {
            packed.extend(number.to_le_bytes());
            packed.extend(((sum / f64::from(count)) as f32).to_le_bytes());
        }
        let write = || -> Result<(), redb::Error> {
            let writing = self.database.begin_write()?;
            {
                let mut table = writing.open_table(POINTS)?;
                table.insert((at as u8, begun), &*packed)?;
                let oldest = begun.saturating_sub(GRAINS[at].1);
                table.retain_in((at as u8, 0)..(at as u8, oldest), |_, _| false)?;
            }
            Ok(writing.commit()?)
        };
        let _ = catch_unwind(AssertUnwindSafe(write));
    }
}

impl Drop for History {
    fn drop(&mut self) {
        self.flush();
    }
}

fn unpack(packed: &[u8], names: &BTreeMap<u32, &str>, prefix: &str) -> BTreeMap<String, f64> {
    let one = |pair: &[u8; 8]| {
        let (number, value) = pair.split_at(4);
        let number = u32::from_le_bytes(number.try_into().ok()?);
        let value = f32::from_le_bytes(value.try_into().ok()?);
        let name = names.get(&number).filter(|name| name.starts_with(prefix))?;
        Some(((*name).to_owned(), f64::from(value)))
    };
    packed.as_chunks::<8>().0.iter().filter_map(one).collect()
}

enum Fault {
    Damaged(String),
    InUse,
    System(String),
}

impl Fault {
    fn told(self, path: &Path) -> HistoryError {
        let path = path.display();
        HistoryError(match self {
            Self::Damaged(why) => format!("{path}: is damaged ({why})"),
            Self::InUse => format!("{path}: another program has it open"),
            Self::System(why) => format!("{path}: {why}"),
        })
    }
}

fn no(path: &Path, error: &std::io::Error) -> HistoryError {
    HistoryError(format!("{}: {error}", PathBuf::from(path).display()))
}

/// redb panics on some damaged pages.
fn begin(path: &Path) -> Result<History, Fault> {
    let opened = catch_unwind(AssertUnwindSafe(|| -> Result<History, redb::Error> {
        let database = Database::builder().set_cache_size(CACHE).create(path)?;
        let writing = database.begin_write()?;
        let mut names = BTreeMap::new();
        {
            writing.open_table(POINTS)?;
            let table = writing.open_table(NAMES)?;
            for entry in table.iter()? {
                let (number, name) = entry?;
                names.insert(name.value().to_owned(), number.value());
            }
        }
        writing.commit()?;
        Ok(History { database, names, grains: Default::default() })
    }));
    match opened {
        Ok(Ok(history)) => Ok(history),
        Ok(Err(redb::Error::DatabaseAlreadyOpen)) => Err(Fault::InUse),
        // A file that is no database is refused as bad data.
        Ok(Err(redb::Error::Io(error))) if error.kind() != std::io::ErrorKind::InvalidData => {
            Err(Fault::System(error.to_string()))
        }
        Ok(Err(error)) => Err(Fault::Damaged(error.to_string())),
        Err(_) => Err(Fault::Damaged("its pages contradict each other".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Dir(PathBuf);

    impl Dir {
        fn new(name: &str) -> Self {
            let name = format!("fanfare-history-{}-{name}", std::process::id());
            Self(std::env::temp_dir().join(name))
        }
    }

    impl Drop for Dir {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn values(loss: f64) -> BTreeMap<String, f64> {
        BTreeMap::from([("node/a/loss".to_owned(), loss), ("all/up".to_owned(), 2.0)])
    }

    #[test]
    fn points_are_means_of_their_span_and_outlive_the_program() {
        let dir = Dir::new("means");
        let mut history = History::open(&dir.0).unwrap();
        for second in 0..20 {
            history.add(1000 + second, &values(second as f64));
        }
        assert!(matches!(begin(&dir.0.join(FILE)), Err(Fault::InUse)));
        drop(history);
        let history = History::open_existing(&dir.0).unwrap();
        let found = history.read(0, 2000, "node/");
        let losses: Vec<(u64, u64, f64)> =
            found.iter().map(|point| (point.at, point.span, point.values["node/a/loss"])).collect();
        assert_eq!(losses, [(900, 300, 9.5), (1000, 10, 4.5), (1010, 10, 14.5)]);
        assert_eq!(found[0].values.len(), 1, "only what was asked for");
    }

    #[test]
    fn what_is_too_old_goes() {
        let dir = Dir::new("old");
        let mut history = History::open(&dir.0).unwrap();
        history.add(1000, &values(1.0));
        // A long span begins with it.
        history.add(87_600, &values(2.0));
        history.flush();
        let spans: Vec<u64> =
            history.read(0, u64::MAX - 1, "").iter().map(|point| point.span).collect();
        assert_eq!(spans, [300, 10], "of the fine ones only the new one is left");
    }

    #[test]
    fn a_damaged_file_is_put_aside_and_a_new_one_begun() {
        let dir = Dir::new("damaged");
        fs::create_dir_all(&dir.0).unwrap();
        fs::write(dir.0.join(FILE), vec![7; 40_000]).unwrap();
        let mut history = History::open(&dir.0).unwrap();
        history.add(1000, &values(1.0));
        assert!(dir.0.join("history.damaged").exists());
    }
}

//! A local socket that takes reports of sensors: a line of JSON for each. What they say is bounded, and
//! a sensor that dies leaves an old report, no more.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, BufRead as _, BufReader, Read as _},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use fanfare_udp::os::local::{UnixListener, UnixStream, restrict};

use serde_json::Value;

/// Sensors at one time.
const SENSORS_MAX: usize = 16;
/// A report has some kilobytes.
const LINE_MAX: u64 = 1 << 20;
/// A sensor says when the next report comes; one that is so many times late, and this long, is silent.
const LATE: f64 = 3.0;
const LATE_LEAST: Duration = Duration::from_secs(5);
/// It is forgotten after this.
const FORGOTTEN: Duration = Duration::from_secs(600);

/// What each sensor said last, and whether it is silent since.
pub(super) type Reports = BTreeMap<String, (Value, bool)>;

/// What sensors tell.
#[derive(Debug, Default)]
pub struct Sensors {
    shared: Arc<Shared>,
    socket: Option<PathBuf>,
    /// Packets missed, by sensor, at the last look.
    missed: BTreeMap<String, u64>,
}

#[derive(Debug, Default)]
struct Shared {
    known: Mutex<BTreeMap<String, (Value, Instant)>>,
    open: AtomicUsize,
}

impl Sensors {
    /// Takes reports at this path; only this user may send them.
    pub fn listen(path: &Path) -> io::Result<Self> {
        // One that nobody listens at is left from a process that was killed.
        if path.exists() && UnixStream::connect(path).is_err() {
            fs::remove_file(path)?;
        }
        let listener = UnixListener::bind(path)?;
        restrict(path, 0o600)?;
        let shared = Arc::<Shared>::default();
        let own = Arc::clone(&shared);
        thread::Builder::new().name("sensors".to_owned()).spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if own.open.fetch_add(1, Ordering::Relaxed) >= SENSORS_MAX {
                    own.open.fetch_sub(1, Ordering::Relaxed);
                    continue;
                }
                let one = Arc::clone(&own);
                let started = thread::Builder::new().name("sensor".to_owned()).spawn(move || {
                    one.read(&stream);
                    one.open.fetch_sub(1, Ordering::Relaxed);
                });
                if started.is_err() {
                    own.open.fetch_sub(1, Ordering::Relaxed);
                }
            }
        })?;
        Ok(Self { shared, socket: Some(path.to_owned()), missed: BTreeMap::new() })
    }

    /// A report, as a line would bring it; false when it is none.
    pub fn tell(&self, line: &str) -> bool {
        self.shared.tell(line)
    }

    pub(super) fn known(&self) -> Reports {
        let mut known = self.shared.lock();
        known.retain(|_, (_, heard)| heard.elapsed() < FORGOTTEN);
        let is_silent = |report: &Value, heard: Instant| {
            let every = report["every"].as_f64().filter(|every| (0.0..3600.0).contains(every));
            let late = Duration::from_secs_f64(every.unwrap_or(1.0) * LATE).max(LATE_LEAST);
            heard.elapsed() > late
        };
        let state = |(name, (report, heard)): (&String, &(Value, Instant))| {
            (name.clone(), (report.clone(), is_silent(report, *heard)))
        };
        known.iter().map(state).collect()
    }

    /// Whether a counter of a sensor is higher than at the last look.
    pub(super) fn has_grown(&mut self, name: &str, dropped: u64) -> bool {
        if self.missed.len() >= SENSORS_MAX && !self.missed.contains_key(name) {
            return false;
        }
        self.missed.insert(name.to_owned(), dropped).is_some_and(|before| dropped > before)
    }
}

impl Drop for Sensors {
    fn drop(&mut self) {
        // Whoever listens there next has removed it already.
        self.socket.take().map(fs::remove_file);
    }
}

impl Shared {
    fn read(&self, stream: &UnixStream) {
        let mut lines = BufReader::new(stream);
        let mut line = String::new();
        loop {
            line.clear();
            let read = (&mut lines).take(LINE_MAX).read_line(&mut line);
            // A line that has no end within the bound is no report: the sensor is left.
            if !matches!(read, Ok(1..)) || !line.ends_with('\n') || !self.tell(&line) {
                return;
            }
        }
    }

    fn tell(&self, line: &str) -> bool {
        let Ok(report) = serde_json::from_str::<Value>(line) else { return false };
        let Some(name) = report["sensor"].as_str().map(|name| name.chars().take(64).collect())
        else {
            return false;
        };
        let name: String = name;
        let mut known = self.lock();
        if known.len() < SENSORS_MAX || known.contains_key(&name) {
            known.insert(name, (report, Instant::now()));
        }
        true
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, (Value, Instant)>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

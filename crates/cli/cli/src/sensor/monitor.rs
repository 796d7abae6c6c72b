//! The monitor that takes the reports: a line of JSON for each, through a local socket.

use std::{
    io::Write as _,
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    time::Duration,
};

use fanfare_command::{Exit, Failure, Output, to_text};
use fanfare_monitor::sensor::report::Report;

/// A monitor that takes nothing for so long is left.
const PATIENCE: Duration = Duration::from_secs(1);

/// A way to a monitor.
#[derive(Debug)]
pub(crate) struct Monitor {
    path: PathBuf,
    stream: Option<UnixStream>,
}

impl Monitor {
    /// Connects while this process still has its rights.
    pub(crate) fn connect(path: &Path) -> Result<Self, Failure> {
        let stream = open(path).map_err(|error| {
            let text = format!(
                "to ({}): no monitor takes reports there ({error}). Start 'fanfare monitor \
                 --monitor-sensors {0}' first",
                path.display()
            );
            Failure::new(Exit::Nobody, "sensor.no-monitor", text)
        })?;
        Ok(Self { path: path.to_owned(), stream: Some(stream) })
    }

    /// Hands over a report. A monitor that has gone is looked for with each.
    pub(crate) fn tell(&mut self, report: &Report, output: &Output) {
        let was_there = self.stream.is_some();
        let stream = self.stream.take().or_else(|| open(&self.path).ok());
        let line = format!("{}\n", to_text(report));
        self.stream = stream.filter(|stream| (&mut &*stream).write_all(line.as_bytes()).is_ok());
        match (was_there, self.stream.is_some()) {
            (true, false) => {
                output.warn("sensor.no-monitor", "the monitor has gone; looking for it")
            }
            (false, true) => output.text("the monitor is back"),
            _ => {}
        }
    }
}

fn open(path: &Path) -> std::io::Result<UnixStream> {
    let stream = UnixStream::connect(path)?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

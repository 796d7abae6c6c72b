//! What a radio tells of its line: its rate now, and what it carries. Radios do that by SNMP or a program of
//! their own; here it is a sensor that reads the emulator's account. Without one nobody knows that a line has
//! fallen: the interface of the host does not.

use std::{
    collections::VecDeque, io::Write as _, os::unix::net::UnixStream, path::Path, time::Duration,
};

use fanfare_command::{Exit, Failure};
use fanfare_lab::{Lab, Snapshot, Stop};
use serde_json::{Value, json};

use crate::lab::reproduce::stage::pause;

/// How often it reports.
pub(super) const EVERY: Duration = Duration::from_millis(250);
/// A monitor that does not listen by then does not start.
const PATIENCE: Duration = Duration::from_secs(10);
/// Rates are those of so long, seconds: a narrow line carries ten packets in it.
const OVER: f64 = 1.0;

/// A modem, and where it reports.
#[derive(Debug)]
pub(super) struct Modem {
    monitor: UnixStream,
    rates: Rates,
}

impl Modem {
    /// Waits until the monitor listens.
    pub(super) fn connect(socket: &Path, lab: &Lab, stop: &Stop) -> Result<Self, Failure> {
        let latest = lab.elapsed() + PATIENCE;
        loop {
            match UnixStream::connect(socket) {
                Ok(monitor) => return Ok(Self { monitor, rates: Rates::default() }),
                Err(_) if lab.elapsed() < latest => pause(lab, stop, lab.elapsed() + EVERY)?,
                Err(error) => {
                    let text = format!("monitor ({}): {error}", socket.display());
                    return Err(Failure::new(Exit::Failed, "lab.monitor", text));
                }
            }
        }
    }

    /// Tells how it is now. A monitor that has gone is seen by what it does not say.
    pub(super) fn tell(&mut self, lab: &Lab, capacity: u64) -> Result<(), Failure> {
        let counted = lab.snapshot().map_err(|error| crate::ending::failure(&error))?;
        let bits = self.rates.add(counted.seconds, carried(&counted));
        let _ = writeln!(self.monitor, "{}", report(capacity, bits));
        Ok(())
    }
}

/// Bytes that the line has carried from the sender.
pub(super) fn carried(counted: &Snapshot) -> u64 {
    counted.links.iter().filter(|link| link.from == "s").map(|link| link.bytes).sum()
}

/// As a sensor tells it.
fn report(capacity: u64, bits: u64) -> Value {
    let line = json!({"speed_bps": capacity, "out_bps": bits, "in_bps": 0, "up": true});
    let every = EVERY.as_secs_f64();
    json!({"sensor": "modem", "span": every, "every": every, "interfaces": {"line": line}})
}

/// Bytes at some times.
#[derive(Debug, Default)]
struct Rates {
    seen: VecDeque<(f64, u64)>,
}

impl Rates {
    /// What was carried lately, bit/s.
    fn add(&mut self, at: f64, bytes: u64) -> u64 {
        self.seen.push_back((at, bytes));
        while self.seen.len() > 2 && self.seen.get(1).is_some_and(|(then, _)| at - then >= OVER) {
            self.seen.pop_front();
        }
        match self.seen.front() {
            Some((then, before)) if at > *then => {
                ((bytes - before) as f64 * 8.0 / (at - then)).round() as u64
            }
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_that_of_the_last_second() {
        let mut rates = Rates::default();
        let told: Vec<u64> = (0..20)
            .map(|n| rates.add(f64::from(n) / 4.0, if n < 8 { n as u64 * 1000 } else { 7000 }))
            .collect();
        assert_eq!((told[0], told[1], told[7]), (0, 32_000, 32_000));
        // Nothing more comes after the eighth.
        assert_eq!((told[9], told[11], told[19]), (16_000, 0, 0));
    }

    #[test]
    fn a_report_is_one_of_a_sensor() {
        let report = report(128_000, 100_000);
        assert_eq!(report["sensor"], "modem");
        assert_eq!(report["interfaces"]["line"]["speed_bps"], 128_000);
    }
}

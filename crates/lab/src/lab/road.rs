//! Two hosts, `near` and `far`, with one road between them, and the keys of links over it.

use std::{fmt::Write as _, path::Path, process::Command};

use fanfare_sim::Scenario;

use crate::error::{LabError, Refusal};

/// A road, the same both ways.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Road {
    /// bit/s.
    pub(crate) rate: u64,
    /// One way.
    pub(crate) delay_ms: u32,
    /// Percent.
    pub(crate) loss: f64,
    /// Packets of 1,500 bytes; what comes when it is full is dropped.
    pub(crate) queue: u64,
}

impl Road {
    /// Packets of 1,500 bytes in one product of rate and round trip.
    pub(crate) const fn product(rate: u64, delay_ms: u32) -> u64 {
        rate * 2 * delay_ms as u64 / 1000 / 8 / 1500
    }

    /// For a laboratory: `near` is its first host, `far` its second.
    ///
    /// # Errors
    /// The emulator knows no such road.
    pub(crate) fn scenario(&self) -> Result<Scenario, LabError> {
        let Self { rate, delay_ms, loss, queue } = self;
        let mut text =
            "[scenario]\nname = \"road\"\nabout = \"two hosts and what is between them\"\n\
                        duration = \"3600s\"\n[[node]]\nname = \"near\"\n[[node]]\nname = \"far\"\n"
                .to_owned();
        let _ = write!(
            text,
            "[[link]]\nfrom = \"near\"\nto = \"far\"\nboth = true\nrate = \"{rate}bps\"\n\
             delay = \"{delay_ms}ms\"\nloss = \"{loss}%\"\n\
             queue = {{ kind = \"drop-tail\", packets = {queue} }}\n"
        );
        let none = |file: &str| Err(format!("{file} is not part of it. Report this"));
        Scenario::parse_for_laboratory(&text, &none).map_err(|mistakes| {
            let all: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
            let text = format!("road: {}. Choose another rate, delay or loss", all.join("; "));
            LabError::new(Refusal::Usage, "lab.road", text)
        })
    }
}

/// The key by which others know who has this file of identity. It is made if it is not there.
///
/// # Errors
/// The program does not start.
pub(crate) fn key(fanfare: &Path, identity: &Path) -> Result<String, LabError> {
    let shown = Command::new(fanfare).arg("id").arg("--identity").arg(identity).output();
    let shown = shown.map_err(|error| LabError::system(fanfare.display(), &error))?;
    Ok(String::from_utf8_lossy(&shown.stdout).trim().to_owned())
}

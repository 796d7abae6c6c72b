//! Counters of this machine's network interfaces, from files of the kernel: no right is needed.

use std::{collections::BTreeMap, fs, path::PathBuf};

use serde::Serialize;

/// Interfaces that are told; containers may have thousands.
const INTERFACES_MAX: usize = 64;

/// One interface. What is not there is not known.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Interface {
    /// It can be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub up: Option<bool>,
    /// It leads to its own machine alone: what it carries loads no line.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub loopback: bool,
    /// What its line carries, bit/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed_bps: Option<u64>,
    /// Bytes received and sent since it is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_bytes: Option<u64>,
    /// Likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub out_bytes: Option<u64>,
    /// Bits per second since the last look.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_bps: Option<u64>,
    /// Likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub out_bps: Option<u64>,
    /// Packets that were dropped, received and sent, with errors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drops: Option<u64>,
}

impl Interface {
    /// Rates since `before`, `seconds` ago. A counter that has fallen began anew.
    pub(crate) fn measure(&mut self, before: &Self, seconds: f64) {
        let rate = |now: Option<u64>, before: Option<u64>| {
            let bytes = now?.checked_sub(before?)?;
            (seconds > 0.0).then(|| (bytes as f64 * 8.0 / seconds).round() as u64)
        };
        self.in_bps = rate(self.in_bytes, before.in_bytes);
        self.out_bps = rate(self.out_bytes, before.out_bytes);
    }
}

/// All of them, with the counters of the last look.
#[derive(Debug)]
pub struct Interfaces {
    root: PathBuf,
    before: BTreeMap<String, Interface>,
}

impl Default for Interfaces {
    fn default() -> Self {
        Self { root: PathBuf::from("/sys/class/net"), before: BTreeMap::new() }
    }
}

impl Interfaces {
    /// As they are now, `seconds` after the last look.
    pub fn read(&mut self, seconds: f64) -> BTreeMap<String, Interface> {
        let mut found = BTreeMap::new();
        for entry in fs::read_dir(&self.root).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if found.len() < INTERFACES_MAX && name != "lo" {
                found.insert(name, read(&entry.path()));
            }
        }
        for (name, interface) in &mut found {
            if let Some(before) = self.before.get(name) {
                interface.measure(before, seconds);
            }
        }
        self.before.clone_from(&found);
        found
    }
}

fn read(folder: &std::path::Path) -> Interface {
    let text = |file: &str| fs::read_to_string(folder.join(file)).ok();
    let number = |file: &str| -> Option<u64> { text(file)?.trim().parse().ok() };
    let drops = ["rx_dropped", "tx_dropped", "rx_errors", "tx_errors"]
        .map(|name| number(&format!("statistics/{name}")));
    Interface {
        // Loopback and tunnels say "unknown".
        up: text("operstate").map(|state| state.trim() != "down"),
        // In Mbit/s; -1 where there is none. A tun or tap device says 10, whatever is behind it.
        speed_bps: number("speed")
            .filter(|speed| *speed > 0 && !folder.join("tun_flags").exists())
            .map(|speed| speed * 1_000_000),
        in_bytes: number("statistics/rx_bytes"),
        out_bytes: number("statistics/tx_bytes"),
        drops: drops.iter().flatten().copied().reduce(|all, one| all + one),
        ..Interface::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_become_rates_and_one_that_falls_is_no_rate() {
        let root = std::env::temp_dir().join(format!("fanfare-interfaces-{}", std::process::id()));
        let write = |file: &str, text: &str| {
            let path = root.join("eth0").join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("speed", "100\n");
        write("operstate", "up\n");
        write("statistics/rx_bytes", "1000\n");
        write("statistics/tx_bytes", "5000\n");
        write("statistics/tx_dropped", "3\n");
        let mut all = Interfaces { root: root.clone(), before: BTreeMap::new() };
        let first = all.read(0.0)["eth0"].clone();
        assert_eq!(
            (first.up, first.speed_bps, first.in_bps),
            (Some(true), Some(100_000_000), None)
        );
        write("statistics/rx_bytes", "2000\n");
        write("statistics/tx_bytes", "100\n");
        write("speed", "-1\n");
        let second = all.read(2.0)["eth0"].clone();
        assert_eq!((second.in_bps, second.out_bps), (Some(4000), None));
        assert_eq!((second.speed_bps, second.drops), (None, Some(3)));
        write("speed", "10\n");
        assert_eq!(all.read(2.0)["eth0"].speed_bps, Some(10_000_000));
        write("tun_flags", "0x1001\n");
        assert_eq!(all.read(2.0)["eth0"].speed_bps, None, "the 10 of a tun device is made up");
        fs::remove_dir_all(&root).unwrap();
    }
}

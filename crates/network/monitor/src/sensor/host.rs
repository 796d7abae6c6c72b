//! What this machine knows of itself: processors, memory, battery, from files of the kernel. What is not
//! there is not known.

use std::{fs, path::PathBuf};

use fanfare_messaging::monitor::Facts;

/// Reads the files anew each time; the use of processors is that since the last time.
#[derive(Debug)]
pub struct HostFacts {
    /// `/`, or in tests another folder.
    root: PathBuf,
    /// Time that processors have been busy, and all time.
    before: Option<(u64, u64)>,
}

impl Default for HostFacts {
    fn default() -> Self {
        Self::new()
    }
}

impl HostFacts {
    /// Of this machine.
    #[must_use]
    pub fn new() -> Self {
        Self { root: PathBuf::from("/"), before: None }
    }

    /// As it is now.
    pub fn read(&mut self) -> Facts {
        Facts {
            processor: self.processor(),
            memory: self.memory(),
            battery: self.battery(),
            ..Facts::default()
        }
    }

    fn text(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.root.join(path)).ok()
    }

    fn processor(&mut self) -> Option<f64> {
        let text = self.text("proc/stat")?;
        let first = text.lines().next()?.strip_prefix("cpu ")?;
        // user, nice, system, idle, iowait, irq, softirq, steal; what follows is in these already.
        let times: Vec<u64> =
            first.split_whitespace().take(8).map_while(|time| time.parse().ok()).collect();
        let all: u64 = times.iter().sum();
        let idle = times.get(3)? + times.get(4)?;
        let now = (all.saturating_sub(idle), all);
        let (busy, all) = self.before.replace(now)?;
        let span = now.1.checked_sub(all).filter(|span| *span > 0)?;
        Some(now.0.saturating_sub(busy) as f64 / span as f64)
    }

    fn memory(&self) -> Option<f64> {
        let text = self.text("proc/meminfo")?;
        let kilobytes = |name: &str| -> Option<f64> {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            line.trim_start_matches(':').split_whitespace().next()?.parse().ok()
        };
        let (all, free) = (kilobytes("MemTotal")?, kilobytes("MemAvailable")?);
        (all > 0.0).then(|| 1.0 - free / all)
    }

    /// The fullest battery of this machine's own, not of a mouse.
    fn battery(&self) -> Option<f64> {
        let all = fs::read_dir(self.root.join("sys/class/power_supply")).ok()?;
        let share = |folder: PathBuf| {
            let word = |name: &str| fs::read_to_string(folder.join(name)).ok();
            let is_own = word("type")?.trim() == "Battery"
                && word("scope").is_none_or(|scope| scope.trim() != "Device");
            let percent: f64 = word("capacity")?.trim().parse().ok()?;
            (is_own && (0.0..=100.0).contains(&percent)).then_some(percent / 100.0)
        };
        all.flatten().filter_map(|entry| share(entry.path())).reduce(f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(name: &str, files: &[(&str, &str)]) -> HostFacts {
        let root =
            std::env::temp_dir().join(format!("fanfare-facts-{}-{name}", std::process::id()));
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        HostFacts { root, before: None }
    }

    #[test]
    fn processors_memory_and_battery_are_read() {
        let mut host = machine(
            "all",
            &[
                ("proc/stat", "cpu  100 0 100 700 100 0 0 0 9 9\ncpu0 1 2 3\n"),
                ("proc/meminfo", "MemTotal:  1000 kB\nMemFree: 1 kB\nMemAvailable:   250 kB\n"),
                ("sys/class/power_supply/BAT0/type", "Battery\n"),
                ("sys/class/power_supply/BAT0/capacity", "80\n"),
                ("sys/class/power_supply/mouse/type", "Battery\n"),
                ("sys/class/power_supply/mouse/scope", "Device\n"),
                ("sys/class/power_supply/mouse/capacity", "90\n"),
            ],
        );
        let facts = host.read();
        assert_eq!((facts.processor, facts.memory, facts.battery), (None, Some(0.75), Some(0.8)));
        fs::write(host.root.join("proc/stat"), "cpu  140 0 110 750 100 0 0 0 9 9\n").unwrap();
        assert_eq!(host.read().processor, Some(0.5));
        fs::remove_dir_all(&host.root).unwrap();
    }

    #[test]
    fn what_is_missing_empty_or_unknown_is_not_known_and_not_zero() {
        let mut host = machine(
            "none",
            &[
                ("proc/stat", ""),
                ("proc/meminfo", "MemTotal: 0 kB\nMemAvailable: 0 kB\n"),
                ("sys/class/power_supply/BAT0/type", "Battery\n"),
                ("sys/class/power_supply/BAT0/capacity", "Unknown\n"),
            ],
        );
        assert_eq!(host.read(), Facts::default());
        fs::remove_dir_all(&host.root).unwrap();
    }
}

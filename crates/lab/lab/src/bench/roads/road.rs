//! One road of `fanfare bench roads`: a line, its receivers, and the file.

use serde::Serialize;

use super::{grid, line::RoadLine};

/// A network and the file that goes over it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RoadCase {
    /// Line between sender and receivers.
    pub line: RoadLine,
    /// Receivers.
    pub receivers: usize,
    /// Bytes of the file.
    pub size: u64,
}

/// The time that a file takes on its line behind what a bucket passes at once, seconds: with less, a start
/// would be measured.
const SECONDS: u64 = 5;
/// A short file lasts so long.
const SHORT_SECONDS: u64 = 3;
/// Rate up to which a road is slow, bit/s: programs of ten such roads keep two processors busy to less than half.
const SLOW: u64 = 10_000_000;
/// So many receivers keep a machine busy on a slow road, too.
const CROWD: usize = 60;
/// Memory that a file and its copies take at most, bytes.
const MEMORY: u64 = 8_000_000_000;

impl RoadCase {
    fn new(line: RoadLine, receivers: usize, seconds: u64) -> Self {
        let size = line.size(seconds).min(MEMORY / (receivers as u64 + 1));
        Self { line, receivers, size }
    }

    /// The roads of these names to each of these numbers of receivers; a star at the end stands for any
    /// rest. All of them for no name; for no number, what each road has by itself.
    ///
    /// # Errors
    /// Which name is unknown, and which there are.
    pub fn chosen(names: &[String], receivers: &[usize]) -> Result<Vec<Self>, String> {
        let all = grid::lines();
        let mut lines = Vec::new();
        for name in names.iter().map(|name| name.trim()) {
            let fits = |line: &&RoadLine| match name.strip_suffix('*') {
                Some(start) => line.to_string().starts_with(start),
                None => line.to_string() == name,
            };
            let before = lines.len();
            lines.extend(all.iter().filter(fits));
            if lines.len() == before {
                let names: Vec<String> = all.iter().map(RoadLine::to_string).collect();
                return Err(format!(
                    "road ({name}): no such road. Use one of {}",
                    names.join(", ")
                ));
            }
        }
        let lines = if names.is_empty() { all } else { lines };
        let to_all = |line: RoadLine| {
            let own = if receivers.is_empty() { grid::receivers(line) } else { receivers.to_vec() };
            own.into_iter().map(move |receivers| Self::new(line, receivers, SECONDS))
        };
        Ok(lines.into_iter().flat_map(to_all).collect())
    }

    /// The roads of the short check, to three receivers.
    #[must_use]
    pub fn short() -> Vec<Self> {
        grid::SHORT.into_iter().map(|line| Self::new(line, 3, SHORT_SECONDS)).collect()
    }

    /// Its name, in options and tables.
    #[must_use]
    pub fn name(&self) -> String {
        self.line.to_string()
    }

    /// The rates that are told, bit/s: the best of them counts.
    #[must_use]
    pub fn told(&self) -> Vec<u64> {
        self.line.told()
    }

    /// Time that the file takes, with nothing lost, seconds: on its line, or at the slowest rate that is told.
    pub(super) fn on_the_wire(&self) -> f64 {
        let rate = self.line.rate_bps().or(self.told().first().copied()).unwrap_or(1);
        let behind_burst = self.size.saturating_sub(self.line.burst());
        (behind_burst * 8) as f64 / rate as f64
    }

    /// True if its programs wait for the line most of the time, so that others can run beside them.
    pub(super) fn is_slow(&self) -> bool {
        self.fastest() <= SLOW && self.receivers < CROWD
    }

    /// Rate that its line passes, or the highest rate that is told, bit/s.
    pub(super) fn fastest(&self) -> u64 {
        self.line.rate_bps().or(self.told().last().copied()).unwrap_or(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(names: &[&str], receivers: &[usize]) -> Result<Vec<RoadCase>, String> {
        RoadCase::chosen(
            &names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>(),
            receivers,
        )
    }

    #[test]
    fn each_line_goes_to_each_number_of_receivers_that_is_asked_for_or_to_its_own() {
        assert_eq!(chosen(&[], &[1, 3, 60]).unwrap().len(), 3 * grid::lines().len());
        let own = |name: &str| {
            let roads = chosen(&[name], &[]).unwrap();
            roads.iter().map(|road| road.receivers).collect::<Vec<_>>()
        };
        assert_eq!(own("lan"), [1, 3, 10, 60]);
        assert_eq!(own("delay-1G-50ms"), [1, 3]);
        assert_eq!(own("tbf-1M-3k"), [1, 3, 10]);
    }

    #[test]
    fn roads_are_chosen_by_name_and_a_star_stands_for_any_rest() {
        let names: Vec<String> =
            chosen(&["police-*", "lan"], &[3]).unwrap().iter().map(RoadCase::name).collect();
        assert_eq!(names, ["police-1M", "police-10M", "police-100M", "lan"]);
        let unknown = chosen(&["lan", "tbf-57k"], &[3]).unwrap_err();
        assert!(unknown.contains("(tbf-57k)") && unknown.contains("tbf-56k-16k"), "{unknown}");
    }

    #[test]
    fn a_file_lasts_five_seconds_behind_what_a_bucket_passes_at_once() {
        let road = chosen(&["tbf-56k-16k"], &[1]).unwrap()[0];
        assert_eq!((road.size, road.told()), (16_000 + 35_000, vec![53_760]));
        assert!((road.on_the_wire() - 5.0).abs() < 0.01);
        let far = chosen(&["delay-10M-250ms"], &[1]).unwrap()[0];
        assert!((far.on_the_wire() - 8.25).abs() < 0.01, "{far:?}");
    }

    #[test]
    fn a_file_and_its_copies_fit_into_the_memory_of_a_small_machine() {
        for road in chosen(&[], &[]).unwrap().iter().chain(&chosen(&[], &[60]).unwrap()) {
            assert!(road.size * (road.receivers as u64 + 1) <= MEMORY, "{road:?}");
        }
    }

    #[test]
    fn a_fast_road_and_one_to_a_crowd_are_measured_alone() {
        let slow = |name: &str, receivers| chosen(&[name], &[receivers]).unwrap()[0].is_slow();
        for name in ["tbf-56k-3k", "police-10M", "loss10-10M-50ms", "changing-10M-50ms"] {
            assert!(slow(name, 10) && !slow(name, 60), "{name}");
        }
        for name in ["lan", "lan-loss10", "tbf-100M-3k", "changing-100M-50ms", "delay-1G-50ms"] {
            assert!(!slow(name, 1), "{name}");
        }
    }

    #[test]
    fn the_short_check_has_five_roads_that_take_less_than_a_minute_and_a_half() {
        let roads = RoadCase::short();
        let seconds: f64 = roads.iter().map(RoadCase::on_the_wire).sum();
        // By two senders, and three seconds for the beginning and the end of each.
        assert!(roads.len() == 5 && 2.0 * seconds + 30.0 < 90.0, "{seconds}");
    }
}

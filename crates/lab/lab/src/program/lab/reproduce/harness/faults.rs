//! What faults cost: from every message and delay of a trial.

use std::{fmt::Write as _, str::FromStr as _};

use fanfare_lab::{CompanyRow, Fault, HarnessCell, MedianOf, MessagingSystem, Radio};

/// What a fault has left of the positions of one trial.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Aftermath {
    /// Of the pairs of a position that was published during the fault and a recipient on the other side of it:
    /// those that came in the end, percent.
    pub(super) parted: Option<f64>,
    /// The same of all pairs.
    pub(super) all: Option<f64>,
    /// From the fault's end to the first position across it, seconds.
    pub(super) first: Option<f64>,
    /// From the fault's end until 95 of a hundred of those that it held up and that came had come, seconds.
    pub(super) caught_up: Option<f64>,
}

/// Pairs, and those that came.
#[derive(Debug, Clone, Copy, Default)]
struct Pairs {
    all: u32,
    came: u32,
}

impl Pairs {
    fn add(&mut self, came: bool) {
        self.all += 1;
        self.came += u32::from(came);
    }
    fn percent(self) -> Option<f64> {
        (self.all > 0).then(|| f64::from(self.came) * 100.0 / f64::from(self.all))
    }
}

impl Aftermath {
    /// Of a trial, where it had a fault.
    pub(super) fn of(row: &CompanyRow) -> Option<Self> {
        let fault = Radio::from_str(row.radio()).ok()?.fault()?;
        let system = MessagingSystem::from_str(row.system()).ok()?;
        let window = fault.window(std::time::Duration::from_secs(row.seconds()));
        let [from, until] = [window.start, window.end].map(|at| at.as_millis() as u64);
        let (mut parted, mut all) = (Pairs::default(), Pairs::default());
        let (mut first, mut held) = (None::<u64>, Vec::new());
        for (topic, at, delays) in row.messages() {
            let number =
                topic.strip_prefix("position/v").and_then(|text| text.parse::<usize>().ok());
            let Some(publisher) = number.and_then(|number| number.checked_sub(1)) else { continue };
            let recipients = (0..row.vehicles()).filter(|one| *one != publisher);
            for (recipient, delay) in recipients.zip(delays) {
                let is_between = fault.is_between(system, row.vehicles(), [publisher, recipient]);
                let came = delay.map(|delay| at + delay);
                let is_meanwhile = (from..until).contains(at);
                if is_meanwhile {
                    all.add(came.is_some());
                }
                if !is_between {
                    continue;
                }
                if is_meanwhile {
                    parted.add(came.is_some());
                }
                let Some(after) = came.and_then(|came| came.checked_sub(until)) else { continue };
                first = Some(first.map_or(after, |first| first.min(after)));
                if is_meanwhile {
                    held.push(after as f64 / 1e3);
                }
            }
        }
        let held: fanfare_sim::Sorted = held.into_iter().collect();
        Some(Self {
            parted: parted.percent(),
            all: all.percent(),
            first: first.map(|ms| ms as f64 / 1e3),
            caught_up: held.percentile(95),
        })
    }
}

/// A table of all cells with a fault; nothing where there is none.
pub(super) fn markdown(cells: &[HarnessCell], rows: &[CompanyRow]) -> String {
    let with_faults = |cell: &&HarnessCell| fault_of(cell).is_some();
    if !cells.iter().any(|cell| with_faults(&cell)) {
        return String::new();
    }
    let mut text = String::from(
        "\n## Faults\n\nOn the fixed radio, with messages for 90 s at least (`partition`: 180 s), and 60 s until the end. `broker-killed`: the server's \
         process is killed at one third, and started again 30 s later with what it has on disk; clients stay. \
         Systems without a server lose the program of the fourth vehicle for that time instead. `partition`: \
         the first and the second half of the vehicles do not hear each other for 120 s. `late`: the last \
         vehicle comes at one third, and wants what was published before.\n\n\
         `Parted` are pairs with a position that was published meanwhile and a recipient on the other side: \
         with a killed server all pairs, without a server those to the killed vehicle, with a partition those \
         to the other half, and those to the late vehicle. `First` is the time from the fault's end to the \
         first position across; `caught up` is the time until 95 % of the parted that came later had come.\n\n\
         | fault | system | runs | within 5 s, % | within 10 s, % | at the end, % | parted that came, % | all \
         of that time that came, % | first, s | caught up, s |\n|---|---|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for cell in cells.iter().filter(with_faults) {
        let of: Vec<Aftermath> =
            rows.iter().filter(|row| is_of(row, cell)).filter_map(Aftermath::of).collect();
        let median = |value: fn(&Aftermath) -> Option<f64>, digits| {
            let text = MedianOf::of(&of.iter().filter_map(value).collect()).text(digits);
            if text.is_empty() { "none".to_owned() } else { text }
        };
        let shares = cell.shares.map(|share| share.text(1)).join(" | ");
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| {} | {} | {} | {shares} | {} | {} | {} | {} |",
            cell.radio,
            cell.system,
            of.len(),
            median(|one| one.parted, 1),
            median(|one| one.all, 1),
            median(|one| one.first, 1),
            median(|one| one.caught_up, 1),
        );
    }
    text
}

fn fault_of(cell: &HarnessCell) -> Option<Fault> {
    Radio::from_str(&cell.radio).ok()?.fault()
}

/// Whether a trial is one of the cell's.
pub(super) fn is_of(row: &CompanyRow, cell: &HarnessCell) -> bool {
    (row.radio(), row.system(), row.version()) == (&*cell.radio, &*cell.system, &*cell.version)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{cell, row};
    use super::*;

    #[test]
    fn what_was_held_up_by_a_partition_is_told_apart_from_what_never_crossed_it() {
        // Six vehicles, three in each half, and a cut from 30 to 150 s.
        let one = row(
            "partition",
            "nats",
            180,
            &[
                // Before: counts nowhere.
                ("position/v1", 1000, &[Some(5), Some(5), None, None, None]),
                // During: of three across one comes 4 s after the end, one after 8 s.
                ("position/v1", 100_000, &[Some(5), Some(5), Some(54_000), Some(58_000), None]),
                // After: the first across.
                ("position/v6", 151_000, &[Some(500), Some(700), Some(900), Some(10), Some(10)]),
                ("sensor/v6", 40_000, &[Some(1)]),
            ],
        );
        let found = Aftermath::of(&one).unwrap();
        assert_eq!((found.parted, found.all), (Some(200.0 / 3.0), Some(80.0)));
        assert_eq!((found.first, found.caught_up), (Some(1.5), Some(8.0)));
        assert_eq!(Aftermath::of(&row("fixed", "nats", 180, &[])), None);
        let table = markdown(&[cell("fixed", "nats", 9.0), cell("partition", "nats", 9.0)], &[one]);
        let lines: Vec<&str> = table.lines().filter(|line| line.contains("| nats |")).collect();
        let shares = "9.0 ± 1.0 | 9.0 ± 1.0 | 9.0 ± 1.0";
        assert_eq!(
            lines,
            [format!("| partition | nats | 1 | {shares} | 66.7 | 80.0 | 1.5 | 8.0 |")]
        );
        assert_eq!(markdown(&[cell("fixed", "nats", 9.0)], &[]), "");
    }

    #[test]
    fn nothing_that_came_is_no_zero() {
        let late = row(
            "late",
            "mqtt",
            180,
            &[("position/v1", 1000, &[Some(5), Some(5), Some(5), Some(5), None])],
        );
        let found = Aftermath::of(&late).unwrap();
        assert_eq!(found, Aftermath { parted: Some(0.0), all: Some(80.0), ..Aftermath::default() });
        let table = markdown(&[cell("late", "mqtt", 9.0)], &[late]);
        assert!(table.contains("| 0.0 | 80.0 | none | none |"), "{table}");
    }
}

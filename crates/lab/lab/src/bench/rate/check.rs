//! A few cells with wide margins, for CI: whether `auto` still finds the right rate. Another load
//! on the machine should not decide the result. So the figures are ratios within one minute, and a
//! cell that falls short is measured again.

use super::{RateCell, RateRow};
use std::fmt;

/// So often a cell is measured until it is good enough.
pub(super) const ATTEMPTS: usize = 3;

/// One cell, and what is expected.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateCheck {
    /// The network.
    pub cell: RateCell,
    /// What `auto` should bring of what the told rate brings.
    pub least_of_told: f64,
    /// Milliseconds that it may take.
    pub most_ms: Option<u32>,
}

/// A check that failed, as a sentence.
#[derive(Debug, Clone, PartialEq)]
pub struct Shortfall(String);

impl fmt::Display for Shortfall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

const MEGA: u64 = 1_000_000;

impl RateCheck {
    /// All of them. When `auto` sent 50 Mbit/s whatever the network could carry, the first three came to 0.05,
    /// 0.07 and 0.54, and the small file took 740 ms (issue 29).
    #[must_use]
    pub fn all() -> Vec<Self> {
        let check = |name: &str, size: u64, sweep: &'static [u64], least_of_told, most_ms| {
            let find = |cell: &RateCell| cell.name == name;
            let cell = RateCell::all().into_iter().find(find);
            cell.map(|cell| Self { cell: RateCell { size, sweep, ..cell }, least_of_told, most_ms })
        };
        let checks = [
            check("free-3", 150 * MEGA, &[1_000 * MEGA], 0.4, None),
            check("1G-3", 100 * MEGA, &[800 * MEGA], 0.4, None),
            check("100M-3", 30 * MEGA, &[92 * MEGA], 0.65, None),
            check("10M-50ms-3", 3 * MEGA, &[9_300_000], 0.5, None),
            check("small-1M", MEGA, &[500 * MEGA], 0.0, Some(450)),
        ];
        checks.into_iter().flatten().collect()
    }

    /// Why a row is not as it should be, if so.
    #[must_use]
    pub fn shortfall(&self, row: &RateRow) -> Option<Shortfall> {
        let cell = self.cell.name;
        let Some(seconds) = row.auto_seconds else {
            return Some(Shortfall(format!(
                "{cell}: the file did not come to all receivers ({})",
                row.why
            )));
        };
        let (took, most) = (seconds.median * 1e3, self.most_ms.map_or(f64::INFINITY, f64::from));
        if took > most {
            return Some(Shortfall(format!(
                "{cell}: the transfer took {took:.0} ms, and {most:.0} ms are allowed"
            )));
        }
        // Where no told rate brings the file, the machine is not fit for this cell.
        let of_told = row.over_told.filter(|ratio| *ratio < self.least_of_told)?;
        Some(Shortfall(format!(
            "{cell}: without --rate the file comes at {of_told:.2} of the speed that it has when told {} \
             Mbit/s, and {} is expected",
            row.best_told_bps.unwrap_or(0) / MEGA,
            self.least_of_told
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::rate::{RateSender, RateTransfer};

    fn row(check: &RateCheck, auto_seconds: Option<f64>, told_seconds: f64) -> RateRow {
        let size = check.cell.size as f64;
        let transfer = |sender, seconds: Option<f64>| RateTransfer {
            cell: check.cell.name,
            sender,
            seconds,
            goodput_bps: seconds.map_or(0.0, |seconds| size * 8.0 / seconds),
            wire_per_file: Some(1.02),
            limited_by: None,
            beside_bps: Vec::new(),
            reaction: None,
            why: if seconds.is_some() { String::new() } else { "not within 40 s".to_owned() },
        };
        let told = RateSender::Told(check.cell.told()[0]);
        let transfers =
            [transfer(RateSender::Auto, auto_seconds), transfer(told, Some(told_seconds))];
        RateRow::of(&check.cell, &transfers, None)
    }

    fn check(name: &str) -> RateCheck {
        RateCheck::all().into_iter().find(|check| check.cell.name == name).unwrap()
    }

    #[test]
    fn fifty_megabits_where_a_told_rate_brings_nine_hundred_fall_short() {
        let check = check("1G-3");
        let shortfall = check.shortfall(&row(&check, Some(16.0), 1.0)).unwrap().to_string();
        assert!(
            shortfall.starts_with("1G-3: without --rate the file comes at 0.06"),
            "{shortfall}"
        );
        assert!(shortfall.ends_with("told 800 Mbit/s, and 0.4 is expected"), "{shortfall}");
        assert_eq!(check.shortfall(&row(&check, Some(2.0), 1.0)), None);
    }

    #[test]
    fn a_small_file_may_take_its_time_and_no_longer() {
        let check = check("small-1M");
        assert_eq!(check.shortfall(&row(&check, Some(0.4), 0.02)), None);
        let shortfall = check.shortfall(&row(&check, Some(0.74), 0.02)).unwrap().to_string();
        assert_eq!(shortfall, "small-1M: the transfer took 740 ms, and 450 ms are allowed");
    }

    #[test]
    fn a_file_that_did_not_come_falls_short_and_says_why() {
        for check in RateCheck::all() {
            let shortfall = check.shortfall(&row(&check, None, 1.0)).unwrap().to_string();
            assert!(shortfall.contains("auto: not within 40 s"), "{shortfall}");
        }
    }

    #[test]
    fn all_checked_cells_are_there_and_are_told_one_rate_that_fits() {
        let checks = RateCheck::all();
        assert_eq!(checks.len(), 5);
        for check in checks {
            let told = check.cell.told();
            assert_eq!(told.len(), 1);
            let rate = check.cell.rate_bps.unwrap_or(u64::MAX) as f64;
            assert!((told[0] as f64) < rate * 0.97, "{check:?}");
        }
    }
}

//! What one run gives.

use fanfare_sim::Sorted;

use crate::lab::reproduce::stage::{normal_after, within};

/// From then on the time before the fall is looked at, s.
const SETTLED: f64 = 8.0;
/// So long after the fall is the change.
const CHANGE: f64 = 10.0;

/// What was seen of a run. Times are since the lab came up, s.
#[derive(Debug)]
pub(super) struct Seen<'a> {
    /// When pieces of control traffic were sent, and how late they came.
    pub(super) late: &'a [(f64, f64)],
    /// When the sender was told which ceiling, bit/s.
    pub(super) told: &'a [(f64, Option<u64>)],
    /// Bits that the line carried from ten seconds after the fall until it was back, a second.
    pub(super) carried: f64,
    /// When the line fell, and when it was back.
    pub(super) falls: f64,
    pub(super) back: f64,
}

/// Names of the figures.
pub(super) const FIGURES: [&str; 9] = [
    "action after the fall, s",
    "control, 95 % before the fall, ms",
    "control, longest in the 10 s after the fall, ms",
    "control below 0.5 s again, for 2 s and more, after the fall, s",
    "control, 95 % from 10 s after the fall until the line is back, ms",
    "control, longest in that time, ms",
    "other ceilings until the line is back",
    "line used from 10 s after the fall until it is back, kbit/s",
    "free again after the line is back, s",
];

pub(super) fn figures(seen: &Seen<'_>) -> Vec<f64> {
    let Seen { late, told, carried, falls, back } = *seen;
    let first = |from: f64, free: bool| {
        let found = told.iter().find(|(at, ceiling)| *at >= from && ceiling.is_none() == free);
        found.map_or(f64::NAN, |(at, _)| at - from)
    };
    let percentile = |figures: &Sorted, percent| figures.percentile(percent).unwrap_or(f64::NAN);
    let later = within(late, falls + CHANGE, back);
    let ceilings = told.iter().filter(|(at, _)| (falls..back).contains(at)).count();
    vec![
        first(falls, false),
        percentile(&within(late, SETTLED, falls), 95),
        percentile(&within(late, falls, falls + CHANGE), 100),
        normal_after(late, falls),
        percentile(&later, 95),
        percentile(&later, 100),
        ceilings.saturating_sub(1) as f64,
        carried / 1e3,
        first(back, true),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_action_is_the_first_ceiling_after_the_fall_and_without_advice_there_is_none() {
        let late: Vec<(f64, f64)> = (0..600)
            .map(|n| f64::from(n) / 10.0)
            .map(|sent| (sent, if (20.5..22.0).contains(&sent) { 0.9 } else { 0.025 }))
            .collect();
        let told = [
            (3.0, Some(9)),
            (4.0, None),
            (21.2, Some(108_800)),
            (26.3, Some(119_680)),
            (50.4, None),
        ];
        let seen = Seen { late: &late, told: &told, carried: 115e3, falls: 20.0, back: 50.0 };
        let got = figures(&seen);
        let expected = [1.2, 25.0, 900.0, 2.8, 25.0, 25.0, 1.0, 115.0, 0.4];
        assert_eq!(got.len(), FIGURES.len());
        for (got, expected) in got.iter().zip(expected) {
            assert!((got - expected).abs() < 1e-6, "{got} {expected}");
        }
        let quiet = figures(&Seen { told: &[], ..seen });
        assert!(quiet[0].is_nan() && quiet[8].is_nan() && quiet[6] == 0.0, "{quiet:?}");
    }
}

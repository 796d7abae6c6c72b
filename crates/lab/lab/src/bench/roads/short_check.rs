//! Five roads in a minute, for CI: `default` beside a told rate.

use super::{RoadBench, RoadControl, RoadRow, RoadSender, RoadTold, road::RoadCase};
use crate::{error::LabError, stop::Stop};

/// Least share of the told rate that `default` reaches. Wide, since a busy machine should not fail the check: it had
/// 0.42 where compilers ran beside it. A collapse is far below.
const OF_TOLD: f64 = 0.2;
/// Most that `default` sends, as a multiple of the file. A collapse, and a policer that is taken for random loss,
/// sent three to eighteen times. A LAN with 20 % loss needs 1.25, and 1.7 was seen behind a policer.
const SENT: f64 = 2.6;
/// A road is measured again, since a busy neighbour may have taken the processors.
const ATTEMPTS: u32 = 3;

impl RoadBench {
    /// Makes the short check out of this: its roads and senders, one run.
    #[must_use]
    pub fn short(self) -> Self {
        let controls = vec![RoadControl::Default, RoadControl::Told];
        Self { roads: RoadCase::short(), controls, runs: 1, ..self }
    }

    /// Measures each road, and again when it falls short: all last rows, and a sentence for each road
    /// that fell short each time.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn check(
        &self,
        stop: &Stop,
        tell: &mut dyn FnMut(&RoadTold<'_>),
    ) -> Result<(Vec<RoadRow>, Vec<String>), LabError> {
        let setup = self.prepare(stop)?;
        let (mut rows, mut shortfalls) = (Vec::new(), Vec::new());
        for road in &self.roads {
            let mut attempts = 0;
            let (last, short) = loop {
                attempts += 1;
                let last = setup.measure(road, setup.scratch.path(), tell)?;
                let short = shortfall(&last);
                if short.is_none() || attempts == ATTEMPTS {
                    break (last, short);
                }
            };
            rows.extend(last);
            shortfalls.extend(short);
        }
        Ok((rows, shortfalls))
    }
}

/// Finds what is wrong with `default` among the rows of a road.
fn shortfall(rows: &[RoadRow]) -> Option<String> {
    let row = rows.iter().find(|row| row.sender == RoadSender::Default)?;
    let of_told = row.of_told.unwrap_or(1.0);
    let what = match row.is_complete() {
        false => format!("default did not end well: {}", row.why),
        true if of_told < OF_TOLD => {
            format!("default has {of_told:.2} of the told rate, not {OF_TOLD}")
        }
        true if row.sent_per_file > SENT => {
            format!("default sent {:.2} times the file, not {SENT} at most", row.sent_per_file)
        }
        true => return None,
    };
    Some(format!("road ({}): {what}. Run fanfare bench roads --roads {}", row.road, row.road))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::roads::row::tests::rows;

    #[test]
    fn a_road_falls_short_when_default_does_not_end_is_slow_or_sends_too_much() {
        let complete = |row: RoadRow| RoadRow { complete: row.exits.len(), ..row };
        let with = |change: fn(&mut RoadRow)| {
            let mut row = complete(rows().remove(0));
            change(&mut row);
            shortfall(&[row])
        };
        assert!(shortfall(&rows()).unwrap().contains("not within 40 s"));
        assert_eq!(with(|_| ()), None);
        assert!(with(|row| row.of_told = Some(0.1)).unwrap().contains("0.10"));
        assert!(with(|row| row.sent_per_file = 3.0).unwrap().contains("3.00 times"));
    }
}

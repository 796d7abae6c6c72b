//! All transfers of one sender over one road, in a row.

use serde::Serialize;

use super::{road::RoadCase, sender::RoadSender, transfer::RoadTransfer};
use crate::bench::{median, rate::Spread};

/// One sender over one road: medians, and what they are beside others'.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RoadRow {
    /// The road's name.
    pub road: String,
    /// Receivers.
    pub receivers: usize,
    /// Bytes of the file.
    pub size: u64,
    /// Sender of the transfers.
    pub sender: RoadSender,
    /// Time from start to end of the sender's program. One that did not end is the slowest; none when the median
    /// did not end.
    pub seconds: Option<Spread>,
    /// Bytes on the sender's cable over the file's bytes, median.
    pub sent_per_file: f64,
    /// Packets that the shaper dropped, median.
    pub dropped: u64,
    /// Exit codes of the sender, in the order of runs; `None`: stopped after its time.
    pub exits: Vec<Option<i32>>,
    /// Transfers that came whole to all and ended with 0.
    pub complete: usize,
    /// The seconds of the best told rate over its own; zero when it did not end.
    pub of_told: Option<f64>,
    /// The seconds of the best of our controllers over its own; zero when it did not end.
    pub of_best: Option<f64>,
    /// Reason why some transfer was not complete, once.
    pub why: String,
}

impl RoadRow {
    /// Makes a row for each of these senders from the transfers of one road.
    pub(super) fn all(
        road: &RoadCase,
        senders: &[RoadSender],
        transfers: &[RoadTransfer],
    ) -> Vec<Self> {
        let mut rows: Vec<Self> =
            senders.iter().map(|sender| Self::of(road, *sender, transfers)).collect();
        let least = |is: fn(RoadSender) -> bool| {
            let of_them = rows.iter().filter(|row| is(row.sender));
            of_them.filter_map(|row| Some(row.seconds?.median)).min_by(f64::total_cmp)
        };
        let told = least(|sender| matches!(sender, RoadSender::Told(_)));
        let best = least(RoadSender::is_controller);
        for row in &mut rows {
            let own = row.seconds.map(|seconds| seconds.median);
            let over = |other: f64| own.map_or(0.0, |own| other / own);
            (row.of_told, row.of_best) = (told.map(over), best.map(over));
        }
        rows
    }

    fn of(road: &RoadCase, sender: RoadSender, transfers: &[RoadTransfer]) -> Self {
        let own: Vec<&RoadTransfer> =
            transfers.iter().filter(|transfer| transfer.sender == sender).collect();
        let seconds: Vec<f64> =
            own.iter().map(|transfer| transfer.seconds.unwrap_or(f64::INFINITY)).collect();
        let why = own.iter().find(|transfer| !transfer.why.is_empty());
        Self {
            road: road.name(),
            receivers: road.receivers,
            size: road.size,
            sender,
            seconds: Spread::of(&seconds).filter(|spread| spread.median.is_finite()),
            sent_per_file: median(own.iter().map(|transfer| transfer.sent_per_file)),
            dropped: median(own.iter().map(|transfer| transfer.dropped as f64)) as u64,
            exits: own.iter().map(|transfer| transfer.exit).collect(),
            complete: own.iter().filter(|transfer| transfer.seconds.is_some()).count(),
            of_told: None,
            of_best: None,
            why: why.map(|transfer| transfer.why.clone()).unwrap_or_default(),
        }
    }

    /// True if every transfer came whole to all, and its sender ended with 0.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.complete == self.exits.len()
    }

    /// The smaller of its ratios, where it has one.
    #[must_use]
    pub fn worst_ratio(&self) -> Option<f64> {
        self.of_told.into_iter().chain(self.of_best).min_by(f64::total_cmp)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn transfer(sender: RoadSender, seconds: Option<f64>) -> RoadTransfer {
        RoadTransfer {
            road: "tbf-1M-64k".to_owned(),
            receivers: 3,
            sender,
            seconds,
            sent_per_file: 1.25,
            dropped: 7,
            exit: seconds.map(|_| 0),
            why: seconds.map_or_else(|| "not within 40 s".to_owned(), |_| String::new()),
        }
    }

    /// `default` takes 8 s and ends in two of three runs, `norm` never ends.
    pub(in crate::bench::roads) fn rows() -> Vec<RoadRow> {
        use RoadSender::{Default, Norm, Tcp, Told};
        let road = RoadCase::chosen(&["tbf-1M-64k".to_owned()], &[3]).unwrap()[0];
        let senders = [Default, Told(900_000), Norm, Tcp];
        let transfers: Vec<RoadTransfer> = [Some(8.0), Some(7.0), None]
            .map(|seconds| transfer(Default, seconds))
            .into_iter()
            .chain([Some(6.0); 3].map(|seconds| transfer(Told(900_000), seconds)))
            .chain([None; 3].map(|seconds| transfer(Norm, seconds)))
            .chain([Some(16.0); 3].map(|seconds| transfer(Tcp, seconds)))
            .collect();
        RoadRow::all(&road, &senders, &transfers)
    }

    #[test]
    fn a_run_that_did_not_end_is_the_slowest() {
        let rows = rows();
        let seconds = rows[0].seconds.unwrap();
        assert!((seconds.median - 8.0).abs() < 1e-9 && seconds.most.is_infinite(), "{seconds:?}");
        assert_eq!((rows[0].complete, rows[0].is_complete()), (2, false));
        assert_eq!(rows[0].exits, [Some(0), Some(0), None]);
        assert_eq!((rows[0].of_told, rows[0].of_best), (Some(0.75), Some(1.0)));
    }

    #[test]
    fn who_never_ends_has_nothing_of_the_others() {
        let rows = rows();
        assert_eq!(
            (rows[2].seconds, rows[2].of_told, rows[2].of_best),
            (None, Some(0.0), Some(0.0))
        );
        assert_eq!((rows[2].worst_ratio(), rows[3].of_best), (Some(0.0), Some(0.5)));
        assert_eq!(rows[2].why, "not within 40 s");
    }
}

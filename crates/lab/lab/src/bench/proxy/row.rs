//! What one run gave.

use std::time::Duration;

use serde::Serialize;

use super::page::Loaded;

/// The first part of a run is its start.
const START: Duration = Duration::from_secs(20);
/// What "the first" is reckoned for, bytes.
const FIRST: u64 = 1_000_000;

/// Seconds and bytes until then, as they came.
pub(super) type Counted = Vec<(f64, u64)>;

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProxyRun {
    /// How the bytes came.
    pub way: String,
    /// The road's loss, percent.
    pub loss: f64,
    /// Downloads at once.
    pub connections: u32,
    /// Which one.
    pub seed: u64,
    /// Bits per second, all downloads together, from when they were started until they were stopped.
    pub goodput_bps: f64,
    /// The same without the first 20 s.
    pub steady_bps: f64,
    /// Seconds until the first 1 MB was there.
    pub first_s: Option<f64>,
    /// How equally the downloads shared (Jain's index): 1 is equally.
    pub jain: f64,
    /// How long each key took that was typed by ssh before there was a download, milliseconds.
    pub echo_alone_ms: Vec<f64>,
    /// The same beside the downloads.
    pub echo_beside_ms: Vec<f64>,
    /// A page that was loaded before the downloads.
    pub page: Option<Loaded>,
    /// One in a hundred packets was handed over later than this by the emulator, milliseconds.
    pub late_p99_ms: f64,
    /// Why it was not whole, if it was not.
    pub why: String,
}

impl ProxyRun {
    /// Nothing yet.
    pub(super) fn new(way: String, loss: f64, connections: u32, seed: u64) -> Self {
        let (goodput_bps, steady_bps, first_s, jain, late_p99_ms) = (0.0, 0.0, None, 0.0, 0.0);
        let (echo_alone_ms, echo_beside_ms, why) = (Vec::new(), Vec::new(), String::new());
        Self {
            way,
            loss,
            connections,
            seed,
            goodput_bps,
            steady_bps,
            first_s,
            jain,
            echo_alone_ms,
            echo_beside_ms,
            page: None,
            late_p99_ms,
            why,
        }
    }

    /// With what all downloads of so many seconds gave.
    pub(super) fn count(&mut self, each: &[Counted], seconds: u32) {
        let shares: Vec<f64> =
            each.iter().map(|one| one.last().map_or(0.0, |(_, bytes)| *bytes as f64)).collect();
        let together = together(each);
        let start = START.as_secs_f64();
        let until = |end: f64| {
            let before = together.iter().take_while(|(at, _)| *at <= end).last();
            before.map_or(0, |(_, bytes)| *bytes)
        };
        let (all, seconds) = (together.last().map_or(0, |(_, bytes)| *bytes), f64::from(seconds));
        self.goodput_bps = all as f64 * 8.0 / seconds;
        self.steady_bps = (all - until(start)) as f64 * 8.0 / (seconds - start).max(1.0);
        self.first_s = together.iter().find(|(_, bytes)| *bytes >= FIRST).map(|(at, _)| *at);
        self.jain = jain(&shares);
        if all == 0 {
            "nothing came".clone_into(&mut self.why);
        }
    }
}

/// Several downloads as one.
fn together(each: &[Counted]) -> Counted {
    let mut pieces = Vec::new();
    for one in each {
        let before = std::iter::once(0).chain(one.iter().map(|(_, bytes)| *bytes));
        pieces.extend(one.iter().zip(before).map(|((at, bytes), before)| (*at, bytes - before)));
    }
    pieces.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut sum = 0;
    for (_, bytes) in &mut pieces {
        sum += *bytes;
        *bytes = sum;
    }
    pieces
}

/// Jain's index; one of nothing.
fn jain(shares: &[f64]) -> f64 {
    let (sum, squares) = (shares.iter().sum::<f64>(), shares.iter().map(|s| s * s).sum::<f64>());
    if squares > 0.0 { sum * sum / (shares.len() as f64 * squares) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn downloads_at_once_are_reckoned_together_and_each_by_itself() {
        let mut run = ProxyRun::new("x".to_owned(), 1.0, 2, 1);
        let each =
            [vec![(1.0, 400_000), (30.0, 1_000_000)], vec![(10.0, 600_000), (40.0, 1_000_000)]];
        run.count(&each, 40);
        assert_eq!(run.first_s, Some(10.0));
        assert!((run.goodput_bps - 400_000.0).abs() < 1.0, "{run:?}");
        // A million of the two came after 20 s, in 20 s.
        assert!((run.steady_bps - 400_000.0).abs() < 1.0, "{run:?}");
        assert!((run.jain - 1.0).abs() < 1e-9 && run.why.is_empty(), "{run:?}");
    }

    #[test]
    fn one_of_ten_that_has_all_is_an_index_of_a_tenth() {
        let mut shares = vec![0.0; 10];
        shares[3] = 7.0;
        assert!((jain(&shares) - 0.1).abs() < 1e-9);
    }
}

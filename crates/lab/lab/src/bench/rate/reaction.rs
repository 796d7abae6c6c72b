//! How soon a sender finds its new rate after the link has changed, by its progress events.

use serde::Serialize;
use std::time::{Duration, Instant};

/// From the first data to the first change, from there to the second, and to the end.
pub(super) const PHASES: [Duration; 3] =
    [Duration::from_secs(3), Duration::from_secs(5), Duration::from_secs(5)];
/// Of the new share, this much is its share.
const ENOUGH: f64 = 0.9;
/// More than the share by so much is not yet the share: it would not pass.
const TOO_MUCH: f64 = 1.1;
/// Progress in a row: one alone may be by chance.
const IN_A_ROW: usize = 2;

/// Seconds from each change until the new share was taken, and what was taken in the end.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Reaction {
    /// From the change until the sender's rate was within a tenth of what the slower link carries;
    /// `None` when it never was.
    pub down_s: Option<f64>,
    /// From the change back until its rate was nine tenths of what the link carries.
    pub up_s: Option<f64>,
    /// Of what the slower link carries, in the second half of that time.
    pub share_down: f64,
    /// The same after the change back.
    pub share_up: f64,
}

/// Bytes that had been sent at a time, as progress events tell.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sent {
    pub(super) at: Instant,
    pub(super) bytes: f64,
}

impl Sent {
    /// Of a line of `fanfare send --json`.
    pub(super) fn parse(at: Instant, line: &str) -> Option<Self> {
        let event: serde_json::Value = serde_json::from_str(line).ok()?;
        Some(Self { at, bytes: event["wire_bytes"].as_f64()? })
    }
}

impl Reaction {
    /// Of changes at these times to links that carry so many bit/s of what the sender counts. `end` is
    /// when nothing more was looked at.
    pub(super) fn of(sent: &[Sent], changes: [(Instant, f64); 2], end: Instant) -> Self {
        let [(down, slow), (up, fast)] = changes;
        Self {
            down_s: settled(&rates(sent, down, up), slow, TOO_MUCH),
            up_s: settled(&rates(sent, up, end), fast, f64::INFINITY),
            share_down: mean(sent, down + (up - down) / 2, up) / slow,
            share_up: mean(sent, up + (end - up) / 2, end) / fast,
        }
    }
}

/// Between one progress and the next: seconds since `from` at which it began, and bit/s.
fn rates(sent: &[Sent], from: Instant, until: Instant) -> Vec<(f64, f64)> {
    let within = sent.windows(2).filter(|pair| pair[0].at >= from && pair[1].at <= until);
    within
        .map(|pair| {
            let seconds = (pair[1].at - pair[0].at).as_secs_f64();
            let begun = (pair[0].at - from).as_secs_f64();
            (begun, (pair[1].bytes - pair[0].bytes) * 8.0 / seconds.max(1e-6))
        })
        .collect()
}

/// When the first of some rates in a row began that all are near enough.
fn settled(rates: &[(f64, f64)], share: f64, most: f64) -> Option<f64> {
    let is_near = |rate: f64| (ENOUGH..=most).contains(&(rate / share));
    let row = rates.windows(IN_A_ROW).find(|row| row.iter().all(|(_, rate)| is_near(*rate)));
    row.map(|row| row[0].0)
}

/// Bit/s over a time.
fn mean(sent: &[Sent], from: Instant, until: Instant) -> f64 {
    let mut within = sent.iter().filter(|sent| sent.at >= from && sent.at <= until);
    match (within.next(), within.next_back()) {
        (Some(first), Some(last)) => {
            (last.bytes - first.bytes) * 8.0 / (last.at - first.at).as_secs_f64().max(1e-6)
        }
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Progress each 200 ms, of a rate for each time.
    fn progress(begun: Instant, until: f64, rate: impl Fn(f64) -> f64) -> Vec<Sent> {
        let mut bytes = 0.0;
        (0..(until / 0.2) as u32)
            .map(|number| {
                let seconds = f64::from(number) * 0.2;
                // What went since the last one.
                bytes += rate(seconds - 0.1) / 8.0 * 0.2;
                Sent { at: begun + Duration::from_secs_f64(seconds), bytes }
            })
            .collect()
    }

    #[test]
    fn times_are_from_each_change_until_the_new_share_is_taken() {
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs_f64(seconds);
        let rate = |seconds: f64| match seconds {
            0.0..3.0 => 97.0,
            3.0..3.7 => 30.0,
            3.7..8.0 => 9.6,
            8.0..10.1 => 40.0,
            _ => 95.0,
        };
        let sent = progress(begun, 13.0, rate);
        let reaction = Reaction::of(&sent, [(at(3.0), 10.0), (at(8.0), 97.0)], at(13.0));
        let near = |value: Option<f64>, to: f64| (value.unwrap() - to).abs() < 0.21;
        assert!(near(reaction.down_s, 0.7) && near(reaction.up_s, 2.1), "{reaction:?}");
        assert!((reaction.share_down - 0.96).abs() < 0.01, "{reaction:?}");
        assert!((reaction.share_up - 95.0 / 97.0).abs() < 0.01, "{reaction:?}");
    }

    #[test]
    fn who_never_takes_the_share_has_no_time() {
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs_f64(seconds);
        let sent = progress(begun, 13.0, |_| 50.0);
        let reaction = Reaction::of(&sent, [(at(3.0), 10.0), (at(8.0), 97.0)], at(13.0));
        assert_eq!((reaction.down_s, reaction.up_s), (None, None));
        assert!(reaction.share_down > 4.0 && reaction.share_up < 0.6, "{reaction:?}");
        let nothing = Reaction::of(&[], [(at(3.0), 10.0), (at(8.0), 97.0)], at(13.0));
        assert_eq!((nothing.up_s, nothing.share_up), (None, 0.0));
    }

    #[test]
    fn progress_says_how_much_was_sent() {
        let line = r#"{"event":"progress","sent_bytes":1048576,"wire_bytes":1083040}"#;
        let sent = Sent::parse(Instant::now(), line).unwrap();
        assert!((sent.bytes - 1_083_040.0).abs() < 0.5);
        assert!(Sent::parse(Instant::now(), "x").is_none());
    }
}

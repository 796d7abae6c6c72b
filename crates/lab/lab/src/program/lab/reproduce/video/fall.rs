//! Seed 002, 6.8: a line of 1 Mbit/s falls to 128 kbit/s and comes back, under renditions of 64 and 400
//! kbit/s, beside control traffic.

use fanfare_sim::Sorted;
use std::time::{Duration, Instant};

use fanfare_command::Failure;
use fanfare_lab::{Lab, Stop};

use crate::lab::reproduce::stage::{CONTROL, Flow, broken, lab, normal_after, pause, within};

use super::programs::{Event, Running, now_ms};

/// When the line falls, comes back, and all ends.
const FALLS: Duration = Duration::from_secs(30);
const BACK: Duration = Duration::from_secs(70);
const END: Duration = Duration::from_secs(100);
/// The viewer begins, and is at the higher rendition long before the fall.
const BEGINS: Duration = Duration::from_secs(4);
/// From then on the time before the fall is looked at.
const SETTLED: f64 = 15.0;
/// So long after the fall is the change.
const CHANGE: f64 = 10.0;

/// A queue of 16 kB is a second of the narrow line. The paper's is not known.
const SCENARIO: &str = "[scenario]\nname = \"video-fall\"\nduration = \"700s\"\n\
    [[node]]\nname = \"s\"\nhost = true\n[[node]]\nname = \"v\"\nhost = true\n\
    [[link]]\nfrom = \"s\"\nto = \"v\"\nboth = true\nrate = \"1Mbps\"\ndelay = \"20ms\"\n\
    queue = { kind = \"drop-tail\", bytes = 16000 }\n\
    [[change]]\nat = \"30s\"\nlink = { from = \"s\", to = \"v\", both = true, rate = \"128kbps\" }\n\
    [[change]]\nat = \"70s\"\nlink = { from = \"s\", to = \"v\", both = true, rate = \"1Mbps\" }\n";

/// Names of the figures.
pub(super) const FIGURES: [&str; 11] = [
    "lower rendition chosen after the fall, s",
    "its first segment after the fall, s",
    "higher rendition chosen after the line is back, s",
    "other changes",
    "segments that are missing",
    "control, median before the fall, ms",
    "control, 95 % before the fall, ms",
    "control, 95 % in the 10 s after the fall, ms",
    "control below 0.5 s again, for 2 s and more, after the fall, s",
    "control, 95 % from 10 s after the fall until the line is back, ms",
    "control, longest in that time, ms",
];

/// One run.
pub(super) fn run(seed: u64, stop: &Stop) -> Result<Vec<f64>, Failure> {
    let lab: Lab = lab(SCENARIO, seed)?;
    let [s, v] = lab.hosts() else { return Err(broken("it has not two hosts")) };
    let zero_ms = now_ms() - lab.elapsed().as_millis() as u64;
    let zero = Instant::now() - lab.elapsed();
    let send = ["send", "test", "--name", "gate", "--renditions", "64k,400k", "--rate", "900k"];
    let sender = Running::start(s, &send)?;
    pause(&lab, stop, BEGINS)?;
    let viewer = Running::start(v, &["serve"])?;
    let control = Flow::start(s, v, CONTROL, zero)?;
    pause(&lab, stop, END)?;
    let (events, late) = (viewer.events(), control.late());
    drop((control, viewer, sender));
    lab.down().map_err(|error| crate::ending::failure(&error))?;
    let at = |event: &Event| (event.at_ms.saturating_sub(zero_ms)) as f64 / 1e3;
    Ok(figures(&events, &at, &late))
}

fn figures(events: &[Event], at: &dyn Fn(&Event) -> f64, late: &[(f64, f64)]) -> Vec<f64> {
    let (falls, back) = (FALLS.as_secs_f64(), BACK.as_secs_f64());
    let first = |from: f64, fits: &dyn Fn(&Event) -> bool| {
        let found = events.iter().find(|event| at(event) >= from && fits(event));
        found.map_or(f64::NAN, |event| at(event) - from)
    };
    let chosen = |from, rendition: &'static str| {
        first(from, &move |event| event.is_chosen() && event.rendition == rendition)
    };
    let segment = first(falls, &|event| event.is_segment() && event.rendition == "64k");
    let changes = events.iter().filter(|event| event.is_chosen() && at(event) >= SETTLED).count();
    let mut numbers: Vec<u32> =
        events.iter().filter(|event| event.is_segment()).map(|event| event.number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let all = numbers.last().zip(numbers.first()).map_or(0, |(last, first)| last - first + 1);
    let later = within(late, falls + CHANGE, back);
    let before = within(late, SETTLED, falls);
    vec![
        chosen(falls, "64k"),
        segment,
        chosen(back, "400k"),
        changes as f64 - 2.0,
        f64::from(all) - numbers.len() as f64,
        percentile(&before, 50),
        percentile(&before, 95),
        percentile(&within(late, falls, falls + CHANGE), 95),
        normal_after(late, falls),
        percentile(&later, 95),
        percentile(&later, 100),
    ]
}

/// Not a number, of nothing.
pub(super) fn percentile(figures: &Sorted, percent: usize) -> f64 {
    figures.percentile(percent).unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fall_is_found_in_what_a_viewer_said() {
        let event = |event: &str, rendition: &str, number, at_ms| Event {
            event: event.to_owned(),
            rendition: rendition.to_owned(),
            number,
            at_ms,
            ..Event::default()
        };
        let events = [
            event("chosen", "64k", 0, 5_000),
            event("segment", "64k", 4, 6_000),
            event("chosen", "400k", 0, 10_000),
            event("segment", "400k", 5, 29_000),
            event("chosen", "64k", 0, 31_500),
            event("segment", "64k", 7, 32_250),
            event("chosen", "400k", 0, 78_000),
        ];
        let late: Vec<(f64, f64)> = (0..1000)
            .map(|n| f64::from(n) / 10.0)
            .map(|sent| match sent {
                30.0..32.0 | 50.0..50.1 => (sent, 0.8),
                _ => (sent, 0.025),
            })
            .collect();
        let figures = figures(&events, &|event| event.at_ms as f64 / 1e3, &late);
        let expected = [1.5, 2.25, 8.0, 0.0, 1.0, 25.0, 25.0, 800.0, 2.7, 25.0, 800.0];
        assert_eq!(figures.len(), FIGURES.len());
        for (got, expected) in figures.iter().zip(expected) {
            assert!((got - expected).abs() < 1e-6, "{figures:?}");
        }
    }
}

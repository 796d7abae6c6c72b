//! Twenty viewers of one rendition on a shared medium, who begin together, and one that comes later.

use fanfare_sim::Sorted;
use std::time::Duration;

use fanfare_command::Failure;
use fanfare_lab::Stop;

use crate::lab::reproduce::stage::{broken, lab, pause};

use super::{
    fall::percentile,
    programs::{Event, Running},
};

/// Who is there from the beginning.
const VIEWERS: usize = 20;
/// When they begin, when the late one does, and when all ends.
const BEGIN: Duration = Duration::from_secs(4);
const LATE: Duration = Duration::from_secs(20);
const END: Duration = Duration::from_secs(42);
/// How much of a stream a player has before it shows it, ms, beside the first segment: one more.
const BUFFER: u64 = 1000;

const SCENARIO: &str = "[scenario]\nname = \"video-crowd\"\nduration = \"700s\"\n\
    [[node]]\nname = \"s\"\nhost = true\n[[node]]\nname = \"v\"\ncount = 20\nhost = true\n\
    [[node]]\nname = \"late\"\nhost = true\n\
    [[medium]]\nnodes = [\"s\", \"v*\", \"late\"]\nrate = \"10Mbps\"\ndelay = \"1ms\"\nloss = \"1%\"\n";

/// Names of the figures.
pub(super) const FIGURES: [&str; 8] = [
    "segments that came, % of those sent",
    "bytes on the medium, of one stream",
    "from a program's start to its first segment, median, s",
    "the same, longest of 20, s",
    "the same, of the late one, s",
    "a segment's delay after its last picture, median, ms",
    "the same, 99 %, ms",
    "viewers of 21 that stall with a second of buffer",
];

/// One run.
pub(super) fn run(seed: u64, stop: &Stop) -> Result<Vec<f64>, Failure> {
    let lab = lab(SCENARIO, seed)?;
    let host = |name: &str| lab.host(name).ok_or_else(|| broken("a host is missing"));
    let send = ["send", "test", "--name", "gate", "--renditions", "1500k", "--rate", "6M"];
    let sender = Running::start(host("s")?, &send)?;
    pause(&lab, stop, BEGIN)?;
    let mut viewers = Vec::new();
    for number in 1..=VIEWERS {
        viewers.push(Running::start(host(&format!("v{number}"))?, &["serve"])?);
    }
    pause(&lab, stop, LATE)?;
    viewers.push(Running::start(host("late")?, &["serve"])?);
    pause(&lab, stop, END)?;
    let sent = sender.events();
    let heard: Vec<(Vec<Event>, Option<u64>)> =
        viewers.iter().map(|viewer| (viewer.events(), viewer.start_ms())).collect();
    let air: u64 = lab
        .snapshot()
        .map_err(|error| crate::ending::failure(&error))?
        .nodes
        .iter()
        .map(|node| node.sent.bytes)
        .sum();
    drop((viewers, sender));
    lab.down().map_err(|error| crate::ending::failure(&error))?;
    Ok(figures(&sent, &heard, air))
}

fn figures(sent: &[Event], heard: &[(Vec<Event>, Option<u64>)], air: u64) -> Vec<f64> {
    let sent: Vec<&Event> = sent.iter().filter(|event| event.is_segment()).collect();
    let stream: u64 = sent.iter().map(|event| event.bytes).sum();
    let last = sent.last().map_or(0, |event| event.number);
    let (mut came, mut should, mut stalls, mut delays) = (0, 0, 0, Vec::new());
    for (events, _) in heard {
        let segments: Vec<&Event> = events.iter().filter(|event| event.is_segment()).collect();
        let first = segments.iter().map(|event| event.number).min();
        // What was sent last may still be on its way.
        let due = |number: u32| first.is_some_and(|first| number >= first) && number + 1 < last;
        should += sent.iter().filter(|event| due(event.number)).count();
        came += segments.iter().filter(|event| due(event.number)).count();
        stalls += usize::from(stalls_of(&segments));
        let delay = |event: &&Event| event.at_ms as f64 - (event.begun_ms + 1000) as f64;
        delays.extend(segments.iter().map(delay));
    }
    let delays: Sorted = delays.into_iter().collect();
    let (together, late) = heard.split_at(heard.len().saturating_sub(1));
    let seconds =
        |start: &(Vec<Event>, Option<u64>)| start.1.map_or(f64::NAN, |ms| ms as f64 / 1e3);
    let starts: Sorted = together.iter().map(seconds).collect();
    vec![
        came as f64 * 100.0 / should.max(1) as f64,
        air as f64 / stream.max(1) as f64,
        percentile(&starts, 50),
        starts.last().copied().unwrap_or(f64::NAN),
        late.first().map_or(f64::NAN, seconds),
        percentile(&delays, 50),
        percentile(&delays, 99),
        stalls as f64,
    ]
}

/// Whether a player that begins a second after its first segment waits for a later one.
fn stalls_of(segments: &[&Event]) -> bool {
    let Some(first) = segments.iter().min_by_key(|event| event.number) else { return true };
    let shown =
        |event: &Event| first.at_ms + BUFFER + event.begun_ms.saturating_sub(first.begun_ms);
    segments.iter().any(|event| event.at_ms > shown(event))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(number: u32, at_ms: u64) -> Event {
        let begun_ms = 100_000 + u64::from(number) * 1000;
        Event {
            event: "segment".to_owned(),
            number,
            bytes: 1000,
            begun_ms,
            at_ms,
            ..Event::default()
        }
    }

    #[test]
    fn what_came_and_how_soon_is_counted_from_a_viewers_first_segment_on() {
        let sent: Vec<Event> = (0..10).map(|n| segment(n, 0)).collect();
        let good: Vec<Event> = (2..10).map(|n| segment(n, 101_300 + u64::from(n) * 1000)).collect();
        // One is missing, and one comes 1.2 s later than its turn.
        let mut bad = good.clone();
        bad.remove(3);
        bad[2].at_ms += 1200;
        let heard = [(good.clone(), Some(900)), (bad, Some(1700)), (good, Some(1100))];
        let figures = figures(&sent, &heard, 11_500);
        let expected = [17.0 * 100.0 / 18.0, 1.15, 0.9, 1.7, 1.1, 300.0, 1500.0, 1.0];
        assert_eq!(figures.len(), FIGURES.len());
        for (got, expected) in figures.iter().zip(expected) {
            assert!((got - expected).abs() < 1e-6, "{figures:?}");
        }
    }
}

//! Recorded path loss: event logs as EMANE reads them (EEL), one event a line.
//!
//! ```text
//! # seconds  source  event     for each other node: path loss there in dB, and back if it differs
//! 0.0        nem:1   pathloss  nem:2,91.5  nem:3,104.0,106.5
//! ```
//! Nodes are numbered from 1. Events of other kinds are passed over; what nothing is said of does not
//! hear each other.

use fanfare_proto::Duration;

use super::{Moment, NODES_MAX, NOTHING, PathLoss};

/// Longest recording: a day.
const SECONDS_MAX: f64 = 86_400.0;
/// Most figures kept of one recording: four hours of a company of 24 by the second are 8 million.
const FIGURES_MAX: usize = 64 << 20;

/// One event: when, of whom, and for each other node the loss there and back.
struct Event {
    at: f64,
    from: usize,
    to: Vec<(usize, f32, f32)>,
}

/// Reads a recording.
///
/// # Errors
/// What is wrong in which line, and what to do.
pub(crate) fn parse(text: &str) -> Result<PathLoss, String> {
    let mut events = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let line = line.split('#').next().unwrap_or_default();
        let told = event(line).map_err(|why| format!("line {number}: {why}"))?;
        let Some(event) = told else { continue };
        let before = events.last().map_or(0.0, |event: &Event| event.at);
        if event.at < before {
            let at = event.at;
            return Err(format!("line {number}: {at} s is before {before} s. Sort the lines"));
        }
        events.push(event);
    }
    let others = events.iter().flat_map(|event| event.to.iter().map(|(to, ..)| *to));
    let Some(last) = others.chain(events.iter().map(|event| event.from)).max() else {
        return Err(String::from("has no pathloss event. Write 0.0 nem:1 pathloss nem:2,91.5"));
    };
    moments(last + 1, events)
}

fn event(line: &str) -> Result<Option<Event>, String> {
    let mut words = line.split_whitespace();
    let Some(at) = words.next() else { return Ok(None) };
    let (Some(source), Some(kind)) = (words.next(), words.next()) else {
        return Err(String::from("is incomplete. Write 0.0 nem:1 pathloss nem:2,91.5"));
    };
    if kind != "pathloss" {
        return Ok(None);
    }
    let seconds = at.parse().ok().filter(|at| (0.0..=SECONDS_MAX).contains(at));
    let at = seconds.ok_or_else(|| format!("{at} is not a time. Write seconds, at most a day"))?;
    let from = node(source)?;
    let to = words.map(entry).collect::<Result<Vec<_>, _>>()?;
    Ok(Some(Event { at, from, to }))
}

/// `nem:7`, from 1.
fn node(word: &str) -> Result<usize, String> {
    let number = word.strip_prefix("nem:").and_then(|number| number.parse::<usize>().ok());
    let number = number.filter(|number| (1..=NODES_MAX).contains(number));
    let number = number.map(|number| number - 1);
    number.ok_or_else(|| format!("{word} is not a node. Write nem:1 to nem:{NODES_MAX}"))
}

/// `nem:2,91.5` or `nem:2,91.5,93`.
fn entry(word: &str) -> Result<(usize, f32, f32), String> {
    let decibels = |text: &str| {
        let value = text.parse().ok().filter(|db: &f32| (0.0..=NOTHING).contains(db));
        value.ok_or_else(|| format!("{word}: {text} is not a path loss. Write dB from 0 to 999"))
    };
    let mut parts = word.split(',');
    let to = node(parts.next().unwrap_or_default())?;
    let there = parts.next().ok_or_else(|| format!("{word} has no path loss. Write nem:2,91.5"))?;
    let there = decibels(there)?;
    let back = parts.next().map_or(Ok(there), decibels)?;
    match parts.next() {
        None => Ok((to, there, back)),
        Some(_) => Err(format!("{word} has too many figures. Write nem:2,91.5,93 at most")),
    }
}

/// What is true from when on: events of one time belong together.
fn moments(nodes: usize, events: Vec<Event>) -> Result<PathLoss, String> {
    let mut moments: Vec<Moment> = Vec::new();
    let mut losses = vec![NOTHING; nodes * nodes];
    for event in events {
        for (to, there, back) in event.to {
            losses[event.from * nodes + to] = there;
            losses[to * nodes + event.from] = back;
        }
        let at = Duration::from_secs_f64(event.at);
        match moments.last_mut().filter(|last| last.at == at) {
            Some(last) => last.losses.clone_from(&losses),
            None => moments.push(Moment { at, losses: losses.clone() }),
        }
        if moments.len() * losses.len() > FIGURES_MAX {
            let most = FIGURES_MAX / losses.len();
            return Err(format!("has more than {most} times. Cut it, or record less often"));
        }
    }
    Ok(PathLoss { nodes, moments })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_says_who_is_how_far_from_whom_from_when_on() {
        let text = "# company\n0.0 nem:1 pathloss nem:2,91.5 nem:3,104,106.5\n\
                    0.0 nem:1 location gps 40,-74,3\n\n0.0 nem:2 pathloss nem:3,88\n\
                    1.5 nem:2 pathloss nem:1,95 # only this has changed\n";
        let path_loss = parse(text).unwrap();
        assert_eq!((path_loss.nodes(), path_loss.moments().len()), (3, 2));
        let [first, second] = path_loss.moments() else { panic!() };
        assert_eq!((first.at, second.at), (Duration::ZERO, Duration::from_millis(1500)));
        let of = |moment, from, to| path_loss.between(moment, from, to);
        assert_eq!((of(first, 0, 1), of(first, 1, 0), of(first, 0, 2)), (91.5, 91.5, 104.0));
        assert_eq!((of(first, 2, 0), of(first, 2, 1), of(first, 0, 0)), (106.5, 88.0, NOTHING));
        assert_eq!((of(second, 0, 1), of(second, 2, 0)), (95.0, 106.5));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let wrong = |text: &str| parse(text).unwrap_err();
        assert!(wrong("").contains("no pathloss event"));
        assert!(wrong("0 nem:1 location x").contains("no pathloss event"));
        assert!(wrong("\n0 nem:1").contains("line 2: is incomplete"));
        assert!(wrong("x nem:1 pathloss nem:2,1").contains("x is not a time"));
        assert!(wrong("nan nem:1 pathloss nem:2,1").contains("not a time"));
        assert!(wrong("0 nem:0 pathloss nem:2,1").contains("nem:0 is not a node"));
        assert!(wrong("0 nem:1 pathloss nem:129,1").contains("not a node"));
        assert!(wrong("0 nem:1 pathloss nem:2").contains("path loss"));
        assert!(wrong("0 nem:1 pathloss nem:2,-4").contains("-4 is not a path loss"));
        assert!(wrong("0 nem:1 pathloss nem:2,inf").contains("path loss"));
        assert!(wrong("0 nem:1 pathloss nem:2,1,2,3").contains("too many figures"));
        let back = "5 nem:1 pathloss nem:2,1\n4 nem:1 pathloss nem:2,1";
        assert!(wrong(back).contains("line 2: 4 s is before 5 s"));
    }
}

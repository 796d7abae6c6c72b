//! Two hosts, `near` and `far`, with one road between them, and the keys of links over it.

use std::{
    fmt::{self, Write as _},
    path::Path,
    process::Command,
    time::Duration,
};

use fanfare_proto::rng::Rng;
use fanfare_sim::Scenario;

use crate::error::{LabError, Refusal};

/// A terminal is given another satellite so often, ms: Starlink does it every 15 s (arXiv 2601.08439).
const HANDOVERS_APART_MS: u64 = 15_000;
/// What is on its way waits so long meanwhile, ms. The same measurements saw delays rise by 75 to 140 ms.
const SILENCE_MS: u64 = 100;
/// The delay goes up or down by this at each handover, and is never further from the first one, ms.
const STEP_MS: u32 = 10;
/// Less than this does not hold what a sender sends at once, packets.
pub(crate) const QUEUE_LEAST: u64 = 10;
/// A road that is changed by turns changes so often, ms.
const TURNS_MS: u64 = 10_000;

/// What happens to a road while programs use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Course {
    /// Nothing.
    #[default]
    Still,
    /// A silence every 15 s, and another delay after it. The number is the seed.
    Handovers(u64),
    /// Every 10 s half the rate and twice the delay, and back.
    Turns,
}

/// A road.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Road {
    /// From `far` to `near`, bit/s.
    pub(crate) rate: u64,
    /// From `near` to `far`, bit/s.
    pub(crate) back: u64,
    /// One way.
    pub(crate) delay_ms: u32,
    /// Percent.
    pub(crate) loss: f64,
    /// Packets of 1,500 bytes from `far` to `near`; what comes when it is full is dropped.
    pub(crate) queue: u64,
    /// What changes.
    pub(crate) course: Course,
    /// For so long at least it is as it should be.
    pub(crate) lasts: Duration,
}

impl Road {
    /// The same both ways, and it does not change.
    pub(crate) const fn even(rate: u64, delay_ms: u32, loss: f64, queue: u64) -> Self {
        let (course, lasts) = (Course::Still, Duration::ZERO);
        Self { rate, back: rate, delay_ms, loss, queue, course, lasts }
    }

    /// Packets of 1,500 bytes in one product of rate and round trip.
    pub(crate) const fn product(rate: u64, delay_ms: u32) -> u64 {
        rate * 2 * delay_ms as u64 / 1000 / 8 / 1500
    }

    /// For a laboratory: `near` is its first host, `far` its second.
    ///
    /// # Errors
    /// The emulator knows no such road.
    pub(crate) fn scenario(&self) -> Result<Scenario, LabError> {
        let none = |file: &str| Err(format!("{file} is not part of it. Report this"));
        Scenario::parse_for_laboratory(&self.text(), &none).map_err(|mistakes| {
            let all: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
            let text = format!("road: {}. Choose another rate, delay or loss", all.join("; "));
            LabError::new(Refusal::Usage, "lab.road", text)
        })
    }

    fn text(&self) -> String {
        let Self { rate, delay_ms, loss, queue, .. } = *self;
        let mut text =
            "[scenario]\nname = \"road\"\nabout = \"two hosts and what is between them\"\n\
                        duration = \"3600s\"\n[[node]]\nname = \"near\"\n[[node]]\nname = \"far\"\n"
                .to_owned();
        for (from, to, way) in self.ways() {
            let queue = if way == rate { queue } else { (queue * way / rate).max(QUEUE_LEAST) };
            let _ = write!(
                text,
                "[[link]]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"{way}bps\"\n\
                 delay = \"{delay_ms}ms\"\nloss = \"{loss}%\"\n\
                 queue = {{ kind = \"drop-tail\", packets = {queue} }}\n"
            );
        }
        match self.course {
            Course::Still => {}
            Course::Handovers(seed) => self.handovers(seed, &mut text),
            Course::Turns => self.turns(&mut text),
        }
        text
    }

    const fn ways(&self) -> [(&'static str, &'static str, u64); 2] {
        [("far", "near", self.rate), ("near", "far", self.back)]
    }

    fn handovers(&self, seed: u64, text: &mut String) {
        let (mut rng, mut delay) = (Rng::new(seed), self.delay_ms);
        let (least, most) = (self.delay_ms.saturating_sub(STEP_MS), self.delay_ms + STEP_MS);
        for at in self.moments(HANDOVERS_APART_MS) {
            let up = delay == least || (delay != most && rng.random_bool(0.5));
            delay = if up { delay + STEP_MS } else { delay.saturating_sub(STEP_MS) };
            for (from, to, _) in self.ways() {
                let end = at + SILENCE_MS;
                change(text, at, (from, to), format_args!("held = true"));
                change(text, end, (from, to), format_args!("held = false, delay = \"{delay}ms\""));
            }
        }
    }

    fn turns(&self, text: &mut String) {
        for (turn, at) in self.moments(TURNS_MS).enumerate() {
            let (by, times) = if turn % 2 == 0 { (2, 2) } else { (1, 1) };
            let delay = self.delay_ms * times;
            for (from, to, rate) in self.ways() {
                let rate = rate / by;
                let what = format_args!("rate = \"{rate}bps\", delay = \"{delay}ms\"");
                change(text, at, (from, to), what);
            }
        }
    }

    fn moments(&self, apart_ms: u64) -> impl Iterator<Item = u64> + use<> {
        let lasts = u64::try_from(self.lasts.as_millis()).unwrap_or(u64::MAX);
        (1..=lasts / apart_ms).map(move |number| number * apart_ms)
    }
}

fn change(text: &mut String, at_ms: u64, (from, to): (&str, &str), what: fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "[[change]]\nat = \"{at_ms}ms\"\n\
         link = {{ from = \"{from}\", to = \"{to}\", {what} }}\n"
    );
}

/// The keys of `near` and `far`, whose files are in this directory, and are made if they are not there.
///
/// # Errors
/// The program does not start.
pub(crate) fn keys(fanfare: &Path, directory: &Path) -> Result<[String; 2], LabError> {
    Ok([key(fanfare, &directory.join("near"))?, key(fanfare, &directory.join("far"))?])
}

/// The key by which others know who has this file of identity.
fn key(fanfare: &Path, identity: &Path) -> Result<String, LabError> {
    let shown = Command::new(fanfare).arg("id").arg("--identity").arg(identity).output();
    let shown = shown.map_err(|error| LabError::system(fanfare.display(), &error))?;
    Ok(String::from_utf8_lossy(&shown.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SATELLITE: Road = Road {
        rate: 50_000_000,
        back: 10_000_000,
        delay_ms: 25,
        loss: 0.5,
        queue: 200,
        course: Course::Handovers(1),
        lasts: Duration::from_secs(60),
    };

    #[test]
    fn a_satellite_is_changed_every_15_s_and_its_delay_by_10_ms_within_its_bounds() {
        // 50 and 10 Mbit/s, 25 ms, 0.5 % loss, seed 1
        let text = SATELLITE.text();
        assert_eq!(text.matches("held = true").count(), 8, "both ways: {text}");
        let delays = text.split("held = false, delay = \"").skip(1);
        let delays: Vec<u32> =
            delays.map(|rest| rest.split("ms").next().unwrap().parse().unwrap()).collect();
        assert!(delays.chunks(2).all(|ways| ways[0] == ways[1]), "{delays:?}");
        let delays: Vec<u32> = delays.into_iter().step_by(2).collect();
        assert!(delays.iter().all(|delay| [15, 25, 35].contains(delay)), "{delays:?}");
        assert!(delays.windows(2).all(|pair| pair[0].abs_diff(pair[1]) == 10), "{delays:?}");
        assert!(text.contains("at = \"15100ms\""), "{text}");
        assert!(SATELLITE.scenario().is_ok());
    }

    #[test]
    fn the_way_back_is_as_slow_as_it_is_said_to_be_and_has_a_queue_of_its_own() {
        let text = SATELLITE.text();
        assert!(text.contains("to = \"near\"\nrate = \"50000000bps\""), "{text}");
        assert!(text.contains("to = \"far\"\nrate = \"10000000bps\""), "{text}");
        assert!(text.contains("packets = 200 }") && text.contains("packets = 40 }"), "{text}");
    }

    #[test]
    fn a_road_that_turns_has_half_its_rate_every_other_time() {
        let road = Road { course: Course::Turns, lasts: Duration::from_secs(30), ..SATELLITE };
        let text = road.text();
        assert_eq!(text.matches("rate = \"25000000bps\", delay = \"50ms\"").count(), 2, "{text}");
        assert_eq!(text.matches("rate = \"5000000bps\", delay = \"50ms\"").count(), 2, "{text}");
        assert_eq!(text.matches("rate = \"50000000bps\", delay = \"25ms\"").count(), 1, "{text}");
        assert!(road.scenario().is_ok());
    }
}

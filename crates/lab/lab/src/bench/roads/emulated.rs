//! Scenarios of the laboratory's emulator for roads that the kernel's shapers cannot make.

use std::fmt::Write as _;

use fanfare_sim::Scenario;

use super::{
    line::{RoadLine, RoadTrouble, SLOWER, STEADY},
    road::RoadCase,
};
use crate::error::{LabError, Refusal};

/// Bytes of a full packet.
const PACKET: u64 = 1_500;
/// A queue before an emulated line has four packets at least.
const QUEUE_LEAST: u64 = 4 * PACKET;
/// Packets of a burst of losses, in the mean.
const BURST: u32 = 4;
/// Share that is doubled, or held back.
const SHARE: &str = "0.05";
/// The way back of an asymmetric road has its rate over this.
const BACK: u64 = 10;
/// Shortest round trip where receivers are unlike, milliseconds.
const NEAR_MS: f64 = 10.0;
/// Changes of a line that changes: for longer than any sender is waited for.
const CHANGES: u64 = 120;

/// The network of an emulated road as a scenario.
pub(super) fn scenario(road: &RoadCase) -> Result<Scenario, LabError> {
    let text = text(road);
    parsed(&text, &road.name())
}

/// A scenario that we have written: a mistake in it is ours.
pub(super) fn parsed(text: &str, name: &str) -> Result<Scenario, LabError> {
    Scenario::parse_for_laboratory(text, &|file| Err(format!("{file}: no file is read"))).map_err(
        |mistakes| {
            let why: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
            let text = format!("road ({name}): {}. Report this", why.join("; "));
            LabError::new(Refusal::System, "bench.road", text)
        },
    )
}

/// What a line of this rate carries in a round trip, times this; four packets at least.
pub(super) fn products(rate_bps: u64, round_trip_ms: u32, times: f64) -> u64 {
    let product = rate_bps / 8 * u64::from(round_trip_ms) / 1000;
    ((product as f64 * times) as u64).max(QUEUE_LEAST)
}

fn text(road: &RoadCase) -> String {
    let RoadLine::Emulated { rate_bps, round_trip_ms, trouble } = road.line else {
        return String::new();
    };
    let mut text = format!(
        "[scenario]\n\
         name = \"roads\"\n\
         duration = \"24h\"\n\
         [[node]]\nname = \"sender\"\nhost = true\n\
         [[node]]\nname = \"in\"\n\
         [[node]]\nname = \"out\"\n\
         [[link]]\nfrom = \"in\"\nto = \"out\"\nrate = \"{rate_bps}bps\"\ndelay = \"0ms\"\n\
         queue = {}\n\
         [[link]]\nfrom = \"out\"\nto = \"in\"\ndelay = \"0ms\"\n{}\
         [[link]]\nfrom = \"sender\"\nto = \"in\"\nboth = true\ndelay = \"0ms\"\n",
        queue(rate_bps, round_trip_ms, trouble),
        back(rate_bps, round_trip_ms, trouble),
    );
    for number in 0..road.receivers {
        let one_way = round_trip(round_trip_ms, trouble, number, road.receivers) / 2.0;
        let name = format!("receiver{}", number + 1);
        let _ = write!(
            text,
            "[[node]]\nname = \"{name}\"\nhost = true\n\
             [[link]]\nfrom = \"out\"\nto = \"{name}\"\ndelay = \"{one_way:.3}ms\"\n{}\
             [[link]]\nfrom = \"{name}\"\nto = \"out\"\ndelay = \"{one_way:.3}ms\"\n",
            faults(trouble),
        );
    }
    if trouble == RoadTrouble::Changing {
        text += &changes(rate_bps);
    }
    text
}

fn queue(rate_bps: u64, round_trip_ms: u32, trouble: RoadTrouble) -> String {
    let bytes = products(rate_bps, round_trip_ms, 1.0);
    let packets = bytes / PACKET;
    match trouble {
        RoadTrouble::Fair => format!("{{ kind = \"fair\", bytes = {bytes} }}"),
        RoadTrouble::CoDel => codel(rate_bps, round_trip_ms),
        // Between a sixth and a half of the queue, as RED's authors advise.
        RoadTrouble::Red => format!(
            "{{ kind = \"red\", min = {}, max = {}, packets = {packets} }}",
            (packets / 6).max(1),
            (packets / 2).max(2)
        ),
        _ => format!("{{ kind = \"drop-tail\", bytes = {bytes} }}"),
    }
}

/// RFC 8289 wants a buffer that is long enough for every burst: four products.
pub(super) fn codel(rate_bps: u64, round_trip_ms: u32) -> String {
    format!("{{ kind = \"codel\", bytes = {} }}", products(rate_bps, round_trip_ms, 4.0))
}

/// Keys of the way back.
fn back(rate_bps: u64, round_trip_ms: u32, trouble: RoadTrouble) -> String {
    if trouble != RoadTrouble::Asymmetric {
        return String::new();
    }
    let rate = rate_bps / BACK;
    let bytes = products(rate, round_trip_ms, 1.0);
    format!("rate = \"{rate}bps\"\nqueue = {{ kind = \"drop-tail\", bytes = {bytes} }}\n")
}

/// Keys of the way to a receiver.
fn faults(trouble: RoadTrouble) -> String {
    match trouble {
        RoadTrouble::Loss(percent) => format!("loss = \"{percent}%\"\n"),
        RoadTrouble::Bursts(percent) => {
            format!("loss = {{ ge = {{ mean = \"{percent}%\", burst = {BURST} }} }}\n")
        }
        RoadTrouble::Doubled => format!("duplicate = {SHARE}\n"),
        RoadTrouble::Reordered => format!("reorder = {SHARE}\n"),
        _ => String::new(),
    }
}

/// The round trip of a receiver, milliseconds.
fn round_trip(longest_ms: u32, trouble: RoadTrouble, number: usize, count: usize) -> f64 {
    let longest = f64::from(longest_ms);
    match trouble {
        RoadTrouble::Unlike if count > 1 => {
            NEAR_MS + (longest - NEAR_MS) * number as f64 / (count - 1) as f64
        }
        _ => longest,
    }
}

/// Has the line its rate and a fifth of it in turn.
fn changes(rate_bps: u64) -> String {
    let change = |number: u64| {
        let rate = if number % 2 == 1 { rate_bps / SLOWER } else { rate_bps };
        let at = number * STEADY;
        format!(
            "[[change]]\nat = \"{at}s\"\n\
             link = {{ from = \"in\", to = \"out\", rate = \"{rate}bps\" }}\n"
        )
    };
    (1..=CHANGES).map(change).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn road(name: &str, receivers: usize) -> RoadCase {
        RoadCase::chosen(&[name.to_owned()], &[receivers]).unwrap()[0]
    }

    #[test]
    fn each_emulated_road_is_a_scenario_with_a_host_for_each_program() {
        let roads = RoadCase::chosen(&[], &[1, 10, 60]).unwrap();
        let emulated = roads.iter().filter(|road| matches!(road.line, RoadLine::Emulated { .. }));
        let mut count = 0;
        for road in emulated {
            let hosts = scenario(road).unwrap().plan(1).emulated_hosts();
            assert_eq!(hosts.len(), 1 + road.receivers, "{road:?}");
            assert_eq!(hosts[0].name, "sender");
            count += 1;
        }
        assert_eq!(count, 3 * 34);
    }

    #[test]
    fn unlike_receivers_have_all_round_trips_between_the_shortest_and_the_longest() {
        let trip = |number, count| round_trip(150, RoadTrouble::Unlike, number, count) as u32;
        assert_eq!([trip(0, 3), trip(1, 3), trip(2, 3), trip(0, 1)], [10, 80, 150, 150]);
        assert_eq!(round_trip(150, RoadTrouble::Delay, 0, 3) as u32, 150);
    }

    #[test]
    fn each_trouble_is_in_its_scenario() {
        for (name, part) in [
            ("loss25-10M-50ms", "loss = \"25%\""),
            ("bursts20-10M-50ms", "ge = { mean = \"20%\", burst = 4 }"),
            ("asymmetric-10M-50ms", "rate = \"1000000bps\""),
            (
                "changing-10M-50ms",
                "at = \"5s\"\nlink = { from = \"in\", to = \"out\", rate = \"2000000bps\"",
            ),
            (
                "changing-10M-50ms",
                "at = \"10s\"\nlink = { from = \"in\", to = \"out\", rate = \"10000000bps\"",
            ),
            ("codel-10M-50ms", "kind = \"codel\", bytes = 250000"),
            ("unlike-10M-150ms", "delay = \"75.000ms\""),
        ] {
            let text = text(&road(name, 3));
            assert!(text.contains(part), "{name}: {text}");
        }
    }

    #[test]
    fn a_queue_has_four_packets_at_least() {
        assert_eq!(products(56_000, 250, 1.0), QUEUE_LEAST);
        assert_eq!(products(10_000_000, 50, 0.5), 31_250);
        assert_eq!(products(10_000_000, 50, 4.0), 250_000);
    }
}

//! One system in one situation, once.

use super::{Prepared, Relay, Situation, TacticalRow};
use crate::{
    emulator::snapshot::{Amount, Snapshot},
    error::LabError,
    host::Host,
    lab::Lab,
    peer::messaging::{
        client::{self, Arrival, ArrivalLog, MessagingClient},
        fanfare,
        norm::Pace,
    },
    reproduce::Campaign,
    stop::Stop,
    trials,
};
use std::{
    collections::BTreeSet,
    path::Path,
    sync::mpsc::{Receiver, Sender, channel},
    time::{Duration, Instant},
};

/// The first hosts behind the sender.
pub(super) const SUBSCRIBERS: usize = 3;
/// The paper's.
pub(super) const SENDING: Duration = Duration::from_secs(64);
/// Until all is repaired; when everybody has everything it ends earlier.
const REST: Duration = Duration::from_secs(60);
/// From the start of the programs to the first message, and between short ones before it, from which
/// subscribers know that there is a sender.
const SETTLE: Duration = Duration::from_secs(5);
const GREETINGS: usize = 3;
const GREETING_EVERY: Duration = Duration::from_secs(1);
const GREETING: usize = 16;
/// Messages that wait while one is being sent, as in the simulator.
const AHEAD: usize = 2;
/// 220 kbit/s in UDP payload are 230 kbit/s on the link, headers and all.
const RATE: u64 = 220_000;
/// What the simulated nodes have (scenarios/files/tactical.toml).
const SENDER_RATES: [&str; 2] = ["--rate", "220k"];
const PEER_RATES: [&str; 4] = ["--rate", "1M", "--repair-rate", "500k"];
/// Two packets on the sender's line and the way there and back: what libnorm is told, whose own first
/// guess of 250 ms rules its back-offs while a deaf sender learns nothing better.
const ROUND_TRIP: f64 = 0.13;
/// Bytes of Ethernet's header: the paper's figures come from captures.
const ETHERNET: u64 = 14;
const TOPIC: &str = "report";
const LOOK: Duration = Duration::from_millis(100);

/// What is to be tried.
#[derive(Debug)]
pub(super) struct Trial<'a> {
    pub(super) relay: Relay,
    pub(super) situation: Situation,
    pub(super) repetition: u32,
    pub(super) stop: &'a Stop,
}

/// What has been published, sent and heard.
#[derive(Debug, Default)]
struct Course {
    /// Greetings too.
    published: usize,
    /// Greetings too.
    sent: usize,
    messages: usize,
    had: BTreeSet<(usize, usize)>,
}

impl Course {
    fn on_arrival(&mut self, (host, number, _): Arrival) {
        match host {
            0 => self.sent += 1,
            _ if number < self.messages => drop(self.had.insert((host, number))),
            _ => {}
        }
    }
    fn has_room(&self) -> bool {
        self.published < self.sent + AHEAD
    }
    fn is_complete(&self) -> bool {
        self.had.len() == self.messages * SUBSCRIBERS
    }
}

impl Trial<'_> {
    /// Runs it.
    pub(super) fn run(&self, prepared: &Prepared) -> Result<TacticalRow, LabError> {
        let name = format!(
            "fanfare-tactical-{}-{}-{}-{}",
            std::process::id(),
            self.situation.to_string().replace(':', "-"),
            self.relay,
            self.repetition
        );
        let directory = Campaign::scratch_base().join(name);
        let run = || self.run_in(prepared, &directory);
        trials::in_directory(&directory, self.stop, run, |row| !row.why.is_empty())
    }

    fn run_in(&self, prepared: &Prepared, directory: &Path) -> Result<TacticalRow, LabError> {
        // Start and end of the programs are outside.
        let network = self.situation.network(SENDING + REST + Duration::from_secs(600))?;
        let lab = Lab::up(&network, u64::from(self.repetition) + 1)?;
        let (arrivals, heard) = channel();
        let mut voices = self.voices(prepared, lab.hosts(), directory, &arrivals)?;
        self.pause(SETTLE)?;
        let mut course = self.greet(&mut voices[0], &heard)?;
        let before = lab.snapshot()?;
        let why = self.publish(&mut voices[0], &heard, &mut course)?;
        let after = lab.snapshot()?;
        let why =
            if why.is_empty() { client::ended(voices.iter_mut()).unwrap_or_default() } else { why };
        drop(voices);
        lab.down()?;
        Ok(self.row(prepared, &course, (&before, &after), why))
    }

    fn voices(
        &self,
        prepared: &Prepared,
        hosts: &[Host],
        directory: &Path,
        arrivals: &Sender<Arrival>,
    ) -> Result<Vec<MessagingClient>, LabError> {
        let mut voices = Vec::new();
        // Those who hear come first.
        for (number, host) in hosts.iter().enumerate().rev() {
            let (place, hearing) =
                ((host, directory), ArrivalLog { host: number, arrivals: arrivals.clone() });
            let subscribes = (1..=SUBSCRIBERS).contains(&number);
            let client = match (self.relay, &prepared.norm) {
                (Relay::Norm, Some(norm)) if number == 0 => {
                    let (parity, segment) = (self.situation.parity(), self.situation.segment());
                    let (rate, round_trip) = (RATE, ROUND_TRIP);
                    norm.send(place, Pace { rate, round_trip, parity, segment }, hearing)?
                }
                (Relay::Norm, Some(norm)) if subscribes => norm.receive(place, hearing)?,
                (Relay::Norm, _) => continue,
                (Relay::Fanfare, _) => {
                    let segment = self.situation.segment().to_string();
                    let sender = [&SENDER_RATES[..], &["--segment", &segment]].concat();
                    let rates = if number == 0 { &sender[..] } else { &PEER_RATES[..] };
                    let filters = if subscribes { vec![TOPIC.to_owned()] } else { Vec::new() };
                    fanfare::node(&prepared.tools, place, rates, &filters, hearing)?
                }
            };
            voices.push(client);
        }
        voices.reverse();
        Ok(voices)
    }

    fn pause(&self, time: Duration) -> Result<(), LabError> {
        match self.stop.wait(time) {
            true => Err(trials::interrupted()),
            false => Ok(()),
        }
    }

    fn greet(
        &self,
        sender: &mut MessagingClient,
        heard: &Receiver<Arrival>,
    ) -> Result<Course, LabError> {
        let mut course = Course::default();
        for greeting in 0..GREETINGS {
            // With a number that no message has.
            let text = client::text(usize::MAX - greeting, GREETING);
            // A program that is gone shows with its first message.
            course.published += usize::from(sender.publish(TOPIC, &text).is_ok());
            self.pause(GREETING_EVERY)?;
        }
        heard.try_iter().for_each(|arrival| course.on_arrival(arrival));
        Ok(course)
    }

    /// Publishes as fast as it is sent, and then waits until everybody has everything, or for the rest.
    fn publish(
        &self,
        sender: &mut MessagingClient,
        heard: &Receiver<Arrival>,
        course: &mut Course,
    ) -> Result<String, LabError> {
        let zero = Instant::now();
        while zero.elapsed() < SENDING + REST {
            if self.stop.is_set() {
                return Err(trials::interrupted());
            }
            let sends = zero.elapsed() < SENDING;
            if !sends && course.is_complete() {
                break;
            }
            while sends && course.has_room() {
                let text = client::text(course.messages, self.situation.size);
                if let Err(error) = sender.publish(TOPIC, &text) {
                    return Ok(format!("the sender has ended ({error})"));
                }
                course.published += 1;
                course.messages += 1;
            }
            if let Ok(arrival) = heard.recv_timeout(LOOK) {
                course.on_arrival(arrival);
            }
        }
        Ok(String::new())
    }

    fn row(
        &self,
        prepared: &Prepared,
        course: &Course,
        (before, after): (&Snapshot, &Snapshot),
        why: String,
    ) -> TacticalRow {
        let frames = |amount: &Amount| amount.bytes + ETHERNET * amount.packets;
        let each: Vec<u64> = (before.nodes.iter().zip(&after.nodes))
            .map(|(before, after)| frames(&after.sent) - frames(&before.sent))
            .collect();
        let count = course.messages.max(1) as f64;
        let content = (course.messages * self.situation.size) as f64;
        let peers: u64 = each.iter().skip(1).sum();
        TacticalRow {
            situation: self.situation,
            relay: self.relay,
            version: prepared.version(self.relay).to_owned(),
            repetition: self.repetition,
            sent: course.messages as f64,
            success: course.had.len() as f64 * 100.0 / (count * SUBSCRIBERS as f64),
            sender_overhead: (each.first().copied().unwrap_or(0) as f64 - content) / count,
            peer_overhead: peers as f64 / count,
            late_ms: after.lateness.p99_ms,
            void: after.lateness.void,
            why,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_published_when_one_waits_and_all_is_there_when_three_have_each() {
        let mut course = Course { published: 2, messages: 2, ..Course::default() };
        assert!(!course.has_room());
        course.on_arrival((0, 0, Instant::now()));
        assert!(course.has_room());
        for host in 1..=SUBSCRIBERS {
            for number in [7, usize::MAX, 0, 0, 1] {
                assert!(!course.is_complete());
                course.on_arrival((host, number, Instant::now()));
            }
        }
        assert!(course.is_complete());
        assert_eq!(course.had.len(), 6);
    }
}

//! One system on one radio.

use super::{
    Company, CompanyRow, Radio,
    tally::Tally,
    traffic::{self, Kind, Planned},
};
use crate::{
    emulator::snapshot::Snapshot,
    error::{LabError, Refusal},
    lab::Lab,
    peer::{
        messaging::{
            HostSlot, MessagingSoftware, MessagingSystem,
            client::{self, Arrival, ArrivalLog, MessagingClient},
        },
        program::Program,
    },
    process::Usage,
    reproduce::Campaign,
    stop::Stop,
    trials,
    wait::WakeEvent,
};
use fanfare_sim::Scenario;
use std::{
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, channel},
    },
    time::{Duration, Instant},
};

/// From the last program's start to the first message: connections, and who is there.
const SETTLE: Duration = Duration::from_secs(20);
/// How often to look whether the user wants it to stop.
const LOOK: Duration = Duration::from_millis(200);
/// A report of position is of use for so long: the figure that is wanted.
const IN_TIME: Duration = Duration::from_secs(5);

/// What is to be tried.
#[derive(Debug)]
pub(crate) struct Trial<'a> {
    company: &'a Company,
    radio: Radio,
    carrier: MessagingSystem,
    fleet: &'a dyn MessagingSoftware,
    stop: &'a Stop,
}

impl<'a> Trial<'a> {
    pub(crate) fn new(
        company: &'a Company,
        radio: Radio,
        carrier: MessagingSystem,
        fleet: &'a dyn MessagingSoftware,
        stop: &'a Stop,
    ) -> Self {
        Self { company, radio, carrier, fleet, stop }
    }

    /// Runs it.
    ///
    /// # Errors
    /// The lab cannot be, or a program does not start.
    pub(crate) fn run(&self) -> Result<CompanyRow, LabError> {
        let directory = self.directory();
        let run = || self.run_in(&directory);
        trials::in_directory(&directory, self.stop, run, |row| !row.why.is_empty())
    }

    fn run_in(&self, directory: &Path) -> Result<CompanyRow, LabError> {
        let failed = |error: io::Error| {
            LabError::system(format_args!("file ({})", directory.display()), &error)
        };
        let lab = self.lab()?;
        let wake_event = Arc::new(WakeEvent::new().map_err(failed)?);
        let hosts = lab.hosts();
        let mut server = self.fleet.serve(&hosts[0], directory, &wake_event)?;
        let (arrivals, heard) = channel();
        let mut voices = Vec::new();
        for (number, host) in hosts.iter().enumerate() {
            let wants = traffic::wants(number);
            let server = &hosts[0];
            let post = HostSlot { host, number, server, hosts, wants: &wants, directory };
            let hearing = ArrivalLog { host: number, arrivals: arrivals.clone() };
            voices.push(self.fleet.start(post, hearing)?);
        }
        self.pause()?;
        let before = (lab.snapshot()?, used(&mut voices, server.as_ref()));
        let vehicles = self.company.vehicles;
        let plan = traffic::plan(vehicles, self.company.duration);
        let mut tally = Tally::new(&plan, vehicles);
        let why = self.publish(&plan, &mut voices, &heard, &mut tally)?;
        let after = (lab.snapshot()?, used(&mut voices, server.as_ref()));
        let gone = server.as_mut().is_some_and(|server| server.has_closed());
        let ended = client::ended(&mut voices);
        drop(voices);
        drop(server);
        lab.down()?;
        let why = match (gone, ended) {
            (true, _) => "its server has ended".to_owned(),
            (false, Some(ended)) if why.is_empty() => ended,
            _ => why,
        };
        Ok(self.row(&plan, &tally, (&before, &after), why))
    }

    fn directory(&self) -> PathBuf {
        let base = Campaign::scratch_base();
        let (id, seed) = (std::process::id(), self.company.seed);
        base.join(format!("fanfare-company-{id}-{}-{}-{seed}", self.radio, self.carrier))
    }

    fn lab(&self) -> Result<Lab, LabError> {
        let all = SETTLE + self.company.duration + self.company.rest;
        // Start and end of the programs are outside.
        let limit = all + Duration::from_secs(600);
        let text = self.radio.scenario(self.company.vehicles, limit);
        let none = |file: &str| Err(format!("{file} is not part of it. Report this"));
        let scenario = Scenario::parse_for_laboratory(&text, &none).map_err(|mistakes| {
            let all: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
            let text = format!("scenario (company): {}. Report this", all.join("; "));
            LabError::new(Refusal::System, "lab.experiment", text)
        })?;
        Lab::up(&scenario, self.company.seed)
    }

    fn pause(&self) -> Result<(), LabError> {
        match self.stop.wait(SETTLE) {
            true => Err(trials::interrupted()),
            false => Ok(()),
        }
    }

    /// Publishes all of it in its time, and notes what comes until the rest is over too.
    fn publish(
        &self,
        plan: &[Planned],
        voices: &mut [MessagingClient],
        heard: &Receiver<Arrival>,
        tally: &mut Tally<'_>,
    ) -> Result<String, LabError> {
        let (zero, mut next, mut why) = (Instant::now(), 0, String::new());
        let end = self.company.duration + self.company.rest;
        while zero.elapsed() < end {
            if self.stop.is_set() {
                return Err(trials::interrupted());
            }
            while let Some(planned) = plan.get(next)
                && planned.at <= zero.elapsed()
            {
                tally.on_published(next, zero.elapsed());
                let text = client::text(next, planned.bytes);
                let client = &mut voices[planned.publisher];
                if let Err(error) = client.publish(&planned.topic(), &text) {
                    why = format!("v{} has ended ({error})", planned.publisher + 1);
                }
                next += 1;
            }
            let due = plan.get(next).map_or(end, |planned| planned.at);
            let longest = due.saturating_sub(zero.elapsed()).min(LOOK);
            match heard.recv_timeout(longest) {
                Ok((vehicle, message, at)) => {
                    tally.on_arrival(vehicle, message, at.saturating_duration_since(zero));
                }
                Err(RecvTimeoutError::Timeout) => {}
                // This side has one end of it itself.
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        Ok(why)
    }

    fn row(
        &self,
        plan: &[Planned],
        tally: &Tally<'_>,
        ((before, used_before), (after, used)): (&Seen, &Seen),
        why: String,
    ) -> CompanyRow {
        let sent = |at: &Snapshot| {
            let add = |(packets, bytes), amount: crate::emulator::snapshot::Amount| {
                (packets + amount.packets, bytes + amount.bytes)
            };
            at.nodes.iter().map(|node| node.sent).fold((0, 0), add)
        };
        let ((packets, bytes), (packets_before, bytes_before)) = (sent(after), sent(before));
        CompanyRow {
            radio: self.radio.name().to_owned(),
            system: self.carrier.name().to_owned(),
            version: self.fleet.version().to_owned(),
            seconds: self.company.duration.as_secs(),
            seed: self.company.seed,
            vehicles: self.company.vehicles,
            content: plan.iter().map(|planned| planned.bytes as u64).sum(),
            shares: Kind::ALL.map(|kind| tally.share(kind, IN_TIME)),
            cuts: [IN_TIME, 2 * IN_TIME, Duration::MAX].map(|cut| tally.cut(Kind::Position, cut)),
            again: tally.again,
            packets: packets - packets_before,
            bytes: bytes - bytes_before,
            drops: after.links.iter().map(|link| link.dropped).sum(),
            late_ms: after.lateness.p99_ms,
            why,
            cpu: used.cpu - used_before.cpu,
            memory: used.memory,
            messages: tally.raw(),
        }
    }
}

/// What the network has carried, and what programs have used.
type Seen = (Snapshot, Usage);

/// What all programs together have used.
fn used(voices: &mut [MessagingClient], server: Option<&Program>) -> Usage {
    let server = server.map(Program::usage_of_group);
    let add =
        |all: Usage, one: Usage| Usage { cpu: all.cpu + one.cpu, memory: all.memory + one.memory };
    voices.iter_mut().map(MessagingClient::used).chain(server).fold(Usage::default(), add)
}

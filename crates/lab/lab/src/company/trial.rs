//! One system on one radio.

use super::{
    Company, CompanyRow, Radio,
    crew::{Crew, Place},
    fault::Fault,
    tally::Tally,
    traffic::{self, Kind, Planned},
};
use crate::{
    emulator::snapshot::Snapshot,
    error::{LabError, Refusal},
    lab::Lab,
    peer::messaging::{
        MessagingSoftware, MessagingSystem,
        client::{self, Arrival},
    },
    process::Usage,
    reproduce::Campaign,
    stop::Stop,
    trials,
    wait::WakeEvent,
};
use fanfare_sim::{Change, Host, Scenario};
use std::{
    collections::VecDeque,
    io,
    ops::Range,
    path::{Path, PathBuf},
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, channel},
    },
    thread::{self, ScopedJoinHandle},
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
        let keeps = self.radio.fault() == Some(Fault::Killed);
        let place =
            Place { fleet: self.fleet, lab: &lab, directory, wake_event: &wake_event, keeps };
        let (arrivals, heard) = channel();
        let later = self.absent().filter(|_| self.radio.fault() == Some(Fault::Late));
        let mut crew = Crew::start(place, arrivals, later)?;
        self.pause()?;
        let before = (lab.snapshot()?, crew.used());
        let plan = self.plan();
        let mut tally = Tally::new(&plan, self.company.vehicles);
        let why = self.publish(&plan, (place, &mut crew), &heard, &mut tally)?;
        let after = (lab.snapshot()?, crew.used());
        let why = crew.ended().filter(|_| why.is_empty()).unwrap_or(why);
        drop(crew);
        lab.down()?;
        Ok(self.row(&plan, &tally, (&before, &after), why))
    }

    /// Who is not there while something is wrong.
    fn absent(&self) -> Option<usize> {
        self.radio.fault()?.absent(self.carrier, self.company.vehicles)
    }

    fn window(&self) -> Option<Range<Duration>> {
        Some(self.radio.fault()?.window(self.company.times(self.radio)[0]))
    }

    fn plan(&self) -> Vec<Planned> {
        let mut plan = traffic::plan(self.company.vehicles, self.company.times(self.radio)[0]);
        if let (Some(window), Some(absent)) = (self.window(), self.absent()) {
            traffic::silence(&mut plan, absent, &window);
        }
        plan
    }

    fn directory(&self) -> PathBuf {
        let base = Campaign::scratch_base();
        let (id, seed) = (std::process::id(), self.company.seed);
        base.join(format!("fanfare-company-{id}-{}-{}-{seed}", self.radio, self.carrier))
    }

    fn lab(&self) -> Result<Lab, LabError> {
        let all = SETTLE + self.company.times(self.radio).iter().sum::<Duration>();
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

    /// Publishes all of it in its time, lets go wrong what is to, and notes what comes until the rest is over
    /// too.
    fn publish(
        &self,
        plan: &[Planned],
        (place, crew): (Place<'_>, &mut Crew<'_>),
        heard: &Receiver<Arrival>,
        tally: &mut Tally<'_>,
    ) -> Result<String, LabError> {
        let (zero, mut next, mut why) = (Instant::now(), 0, String::new());
        let end = self.company.times(self.radio).iter().sum::<Duration>();
        let mut steps: VecDeque<(Duration, bool)> = self
            .window()
            .map_or_else(VecDeque::new, |at| [(at.start, false), (at.end, true)].into());
        thread::scope(|scope| {
            // A broker takes seconds, in which others publish.
            let mut serving = None;
            while zero.elapsed() < end {
                if self.stop.is_set() {
                    return Err(trials::interrupted());
                }
                if let Some((_, is_over)) = steps.pop_front_if(|(at, _)| *at <= zero.elapsed()) {
                    match is_over {
                        false => self.begin(place.lab, crew),
                        true if self.ends_by_server() => {
                            serving = Some(scope.spawn(move || place.serve()));
                        }
                        true => self.end(place.lab, crew)?,
                    }
                }
                while let Some(planned) = plan.get(next)
                    && planned.at <= zero.elapsed()
                {
                    tally.on_published(next, zero.elapsed());
                    let text = client::text(next, planned.bytes);
                    if let Err(error) = crew.publish(planned.publisher, &planned.topic(), &text) {
                        why = format!("v{} has ended ({error})", planned.publisher + 1);
                    }
                    next += 1;
                }
                let due = plan.get(next).map_or(end, |planned| planned.at);
                let due = steps.front().map_or(due, |(at, _)| due.min(*at));
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
            match serving.map(ScopedJoinHandle::join) {
                Some(Ok(Ok(server))) => crew.server = server,
                Some(Ok(Err(error))) => why = format!("its server did not come back ({error})"),
                Some(Err(panic)) => std::panic::resume_unwind(panic),
                None => {}
            }
            Ok(why)
        })
    }

    /// Whether what goes wrong is a killed server.
    fn ends_by_server(&self) -> bool {
        self.radio.fault() == Some(Fault::Killed) && self.absent().is_none()
    }

    /// Lets go wrong what is to.
    fn begin(&self, lab: &Lab, crew: &mut Crew<'_>) {
        match self.radio.fault() {
            Some(Fault::Killed) => crew.kill(self.absent()),
            Some(Fault::Partition) => {
                let second = self.company.vehicles / 2..self.company.vehicles;
                second.for_each(|one| lab.change(Change::Partition(Host(one as u16).into())));
            }
            Some(Fault::Late) | None => {}
        }
    }

    /// Lets it be over.
    fn end(&self, lab: &Lab, crew: &mut Crew<'_>) -> Result<(), LabError> {
        match self.absent() {
            Some(absent) => crew.join(absent, true),
            None => {
                lab.change(Change::Heal);
                Ok(())
            }
        }
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
            seconds: self.company.times(self.radio)[0].as_secs(),
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

//! Messages of a link over a bad road: how soon each class is there, alone and beside a download.
//!
//! - `mail`: lines that go in at one end and come out at the other
//! - `table`: all runs

mod mail;
mod table;

pub use table::link_table;

use std::{
    fs,
    path::Path,
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

use serde::Serialize;

use super::proxy::{Ends, RoadPlan, Way, Web};
use crate::{
    error::LabError,
    lab::{Lab, road},
    process::Process,
    stop::Stop,
    system::{privileges, scratch::Scratch},
    trials::side_by_side,
};
use mail::Mail;

/// Messages of a person or a sensor are so far apart.
const APART: Duration = Duration::from_millis(250);
/// What was lost is sent again within this time, or counts as lost.
const LATEST: Duration = Duration::from_secs(20);
/// A download has begun for so long.
const BEGUN: Duration = Duration::from_secs(8);
/// Requests one after another, and their size and that of the answers: those of the matrix of protocols.
const REQUESTS: u32 = 20;
const REQUEST: usize = 256;
const ANSWER: usize = 2048;
/// The first message needs a handshake before it.
const COLD: Duration = Duration::from_secs(60);

/// What is to be measured.
#[derive(Debug, Clone)]
pub struct LinkBench {
    /// Over which road, and how often.
    pub plan: RoadPlan,
    /// Classes of messages: `rs`, `ru`, `us`, `uu`.
    pub classes: Vec<&'static str>,
    /// What is downloaded beside them, each by itself.
    pub beside: Vec<Option<Way>>,
    /// Bytes of a message.
    pub size: usize,
}

/// One class over one road.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct LinkRun {
    /// The class.
    pub class: &'static str,
    /// The road's loss, percent.
    pub loss: f64,
    /// What was downloaded beside it; nothing if empty.
    pub beside: String,
    /// Which one.
    pub seed: u64,
    /// Seconds from when the program was started until its first message was there: no link was there.
    pub first_s: Option<f64>,
    /// The same once there had been one, by a ticket that the program before had kept.
    pub warm_s: Option<f64>,
    /// Messages that were sent, one every 250 ms.
    pub sent: u32,
    /// How long those took that came, milliseconds.
    pub took_ms: Vec<f64>,
    /// How long a request and its answer took, milliseconds.
    pub answered_ms: Vec<f64>,
    /// Requests without an answer.
    pub unanswered: u32,
    /// One in a hundred packets was handed over later than this by the emulator, milliseconds.
    pub late_p99_ms: f64,
    /// Why it was not whole, if it was not.
    pub why: String,
}

/// One run that is to be made.
#[derive(Debug, Clone, Copy)]
struct Planned {
    class: &'static str,
    loss: f64,
    beside: Option<Way>,
    seed: u64,
}

impl LinkBench {
    /// Measures.
    ///
    /// # Errors
    /// What is missing or refused, or that the user stopped it.
    pub fn run(
        &self,
        stop: &Stop,
        tell: &mut (dyn FnMut(&LinkRun) + Send),
    ) -> Result<Vec<LinkRun>, LabError> {
        privileges::check()?;
        crate::lab::clear_leftovers()?;
        let scratch = Scratch::with_large_pages(&std::env::temp_dir())?;
        let keys = road::keys(&self.plan.fanfare, scratch.path())?;
        let measure = |number: usize, planned: Planned| {
            let own = scratch.path().join(number.to_string());
            let failed = |error| LabError::system(own.display(), &error);
            fs::create_dir_all(&own).map_err(failed)?;
            self.measure(planned, (scratch.path(), &own), &keys)
        };
        side_by_side(self.plan.jobs, self.planned(), stop, measure, tell)
    }

    fn planned(&self) -> Vec<Planned> {
        let mut planned = Vec::new();
        for seed in 1..=u64::from(self.plan.repetitions) {
            for &loss in &self.plan.losses {
                for &beside in &self.beside {
                    let classes = self.classes.iter();
                    planned.extend(classes.map(|&class| Planned { class, loss, beside, seed }));
                }
            }
        }
        planned
    }

    fn measure(
        &self,
        planned: Planned,
        (directory, own): (&Path, &Path),
        keys: &[String; 2],
    ) -> Result<LinkRun, LabError> {
        let Planned { class, loss, beside, seed } = planned;
        let lab = Lab::up(&self.plan.road(loss, seed).scenario()?, seed)?;
        let [near, far] = lab.ends()?;
        let way = beside.unwrap_or(Way::Tcp("cubic"));
        let ends = Ends { plan: &self.plan, way, near, far, directory, own, keys };
        let shown = beside.map(Way::name).unwrap_or_default();
        let mut run = LinkRun { class, loss, beside: shown, seed, ..LinkRun::default() };
        let web = Web::start(far, way.kernel().unwrap_or("cubic"))?;
        let daemons = if beside.is_some() { ends.daemons()? } else { Vec::new() };
        if beside.is_some() && !ends.is_ready() {
            "the proxy had no link".clone_into(&mut run.why);
        } else {
            self.mails(&ends, beside.is_some(), &mut run)?;
        }
        drop((daemons, web));
        run.late_p99_ms = lab.down()?.lateness.p99_ms;
        Ok(run)
    }

    fn mails(&self, ends: &Ends<'_>, beside: bool, run: &mut LinkRun) -> Result<(), LabError> {
        let failed = |error| LabError::system("fanfare", &error);
        let begun = Instant::now();
        let mut down = Mail::open(ends, mail::Direction::ToNear, run.class).map_err(failed)?;
        down.write(0, self.size).map_err(failed)?;
        run.first_s =
            down.next(COLD).map(|(_, at)| at.saturating_duration_since(begun).as_secs_f64());
        if run.first_s.is_none() && run.class.starts_with('r') {
            "its first message did not come".clone_into(&mut run.why);
            return Ok(());
        }
        let _download = if beside { Some(start(ends)?) } else { None };
        if beside {
            thread::sleep(BEGUN);
        }
        let count = self.plan.seconds * 1000 / APART.as_millis() as u32;
        let mut written = Vec::new();
        let begun = Instant::now();
        for number in 1..=count {
            thread::sleep((APART * number).saturating_sub(begun.elapsed()));
            written.push(Instant::now());
            down.write(number, self.size).map_err(failed)?;
        }
        run.sent = count;
        let end = Instant::now() + LATEST;
        while run.took_ms.len() < written.len()
            && let Some((number, at)) = down.next(end.saturating_duration_since(Instant::now()))
        {
            let begun = number.checked_sub(1).and_then(|place| written.get(place as usize));
            let took = begun.map(|begun| at.saturating_duration_since(*begun).as_secs_f64() * 1e3);
            run.took_ms.extend(took);
        }
        if run.class.starts_with('r') {
            self.requests(ends, &mut down, run).map_err(failed)?;
        }
        let begun = Instant::now();
        down.send = mail::Direction::ToNear.send(ends, run.class).map_err(failed)?;
        down.write(0, self.size).map_err(failed)?;
        let at = down.wait_for(0, COLD);
        run.warm_s = at.map(|at| at.saturating_duration_since(begun).as_secs_f64());
        Ok(())
    }

    /// Requests from near, one after another, each answered at once; `down` carries the answers.
    fn requests(
        &self,
        ends: &Ends<'_>,
        down: &mut Mail,
        run: &mut LinkRun,
    ) -> Result<(), std::io::Error> {
        let mut up = Mail::open(ends, mail::Direction::ToFar, run.class)?;
        up.write(0, REQUEST)?;
        if up.next(COLD).is_none() {
            "the way of requests had no link".clone_into(&mut run.why);
            return Ok(());
        }
        // Other numbers than those of the messages before.
        for number in (1..=REQUESTS).map(|number| number + run.sent) {
            let begun = Instant::now();
            up.write(number, REQUEST)?;
            let asked = up.wait_for(number, LATEST);
            if asked.is_some() {
                down.write(number, ANSWER)?;
            }
            match asked.and_then(|_| down.wait_for(number, LATEST)) {
                Some(at) => {
                    let took = at.saturating_duration_since(begun).as_secs_f64() * 1e3;
                    run.answered_ms.push(took);
                }
                None => run.unanswered += 1,
            }
        }
        Ok(())
    }
}

/// A download without an end.
fn start(ends: &Ends<'_>) -> Result<Vec<Process>, LabError> {
    let failed = |error| LabError::system("curl", &error);
    let (mut download, process) = ends.download()?;
    // It ends when it is dropped.
    download.args(["--max-time", "3600"]);
    let download = Process::start(download, Stdio::null(), Stdio::null()).map_err(failed)?;
    Ok(process.into_iter().chain([download]).collect())
}

//! `curl` over a bad road: directly, by TCP, and through both sides of the proxy.
//!
//! - `plan`: over which road, and how often
//! - `way`: how the bytes come, and the programs for it; `web`: a server whose answers do not end
//! - `echo`: keys typed by ssh beside them; `page`: a page in a browser before them
//! - `row`: what a run gave; `table`: all of them

mod echo;
mod page;
mod plan;
mod row;
mod table;
mod way;
mod web;

pub use plan::{ProxyRoad, RoadPlan};
pub use row::ProxyRun;
pub use table::proxy_table;
pub use way::Way;

use std::{
    fs,
    io::Read,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use super::median;
use crate::{
    error::{LabError, Refusal},
    lab::{Lab, road},
    process::Process,
    stop::Stop,
    system::{privileges, scratch::Scratch},
    trials::side_by_side,
};
use echo::Terminal;
use row::Counted;
pub(super) use way::Ends;
pub(super) use web::Web;

/// Keys are typed for so long before there is a download.
const ALONE: Duration = Duration::from_secs(30);
/// Beside a download keys are typed once it has begun, and until just before it ends.
const BEGUN: Duration = Duration::from_secs(5);

/// What is to be measured.
#[derive(Debug, Clone)]
pub struct ProxyBench {
    /// Over which road, and how often.
    pub plan: RoadPlan,
    /// How.
    pub ways: Vec<Way>,
    /// How many downloads at once, each number by itself.
    pub connections: Vec<u32>,
    /// Whether keys are typed by ssh, too.
    pub echo: bool,
    /// Whether a browser loads a page before the downloads.
    pub page: bool,
}

/// One run that is to be made.
#[derive(Debug, Clone, Copy)]
struct Planned {
    way: Way,
    loss: f64,
    connections: u32,
    seed: u64,
}

impl ProxyBench {
    /// Measures. What cannot be measured here is told.
    ///
    /// # Errors
    /// What is missing or refused, or that the user stopped it.
    pub fn run(
        &self,
        stop: &Stop,
        missing: &mut dyn FnMut(&str),
        tell: &mut (dyn FnMut(&ProxyRun) + Send),
    ) -> Result<Vec<ProxyRun>, LabError> {
        privileges::check()?;
        let are_there = |needs: &[&str]| needs.iter().all(|path| Path::new(path).exists());
        if self.echo && !are_there(&echo::NEEDS) {
            let text = "program (sshd): not found. Install the packages ssh and openssh-server";
            return Err(LabError::new(Refusal::Missing, "lab.missing", text));
        }
        if self.page && !are_there(&page::NEEDS) {
            let text = "program (chromium, python3): not found. Install the packages of that name";
            return Err(LabError::new(Refusal::Missing, "lab.missing", text));
        }
        crate::lab::clear_leftovers()?;
        let scratch = Scratch::with_large_pages(&std::env::temp_dir())?;
        let keys = road::keys(&self.plan.fanfare, scratch.path())?;
        let measure = |number: usize, planned: Planned| {
            let own = scratch.path().join(number.to_string());
            let failed = |error| LabError::system(own.display(), &error);
            fs::create_dir_all(&own).map_err(failed)?;
            self.measure(planned, (scratch.path(), &own), &keys)
        };
        side_by_side(self.plan.jobs, self.planned(missing), stop, measure, tell)
    }

    /// All runs: of each seed all ways, so that all meet the same minutes.
    fn planned(&self, missing: &mut dyn FnMut(&str)) -> Vec<Planned> {
        let known = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
        let known = known.unwrap_or_default();
        let has =
            |way: &Way| way.kernel().is_none_or(|name| known.split_whitespace().any(|k| k == name));
        for way in self.ways.iter().filter(|way| !has(way)) {
            missing(&format!("{} is left out: this kernel does not have it", way.name()));
        }
        let mut planned = Vec::new();
        for seed in 1..=u64::from(self.plan.repetitions) {
            for &loss in &self.plan.losses {
                for &way in self.ways.iter().filter(|way| has(way)) {
                    let at_once = self.connections.iter();
                    let at_once = at_once.filter(|many| way.has_connections() || **many == 1);
                    planned.extend(at_once.map(|&connections| Planned {
                        way,
                        loss,
                        connections,
                        seed,
                    }));
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
    ) -> Result<ProxyRun, LabError> {
        let Planned { way, loss, connections, seed } = planned;
        let lab = Lab::up(&self.plan.road(loss, seed).scenario()?, seed)?;
        let [near, far] = lab.ends()?;
        let ends = Ends { plan: &self.plan, way, near, far, directory, own, keys };
        let web = Web::start(far, way.kernel().unwrap_or("cubic"))?;
        let echoes = self.echo && way.has_connections();
        let sshd = echoes.then(|| echo::serve(&ends)).transpose()?;
        let pages = (self.page && way.has_connections()).then(|| page::serve(&ends)).transpose()?;
        let daemons = ends.daemons()?;
        let mut run = ProxyRun::new(way.name(), loss, connections, seed);
        let page = || pages.as_ref().map(|_| page::load(&ends)).transpose();
        match ends.is_ready().then(page) {
            None => "there was no link".clone_into(&mut run.why),
            Some(Err(why)) => run.why = why,
            Some(Ok(loaded)) => {
                run.page = loaded;
                self.downloads(&ends, echoes, &mut run)?;
            }
        }
        drop((daemons, sshd, pages, web));
        run.late_p99_ms = lab.down()?.lateness.p99_ms;
        Ok(run)
    }

    /// All downloads of a run at once, with what is typed before and beside them.
    fn downloads(&self, ends: &Ends<'_>, echoes: bool, run: &mut ProxyRun) -> Result<(), LabError> {
        let mut terminal = match echoes.then(|| Terminal::open(ends)).transpose() {
            Ok(terminal) => terminal,
            Err(why) => {
                run.why = why;
                return Ok(());
            }
        };
        if let Some(terminal) = &mut terminal {
            run.echo_alone_ms = terminal.types(ALONE);
        }
        let mut commands = Vec::new();
        let mut beside: Vec<Process> = Vec::new();
        for _ in 0..run.connections {
            let (command, process) = ends.download()?;
            commands.push(command);
            beside.extend(process);
        }
        let counted: Vec<Result<Counted, String>> = thread::scope(|scope| {
            let all: Vec<_> =
                commands.into_iter().map(|command| scope.spawn(|| count(command))).collect();
            if let Some(terminal) = &mut terminal {
                thread::sleep(BEGUN);
                let longest = Duration::from_secs(self.plan.seconds.into());
                run.echo_beside_ms = terminal.types(longest.saturating_sub(BEGUN * 2));
            }
            let failed = || Err("its thread has failed".to_owned());
            all.into_iter().map(|one| one.join().unwrap_or_else(|_| failed())).collect()
        });
        drop(beside);
        match counted.into_iter().collect::<Result<Vec<Counted>, String>>() {
            Ok(each) => run.count(&each, self.plan.seconds),
            Err(why) => run.why = why,
        }
        Ok(())
    }
}

/// Seconds and bytes, as they came.
fn count(mut command: Command) -> Result<Counted, String> {
    let said = |error: std::io::Error| error.to_string();
    let begun = Instant::now();
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut child = child.map_err(said)?;
    let (mut counted, mut bytes) = (Vec::new(), 0);
    let mut buffer = vec![0; 64 << 10];
    if let Some(mut out) = child.stdout.take() {
        while let Ok(more @ 1..) = out.read(&mut buffer) {
            bytes += more as u64;
            counted.push((begun.elapsed().as_secs_f64(), bytes));
        }
    }
    child.wait().map_err(said)?;
    Ok(counted)
}

//! A scenario's network with real hosts, from its start to its end.
//!
//! - `road`: the scenario of two hosts with one road between them

pub(crate) mod road;

use crate::{
    control::{self, Control},
    emulator::clock::Clock,
    emulator::snapshot::Snapshot,
    emulator::{self, Handle},
    error::{LabError, Refusal},
    host::Host,
    stop::Stop,
    system::namespace::{self, Namespace},
    system::privileges,
    wait,
};
use fanfare_sim::{Change, Scenario};
use rustix::fd::AsFd;
use std::{thread::JoinHandle, time::Duration};

/// Hosts of one lab: each has the addresses of all others, and a thread of programs.
const HOSTS_MAX: usize = 500;

/// A lab that is up: hosts, and the network between them. All of it is gone when dropped.
#[derive(Debug)]
pub struct Lab {
    stem: String,
    scenario: String,
    // Before the hosts: it must not outlive their devices' use.
    emulator: Option<JoinHandle<Snapshot>>,
    handle: Handle,
    hosts: Vec<Host>,
    // After the hosts: who waits for it to go waits for all of it.
    control: Option<Control>,
}

impl Lab {
    /// Makes the hosts of a scenario and starts its network: time zero is now. What dead runs have
    /// left is cleared first.
    ///
    /// # Errors
    /// What is missing, or what the system refused; nothing is left then.
    pub fn up(scenario: &Scenario, seed: u64) -> Result<Self, LabError> {
        privileges::check()?;
        clear_leftovers()?;
        let plan = scenario.plan(seed);
        let entries = plan.emulated_hosts();
        if entries.len() > HOSTS_MAX || entries.is_empty() {
            let text = format!(
                "scenario ({}): has {} hosts, and 1 to {HOSTS_MAX} are possible. Use others",
                scenario.name,
                entries.len()
            );
            return Err(LabError::new(Refusal::Usage, "lab.hosts", text));
        }
        let stem = Namespace::stem();
        let count = entries.len();
        let (mut hosts, mut taps) = (Vec::new(), Vec::new());
        for entry in entries {
            let (host, tap) = Host::make(&stem, entry, count)?;
            taps.push((host.name().to_owned(), tap));
            hosts.push(host);
        }
        let (handle, emulator) = emulator::start(plan, taps, Clock::start())?;
        let scenario = scenario.name.clone();
        Ok(Self { stem, scenario, emulator: Some(emulator), handle, hosts, control: None })
    }

    /// Lets other processes find it: for `fanfare lab exec`, `status`, `capture` and `down`.
    ///
    /// # Errors
    /// When no socket can be made in /run/fanfare-lab.
    pub fn announce(&mut self) -> Result<(), LabError> {
        self.control = Some(Control::open(self)?);
        Ok(())
    }
    /// Whether another process has told it to go down.
    #[must_use]
    pub fn is_to_go_down(&self) -> bool {
        self.to_go_down().is_some_and(Stop::is_set)
    }
    /// Set when another process has told it to go down; `None` unless it is announced.
    pub(crate) fn to_go_down(&self) -> Option<&Stop> {
        self.control.as_ref().map(Control::down)
    }
    /// Waits until the user or another process wants it to go down, at most for so long; says
    /// whether somebody does.
    pub fn wait(&self, stop: &Stop, longest: Duration) -> bool {
        let wanted = || stop.is_set() || self.is_to_go_down();
        if !wanted() {
            let theirs = self.to_go_down().map(AsFd::as_fd);
            let waited: Vec<_> = [stop.as_fd()].into_iter().chain(theirs).collect();
            wait::for_any(&waited, longest);
        }
        wanted()
    }

    /// Its name among the labs of this machine.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.stem
    }
    /// Its scenario's name.
    #[must_use]
    pub fn scenario(&self) -> &str {
        &self.scenario
    }
    /// Its hosts, in the order of the file.
    #[must_use]
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }
    /// The two hosts of a road.
    pub(crate) fn ends(&self) -> Result<[&Host; 2], LabError> {
        let text = "road: it has not two hosts. Report this";
        let error = || LabError::new(Refusal::System, "lab.road", text);
        self.hosts.iter().collect::<Vec<_>>().try_into().map_err(|_| error())
    }
    /// The host of this name.
    #[must_use]
    pub fn host(&self, name: &str) -> Option<&Host> {
        self.hosts.iter().find(|host| host.name() == name)
    }
    /// Since it came up: changes and programs of the scenario happen by this time.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.handle.clock().now().as_nanos())
    }
    /// What has been counted so far.
    ///
    /// # Errors
    /// When the emulator has ended, which it does only by a fault of its own.
    pub fn snapshot(&self) -> Result<Snapshot, LabError> {
        self.handle.snapshot().ok_or_else(emulator_ended)
    }
    /// Frames that the emulator did not fetch in time, of all hosts.
    ///
    /// # Errors
    /// As [`Host::overruns`].
    pub fn overruns(&self) -> Result<u64, LabError> {
        self.hosts.iter().map(Host::overruns).sum()
    }
    /// Ends it: what has been counted.
    ///
    /// # Errors
    /// As [`Lab::snapshot`].
    pub fn down(mut self) -> Result<Snapshot, LabError> {
        self.stop().ok_or_else(emulator_ended)
    }

    /// Lets something happen to its network now, beside the scenario's changes.
    pub(crate) fn change(&self, change: Change) {
        self.handle.change(change);
    }
    pub(crate) fn handle(&self) -> &Handle {
        &self.handle
    }
    fn stop(&mut self) -> Option<Snapshot> {
        self.handle.stop();
        self.emulator.take()?.join().ok()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        self.stop();
    }
}

fn emulator_ended() -> LabError {
    LabError::new(
        Refusal::System,
        "lab.emulator",
        "emulator (its thread): ended unexpectedly. Report this",
    )
}

/// Removes what dead runs have left: their namespaces, what runs in them, and their sockets. Gives
/// the names.
///
/// # Errors
/// When `ip` is missing or refuses.
pub fn clear_leftovers() -> Result<Vec<String>, LabError> {
    control::clear_leftovers();
    namespace::clear_leftovers()
}

/// Removes all network namespaces of the laboratory and what runs in them, whether or not their runs are
/// still alive. Gives the names.
///
/// # Errors
/// When `ip` is missing or refuses.
pub fn clear_all() -> Result<Vec<String>, LabError> {
    control::clear(|_| true);
    namespace::clear_all()
}

/// Removes all that this process has made, because it ends at once.
pub fn clear_own() {
    control::clear(|pid| pid == std::process::id());
    namespace::clear_own();
}

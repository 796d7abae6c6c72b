//! How many messages a second reach all subscribers, and how soon: members of a group through the
//! library, `pub --lines` with `sub`, and brokers beside them.
//!
//! Every system sends the same messages over the same bridge, one system after another. The clients
//! are processes on the hosts. All times are of the machine's one monotonic clock.
//!
//! - `server`: the broker of a system that has one
//! - `peers`: by a peer program that is given; `lines`: by commands that take and print lines
//! - `others`: the peer programs of ZeroMQ and JGroups
//! - `clients`: what is common to both

mod clients;
mod lines;
mod others;
mod peers;
mod server;

use super::Star;
use crate::{
    error::LabError,
    stop::Stop,
    system::{privileges, scratch::Scratch},
};
use clients::Heard;
use others::Others;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// What carries the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MessageSystem {
    /// Members of a group, by the library.
    Api,
    /// `fanfare pub --lines` and `fanfare sub`.
    Lines,
    /// NATS with `async-nats`.
    Nats,
    /// Mosquitto with its own commands, at QoS 0.
    Mosquitto,
    /// ZeroMQ over TCP.
    ZeromqTcp,
    /// ZeroMQ over NORM, on NRL's library.
    ZeromqNorm,
    /// ZeroMQ over NORM, on our libnorm.so.1.
    ZeromqFanfare,
    /// JGroups with its stack for UDP.
    Jgroups,
}

impl MessageSystem {
    /// Its name in options and tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::Lines => "lines",
            Self::Nats => "nats",
            Self::Mosquitto => "mosquitto",
            Self::ZeromqTcp => "zeromq-tcp",
            Self::ZeromqNorm => "zeromq-norm",
            Self::ZeromqFanfare => "zeromq-fanfare",
            Self::Jgroups => "jgroups",
        }
    }

    /// NRL's library takes minutes for more under libzmq: it stands still when its buffer is full.
    fn most(self) -> u64 {
        if self == Self::ZeromqNorm { 5_000 } else { u64::MAX }
    }

    /// Whether its clients stamp messages, so that their latency can be told.
    fn is_stamped(self) -> bool {
        !matches!(self, Self::Lines | Self::Mosquitto)
    }

    fn needs(self) -> &'static [&'static str] {
        match self {
            Self::Api | Self::Lines | Self::ZeromqTcp | Self::ZeromqNorm | Self::ZeromqFanfare => {
                &[]
            }
            Self::Jgroups => &["java", "javac"],
            Self::Nats => &["nats-server"],
            Self::Mosquitto => &["mosquitto", "mosquitto_pub", "mosquitto_sub"],
        }
    }
}

/// What is to be measured.
#[derive(Debug, Clone)]
pub struct MessageBench {
    /// Whose messages.
    pub systems: Vec<MessageSystem>,
    /// Subscribers of each cell.
    pub receivers: Vec<usize>,
    /// Messages of a cell that is to be fast.
    pub messages: u64,
    /// Bytes of each, at least 16: a stamp and a number.
    pub size: usize,
    /// Messages a second of the cells that tell the latency.
    pub rates: Vec<u64>,
    /// Messages of such a cell.
    pub timed: u64,
    /// Per cent of datagrams that each member loses in one more such cell; 0 is none.
    pub loss: f64,
    /// Rate that Fanfare is told, bit/s.
    pub rate: u64,
    /// How often each is measured.
    pub repetitions: u32,
    /// The program `fanfare`.
    pub fanfare: PathBuf,
    /// The peer program, and what it is called with first.
    pub peer: (PathBuf, Vec<String>),
}

/// One run.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct MessageRun {
    /// Whose.
    pub system: &'static str,
    /// To so many.
    pub receivers: usize,
    /// Messages published each second; 0: as fast as it goes.
    pub paced: u64,
    /// Per cent of datagrams lost at each member.
    pub loss: f64,
    /// Messages that came to the one that got fewest, and those published.
    pub delivered: u64,
    /// Those published.
    pub published: u64,
    /// Messages a second at the slowest, from the first that was published to the last that came.
    pub per_second: f64,
    /// From publication to delivery, in milliseconds: median, 99th percentile and longest, each of the
    /// worst subscriber; none where the clients stamp nothing.
    pub latency_ms: Option<[f64; 3]>,
    /// Why it was not whole, if it was not.
    pub why: String,
}

/// One cell: to so many, so many a second, with so much loss.
#[derive(Debug, Clone, Copy)]
struct Cell {
    system: MessageSystem,
    paced: u64,
    loss: f64,
    messages: u64,
}

impl MessageBench {
    /// Measures, one run after another. `without` is told of systems that cannot be had.
    ///
    /// # Errors
    /// What is missing or refused, or that the user stopped it.
    pub fn run(
        &self,
        stop: &Stop,
        tell: &mut dyn FnMut(&MessageRun),
        without: &mut dyn FnMut(&str),
    ) -> Result<Vec<MessageRun>, LabError> {
        privileges::check()?;
        crate::lab::clear_leftovers()?;
        let scratch = Scratch::make(&std::env::temp_dir())?;
        let (others, missing) = Others::make(self);
        for (system, why) in &missing {
            without(&format!("{} is left out: {why}", system.name()));
        }
        let cells: Vec<Cell> = self.cells();
        let here = |cell: &&Cell| missing.iter().all(|(system, _)| *system != cell.system);
        let mut runs = Vec::new();
        for &receivers in &self.receivers {
            let star = Star::up(receivers, 1500, false)?;
            for _ in 0..self.repetitions {
                for &cell in cells.iter().filter(here) {
                    if stop.is_set() {
                        return Ok(runs);
                    }
                    let run = self.measure(cell, &star, (scratch.path(), &others));
                    tell(&run);
                    runs.push(run);
                }
            }
        }
        Ok(runs)
    }

    /// Systems of which a program is missing are left out.
    #[must_use]
    pub fn missing(&self) -> Vec<(MessageSystem, &'static str)> {
        let missing = |system: &MessageSystem| {
            let name = system.needs().iter().find(|name| !is_installed(name))?;
            Some((*system, *name))
        };
        self.systems.iter().filter_map(missing).collect()
    }

    fn cells(&self) -> Vec<Cell> {
        let missing = self.missing();
        let here = |system: &&MessageSystem| missing.iter().all(|(other, _)| other != *system);
        let mut cells = Vec::new();
        for &system in self.systems.iter().filter(here) {
            let messages = self.messages.min(system.most());
            cells.push(Cell { system, paced: 0, loss: 0.0, messages });
            for &paced in self.rates.iter().filter(|_| system.is_stamped()) {
                cells.push(Cell { system, paced, loss: 0.0, messages: self.timed });
                if system == MessageSystem::Api && self.loss > 0.0 {
                    cells.push(Cell { system, paced, loss: self.loss, messages: self.timed });
                }
            }
        }
        cells
    }

    fn measure(
        &self,
        cell: Cell,
        star: &Star,
        (directory, others): (&Path, &Others),
    ) -> MessageRun {
        let result = match cell.system {
            MessageSystem::Lines | MessageSystem::Mosquitto => self.by_lines(cell, star, directory),
            _ => self.by_peers(cell, star, (directory, others)),
        };
        let Cell { system, paced, loss, messages: published } = cell;
        let mut run = MessageRun { paced, loss, published, ..MessageRun::default() };
        (run.system, run.receivers) = (system.name(), star.receivers().len());
        match result {
            Ok(heard) => {
                let worst = |of: fn(&Heard) -> u64| heard.iter().map(of).max().unwrap_or(0);
                let first = heard.iter().map(|h| h.first_ns).min().unwrap_or(0);
                let took = worst(|h| h.last_ns).saturating_sub(first).max(1);
                run.delivered = heard.iter().map(|h| h.received).min().unwrap_or(0);
                run.per_second = run.delivered as f64 * 1e9 / took as f64;
                let ms = |ns: u64| ns as f64 / 1e6;
                run.latency_ms = system.is_stamped().then(|| {
                    [ms(worst(|h| h.p50_ns)), ms(worst(|h| h.p99_ns)), ms(worst(|h| h.max_ns))]
                });
                if run.delivered != published {
                    run.why = format!("{} of {published} came", run.delivered);
                }
            }
            Err(why) => run.why = why,
        }
        run
    }
}

/// Whether the search path has it.
fn is_installed(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(name).is_file())
}

//! How fast a file reaches all receivers on this machine, compared with what its kernel moves
//! without a protocol.
//!
//! The network is a bridge between namespaces. Nothing is emulated, so super-packets stay whole and
//! the processors are the only limit. Raw UDP is measured beside every cell, because machines are
//! shared and only ratios within one run can be compared.
//!
//! - `star`: the bridge and its hosts; `raw`: UDP without a protocol; `transfer`: one file to all
//!   receivers; `first_packet`: when its data began to flow; `receive_cost`: what a byte costs any
//!   receiver; `streams`: several streams of one process
//! - `pipes`: a stream, of ours and of libnorm's; `messages`: short messages, ours and brokers'
//! - `proxy`: `curl` over a bad road, by TCP and through the proxy; `link`: messages over one
//! - `uplink`: one file to many hosts without multicast, from behind a thin uplink
//! - `islands`: one file to islands that relays join
//! - `rate`: the rate that `fanfare send` finds by itself, compared with fixed rates and with TCP
//! - `roads`: transfers and messages over the kernel's own shapers, by each of our controllers

mod first_packet;
mod islands;
mod link;
mod messages;
mod pipes;
mod proxy;
mod rate;
mod raw;
mod receive_cost;
mod roads;
mod stamps;
mod star;
mod streams;
mod transfer;
mod uplink;

use crate::{
    error::LabError,
    host::Host,
    peer::{Parity, Peer, System, Tools},
    stop::Stop,
    system::privileges,
    system::scratch::Scratch,
    trials,
};
use fanfare_sim::Sorted;
pub use islands::{IslandCase, IslandRow, Islands};
pub use link::{LinkBench, LinkRun, link_table};
pub use messages::{MessageBench, MessageRun, MessageSystem};
pub use pipes::{PipeBench, PipeRun};
pub use proxy::{ProxyBench, ProxyRoad, ProxyRun, RoadPlan, Way, proxy_table};
pub use rate::{
    Buffer, Condition, RateBench, RateCell, RateCheck, RateRow, RateSender, RateTold, RateTransfer,
    Reaction, Shortfall, Spread,
};
pub use roads::{
    BesideBench, BesideCase, BesideQueue, BesideRival, BesideRun, BesideTold, GroupBench,
    GroupCase, GroupRun, LeftOutCase, MissingSender, RoadBench, RoadCase, RoadControl, RoadLine,
    RoadRow, RoadSender, RoadTold, RoadTransfer, RoadTrouble,
};
use serde::Serialize;
pub use stamps::{Delays, StampedDelays, stamps};
use star::Star;
use std::path::PathBuf;
pub use streams::StreamsResult;
pub use transfer::Transfer;
pub use uplink::{UplinkBench, UplinkRun, UplinkWay};

/// What is to be measured.
#[derive(Debug, Clone)]
pub struct Bench {
    /// Receivers of each cell.
    pub receivers: Vec<usize>,
    /// Who sends.
    pub systems: Vec<System>,
    /// Rates that each is told, bit/s of IP packets: the best of them counts.
    pub rates: Vec<u64>,
    /// Bytes of the file.
    pub size: u64,
    /// How often each is measured.
    pub repetitions: u32,
    /// The largest IP packet of the network.
    pub mtu: usize,
    /// Parity sent unasked, by Fanfare and NORM.
    pub parity: Option<Parity>,
    /// More options for Fanfare's sender and receivers.
    pub extra: [Vec<String>; 2],
    /// Where files are, better in memory: a disk would be measured otherwise.
    pub directory: PathBuf,
    /// The program that is measured.
    pub fanfare: PathBuf,
}

/// One system to so many receivers: the best rate's medians.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Speed {
    /// Its name.
    pub system: &'static str,
    /// Receivers.
    pub receivers: usize,
    /// The rate that it was told, bit/s.
    pub rate_bps: u64,
    /// Bits of the file per second at the slowest receiver, verified; median.
    pub goodput_bps: f64,
    /// The same, least and most.
    pub range_bps: [f64; 2],
    /// Bits per second of raw UDP, super-packets, at the slowest receiver; median.
    pub raw_bps: f64,
    /// The one over the other.
    pub ratio: f64,
    /// Bits per second that could come to each when whoever receives raw UDP also writes and hashes it;
    /// median.
    pub bound_bps: f64,
    /// Seconds of processor per 10^9 bytes of file: sender, and mean of receivers; medians.
    pub cpu_per_gb: [f64; 2],
    /// Most resident memory, bytes: sender, and largest of receivers.
    pub memory: [u64; 2],
    /// Transfers that came whole to all, of all at that rate.
    pub complete: [usize; 2],
    /// Why the others did not, once.
    pub why: String,
}

/// What is told while it runs.
#[derive(Debug)]
pub enum Told<'a> {
    /// This system is left out, since it is not installed.
    Missing(System, &'a LabError),
    /// One transfer has ended.
    Transfer(&'a Transfer),
    /// Raw UDP: receivers, bits per second at the slowest.
    Raw(usize, f64),
}

impl Bench {
    /// Measures, cell by cell.
    ///
    /// # Errors
    /// What is missing or refused, or that the user stopped it; nothing is left then.
    pub fn run(
        &self,
        stop: &Stop,
        tell: &mut dyn FnMut(&Told<'_>),
    ) -> Result<Vec<Speed>, LabError> {
        privileges::check()?;
        crate::lab::clear_leftovers()?;
        let peers = self.prepare(tell)?;
        let scratch = Scratch::with_large_pages(&self.directory)?;
        let most = self.receivers.iter().copied().max().unwrap_or(0);
        scratch.check_room(self.size, most)?;
        let mut speeds = Vec::new();
        for receivers in &self.receivers {
            let (star, to) = (Star::up(*receivers, self.mtu, false)?, *receivers);
            let cell = Cell { bench: self, star: &star, to, scratch: scratch.path(), stop };
            speeds.extend(cell.run(&peers, tell)?);
        }
        Ok(speeds)
    }

    fn prepare(&self, tell: &mut dyn FnMut(&Told<'_>)) -> Result<Vec<Prepared>, LabError> {
        let tools = Tools::of(&self.fanfare);
        trials::available(
            &self.systems,
            |system| system.prepare(&tools),
            |system| system != System::Fanfare,
            |system, error| tell(&Told::Missing(system, error)),
        )
    }
}

type Prepared = (System, Box<dyn Peer>);

/// One number of receivers.
struct Cell<'a> {
    bench: &'a Bench,
    star: &'a Star,
    /// So many of its receivers take part.
    to: usize,
    scratch: &'a std::path::Path,
    stop: &'a Stop,
}

impl Cell<'_> {
    fn receivers(&self) -> &[Host] {
        &self.star.receivers()[..self.to]
    }

    /// Systems and rates one after another in every repetition, so that all meet the same minutes.
    fn run(
        &self,
        peers: &[Prepared],
        tell: &mut dyn FnMut(&Told<'_>),
    ) -> Result<Vec<Speed>, LabError> {
        let receivers = self.star.receivers().len();
        let (mut transfers, mut raw, mut bounds) = (Vec::new(), Vec::new(), Vec::new());
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..self.bench.repetitions {
            raw.push(raw::measure(self.star)?);
            let last = raw[raw.len() - 1];
            tell(&Told::Raw(receivers, last));
            let seconds = receive_cost::measure(self.scratch).map_err(|error| {
                LabError::system(format_args!("file ({})", self.scratch.display()), &error)
            })?;
            bounds.push(receive_cost::bound(last, seconds, receivers, processors));
            for (system, peer) in peers {
                for rate in &self.bench.rates {
                    let transfer = transfer::run(self, *system, &**peer, *rate)?;
                    tell(&Told::Transfer(&transfer));
                    transfers.push(transfer);
                }
            }
        }
        let limits = [median(raw), median(bounds)];
        Ok(peers.iter().map(|(system, _)| speed(*system, receivers, &transfers, limits)).collect())
    }
}

/// Of the rates that a system was told, the one whose transfers came best.
fn speed(
    system: System,
    receivers: usize,
    transfers: &[Transfer],
    [raw, bound_bps]: [f64; 2],
) -> Speed {
    let of_it = || transfers.iter().filter(|transfer| transfer.system == system.name());
    let at = |rate| of_it().filter(move |transfer| transfer.rate_bps == rate);
    let value = |rate: u64| median(at(rate).map(|transfer| transfer.goodput_bps));
    let rates = of_it().map(|transfer| transfer.rate_bps);
    let rate = rates.max_by(|a, b| value(*a).total_cmp(&value(*b))).unwrap_or(0);
    let all: Vec<f64> = at(rate).map(|transfer| transfer.goodput_bps).collect();
    let complete = at(rate).filter(|transfer| transfer.why.is_empty());
    let cpu = |end: usize| median(complete.clone().map(|t| t.cpu_per_gb[end]));
    let memory = |end: usize| at(rate).map(|t| t.memory[end]).max().unwrap_or(0);
    let goodput = value(rate);
    Speed {
        system: system.name(),
        receivers,
        rate_bps: rate,
        goodput_bps: goodput,
        range_bps: [
            all.iter().copied().fold(f64::INFINITY, f64::min).min(goodput),
            all.iter().copied().fold(0.0, f64::max),
        ],
        raw_bps: raw,
        ratio: if raw > 0.0 { goodput / raw } else { 0.0 },
        bound_bps,
        cpu_per_gb: [cpu(0), cpu(1)],
        memory: [memory(0), memory(1)],
        complete: [complete.clone().count(), all.len()],
        why: at(rate).map(|t| t.why.clone()).find(|why| !why.is_empty()).unwrap_or_default(),
    }
}

/// Zero of nothing.
fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().collect::<Sorted>().median().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transfer(rate: u64, goodput: f64, why: &str) -> Transfer {
        Transfer {
            system: "fanfare",
            receivers: 2,
            rate_bps: rate,
            goodput_bps: goodput,
            each_bps: vec![goodput],
            started_bps: goodput / 2.0,
            cpu_per_gb: [goodput, 2.0],
            memory: [rate, 7],
            why: why.to_owned(),
        }
    }

    #[test]
    fn the_best_rate_counts_by_the_median_of_all_its_transfers() {
        let transfers = [
            transfer(1, 5.0, ""),
            transfer(2, 9.0, ""),
            transfer(1, 6.0, ""),
            transfer(2, 0.0, "lost"),
            transfer(1, 7.0, ""),
            transfer(2, 0.0, "lost"),
        ];
        let speed = speed(System::Fanfare, 2, &transfers, [12.0, 8.0]);
        assert_eq!((speed.rate_bps, speed.goodput_bps, speed.ratio), (1, 6.0, 0.5));
        assert_eq!((speed.range_bps, speed.complete), ([5.0, 7.0], [3, 3]));
        assert_eq!((speed.cpu_per_gb, speed.memory), ([6.0, 2.0], [1, 7]));
    }

    #[test]
    fn what_failed_at_every_rate_has_no_speed_and_says_why() {
        let speed = speed(System::Fanfare, 2, &[transfer(1, 0.0, "lost")], [0.0, 0.0]);
        assert_eq!((speed.goodput_bps, speed.ratio, speed.complete), (0.0, 0.0, [0, 1]));
        assert_eq!(speed.why, "lost");
    }
}

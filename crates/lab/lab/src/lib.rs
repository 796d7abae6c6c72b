//! The laboratory: real programs on a bad network, on one machine.
//!
//! A scenario file that the simulator reads comes up with real hosts: each is a network namespace
//! with one Ethernet interface, and between them runs the simulator's own model of hops, queues,
//! media and paths, in real time. Any program runs on a host unchanged.
//!
//! ```no_run
//! use fanfare_lab::Lab;
//!
//! # fn run(scenario: fanfare_sim::Scenario) -> Result<(), Box<dyn std::error::Error>> {
//! let lab = Lab::up(&scenario, 1)?;
//! let mut receiver = lab.hosts()[1].command("fanfare").args(["recv", "--once"]).spawn()?;
//! lab.hosts()[0].command("fanfare").args(["send", "notes.txt"]).status()?;
//! receiver.wait()?;
//! let counted = lab.down()?;
//! println!("{} packets, {} late", counted.nodes[0].sent.packets, counted.lateness.p99_ms);
//! # Ok(())
//! # }
//! ```
//!
//! # Map, in reading order
//! - `lab`: a scenario's hosts and network, from making to end; `host`: one of them.
//! - `emulator`: the thread between them, and the `cable` of each host. `packet`, `segment`, `igmp`:
//!   what a cable understands of frames; `tap`: where the cable ends; `clock`, `snapshot`, `lateness`:
//!   what was counted, and whether it may be believed; `capture`: pcap.
//! - `run`, `transfers`: the programs of a scenario. [`programs`]: what starts and ends programs, and what the
//!   operating system gives.
//! - `peer`: the systems that are compared; `reproduce`: the papers' tables, measured again;
//!   `company`: messages between many, by systems that carry such; `tactical`: from one over a bad
//!   link; `unicast`: between two hosts; `p3`: what a link says of its rate; `trials`, `name`: how
//!   trials of all of them are run and named.
//! - `bench`: how fast this machine is with them, without an emulator between.
//! - `check`: how exact the laboratory is here; `super_packet`: what `check` and `bench` send.
//! - `control`: how other processes find a lab.
//!
//! The program `fanfare-lab` is in `src/program`.
#![cfg(target_os = "linux")]

mod bench;
mod check;
mod company;
mod control;
mod emulator;
mod harness;
mod host;
mod lab;
mod name;
mod p3;
mod peer;
pub mod programs;
mod reproduce;
mod run;
mod super_packet;
mod tactical;
mod transfers;
mod trials;
mod unicast;

use crate::programs::{error, payload, process, stop, system, wait};

pub use bench::{
    Bench, BesideBench, BesideCase, BesideQueue, BesideRival, BesideRun, BesideTold, Buffer,
    Condition, Delays, GroupBench, GroupCase, GroupRun, IslandCase, IslandRow, Islands,
    LeftOutCase, LinkBench, LinkRun, MessageBench, MessageRun, MessageSystem, MissingSender,
    PipeBench, PipeRun, ProxyBench, ProxyRoad, ProxyRun, RateBench, RateCell, RateCheck, RateRow,
    RateSender, RateTold, RateTransfer, Reaction, RoadBench, RoadCase, RoadControl, RoadLine,
    RoadPlan, RoadRow, RoadSender, RoadTold, RoadTransfer, RoadTrouble, Shortfall, Speed, Spread,
    StampedDelays, StreamsResult, Told, Transfer, UplinkBench, UplinkRun, UplinkWay, Way,
    link_table, proxy_table, stamps,
};
pub use check::{Accuracy, Carried, Check, Throughput, Verdict};
pub use company::{
    Company, CompanyProgress, CompanyRow, Cut, Fault, Radio, RawMessage, VEHICLES, VEHICLES_MIN,
};
pub use control::{HostStatus, RunningLab, Status};
pub use emulator::lateness::LatenessReport;
pub use emulator::snapshot::{Amount, LinkCounts, NodeCounts, Snapshot};
pub use error::{LabError, Refusal};
pub use harness::{Harness, HarnessCell, HarnessRun, MedianOf};
pub use host::{Host, INTERFACE};
pub use lab::{Lab, clear_all, clear_leftovers, clear_own};
pub use p3::{P3, P3Row};
pub use peer::{Parity, System, messaging::MessagingSystem};
pub use process::Ending;
pub use reproduce::{
    Agreement, AgreementRow, Campaign, Cell, Experiment, Figure, Measured, Outcome, Point,
    Progress, Published, Record,
};
pub use run::{Conclusion, ProgramReport, Run};
pub use stop::Stop;
pub use system::namespace::Namespace;
pub use system::privileges::check as check_rights;
pub use tactical::{Relay, Situation, Tactical, TacticalRow};
pub use trials::{Trials, until_stopped, versions};
pub use unicast::{Pattern, Protocol, Unicast, UnicastRow};

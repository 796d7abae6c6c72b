//! A deterministic network in virtual time. It drives real [`fanfare_proto::Session`]s over links
//! that lose, delay, duplicate, reorder and corrupt packets, and reports the results.
//!
//! An hour of protocol runs in a second, a thousand receivers fit into one process, and a seed
//! repeats any run exactly.
//!
//! # Map, in reading order
//! - [`plan`]: what is to be simulated, in chained calls; [`scenario`]: the same from a file
//! - [`link`]: one direction of a path; [`network`]: who hears whom over which path
//! - `place`, [`topology`]: a network of shared hops instead; [`hop`] and [`queue`]: one of them;
//!   [`medium`]: a radio; [`path_loss`]: a radio whose nodes move; [`packet`]: what travels;
//!   `port`, `fabric`: the same while it runs; `token_bucket`: bytes that pass at once; [`flow`]: other traffic
//! - [`event_queue`]: future events
//! - `node`: drives one session or group node (`protocol_node`) by its `clock`; [`content`]:
//!   objects' bytes, computed instead of stored; `monitor_report`: what its monitor came to
//! - `simulation`: the run itself
//! - [`emulation`]: the network alone, with a driver's clock and real packets
//! - [`tcp`]: flows to compete with
//! - [`experiment`]: a scenario over many values and seeds, as tables
//! - [`results`]: reports, figures and statistics of runs
//!
//! # The guide
#![doc = include_str!("../guide.md")]
#![forbid(unsafe_code)]

mod clock;
pub mod content;
mod cross_group;
pub mod emulation;
pub mod event_queue;
pub mod experiment;
mod fabric;
pub mod flow;
pub mod hop;
pub mod link;
pub mod medium;
mod monitor_report;
pub mod network;
mod node;
pub mod packet;
pub mod path_loss;
mod place;
pub mod plan;
mod port;
mod protocol_node;
pub mod queue;
pub mod results;
pub mod scenario;
mod simulation;
pub mod tcp;
mod token_bucket;
pub mod topology;

pub use emulation::{Due, EmulatedHost, Emulation, LinkAccount, Recipient};
pub use experiment::Experiment;
pub use fabric::MembershipLatency;
pub use flow::{
    Flow, FlowKind, FlowReport,
    layered::{Convergence, LayeredFlow, LayeredReport},
};
pub use hop::Hop;
pub use link::{Link, Loss, TraceId};
pub use medium::Medium;
pub use monitor_report::MonitorReport;
pub use network::{Host, Hosts};
pub use node::{Completion, OfferedObject, PublishedMessage};
pub use packet::FlowId;
pub use path_loss::{Mobility, PathLoss, Reach};
pub use place::Place;
pub use place::Router;
pub use plan::{Change, GatewayPlan, GatewayReport, Object, Plan, Publication, Until};
pub use queue::{Limit, Queue, Red};
pub use results::{
    fairness::jain_index,
    histogram,
    hop_report::HopReport,
    metrics,
    reaction::Reaction,
    report::{HostReport, Report},
    series::{self, Series},
    statistics::{Sorted, Summary, t_975},
    table::Table,
    traffic::{Count, Kind, Traffic},
};
pub use scenario::{ExpectedExit, Program, ProgramCommand, Scenario, Values};

//! The peer program of `bench messages`: one publisher or subscriber, started on a host of its own.
//!
//! - `api`: a member of a group, by the library; `nats`: a client of NATS
//! - `stamps`: what messages hold, and what a subscriber makes of it

mod api;
#[cfg(feature = "nats")]
mod nats;
mod stamps;

use std::{error::Error, io::Read as _};

use clap::{Args, ValueEnum};
use fanfare_command::Exit;

/// One end of a measurement: 'bench messages' starts it
#[derive(Debug, Args)]
pub(super) struct PeerArgs {
    /// Which end
    #[arg(value_enum)]
    end: End,
    /// api or nats
    #[arg(long)]
    system: String,
    /// Topic
    #[arg(long)]
    topic: String,
    /// Messages in all
    #[arg(long)]
    messages: u64,
    /// Bytes of each
    #[arg(long)]
    size: usize,
    /// Messages a second; 0 is as fast as it goes
    #[arg(long)]
    paced: u64,
    /// Per cent of packets to lose
    #[arg(long)]
    loss: f64,
    /// Interface of the group
    #[arg(long)]
    interface: String,
    /// The group
    #[arg(long)]
    group: String,
    /// The broker
    #[arg(long)]
    server: String,
    /// Rate that the group is told, bit/s
    #[arg(long)]
    rate: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum End {
    /// Publish
    Pub,
    /// Subscribe
    Sub,
}

type Outcome = Result<(), Box<dyn Error>>;

pub(super) fn run(args: &PeerArgs) -> Exit {
    let outcome = match args.system.as_str() {
        "api" => api::run(args),
        #[cfg(feature = "nats")]
        "nats" => nats::run(args),
        other => Err(format!("system ({other}): this build has none of that name").into()),
    };
    match outcome {
        Ok(()) => Exit::Done,
        Err(error) => {
            eprintln!("{error}");
            Exit::Failed
        }
    }
}

/// Until who started it has ended it.
fn stay() {
    let _ = std::io::stdin().read(&mut [0]);
}

//! One end of a measurement, as it is started.

use std::{error::Error, io::Read as _};

use clap::{Args, ValueEnum};

/// One end of a measurement: 'bench messages' starts it
#[derive(Debug, Args)]
pub(in crate::bench) struct PeerArgs {
    /// Which end
    #[arg(value_enum)]
    pub(super) end: End,
    /// api or nats
    #[arg(long)]
    pub(super) system: String,
    /// Topic
    #[arg(long)]
    pub(super) topic: String,
    /// Messages in all
    #[arg(long)]
    pub(super) messages: u64,
    /// Bytes of each
    #[arg(long)]
    pub(super) size: usize,
    /// Messages a second; 0 is as fast as it goes
    #[arg(long)]
    pub(super) paced: u64,
    /// Per cent of packets to lose
    #[arg(long)]
    pub(super) loss: f64,
    /// Interface of the group
    #[arg(long)]
    pub(super) interface: String,
    /// The group
    #[arg(long)]
    pub(super) group: String,
    /// The broker
    #[arg(long)]
    pub(super) server: String,
    /// Rate that the group is told, bit/s
    #[arg(long)]
    pub(super) rate: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum End {
    /// Publish
    Pub,
    /// Subscribe
    Sub,
}

pub(super) type Outcome = Result<(), Box<dyn Error>>;

/// Until who started it has ended it.
pub(super) fn stay() {
    let _ = std::io::stdin().read(&mut [0]);
}

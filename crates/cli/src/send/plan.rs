//! What is to be sent, to whom, and how.

use std::{net::SocketAddr, path::PathBuf};

use fanfare_command::{Failure, Output, OutputArgs};
use fanfare_files::{
    GatherOptions, LayeredOptions, NamedPath, SendOptions, Transfer, TransferBuilder,
};
use fanfare_node::proto::{Bitrate, CongestionControl};

use crate::config::Live;

/// One sending.
#[derive(Debug)]
pub(crate) struct SendPlan {
    /// Files and directories; `-` is standard input.
    pub(crate) paths: Vec<NamedPath>,
    /// What of them is sent, and how it is called.
    pub(crate) gather: GatherOptions,
    /// Where receipts are written.
    pub(crate) receipts: Option<PathBuf>,
    pub(crate) options: SendOptions,
    pub(crate) congestion: CongestionControl,
    /// The rate, or the most of it.
    pub(crate) rate: Bitrate,
    /// What `--rate` says.
    pub(crate) given_rate: Option<Bitrate>,
    pub(crate) builder: TransferBuilder,
    /// What is sent over layers, in the place of all that.
    pub(crate) layered: Option<LayeredOptions>,
    /// Group and interface as they are given.
    pub(crate) place: (SocketAddr, Option<String>),
    pub(crate) output: OutputArgs,
}

impl Live for SendPlan {
    const KEYS: &'static [&'static str] = &["rate", "min-rate", "slow", "verbose"];

    fn put_into_force(
        &self,
        old: &Self,
        node: &Transfer,
        output: &Output,
    ) -> Result<&'static [&'static str], Failure> {
        output.set_verbose(self.output);
        // Layers are announced once, and nobody waits for who is slow.
        if old.layered.is_some() {
            return Ok(&["rate", "min-rate", "slow"]);
        }
        node.set_slow(self.options.slow);
        node.set_rate(self.rate);
        Ok(&[])
    }
}

/// Several sendings at once.
#[derive(Debug)]
pub(crate) struct StreamsPlan {
    /// What all send together.
    pub(crate) total: Option<Bitrate>,
    /// What all hold together, bytes.
    pub(crate) memory: usize,
    pub(crate) streams: Vec<StreamPlan>,
}

/// One of several.
#[derive(Debug)]
pub(crate) struct StreamPlan {
    pub(crate) send: SendPlan,
    pub(crate) weight: u32,
    /// `streams.toml:12`.
    pub(crate) at: String,
}

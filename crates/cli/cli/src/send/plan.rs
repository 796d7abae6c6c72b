//! What is to be sent, to whom, and how.

use fanfare_udp::os::file::FileTypeExt;
use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
};

use fanfare_command::config::Live;
use fanfare_command::{Failure, Output, OutputArgs};
use fanfare_files::{
    GatherOptions, LayeredOptions, NamedPath, SendOptions, Transfer, TransferBuilder,
};
use fanfare_node::proto::{Bitrate, CongestionControl};

use fanfare_command::view::AdaptPlan;

use crate::{args::signing::Signing, meeting::Hosting, watching::WatchPlan};

/// One sending.
#[derive(Debug)]
pub(crate) struct SendPlan {
    /// Files and directories; `-` is standard input.
    pub(crate) paths: Vec<NamedPath>,
    /// What of them is sent, and how it is called.
    pub(crate) gather: GatherOptions,
    /// The list that names them instead.
    pub(crate) choice: Option<PathBuf>,
    /// Nothing is sent, only said.
    pub(crate) dry_run: bool,
    /// What is sent as it is read.
    pub(crate) streaming: Streaming,
    /// Where receipts are written.
    pub(crate) receipts: Option<PathBuf>,
    /// What signs it.
    pub(crate) signing: Signing,
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
    /// Single hosts to send to, and whether the group is sent to, too.
    pub(crate) hosts: (Vec<SocketAddr>, bool),
    /// True if one of them has a public address, and nothing is sealed: receivers hear such a sender when they know it.
    pub(crate) is_public: bool,
    /// What to say of names of hosts that have several addresses.
    pub(crate) doubtful: Vec<String>,
    /// How receivers are met that have a code, before all that.
    pub(crate) hosting: Option<Hosting>,
    /// File in which it is noted that it has ended, for the next of a chain.
    pub(crate) record: Option<PathBuf>,
    /// A page for browsers.
    pub(crate) watch: Option<WatchPlan>,
    /// Advice of a monitor that is heard.
    pub(crate) adapt: Option<AdaptPlan>,
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

/// What is read while it is sent, in pieces that only receivers of ours understand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Streaming {
    /// Nothing: what is sent is needed again, or is wanted as files.
    Never,
    /// Standard input or a block device, where it is all that is sent.
    Suitable,
    /// Whatever it is.
    Always,
}

impl SendPlan {
    /// The one path that is read while it is sent, if that is what is to be done.
    pub(crate) fn stream(&self) -> Option<&Path> {
        let [NamedPath { path, .. }] = &self.paths[..] else { return None };
        let is_device = || {
            let kind = std::fs::metadata(path).map(|meta| meta.file_type());
            kind.is_ok_and(|kind| kind.is_block_device())
        };
        let streams = match self.streaming {
            Streaming::Never => false,
            Streaming::Suitable => path == Path::new("-") || is_device(),
            Streaming::Always => true,
        };
        streams.then_some(path.as_path())
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

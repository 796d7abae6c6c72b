//! What is to be received, where it goes, and until when.

use std::path::PathBuf;

use fanfare_command::config::Live;
use fanfare_command::{Failure, Output, OutputArgs};
use fanfare_files::{ReceiveOptions, Transfer};
use fanfare_node::Network;

use crate::{args::signing::Signing, meeting::Visiting, watching::WatchPlan};

/// One receiver.
#[derive(Debug)]
pub(crate) struct ReceivePlan {
    pub(crate) dir: PathBuf,
    pub(crate) network: Network,
    pub(crate) options: ReceiveOptions,
    /// How the sender is met, if there is a code.
    pub(crate) visiting: Option<Visiting>,
    /// What signs receipts.
    pub(crate) signing: Signing,
    /// As it was given.
    pub(crate) timeout: String,
    /// File in which it is noted that all of it has come, for the next of a chain.
    pub(crate) record: Option<PathBuf>,
    /// A page for browsers.
    pub(crate) watch: Option<WatchPlan>,
    pub(crate) output: OutputArgs,
}

impl Live for ReceivePlan {
    const KEYS: &'static [&'static str] = &["overwrite", "keep", "refuse", "verbose"];

    fn put_into_force(
        &self,
        _: &Self,
        node: &Transfer,
        output: &Output,
    ) -> Result<&'static [&'static str], Failure> {
        output.set_verbose(self.output);
        node.set_conflict(self.options.conflict);
        Ok(&[])
    }
}

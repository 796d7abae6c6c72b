//! Options of `fanfare send` for several sendings at once.

use std::path::PathBuf;

use clap::Args;
use fanfare_node::proto::Bitrate;

use fanfare_command::{Failure, units};

/// Room for what ten streams read ahead and for much of their parity, on any machine.
const MEMORY: usize = 64 << 20;

/// Several at once.
#[derive(Debug, Args)]
#[command(next_help_heading = "Several at once")]
pub(crate) struct StreamsArgs {
    /// Send several streams at once, as this file says
    ///
    /// The file has a table [[stream]] for each, with its own options, its files in 'paths', and
    /// its 'weight'.
    #[arg(
        long = "streams",
        id = "streams",
        value_name = "FILE",
        conflicts_with = "config",
        hide_short_help = true
    )]
    file: Option<PathBuf>,
    /// Upper limit of all streams together, shared by weight [default: each has its own --rate]
    #[arg(long, value_name = "RATE", allow_hyphen_values = true, hide_short_help = true)]
    total_rate: Option<String>,
    /// Memory of all streams together [default: 64MiB]
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true, hide_short_help = true)]
    memory: Option<String>,
}

impl StreamsArgs {
    pub(crate) fn is_given(&self) -> bool {
        self.file.is_some()
    }

    /// Refuses what is for streams where there are none, and what cannot be.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let (total, _) = (self.total()?, self.memory()?);
        let (what, instead) = match (total, &self.memory) {
            _ if self.is_given() => return Ok(()),
            (Some(total), _) => (format!("total-rate ({total})"), "Use --rate"),
            (_, Some(memory)) => (format!("memory ({memory})"), "Leave it out"),
            (None, None) => return Ok(()),
        };
        let text = format!(
            "{what}: is shared by streams, and there are none. {instead}, or add --streams FILE"
        );
        Err(Failure::usage("streams.invalid", text))
    }

    /// What all send together.
    pub(crate) fn total(&self) -> Result<Option<Bitrate>, Failure> {
        let total = self.total_rate.as_deref();
        total.map(|text| units::rate_of("total-rate", text)).transpose()
    }

    /// What all hold together, bytes.
    pub(crate) fn memory(&self) -> Result<usize, Failure> {
        let bytes = self.memory.as_deref().map(|text| units::bytes("memory", text)).transpose()?;
        Ok(bytes.map_or(MEMORY, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX)))
    }
}

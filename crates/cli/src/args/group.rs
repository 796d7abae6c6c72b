//! Options of a member of a group: `pub`, `sub`, `node` and `bridge`.

use std::path::PathBuf;

use clap::Args;
use fanfare_command::{Failure, units};
use fanfare_node::{
    Network,
    group::{Group, GroupOptions},
    proto::SenderConfig,
};

use super::network::NetArgs;

/// How values are written, at the end of the help.
pub(crate) const NOTATION: &str = "RATE is in bits per second, such as 64k, 10M or 1G; SIZE in bytes, such as 1400, 64KiB or 1GiB; TIME \
     such as 500ms, 30s, 2m, 1h or 7d.";

/// Options of a member of a group.
#[derive(Debug, Args)]
#[command(next_help_heading = "Group")]
pub(crate) struct MemberArgs {
    /// Most that this node sends, of its own and of others' messages together
    #[arg(long, default_value = "10M", value_name = "RATE", allow_hyphen_values = true)]
    rate: String,
    /// Most of that with which it repairs what others have published
    #[arg(long, default_value = "250k", value_name = "RATE", allow_hyphen_values = true)]
    repair_rate: String,
    /// How much of others' messages it keeps, to repair it for who has lost it
    #[arg(long, default_value = "64MiB", value_name = "SIZE")]
    cache: String,
    /// How long it keeps them
    #[arg(long, default_value = "1h", value_name = "TIME")]
    keep: String,
    /// Keep them in this directory, with own messages and this node's id, over restarts and crashes
    /// [default: in memory]
    #[arg(long, value_name = "DIR")]
    cache_dir: Option<PathBuf>,
    /// Longest message that is published, or taken from others
    #[arg(long, default_value = "1GiB", value_name = "SIZE")]
    message_max: String,
    /// Bytes of a message that one packet carries [default: 1400, less where the interface's packets are
    /// shorter]
    #[arg(long, value_name = "BYTES")]
    segment: Option<String>,
}

impl MemberArgs {
    /// Longest message.
    pub(crate) fn message_max(&self) -> Result<u64, Failure> {
        units::bytes("message max", &self.message_max)
    }

    /// What of others' messages, and of own ones beyond the last thousand, is kept.
    pub(crate) fn cache_bytes(&self) -> Result<u64, Failure> {
        units::bytes("cache", &self.cache)
    }

    /// Whether it outlives the process.
    pub(crate) fn is_durable(&self) -> bool {
        self.cache_dir.is_some()
    }

    /// Where.
    pub(crate) fn cache_dir(&self) -> Option<&PathBuf> {
        self.cache_dir.as_ref()
    }

    /// Makes a member.
    pub(crate) fn join(
        &self,
        net: &NetArgs,
        alter: impl FnOnce(&mut GroupOptions),
    ) -> Result<Group, Failure> {
        let (builder, mut options) = self.plan(net)?;
        alter(&mut options);
        Ok(builder.join(options)?)
    }

    /// The options, understood.
    pub(crate) fn plan(&self, net: &NetArgs) -> Result<(Network, GroupOptions), Failure> {
        let mut options =
            GroupOptions { message_max: self.message_max()?, ..GroupOptions::default() };
        options.config.repair_rate = units::rate_of("repair rate", &self.repair_rate)?;
        options.config.cache_bytes = self.cache_bytes()?;
        options.config.cache_age = units::time("keep", &self.keep)?;
        options.cache_dir.clone_from(&self.cache_dir);
        let mut sender = SenderConfig { rate: units::rate(&self.rate)?, ..SenderConfig::default() };
        net.require_multicast()?;
        let mut builder = net.builder()?;
        match self.segment.as_deref().map(units::segment).transpose()? {
            Some(given) => sender.segment_size = given,
            None => builder = builder.shorten_segment(),
        }
        Ok((builder.sender_config(sender), options))
    }
}

//! Options of the group that video goes to.

use std::path::PathBuf;

use clap::Args;
use fanfare_command::keys::follow;
use fanfare_command::{Failure, units};
use fanfare_node::{
    GroupSpec, Network,
    group::{Group, GroupOptions},
    proto::{Bitrate, Duration, SenderConfig},
    seal::Form,
};

/// The greatest round trip before one is measured. Requests for repairs wait up to four of it: with the
/// 250 ms of other senders, 13 of 20 viewers that began together had their first segment 1.2 to 1.7 s
/// after its last packet. On a longer path the first requests are early, until it is measured.
const GRTT_INITIAL: Duration = Duration::from_millis(100);

/// Options of a member of the group.
#[derive(Debug, Args)]
#[command(next_help_heading = "Group")]
pub(crate) struct MemberArgs {
    /// Multicast group
    ///
    /// An address and a port. Video has a group of its own: members of another one would get it all.
    #[arg(long, default_value = "239.255.42.4:6012", value_name = "GROUP:PORT", help_heading = None)]
    group: String,
    /// Network interface [default: the route's]
    ///
    /// Its name or its address.
    #[arg(long, value_name = "NAME", help_heading = None)]
    interface: Option<String>,
    /// Upper limit of all that this node sends, for itself and for others [default: what the
    /// network carries]
    #[arg(long, value_name = "RATE")]
    rate: Option<String>,
    /// Upper limit of repairs for other nodes [default: four fifths of what the network carries]
    #[arg(long, value_name = "RATE", hide_short_help = true)]
    repair_rate: Option<String>,
    /// How much video to keep, for players here and for other nodes
    #[arg(long, default_value = "256MiB", value_name = "SIZE", hide_short_help = true)]
    cache: String,
    /// How long to keep it
    #[arg(long, default_value = "1h", value_name = "TIME", hide_short_help = true)]
    keep: String,
    /// Seal all packets with the key in this file, and accept no others
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Time to live: how many routers packets may pass, plus one
    #[arg(long, default_value_t = 1, value_name = "N", hide_short_help = true)]
    ttl: u8,
}

impl MemberArgs {
    /// The most that it sends.
    pub(crate) fn rate(&self) -> Result<Bitrate, Failure> {
        match self.rate.as_deref() {
            None | Some("auto") => Ok(SenderConfig::RATE_MAX),
            Some(rate) => units::rate(rate),
        }
    }
    /// How much is kept.
    pub(crate) fn cache(&self) -> Result<u64, Failure> {
        units::bytes("cache", &self.cache)
    }
    /// How long.
    pub(crate) fn keep(&self) -> Result<Duration, Failure> {
        units::time("keep", &self.keep)
    }

    /// Makes a member.
    pub(crate) fn join(&self) -> Result<Group, Failure> {
        let spec: GroupSpec = self
            .group
            .parse()
            .map_err(|error| Failure::usage("group.invalid", format!("{error}")))?;
        let mut network = Network::new(spec).ttl(self.ttl).shorten_segment();
        if let Some(interface) = &self.interface {
            network = network.interface(interface);
        }
        if let Some(path) = &self.key {
            network = network.sealed(follow::keys(std::slice::from_ref(path), Form::Long)?);
        }
        let (rate, grtt_initial) = (self.rate()?, GRTT_INITIAL);
        let sender = SenderConfig { rate, grtt_initial, ..SenderConfig::adaptive() };
        let mut options = GroupOptions::default();
        if let Some(rate) = self.repair_rate.as_deref().filter(|rate| *rate != "auto") {
            options.config.repair_rate = units::rate_of("repair rate", rate)?;
        }
        // Players show segments in their order.
        options.config.in_order = true;
        options.config.cache_bytes = self.cache()?;
        options.config.cache_age = self.keep()?;
        Ok(network.sender_config(sender).join(options)?)
    }
}

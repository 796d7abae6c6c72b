//! Options of a member of a group: `pub`, `sub`, `node` and `bridge`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use fanfare_command::{Failure, units};
use fanfare_node::{
    Network,
    group::{Group, GroupOptions},
    proto::{Bitrate, CongestionControl, SenderConfig, TailPolicy},
};

use super::{
    controllers::{FlatCc, default_rate},
    network::NetArgs,
    policy::PolicyArgs,
};

/// Options of a member of a group.
#[derive(Debug, Args)]
#[command(next_help_heading = "Group")]
pub(crate) struct MemberArgs {
    /// Upper limit of all that this node sends, for itself and for others [default: what the
    /// network carries]
    #[arg(long, value_name = "RATE", allow_hyphen_values = true, hide_short_help = true)]
    rate: Option<String>,
    /// Congestion control of what this node sends
    #[arg(long, value_name = "CC", default_value = "auto", hide_short_help = true)]
    cc: FlatCc,
    /// Treatment of subscribers that get much less of this node's messages than the others
    #[arg(long, value_enum, default_value = "keep", hide_short_help = true)]
    slow: SlowSubscribers,
    /// A subscriber below this rate counts as slow [default with --slow tail: half of the median]
    #[arg(long, value_name = "RATE", allow_hyphen_values = true, hide_short_help = true)]
    min_rate: Option<String>,
    /// Upper limit of repairs for messages of other nodes [default: four fifths of what the network
    /// carries]
    #[arg(long, value_name = "RATE", allow_hyphen_values = true, hide_short_help = true)]
    repair_rate: Option<String>,
    /// How many bytes of others' messages to keep, so that they can be repaired
    #[arg(long, default_value = "64MiB", value_name = "SIZE", hide_short_help = true)]
    cache: String,
    /// How long to keep them
    #[arg(long, default_value = "1h", value_name = "TIME", hide_short_help = true)]
    keep: String,
    /// Keep messages and the node's last ids in this directory across restarts [default: in memory]
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    cache_dir: Option<PathBuf>,
    /// Longest message to publish or accept
    #[arg(long, default_value = "1GiB", value_name = "SIZE", hide_short_help = true)]
    message_max: String,
    /// Payload bytes of a packet [default: 1400, or less if the interface needs it]
    #[arg(long, value_name = "BYTES", hide_short_help = true)]
    segment: Option<String>,
    #[command(flatten)]
    policy: PolicyArgs,
}

/// `--slow` of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SlowSubscribers {
    /// Slow down for them
    Keep,
    /// Send at the speed of the others: they are repaired afterwards, and by other nodes
    Tail,
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

    /// The most that it sends, where that was said.
    pub(crate) fn rate(&self) -> Result<Option<Bitrate>, Failure> {
        match self.rate.as_deref() {
            None | Some("auto") => Ok(None),
            Some(rate) => units::rate(rate).map(Some),
        }
    }

    /// The policy by which its messages do not wait for slow subscribers, if there is one.
    fn tail(&self) -> Result<Option<TailPolicy>, Failure> {
        let min_rate = self.min_rate.as_deref().map(|text| units::rate_of("min-rate", text));
        match (self.slow, min_rate.transpose()?) {
            (SlowSubscribers::Keep, None) => Ok(None),
            (SlowSubscribers::Tail, min_rate) => Ok(Some(TailPolicy { min_rate })),
            (SlowSubscribers::Keep, Some(rate)) => {
                let text = format!("min-rate ({rate}): nobody is put off. Add --slow tail");
                Err(Failure::usage("slow.invalid", text))
            }
        }
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

    /// The same, of one that stays: it waits for its interface where that is not up yet.
    pub(crate) fn join_to_stay(
        &self,
        net: &NetArgs,
        alter: impl FnOnce(&mut GroupOptions),
    ) -> Result<Group, Failure> {
        let (builder, mut options) = self.plan(net)?;
        alter(&mut options);
        Ok(builder.await_interface().join(options)?)
    }

    /// The options, understood.
    pub(crate) fn plan(&self, net: &NetArgs) -> Result<(Network, GroupOptions), Failure> {
        let mut options =
            GroupOptions { message_max: self.message_max()?, ..GroupOptions::default() };
        if let Some(rate) = self.repair_rate.as_deref().filter(|rate| *rate != "auto") {
            options.config.repair_rate = units::rate_of("repair rate", rate)?;
        }
        options.config.cache_bytes = self.cache_bytes()?;
        options.config.cache_age = units::time("keep", &self.keep)?;
        options.cache_dir.clone_from(&self.cache_dir);
        options.policy = self.policy.read()?;
        options.tail = self.tail()?;
        let congestion = CongestionControl::from(self.cc);
        let rate = self.rate()?.unwrap_or_else(|| default_rate(congestion));
        let mut sender = SenderConfig { rate, congestion, ..SenderConfig::default() };
        net.require_multicast()?;
        let mut builder = net.builder()?;
        match self.segment.as_deref().map(units::segment).transpose()? {
            Some(given) => sender.segment_size = given,
            None => builder = builder.shorten_segment(),
        }
        Ok((builder.sender_config(sender), options))
    }
}

//! Options of `fanfare node`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use fanfare_command::{Failure, OutputArgs};
use fanfare_node::GroupSpec;

use super::{
    group::{MemberArgs, NOTATION},
    network::{GROUP, NetArgs},
};
use crate::{config::FileArgs, group::topics::filter, node::GroupPlan};

/// Where programs speak to the node.
const SOCKET: &str = "/run/fanfare/node.sock";

/// Take part in a group for programs on this machine
///
/// It is there also while they are not: keeps and repairs what it hears. They publish and subscribe
/// through a local socket, with 'fanfare pub --via', 'fanfare sub --via', or a line of JSON for each
/// request. Several groups, and gateways between them, are set in a file (--config).
#[derive(Debug, Args)]
#[command(
    mut_arg("group", |group| group.default_value(GROUP).alias("address")),
    mut_arg("unicast", |unicast| unicast.hide(true)),
    mut_arg("config", |config| config.help("Take options from this file, too: what is given here wins")),
    args_conflicts_with_subcommands = true,
    after_long_help = NOTATION
)]
pub(crate) struct NodeArgs {
    #[command(subcommand)]
    pub(crate) command: Option<NodeCommand>,
    /// Where programs find it: a local socket, which it makes
    #[arg(long, default_value = SOCKET, value_name = "PATH")]
    pub(crate) socket: PathBuf,
    /// Ask for what is lost of these topics, also while no program wants them; may be given several times
    #[arg(long = "topic", value_name = "PATTERN")]
    topics: Vec<String>,
    #[command(flatten)]
    file: FileArgs,
    #[command(flatten)]
    member: MemberArgs,
    #[command(flatten)]
    net: NetArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum NodeCommand {
    Status(StatusArgs),
}

/// Show how a running node stands
///
/// Ends with 0 when it answers.
#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// The node's local socket
    #[arg(long, default_value = SOCKET, value_name = "PATH")]
    pub(crate) socket: PathBuf,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

impl NodeArgs {
    /// Where it takes part: group, interface as it is given, TTL.
    pub(crate) fn place(&self) -> Result<(GroupSpec, Option<String>, u8), Failure> {
        Ok((self.net.group()?, self.net.interface(), self.net.ttl()?))
    }

    /// The options, understood.
    pub(crate) fn plan(&self, name: Option<String>) -> Result<GroupPlan, Failure> {
        let (builder, mut options) = self.member.plan(&self.net)?;
        options.config.hears_itself = true;
        let filters = self.topics.iter().map(|text| filter(text));
        Ok(GroupPlan {
            name,
            place: (self.net.group()?, self.net.interface()),
            node_id: self.net.node_id().map(str::to_owned),
            cache_dir: self.member.cache_dir().cloned(),
            builder,
            options,
            filters: filters.collect::<Result<_, _>>()?,
        })
    }
}

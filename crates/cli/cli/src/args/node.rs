//! Options of `fanfare node`.

use clap::{Args, Subcommand};
use fanfare_command::config::FileArgs;
use fanfare_command::local::topics::filter;
use fanfare_command::{Exit, Failure, Help, OutputArgs};
use fanfare_node::GroupSpec;

use super::{
    group::MemberArgs,
    monitor::MonitorArgs,
    network::{GROUP, NameArgs, NetArgs},
    socket::SocketArgs,
};
use crate::node::GroupPlan;

const HELP: Help = Help::new(&[
    ("fanfare node", "the default group and socket"),
    ("fanfare node --cache-dir /var/lib/fanfare", "keep messages across restarts"),
    ("fanfare node --config /etc/fanfare/node.toml", "several groups"),
])
.exits(&[
    (Exit::Failed, "the group has ended"),
    (Exit::Permission, "permission denied"),
    (Exit::Resource, "disk, memory, port or socket missing on this machine"),
    (Exit::Interrupted, "stopped by Ctrl-C or SIGTERM"),
])
.files(&[
    ("/run/fanfare/node.sock", "the local socket, unless --socket names another"),
    ("--config FILE", "more options, in TOML; see docs/reference/configuration.md"),
    ("--cache-dir DIR", "kept messages and the node's last ids; see docs/reference/node.md"),
])
.values();

const STATUS: Help = Help::new(&[
    ("fanfare node status", "of the node at the default socket"),
    ("fanfare node status --json", "for programs"),
])
.exits(&[
    (Exit::Done, "the node answers"),
    (Exit::Failed, "no node at the socket"),
    (Exit::Permission, "permission denied"),
]);

/// Keep messages on this machine, for programs and other nodes
///
/// The node stores and repairs messages even while no program is running. Programs publish and
/// subscribe through its local socket: with 'fanfare pub --via', 'fanfare sub --via', or with lines
/// of JSON. Several groups, and gateways between them, are set in a file (--config).
#[derive(Debug, Args)]
#[command(
    mut_arg("group", |group| group.default_value(GROUP).alias("address")),
    mut_arg("unicast", |unicast| unicast.hide(true)),
    mut_arg("config", |config| {
        config
            .help("Read more options from this file")
            .long_help("Read more options from this file; the command line wins")
            .help_heading(None)
            .hide_short_help(false)
    }),
    mut_arg("monitor", |monitor| monitor.hide_short_help(true)),
    mut_arg("cache_dir", |dir| {
        dir.help("Keep messages here across restarts [default: in memory]")
            .help_heading(None)
            .hide_short_help(false)
    }),
    args_conflicts_with_subcommands = true,
    after_help = HELP.short(), after_long_help = HELP.long()
)]
pub(crate) struct NodeArgs {
    #[command(subcommand)]
    pub(crate) command: Option<NodeCommand>,
    #[command(flatten)]
    pub(crate) socket: SocketArgs,
    /// Request lost messages of these topics; repeatable
    ///
    /// Also while no program subscribes.
    #[arg(long = "topic", value_name = "PATTERN")]
    topics: Vec<String>,
    #[command(flatten)]
    file: FileArgs,
    #[command(flatten)]
    member: MemberArgs,
    #[command(flatten)]
    monitor: MonitorArgs,
    #[command(flatten)]
    name: NameArgs,
    #[command(flatten)]
    net: NetArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum NodeCommand {
    Status(StatusArgs),
}

/// Show what a running node does
///
/// Exits with 0 if the node answers.
#[derive(Debug, Args)]
#[command(after_help = STATUS.short(), after_long_help = STATUS.long())]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    pub(crate) socket: SocketArgs,
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
        let monitor = self.monitor.plan(self.member.rate()?)?;
        options.config.monitor = monitor.as_ref().map(|plan| plan.config);
        options.name = self.name.get();
        let filters = self.topics.iter().map(|text| filter(text));
        Ok(GroupPlan {
            name,
            place: (self.net.group()?, self.net.interface()),
            node_id: self.net.node_id().map(str::to_owned),
            cache_dir: self.member.cache_dir().cloned(),
            builder,
            options,
            monitor,
            filters: filters.collect::<Result<_, _>>()?,
        })
    }
}

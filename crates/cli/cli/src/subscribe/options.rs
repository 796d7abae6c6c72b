//! Options of `fanfare sub`.

use std::path::PathBuf;

use clap::Args;
use fanfare_command::local::{
    topics::filter,
    wanted::{Order, history},
};
use fanfare_command::{Exit, Failure, Help, OutputArgs, units};
use fanfare_node::messaging::{Subscription, description::PRIORITY_MAX};

use crate::args::{
    group::MemberArgs,
    network::{GROUP, NetArgs},
};

const HELP: Help = Help::new(&[
    ("fanfare sub 'convoy/#'", "everything below convoy"),
    ("fanfare sub 'convoy/+/position' --history none", "only new positions"),
    ("fanfare sub '#' --out messages --create-dirs", "each message as a file"),
])
.exits(&[
    (Exit::Done, "--count messages have arrived, or nobody reads the output any more"),
    (Exit::Failed, "the group has ended, or no node at the socket"),
    (Exit::Permission, "permission denied"),
    (Exit::Resource, "a message cannot be written; disk, memory or port missing"),
    (Exit::Nobody, "no message arrived within --timeout"),
    (Exit::Interrupted, "interrupted by Ctrl-C"),
])
.files(&[
    ("--out DIR", "a file for each message: TOPIC/PUBLISHER-INSTANCE-NUMBER"),
    ("--cache-dir DIR", "kept messages and the node's last ids; see docs/reference/node.md"),
    ("--via SOCKET", "the local socket of 'fanfare node'"),
])
.values();

/// Subscribe to topics of a group, and print the messages
///
/// Prints each message as a line: TOPIC CONTENT. While it runs, it also keeps messages of other
/// topics, and repairs them for other nodes.
#[derive(Debug, Args)]
#[command(
    mut_arg("group", |group| group.default_value(GROUP)),
    mut_arg("unicast", |unicast| unicast.hide(true)),
    mut_arg("quiet", |quiet| quiet.help("Print nothing but messages and errors")),
    after_help = HELP.short(), after_long_help = HELP.long()
)]
pub(crate) struct SubArgs {
    /// Topics: '+' matches one level, '#' all that follow, such as 'convoy/+/position' or '#'
    #[arg(required = true, value_name = "PATTERN")]
    pub(super) patterns: Vec<String>,
    /// Write each message to a file below DIR
    ///
    /// The file is TOPIC/PUBLISHER-INSTANCE-NUMBER.
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    /// Create DIR if it does not exist
    #[arg(long, requires = "out", help_heading = "Messages", hide_short_help = true)]
    pub(super) create_dirs: bool,
    /// Order of the messages
    #[arg(
        long,
        value_enum,
        default_value = "arrival",
        help_heading = "Messages",
        hide_short_help = true
    )]
    pub(super) order: Order,
    /// Do not request lost messages
    #[arg(long, help_heading = "Messages", hide_short_help = true)]
    pub(super) unreliable: bool,
    /// Give up a message that is not complete after this time
    #[arg(long, value_name = "TIME", help_heading = "Messages", hide_short_help = true)]
    pub(super) deadline: Option<String>,
    /// Skip messages below this priority, 0 to 10
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = clap::value_parser!(u8).range(..=i64::from(PRIORITY_MAX)), help_heading = "Messages", hide_short_help = true)]
    pub(super) priority: u8,
    /// Earlier messages to request
    ///
    /// A number: so many of each publisher. A time such as 10m: those of that time. Also none, or
    /// all that anybody still has.
    #[arg(long, default_value = "all", value_name = "N|TIME")]
    pub(super) history: String,
    /// Subscribe through the local 'fanfare node'
    ///
    /// This is the socket of the node.
    #[arg(long, value_name = "SOCKET", conflicts_with_all = ["group", "cache_dir"])]
    pub(super) via: Option<PathBuf>,
    /// Group of that node, by its name in the node's file [default: the first]
    #[arg(
        long,
        value_name = "NAME",
        requires = "via",
        help_heading = "Local node",
        hide_short_help = true
    )]
    pub(super) via_group: Option<String>,
    /// Exit after N messages
    #[arg(long, value_name = "N")]
    pub(super) count: Option<u64>,
    /// Exit if no message arrives for this time
    #[arg(long, value_name = "TIME", help_heading = "When to exit", hide_short_help = true)]
    pub(super) timeout: Option<String>,
    #[command(flatten)]
    pub(super) member: MemberArgs,
    #[command(flatten)]
    pub(super) net: NetArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

impl SubArgs {
    pub(super) fn subscriptions(&self) -> Result<Vec<Subscription>, Failure> {
        let deadline = self.deadline.as_deref().map(|text| units::time("deadline", text));
        let plain = Subscription {
            reliable: !self.unreliable,
            ordering: self.order.into(),
            deadline: deadline.transpose()?,
            priority_min: self.priority,
            history: history(&self.history)?,
            ..Subscription::new(filter("#")?)
        };
        let all = self.patterns.iter();
        all.map(|text| Ok(Subscription { filter: filter(text)?, ..plain.clone() })).collect()
    }
}

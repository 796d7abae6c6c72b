//! Options of `fanfare sub`.

use std::path::PathBuf;

use clap::Args;
use fanfare_command::{Failure, OutputArgs, units};
use fanfare_node::messaging::{Subscription, description::PRIORITY_MAX};

use crate::{
    args::{
        group::{MemberArgs, NOTATION},
        network::{GROUP, NetArgs},
    },
    group::{
        topics::filter,
        wanted::{Order, history},
    },
};

/// Subscribe to topics of a group
///
/// Shows each message as a line, TOPIC CONTENT. While it runs it keeps what it hears, also what does not
/// match, and repairs it for others.
#[derive(Debug, Args)]
#[command(
    mut_arg("group", |group| group.default_value(GROUP)),
    mut_arg("unicast", |unicast| unicast.hide(true)),
    mut_arg("quiet", |quiet| quiet.help("Print nothing but messages and errors")),
    after_long_help = NOTATION
)]
pub(crate) struct SubArgs {
    /// Topics: '+' stands for one level, '#' for the rest, so 'convoy/+/position', 'convoy/#', or '#'
    /// for all
    #[arg(required = true, value_name = "PATTERN")]
    pub(super) patterns: Vec<String>,
    /// Write each message to a file below this directory: TOPIC/PUBLISHER-INSTANCE-NUMBER
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    /// Create DIR
    #[arg(long, requires = "out")]
    pub(super) create_dirs: bool,
    /// In which order: as they come, each publisher's as published, the same of each topic, or only
    /// the latest of each publisher and topic
    #[arg(long, value_enum, default_value = "arrival")]
    pub(super) order: Order,
    /// Do not ask for what is lost: take what comes
    #[arg(long)]
    pub(super) unreliable: bool,
    /// Give up a message that has not come whole so long after it was first heard of
    #[arg(long, value_name = "TIME")]
    pub(super) deadline: Option<String>,
    /// Only messages of at least this priority, 0 to 10
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = clap::value_parser!(u8).range(..=i64::from(PRIORITY_MAX)))]
    pub(super) priority: u8,
    /// Which earlier messages are wanted: so many of each publisher (10), those of a time (10m), 'none',
    /// or 'all' that anybody still has
    #[arg(long, default_value = "all", value_name = "N|TIME")]
    pub(super) history: String,
    /// Ask the 'fanfare node' on this machine whose --socket this is, instead of taking part
    #[arg(long, value_name = "SOCKET", conflicts_with_all = ["group", "cache_dir"])]
    pub(super) via: Option<PathBuf>,
    /// Which group of that node, by its name in the node's file [default: its first]
    #[arg(long, value_name = "NAME", requires = "via")]
    pub(super) via_group: Option<String>,
    /// End after so many messages
    #[arg(long, value_name = "N")]
    pub(super) count: Option<u64>,
    /// End when nothing has come for so long
    #[arg(long, value_name = "TIME")]
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

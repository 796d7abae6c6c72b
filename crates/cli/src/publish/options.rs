//! Options of `fanfare pub`, and what they come to.

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
    time::Duration,
};

use clap::Args;
use fanfare_command::{Exit, Failure, OutputArgs, units};
use fanfare_node::{
    group::Watch,
    messaging::{Options, Topic, description::PRIORITY_MAX},
};

use crate::{
    args::{
        group::{MemberArgs, NOTATION},
        network::{GROUP, NetArgs},
    },
    group::topics::topic,
};

/// Publish messages to a group
///
/// It ends when all nodes that are heard and want them say that they hold them, after 2.5 s at the earliest.
#[derive(Debug, Args)]
#[command(
    mut_arg("group", |group| group.default_value(GROUP)),
    mut_arg("unicast", |unicast| unicast.hide(true)),
    override_usage = "fanfare pub [OPTIONS] <TOPIC> <FILE>\n       \
                      fanfare pub [OPTIONS] <TOPIC> --message <TEXT>\n       \
                      fanfare pub --cancel <TAG> --via <SOCKET>",
    after_long_help = NOTATION
)]
pub(crate) struct PubArgs {
    /// What the message is about: levels parted by '/', such as convoy/2/position
    #[arg(required_unless_present = "cancel")]
    pub(super) topic: Option<String>,
    /// File with the message; '-' is standard input
    #[arg(value_name = "FILE", required_unless_present_any = ["message", "cancel"])]
    pub(super) file: Option<PathBuf>,
    /// This text instead of a file
    #[arg(long, short, value_name = "TEXT", conflicts_with = "file")]
    pub(super) message: Option<String>,
    /// Each line is a message of its own
    #[arg(long, conflicts_with = "message")]
    pub(super) lines: bool,
    /// How much it matters, 0 to 10: the higher goes first and is kept longer
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u8).range(..=i64::from(PRIORITY_MAX)))]
    pub(super) priority: u8,
    /// After so long nobody is given it any more; each node counts from when it first hears of it
    /// [default: it is of use for ever]
    #[arg(long, value_name = "TIME")]
    pub(super) expiry: Option<String>,
    /// A number by which a later message can replace it (--replace), or it can be withdrawn (--cancel)
    #[arg(long, value_name = "N")]
    pub(super) tag: Option<u64>,
    /// It takes the place of this node's earlier messages of the same topic and tag
    #[arg(long, requires = "tag")]
    pub(super) replace: bool,
    /// How long to wait, once all is sent, until all who want it say that they hold it
    #[arg(long, default_value = "10s", value_name = "TIME")]
    pub(super) wait: String,
    /// End when all is sent: nobody needs to answer
    #[arg(long, conflicts_with = "wait")]
    pub(super) one_way: bool,
    /// Hand it to the 'fanfare node' on this machine whose --socket this is: it publishes and keeps it,
    /// and this command ends at once
    #[arg(long, value_name = "SOCKET", conflicts_with_all = ["wait", "one_way", "stay", "lines", "group", "cache_dir"])]
    pub(super) via: Option<PathBuf>,
    /// Which group of that node, by its name in the node's file [default: its first]
    #[arg(long, value_name = "NAME", requires = "via")]
    pub(super) via_group: Option<String>,
    /// Publish nothing, but withdraw all messages of that node with this tag: they are sent and
    /// repaired no more; who has them keeps them
    #[arg(long, value_name = "TAG", requires = "via", conflicts_with_all = ["topic", "file", "message", "tag", "replace", "expiry"])]
    pub(super) cancel: Option<u64>,
    /// Stay for so long after that, and repair what is asked for
    #[arg(long, value_name = "TIME")]
    pub(super) stay: Option<String>,
    #[command(flatten)]
    pub(super) member: MemberArgs,
    #[command(flatten)]
    pub(super) net: NetArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

/// The options, understood.
pub(super) struct Plan {
    pub(super) topic: Topic,
    pub(super) options: Options,
    pub(super) wait: Duration,
    pub(super) stay: Duration,
    pub(super) message_max: u64,
    pub(super) cache_bytes: u64,
    /// What is to be known of the messages.
    pub(super) watch: Watch,
}

impl Plan {
    /// How long after all is sent somebody may say that it holds it: no longer than it is of use.
    pub(super) fn patience(&self) -> Duration {
        self.options.expiry.map_or(self.wait, |expiry| expiry.min(self.wait))
    }
}

impl PubArgs {
    pub(super) fn plan(&self) -> Result<Plan, Failure> {
        let time = |what, text: &Option<String>| {
            text.as_deref().map(|text| units::time(what, text)).transpose()
        };
        let options = Options {
            priority: self.priority,
            expiry: self.expiry.as_deref().map(units::expiry).transpose()?,
            tag: self.tag,
            replaces: self.replace,
            ..Options::default()
        };
        Ok(Plan {
            topic: topic(self.topic.as_deref().unwrap_or_default())?,
            options,
            wait: units::time("wait", &self.wait)?,
            stay: time("stay", &self.stay)?.unwrap_or_default(),
            message_max: self.member.message_max()?,
            cache_bytes: self.member.cache_bytes()?,
            watch: if self.one_way { Watch::Sending } else { Watch::Holders },
        })
    }

    /// Where the messages come from.
    pub(super) fn source(&self) -> Result<Box<dyn Read>, Failure> {
        match (&self.message, &self.file) {
            (Some(text), _) => Ok(Box::new(io::Cursor::new(text.clone().into_bytes()))),
            (None, Some(path)) if path == Path::new("-") => Ok(Box::new(io::stdin())),
            (None, Some(path)) => open(path),
            (None, None) => Err(Failure::usage(
                "message.missing",
                "message (none): is missing. Give a file, - or --message",
            )),
        }
    }
}

fn open(path: &Path) -> Result<Box<dyn Read>, Failure> {
    let shown = path.display();
    let unreadable = |error: io::Error| {
        let exit = match error.kind() {
            io::ErrorKind::PermissionDenied => Exit::Permission,
            _ => Exit::Usage,
        };
        let text = format!("message ({shown}): cannot be read ({error}). Give another file");
        Failure::new(exit, "message.unreadable", text)
    };
    if path.is_dir() {
        let text = format!("message ({shown}): is a directory. Use fanfare send for directories");
        return Err(Failure::usage("message.unreadable", text));
    }
    Ok(Box::new(File::open(path).map_err(unreadable)?))
}

//! Options of `fanfare pub`, and what they come to.

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
    time::Duration,
};

use clap::Args;
use fanfare_command::local::topics::topic;
use fanfare_command::{Exit, Failure, Help, OutputArgs, units};
use fanfare_node::{
    group::Watch,
    messaging::{Options, Topic, description::PRIORITY_MAX},
};

use crate::args::{
    group::MemberArgs,
    network::{GROUP, NetArgs},
};

const HELP: Help = Help::new(&[
    ("fanfare pub convoy/2/position -m '60.17 24.94'", "a text"),
    ("fanfare pub maps/north map.png --expiry 1h", "a file, useful for an hour"),
    ("gpspipe -w | fanfare pub convoy/2/gps - --lines", "each line of a program"),
])
.exits(&[
    (Exit::Done, "all known subscribers have the messages"),
    (Exit::Failed, "nothing could be sent for two minutes, or no node at the socket"),
    (Exit::Partial, "someone lacks a message"),
    (Exit::Permission, "permission denied"),
    (Exit::Resource, "disk, memory or port missing on this machine"),
    (Exit::Nobody, "nobody has any message"),
    (Exit::Interrupted, "interrupted by Ctrl-C"),
])
.files(&[
    ("--cache-dir DIR", "kept messages and the node's last ids; see docs/reference/node.md"),
    ("--via SOCKET", "the local socket of 'fanfare node'"),
])
.values();

/// Publish messages to a group
///
/// Every subscriber ('fanfare sub') whose pattern matches the topic receives the message. The nodes
/// of the group keep copies, and repair losses for each other. The command exits when all known
/// subscribers have the message, after 2.5 s at the earliest.
#[derive(Debug, Args)]
#[command(
    mut_arg("group", |group| group.default_value(GROUP)),
    mut_arg("unicast", |unicast| unicast.hide(true)),
    override_usage = "fanfare pub [OPTIONS] <TOPIC> <FILE>\n       \
                      fanfare pub [OPTIONS] <TOPIC> --message <TEXT>\n       \
                      fanfare pub --cancel <TAG> --via <SOCKET>",
    after_help = HELP.short(), after_long_help = HELP.long()
)]
pub(crate) struct PubArgs {
    /// Topic: levels separated by '/', such as convoy/2/position
    #[arg(required_unless_present = "cancel")]
    pub(super) topic: Option<String>,
    /// File with the message; - is standard input
    #[arg(value_name = "FILE", required_unless_present_any = ["message", "cancel"])]
    pub(super) file: Option<PathBuf>,
    /// Publish this text instead of a file
    #[arg(long, short, value_name = "TEXT", conflicts_with = "file")]
    pub(super) message: Option<String>,
    /// Publish each line as a message of its own
    #[arg(long, conflicts_with = "message")]
    pub(super) lines: bool,
    /// Priority, 0 to 10: higher ones are sent first and kept longer
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u8).range(..=i64::from(PRIORITY_MAX)), help_heading = "Message", hide_short_help = true)]
    pub(super) priority: u8,
    /// Discard the message after this time [default: never]
    ///
    /// Each node counts from when it first hears of the message.
    #[arg(long, value_name = "TIME", help_heading = "Message", hide_short_help = true)]
    pub(super) expiry: Option<String>,
    /// A number by which --replace or --cancel finds the message later
    #[arg(long, value_name = "N", help_heading = "Message", hide_short_help = true)]
    pub(super) tag: Option<u64>,
    /// Replace this node's earlier messages with the same topic and tag
    #[arg(long, requires = "tag", help_heading = "Message", hide_short_help = true)]
    pub(super) replace: bool,
    /// How long to wait for acknowledgements after everything has been sent
    #[arg(
        long,
        default_value = "10s",
        value_name = "TIME",
        help_heading = "When to exit",
        hide_short_help = true
    )]
    pub(super) wait: String,
    /// Exit when everything has been sent, without acknowledgements
    #[arg(long, conflicts_with = "wait", help_heading = "When to exit", hide_short_help = true)]
    pub(super) one_way: bool,
    /// Let the local 'fanfare node' publish it
    ///
    /// This is the socket of the node. The node publishes and keeps the message, and this command
    /// exits at once.
    #[arg(long, value_name = "SOCKET", conflicts_with_all = ["wait", "one_way", "stay", "lines", "group", "cache_dir"])]
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
    /// Withdraw all messages with this tag from that node, and publish nothing
    ///
    /// They are no longer sent or repaired. Subscribers that have them keep them.
    #[arg(long, value_name = "TAG", requires = "via", conflicts_with_all = ["topic", "file", "message", "tag", "replace", "expiry"], help_heading = "Local node", hide_short_help = true)]
    pub(super) cancel: Option<u64>,
    /// Stay for this time afterwards, and repair losses
    #[arg(long, value_name = "TIME", help_heading = "When to exit", hide_short_help = true)]
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

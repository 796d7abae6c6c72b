//! `fanfare pub`.
//!
//! Here: its options; `sending`: messages on their way, `tally`: what is known of them, `conclusion`: what it came to.

mod conclusion;
mod sending;
mod tally;

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
    time::Duration,
};

use clap::Args;
use fanfare_node::{
    group::{Body, BodyError, Watch},
    messaging::{Options, Topic, description::PRIORITY_MAX},
};

use crate::{
    group_args::{self, GROUP, MemberArgs, NOTATION},
    json::{Line, hex},
    local::{INLINE_MAX, Request, client::Client},
    net_args::NetArgs,
};
use conclusion::conclude;
use fanfare_command::{Exit, Failure, Output, OutputArgs, interrupt, units};
use sending::{End, Sending};

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
    topic: Option<String>,
    /// File with the message; '-' is standard input
    #[arg(value_name = "FILE", required_unless_present_any = ["message", "cancel"])]
    file: Option<PathBuf>,
    /// This text instead of a file
    #[arg(long, short, value_name = "TEXT", conflicts_with = "file")]
    message: Option<String>,
    /// Each line is a message of its own
    #[arg(long, conflicts_with = "message")]
    lines: bool,
    /// How much it matters, 0 to 10: the higher goes first and is kept longer
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u8).range(..=i64::from(PRIORITY_MAX)))]
    priority: u8,
    /// After so long nobody is given it any more; each node counts from when it first hears of it
    /// [default: it is of use for ever]
    #[arg(long, value_name = "TIME")]
    expiry: Option<String>,
    /// A number by which a later message can replace it (--replace), or it can be withdrawn (--cancel)
    #[arg(long, value_name = "N")]
    tag: Option<u64>,
    /// It takes the place of this node's earlier messages of the same topic and tag
    #[arg(long, requires = "tag")]
    replace: bool,
    /// How long to wait, once all is sent, until all who want it say that they hold it
    #[arg(long, default_value = "10s", value_name = "TIME")]
    wait: String,
    /// End when all is sent: nobody needs to answer
    #[arg(long, conflicts_with = "wait")]
    one_way: bool,
    /// Hand it to the 'fanfare node' on this machine whose --socket this is: it publishes and keeps it,
    /// and this command ends at once
    #[arg(long, value_name = "SOCKET", conflicts_with_all = ["wait", "one_way", "stay", "lines", "group", "cache_dir"])]
    via: Option<PathBuf>,
    /// Which group of that node, by its name in the node's file [default: its first]
    #[arg(long, value_name = "NAME", requires = "via")]
    via_group: Option<String>,
    /// Publish nothing, but withdraw all messages of that node with this tag: they are sent and
    /// repaired no more; who has them keeps them
    #[arg(long, value_name = "TAG", requires = "via", conflicts_with_all = ["topic", "file", "message", "tag", "replace", "expiry"])]
    cancel: Option<u64>,
    /// Stay for so long after that, and repair what is asked for
    #[arg(long, value_name = "TIME")]
    stay: Option<String>,
    #[command(flatten)]
    member: MemberArgs,
    #[command(flatten)]
    net: NetArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn run(args: &PubArgs) -> Exit {
    let output = Output::new(args.output);
    match publish(args, &output) {
        Ok(exit) => exit,
        Err(failure) => fanfare_command::give_up(&output, &failure),
    }
}

/// The options, understood.
struct Plan {
    topic: Topic,
    options: Options,
    wait: Duration,
    stay: Duration,
    message_max: u64,
    cache_bytes: u64,
    /// What is to be known of the messages.
    watch: Watch,
}

impl Plan {
    /// How long after all is sent somebody may say that it holds it: no longer than it is of use.
    fn patience(&self) -> Duration {
        self.options.expiry.map_or(self.wait, |expiry| expiry.min(self.wait))
    }
}

impl PubArgs {
    fn plan(&self) -> Result<Plan, Failure> {
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
            topic: group_args::topic(self.topic.as_deref().unwrap_or_default())?,
            options,
            wait: units::time("wait", &self.wait)?,
            stay: time("stay", &self.stay)?.unwrap_or_default(),
            message_max: self.member.message_max()?,
            cache_bytes: self.member.cache_bytes()?,
            watch: if self.one_way { Watch::Sending } else { Watch::Holders },
        })
    }

    /// Where the messages come from.
    fn source(&self) -> Result<Box<dyn Read>, Failure> {
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

fn publish(args: &PubArgs, output: &Output) -> Result<Exit, Failure> {
    if let (Some(tag), Some(path)) = (args.cancel, &args.via) {
        return cancel(tag, (path.as_path(), args.via_group.clone()), output);
    }
    let plan = args.plan()?;
    let mut source = args.source()?;
    if let Some(path) = &args.via {
        let via = (path.as_path(), args.via_group.clone());
        return publish_via(via, &plan, &mut *source, output);
    }
    // One message is read whole before anything is sent: it may be too long.
    let whole = match args.lines {
        true => None,
        false => Some(Body::read_from(&mut source, plan.message_max)?),
    };
    let group = args.member.join(&args.net, |_| {})?;
    interrupt::stop_on_interrupt(group.stopper());
    group_args::show_start(&group, "publishing to", output);
    let mut sending = Sending::new(&group, output, &plan);
    let published = match whole {
        Some(body) => sending.publish(body),
        None => sending.publish_lines(source),
    };
    let end = match published {
        Err(_) if interrupt::is_asked() => End::Interrupted,
        published => published.map(|()| sending.wait())?,
    };
    let stayed = end == End::Interrupted || sending.stay(plan.stay);
    let tally = sending.into_tally();
    let report = group.leave();
    let end = if stayed { end } else { End::Interrupted };
    Ok(conclude(&tally, end, &plan, &report, output))
}

fn publish_via(
    (path, within): (&Path, Option<String>),
    plan: &Plan,
    source: &mut dyn Read,
    output: &Output,
) -> Result<Exit, Failure> {
    let body = Body::read_from(source, plan.message_max)?;
    let (mut text, mut digits, mut bytes) = (None, None, None);
    if body.len() > INLINE_MAX {
        bytes = Some(body.len());
    } else {
        let mut content = Vec::new();
        body.copy_to(&mut content).map_err(BodyError::Unreadable)?;
        match String::from_utf8(content) {
            Ok(content) => text = Some(content),
            Err(error) => digits = Some(hex(error.as_bytes())),
        }
    }
    let request = Request::Publish {
        topic: plan.topic.as_str().to_owned(),
        text,
        hex: digits,
        bytes,
        priority: Some(plan.options.priority),
        expiry_ms: plan.options.expiry.map(|expiry| expiry.as_millis() as u64),
        tag: plan.options.tag,
        replace: plan.options.replaces,
        within,
    };
    let follows = bytes.is_some().then_some(&body);
    output.event(&Client::connect(path)?.ask_with(&request, follows)?);
    if output.is_json() {
        let (counts, nodes) = ((1, 0, 0), (0, Vec::new()));
        let line = Line::publish_result(Exit::Done as u8, counts, body.len(), nodes, None);
        output.event(&line);
    }
    Ok(Exit::Done)
}

fn cancel(
    tag: u64,
    (path, within): (&Path, Option<String>),
    output: &Output,
) -> Result<Exit, Failure> {
    let line = Client::connect(path)?.ask(&Request::Cancel { tag, within })?;
    if let Line::Cancelled(cancelled) = &line {
        output.text(&format!("{} messages with tag {tag} are withdrawn", cancelled.messages));
    }
    output.event(&line);
    if output.is_json() {
        output.event(&Line::early_result(Exit::Done as u8));
    }
    Ok(Exit::Done)
}

//! `fanfare pub`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::{self, BufRead, BufReader, Read},
    path::{Path, PathBuf},
    sync::mpsc::RecvTimeoutError,
    time::{Duration, Instant},
};

use clap::Args;
use fanfare_node::{
    group::{Body, BodyError, Group, GroupEvent},
    messaging::{Options, Standing, Topic, description::PRIORITY_MAX},
    proto::{NodeId, ObjectKey},
};

use crate::{
    exit::{Exit, Failure},
    group_args::{self, GROUP, MemberArgs, NOTATION},
    interrupt,
    json::{Held, Line, Published, Sent, hex},
    local::{MESSAGE_MAX, Request, client::Client},
    net_args::NetArgs,
    progress::{Output, OutputArgs},
    units,
};

/// How often to look at the time while nothing happens.
const POLL: Duration = Duration::from_millis(100);
/// Until then all who hear of a message may say for the first time that they are there: the shortest
/// interval of announcements.
const ROLL: Duration = Duration::from_secs(2);

/// Publish messages to a group
///
/// It ends when all nodes that are heard and want them say that they hold them, after 2 s at the earliest.
#[derive(Debug, Args)]
#[command(
    mut_arg("group", |group| group.default_value(GROUP)),
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
        Err(failure) => crate::give_up(&output, &failure),
    }
}

/// The options, understood.
struct Plan {
    topic: Topic,
    options: Options,
    wait: Duration,
    stay: Duration,
    message_max: u64,
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
    let mut sent = Sending::new(&group, output, !args.one_way);
    match whole {
        Some(body) => sent.publish(&plan, body)?,
        None => sent.publish_lines(&plan, source)?,
    }
    let end = sent.wait(&plan);
    if end == End::Interrupted {
        return Ok(sent.conclude(end, &plan));
    }
    let end = if sent.stay(plan.stay) { end } else { End::Interrupted };
    Ok(sent.conclude(end, &plan))
}

fn publish_via(
    (path, within): (&Path, Option<String>),
    plan: &Plan,
    source: &mut dyn Read,
    output: &Output,
) -> Result<Exit, Failure> {
    let body = Body::read_from(source, plan.message_max.min(MESSAGE_MAX))?;
    let mut content = Vec::new();
    body.copy_to(&mut content).map_err(BodyError::Unreadable)?;
    let (text, hex) = match String::from_utf8(content) {
        Ok(text) => (Some(text), None),
        Err(error) => (None, Some(hex(error.as_bytes()))),
    };
    let request = Request::Publish {
        topic: plan.topic.as_str().to_owned(),
        text,
        hex,
        priority: Some(plan.options.priority),
        expiry_ms: plan.options.expiry.map(|expiry| expiry.as_millis() as u64),
        tag: plan.options.tag,
        replace: plan.options.replaces,
        within,
    };
    output.event(&Client::connect(path)?.ask(&request)?);
    if output.is_json() {
        output.event(&Line::publish_result(Exit::Done as u8, (1, 0), body.len(), (0, Vec::new())));
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Done,
    TimedOut,
    Interrupted,
}

/// What has become of one message.
#[derive(Debug)]
struct Fate {
    published: Instant,
    sent: bool,
    standings: BTreeMap<NodeId, Standing>,
}

impl Fate {
    fn new() -> Self {
        Self { published: Instant::now(), sent: false, standings: BTreeMap::new() }
    }
    fn is_held(&self) -> bool {
        self.standings.values().any(|standing| *standing == Standing::Holds)
    }
    /// Those who have said that they want it and lack something of it.
    fn lacking(&self) -> impl Iterator<Item = NodeId> {
        let lacks = |(node, standing): (&NodeId, &Standing)| {
            (*standing == Standing::Lacks).then_some(*node)
        };
        self.standings.iter().filter_map(lacks)
    }
    fn is_everywhere(&self) -> bool {
        self.is_held() && self.lacking().next().is_none() && self.published.elapsed() >= ROLL
    }
}

/// Messages on their way.
struct Sending<'a> {
    group: &'a Group,
    output: &'a Output,
    watched: bool,
    fates: BTreeMap<ObjectKey, Fate>,
    bytes: u64,
}

impl<'a> Sending<'a> {
    fn new(group: &'a Group, output: &'a Output, watched: bool) -> Self {
        Self { group, output, watched, fates: BTreeMap::new(), bytes: 0 }
    }

    fn publish(&mut self, plan: &Plan, body: Body) -> Result<(), Failure> {
        let size = body.len();
        let key = self.group.publish(plan.topic.clone(), body, plan.options, self.watched)?;
        self.fates.insert(key, Fate::new());
        self.bytes += size;
        let topic = plan.topic.as_str().to_owned();
        self.output.event(&Line::Published(Published { topic, id: key.object.0, size }));
        Ok(())
    }

    fn publish_lines(&mut self, plan: &Plan, source: Box<dyn Read>) -> Result<(), Failure> {
        let mut lines = BufReader::new(source);
        loop {
            let mut line = Vec::new();
            let limit = plan.message_max.saturating_add(2);
            let read = (&mut lines).take(limit).read_until(b'\n', &mut line);
            if read.map_err(BodyError::Unreadable)? == 0 {
                return Ok(());
            }
            if line.last() == Some(&b'\n') {
                line.pop();
            }
            if line.len() as u64 > plan.message_max {
                return Err(BodyError::TooLarge { max: plan.message_max }.into());
            }
            self.publish(plan, Body::new(line))?;
            // Whoever feeds line by line wants to see what becomes of them.
            while let Ok(event) = self.group.next_event(Duration::ZERO) {
                self.on_event(&event);
            }
        }
    }

    fn on_event(&mut self, event: &GroupEvent) {
        match event {
            GroupEvent::Sent { key } => {
                if let Some(fate) = self.fates.get_mut(key) {
                    fate.sent = true;
                }
                self.output.event(&Line::Sent(Sent { id: key.object.0 }));
            }
            GroupEvent::Standing { key, node, standing } => {
                if let Some(fate) = self.fates.get_mut(key) {
                    fate.standings.insert(*node, *standing);
                    if *standing == Standing::Holds {
                        self.output.event(&Line::Held(Held { id: key.object.0, node: node.0 }));
                    }
                }
            }
            event => {
                if let GroupEvent::Left { node } = event {
                    // Nobody waits for who is gone; what it held it may hold still.
                    let lacks = |fate: &Fate| fate.lacking().any(|lacking| lacking == *node);
                    for fate in self.fates.values_mut().filter(|fate| lacks(fate)) {
                        fate.standings.remove(node);
                    }
                }
                group_args::show(event, self.output);
            }
        }
    }

    /// Until all is held by all who want it (or sent, when nobody needs to answer), or time is up.
    fn wait(&mut self, plan: &Plan) -> End {
        let mut deadline = None;
        loop {
            let enough = |fate: &Fate| if self.watched { fate.is_everywhere() } else { fate.sent };
            if self.fates.values().all(enough) {
                return End::Done;
            }
            if self.fates.values().all(|fate| fate.sent || fate.is_held()) {
                deadline.get_or_insert_with(|| Instant::now() + plan.wait);
            }
            if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                return End::TimedOut;
            }
            match self.group.next_event(POLL) {
                Ok(event) => self.on_event(&event),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return End::Interrupted,
            }
        }
    }

    /// Answers requests for so long; false when it is stopped.
    fn stay(&mut self, time: Duration) -> bool {
        let end = Instant::now() + time;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            match self.group.next_event(left) {
                Ok(event) => self.on_event(&event),
                Err(RecvTimeoutError::Timeout) => return true,
                Err(RecvTimeoutError::Disconnected) => return false,
            }
        }
    }

    /// Who holds anything.
    fn holders(&self) -> BTreeSet<NodeId> {
        let all = self.fates.values().flat_map(|fate| &fate.standings);
        all.filter(|(_, standing)| **standing == Standing::Holds).map(|(node, _)| *node).collect()
    }

    /// Who wants something and lacks it.
    fn lacking(&self) -> BTreeSet<NodeId> {
        self.fates.values().flat_map(Fate::lacking).collect()
    }

    fn conclude(&self, end: End, plan: &Plan) -> Exit {
        let all = self.fates.len() as u64;
        let held = self.fates.values().filter(|fate| fate.is_held()).count() as u64;
        let lacking = self.lacking();
        let failure = match end {
            End::Done => None,
            End::Interrupted => Some(Failure::new(Exit::Interrupted, "interrupted", "interrupted")),
            End::TimedOut if held == 0 => Some(Failure::new(
                Exit::Nobody,
                "nobody",
                format!(
                    "holders (0): no node said within {} that it holds the message. Check that one \
                     is on this group and interface, or use --one-way",
                    units::seconds(plan.wait)
                ),
            )),
            End::TimedOut if lacking.is_empty() => Some(Failure::new(
                Exit::Partial,
                "partial",
                format!(
                    "messages ({held} of {all}): no node said that it holds the others. Publish \
                     them again, or wait longer with --wait"
                ),
            )),
            End::TimedOut => Some(Failure::new(
                Exit::Partial,
                "partial",
                format!(
                    "nodes ({}): did not say within {} that they hold all that they want. Wait \
                     longer with --wait, or stay and repair with --stay",
                    names(&lacking),
                    units::seconds(plan.wait)
                ),
            )),
        };
        let exit = failure.as_ref().map_or(Exit::Done, |failure| failure.exit);
        if let Some(failure) = failure.filter(|failure| failure.exit != Exit::Interrupted) {
            self.output.failure(&failure);
        }
        if self.output.is_json() {
            let holders = self.holders().len() as u64;
            let nodes = (holders, lacking.iter().map(|node| node.0).collect());
            let line = Line::publish_result(exit as u8, (all, held), self.bytes, nodes);
            self.output.event(&line);
        }
        exit
    }
}

/// Some of them by id, and how many there are besides.
fn names(nodes: &BTreeSet<NodeId>) -> String {
    /// More do not help who reads it.
    const NAMED_MAX: usize = 8;
    let named: Vec<String> = nodes.iter().take(NAMED_MAX).map(|n| format!("{:08x}", n.0)).collect();
    match nodes.len().saturating_sub(NAMED_MAX) {
        0 => named.join(", "),
        others => format!("{} and {others} others", named.join(", ")),
    }
}

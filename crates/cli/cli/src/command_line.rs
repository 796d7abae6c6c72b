//! The command line of `fanfare`, and what it comes to together with the file that it may name.

use std::ffi::OsString;

use clap::{CommandFactory as _, Parser, Subcommand, error::ErrorKind};
use fanfare_command::config::{
    ConfigArgs, Found, GatewayPlan, Grammar, Loaded, Named, Refusal, Reload, StreamWords, Table,
};
use fanfare_command::keys::{
    identity::IdArgs, key::KeyCommandArgs, receipts::ReceiptsArgs, trust::TrustArgs,
};
use fanfare_command::{
    Companion, CompanionArgs, Exit, Failure, Help, OutputArgs,
    generate::{CompletionsArgs, ManArgs},
};

use crate::{
    args::{
        doctor::DoctorArgs,
        node::{NodeArgs, NodeCommand, StatusArgs},
        parts::PartsArgs,
        pipe::{PipeArgs, PipeCommand},
        receive::RecvArgs,
        send::SendArgs,
    },
    bridge::BridgeArgs,
    demo::DemoArgs,
    doctor::{DoctorPlan, Shown},
    membership::GroupArgs,
    monitor::MonitorCommandArgs,
    node::{self, GroupPlan, NodePlan},
    norm_exec::NormExecArgs,
    pipe::{PipeReceivePlan, PipeSendPlan},
    publish::PubArgs,
    receive::ReceivePlan,
    relay::RelayArgs,
    send::{SendPlan, StreamPlan, StreamsPlan},
    sensor::SensorArgs,
    subscribe::SubArgs,
    two_nodes::{link::LinkArgs, proxy::ProxyArgs},
    video::VideoArgs,
    watch::WatchCommandArgs,
};

/// The list of commands is ours: what most people need first, then the rest by area. A test compares
/// it with the commands that there are.
const TEMPLATE: &str = "{about-with-newline}
{usage-heading} {usage}

Most people need:
  send         Send files, directories or standard input (-) to many machines
  recv         Receive files into a directory
  pipe         Send or receive a stream as it comes
  doctor       Say why multicast does or does not work here
  monitor      Show all nodes of a group on a live page
  demo         See it work: a sender and three lossy receivers, without root
Messages:
  pub, sub     Publish messages to a group, or subscribe to topics
  node         Take part in a group for the programs of this machine
  bridge       Connect groups with each other, with plain UDP, or with NATS
Two nodes, islands, video:
  link         Link two nodes, and send messages between them
  proxy        Carry TCP connections past loss and delay
  relay        Join islands that no multicast reaches
  video        Send video to a group, and serve it to players
Keys and receipts:
  key, id, trust   Make keys, show this machine's, and list those of others
  group        Change who is in a group, and keep its key
  receipts     Check signed receipts later
See what happens:
  watch        Show a live page in a terminal
  sensor       Tell what passes by on this machine's network
Files and settings:
  parts        List or delete unfinished files
  config       Find mistakes in a configuration file
  norm-exec    Run a program of NRL's NORM on Fanfare
  completions, man   For the shell, and manual pages
Laboratory (the program fanfare-lab):
  lab, sim, bench    Emulate or simulate networks, and measure{after-help}";

/// The beginning of the manual page.
const ABOUT: &str = "Send files and messages to many machines at once, and know who has them

Each packet is sent once and reaches all receivers (multicast). Receivers request what they lost. The \
sender lists who has every byte.";

const HELP: Help = Help::new(&[
    ("fanfare recv downloads --create-dirs --once", "on every machine that wants it"),
    ("fanfare send disk.img --expect 30", "on the machine that has it"),
])
.exits(&[
    (Exit::Done, "done"),
    (Exit::Failed, "failed"),
    (Exit::Partial, "some receivers or files, but not all"),
    (Exit::Permission, "permission denied, or the wrong key"),
    (Exit::Resource, "disk, memory or port missing on this machine"),
    (Exit::Nobody, "nobody answered"),
    (Exit::Interrupted, "interrupted by Ctrl-C"),
])
.files(&[("--config FILE", "of send, recv and node; see docs/reference/configuration.md")]);

const LABORATORY: Help = Help::new(&[
    ("fanfare lab up scenarios/files/classroom.toml", "30 machines on this one"),
    ("fanfare sim run scenarios/files/small.toml", "a simulated network"),
])
.environment(&[("FANFARE_BIN", "another build of fanfare to be measured")])
.files(&[("fanfare-lab", "the program that is started: beside this one, or in the PATH")]);

/// Send files and messages to many machines at once, and know who has them
#[derive(Debug, Parser)]
#[command(
    name = "fanfare", version, max_term_width = 100,
    after_help = HELP.short(), help_template = TEMPLATE
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Send(Box<SendArgs>),
    Recv(RecvArgs),
    Pipe(PipeArgs),
    Demo(DemoArgs),
    Doctor(DoctorArgs),
    Watch(WatchCommandArgs),
    Monitor(Box<MonitorCommandArgs>),
    Pub(PubArgs),
    Sub(SubArgs),
    Node(NodeArgs),
    Bridge(BridgeArgs),
    NormExec(NormExecArgs),
    Key(KeyCommandArgs),
    Id(IdArgs),
    Trust(TrustArgs),
    Receipts(ReceiptsArgs),
    Parts(PartsArgs),
    Config(ConfigArgs),
    /// Run real programs on emulated networks
    #[command(disable_help_flag = true, after_help = LABORATORY.short())]
    Lab(CompanionArgs),
    /// Simulate networks in virtual time
    #[command(disable_help_flag = true, after_help = LABORATORY.short())]
    Sim(CompanionArgs),
    /// Measure how fast this machine is
    #[command(disable_help_flag = true, after_help = LABORATORY.short())]
    Bench(CompanionArgs),
    Link(Box<LinkArgs>),
    Proxy(Box<ProxyArgs>),
    Group(GroupArgs),
    Sensor(Box<SensorArgs>),
    Video(VideoArgs),
    Relay(Box<RelayArgs>),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

/// The commands that take options from files.
pub(crate) static GRAMMAR: Grammar = Grammar {
    program: Cli::command,
    send: Table {
        name: "send",
        command: || command("send"),
        check: |words| send_plan(words).map(drop),
        takes_shared: true,
        place: Some("-"),
    },
    recv: Table {
        name: "recv",
        command: || command("recv"),
        check: |words| receive_plan(words).map(drop),
        takes_shared: true,
        place: None,
    },
    node: Table {
        name: "node",
        command: || command("node"),
        check: |words| group_plan(None, words).map(drop),
        takes_shared: false,
        place: None,
    },
    clashes,
};

/// What is to be done.
#[derive(Debug)]
pub(crate) enum Task {
    Send(Box<SendPlan>, Reload<SendPlan>),
    SendStreams(StreamsPlan, OutputArgs),
    Receive(Box<ReceivePlan>, Reload<ReceivePlan>),
    PipeSend(Box<PipeSendPlan>),
    PipeReceive(Box<PipeReceivePlan>),
    Publish(Box<PubArgs>),
    Subscribe(Box<SubArgs>),
    Node(NodePlan),
    NodeStatus(StatusArgs),
    Bridge(BridgeArgs),
    NormExec(NormExecArgs),
    Demo(DemoArgs),
    Doctor(DoctorPlan),
    Watch(WatchCommandArgs),
    Monitor(Box<MonitorCommandArgs>),
    Link(Box<LinkArgs>),
    Proxy(Box<ProxyArgs>),
    Group(GroupArgs),
    Sensor(Box<SensorArgs>),
    Video(VideoArgs),
    Relay(Box<RelayArgs>),
    Companion(Companion, &'static str, CompanionArgs),
    Key(KeyCommandArgs),
    Id(IdArgs),
    Trust(TrustArgs),
    Receipts(ReceiptsArgs),
    Parts(PartsArgs),
    Config(ConfigArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

impl Task {
    /// Whether there is a file that SIGHUP reads again.
    pub(crate) const fn has_file(&self) -> bool {
        match self {
            Self::Send(_, reload) => reload.is_some(),
            Self::Receive(_, reload) => reload.is_some(),
            _ => false,
        }
    }

    /// True if the command waits for signals itself.
    pub(crate) const fn has_own_signals(&self) -> bool {
        matches!(self, Self::Link(_) | Self::Proxy(_) | Self::Sensor(_))
    }
}

/// Why there is nothing to do.
#[derive(Debug)]
pub(crate) enum Refused {
    /// The command line.
    Line(clap::Error),
    /// What it asks for, or its file; shown so.
    Plan(Vec<Failure>, OutputArgs),
    /// The same of the doctor.
    Doctor(Vec<Failure>, Shown),
}

impl From<clap::Error> for Refused {
    fn from(error: clap::Error) -> Self {
        Self::Line(error)
    }
}

impl From<Refusal> for Refused {
    fn from(Refusal { failures, output }: Refusal) -> Self {
        Self::Plan(failures, output)
    }
}

/// Understands the command line and the file that it may name.
pub(crate) fn understand(words: &[OsString]) -> Result<Task, Refused> {
    let (mut loaded, mut groups, mut gateways, mut streams) = (None, vec![], vec![], vec![]);
    let cli = match fanfare_command::config::load(words, &GRAMMAR)? {
        Found::Nothing => Cli::try_parse_from(words)?,
        Found::Config(file, of_node, between) => {
            let cli = Cli::try_parse_from(file.words())?;
            (loaded, groups, gateways) = (Some(*file), of_node, between);
            cli
        }
        Found::Streams(each) => {
            // What is for all is the same in each.
            let first = each.first().map(|stream| stream.words.clone()).unwrap_or_default();
            streams = each;
            Cli::try_parse_from(first)?
        }
    };
    Ok(match cli.command {
        Command::Send(args) => send(&args, loaded, &streams)?,
        Command::Recv(args) => {
            let plan = args.plan().map_err(|why| Refused::Plan(vec![why], args.output))?;
            Task::Receive(Box::new(plan), Reload::new(loaded, receive_plan))
        }
        Command::Pipe(args) => pipe(&args)?,
        Command::Node(args) => node(args, &groups, gateways)?,
        Command::Doctor(args) => Task::Doctor(
            examinations(&args).map_err(|failures| Refused::Doctor(failures, args.shown()))?,
        ),
        Command::Watch(args) => Task::Watch(args),
        Command::Monitor(args) => Task::Monitor(args),
        Command::Pub(args) => Task::Publish(Box::new(args)),
        Command::Sub(args) => Task::Subscribe(Box::new(args)),
        Command::Bridge(args) => Task::Bridge(args),
        Command::NormExec(args) => Task::NormExec(args),
        Command::Demo(args) => Task::Demo(args),
        Command::Lab(args) => Task::Companion(Companion::Lab, "lab", args),
        Command::Sim(args) => Task::Companion(Companion::Lab, "sim", args),
        Command::Bench(args) => Task::Companion(Companion::Lab, "bench", args),
        Command::Link(args) => Task::Link(args),
        Command::Proxy(args) => Task::Proxy(args),
        Command::Group(args) => Task::Group(args),
        Command::Sensor(args) => Task::Sensor(args),
        Command::Video(args) => Task::Video(args),
        Command::Relay(args) => Task::Relay(args),
        Command::Key(args) => Task::Key(args),
        Command::Id(args) => Task::Id(args),
        Command::Trust(args) => Task::Trust(args),
        Command::Receipts(args) => Task::Receipts(args),
        Command::Parts(args) => Task::Parts(args),
        Command::Config(args) => Task::Config(args),
        Command::Completions(args) => Task::Completions(args),
        Command::Man(args) => Task::Man(args),
    })
}

fn send(args: &SendArgs, loaded: Option<Loaded>, streams: &[StreamWords]) -> Result<Task, Refused> {
    let refused = |why| Refused::Plan(vec![why], args.output);
    if streams.is_empty() {
        let plan = args.plan().map_err(refused)?;
        return Ok(Task::Send(Box::new(plan), Reload::new(loaded, send_plan)));
    }
    let mut plans = Vec::new();
    for StreamWords { words, weight, at } in streams {
        let named = |why: Failure| Failure { text: format!("stream at {at}: {}", why.text), ..why };
        let send = send_args(words)?.plan().map_err(|why| refused(named(why)))?;
        plans.push(StreamPlan { send, weight: *weight, at: at.clone() });
    }
    let total = args.streams.total().map_err(refused)?;
    let memory = args.streams.memory().map_err(refused)?;
    Ok(Task::SendStreams(StreamsPlan { total, memory, streams: plans }, args.output))
}

fn pipe(args: &PipeArgs) -> Result<Task, Refused> {
    Ok(match &args.command {
        PipeCommand::Send(args) => {
            let plan = args.plan().map_err(|why| Refused::Plan(vec![why], args.output))?;
            Task::PipeSend(Box::new(plan))
        }
        PipeCommand::Recv(args) => {
            let plan = args.plan().map_err(|why| Refused::Plan(vec![why], args.output))?;
            Task::PipeReceive(Box::new(plan))
        }
    })
}

fn node(args: NodeArgs, named: &[Named], gateways: Vec<GatewayPlan>) -> Result<Task, Refused> {
    if let Some(NodeCommand::Status(args)) = args.command {
        return Ok(Task::NodeStatus(args));
    }
    let refused = |why| Refused::Plan(vec![why], args.output);
    let groups = match named.is_empty() {
        true => vec![args.plan(None).map_err(refused)?],
        false => {
            let one = |named: &Named| {
                let plan = node_args(&named.words)?.plan(Some(named.name.clone()));
                plan.map_err(|why| refused(why.of_group(&named.name)))
            };
            named.iter().map(one).collect::<Result<_, _>>()?
        }
    };
    Ok(Task::Node(NodePlan { socket: args.socket, groups, gateways, output: args.output }))
}

/// The one group of the command line, or those of a node's file.
fn examinations(args: &DoctorArgs) -> Result<DoctorPlan, Vec<Failure>> {
    let one = |failure| vec![failure];
    let Some(path) = &args.node else { return args.plan().map_err(one) };
    let mut subjects = Vec::new();
    for (name, words) in fanfare_command::config::node_groups(path, &GRAMMAR)? {
        let node = node_args(&words).map_err(|error| one(fanfare_command::misuse(&error)))?;
        subjects.push(args.subject(name, node.place().map_err(one)?).map_err(one)?);
    }
    Ok(DoctorPlan { subjects, shown: args.shown() })
}

/// The whole command line, as clap knows it, with what its manual page has and no screen.
pub(crate) fn program() -> clap::Command {
    Cli::command().long_about(ABOUT).after_long_help(HELP.long())
}

/// A command, as clap knows it.
fn command(name: &str) -> clap::Command {
    Cli::command().find_subcommand(name).cloned().unwrap_or_default()
}

/// What `words` say to `fanfare send`.
fn send_args(words: &[OsString]) -> Result<SendArgs, clap::Error> {
    match Cli::try_parse_from(words)?.command {
        Command::Send(args) => Ok(*args),
        _ => Err(another()),
    }
}

fn node_args(words: &[OsString]) -> Result<NodeArgs, clap::Error> {
    match Cli::try_parse_from(words)?.command {
        Command::Node(args) => Ok(args),
        _ => Err(another()),
    }
}

/// Words of a file for one command are another's: that cannot be.
fn another() -> clap::Error {
    Cli::command().error(ErrorKind::InvalidSubcommand, "another command")
}

fn send_plan(words: &[OsString]) -> Result<SendPlan, Failure> {
    send_args(words).map_err(|error| fanfare_command::misuse(&error))?.plan()
}

fn receive_plan(words: &[OsString]) -> Result<ReceivePlan, Failure> {
    let cli = Cli::try_parse_from(words).map_err(|error| fanfare_command::misuse(&error))?;
    match cli.command {
        Command::Recv(args) => args.plan(),
        _ => Err(fanfare_command::misuse(&another())),
    }
}

fn group_plan(name: Option<&str>, words: &[OsString]) -> Result<GroupPlan, Failure> {
    let args = node_args(words).map_err(|error| fanfare_command::misuse(&error))?;
    args.plan(name.map(str::to_owned))
}

/// What groups that are right by themselves cannot be together.
fn clashes(groups: &[Named]) -> Vec<(usize, Failure)> {
    let plans: Vec<GroupPlan> = groups
        .iter()
        .filter_map(|group| group_plan(Some(&group.name), &group.words).ok())
        .collect();
    node::clashes(&plans)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    /// Every name that stands in a line of the list.
    fn listed() -> Vec<&'static str> {
        let lines = TEMPLATE.lines().filter_map(|line| line.strip_prefix("  "));
        let names = lines
            .flat_map(|line| line.split("  ").next().unwrap_or_default().split(',').map(str::trim));
        names.collect()
    }

    #[test]
    fn the_list_of_commands_has_each_command_once() {
        let program = Cli::command();
        let mut there: Vec<&str> = program.get_subcommands().map(clap::Command::get_name).collect();
        let mut listed = listed();
        there.sort_unstable();
        listed.sort_unstable();
        assert_eq!(listed, there);
    }
}

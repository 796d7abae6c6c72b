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
    monitor::MonitorCommandArgs,
    node::{self, GroupPlan, NodePlan},
    norm_exec::NormExecArgs,
    pipe::{PipeReceivePlan, PipeSendPlan},
    publish::PubArgs,
    receive::ReceivePlan,
    send::{SendPlan, StreamPlan, StreamsPlan},
    subscribe::SubArgs,
    watch::WatchCommandArgs,
};

/// Without the options that every program has: the commands fill the screen.
const TEMPLATE: &str =
    "{about-with-newline}\n{usage-heading} {usage}\n\nCommands:\n{subcommands}{after-help}";

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

const LINKS: Help = Help::new(&[
    ("fanfare proxy server --accept ship=KEY --allow any:443", "on the far side"),
    ("fanfare proxy client --peer base=198.51.100.7:7001,KEY", "on the near side"),
])
.files(&[("fanfare-proxy", "the program that is started: beside this one, or in the PATH")]);

const GROUPS: Help = Help::new(&[
    ("fanfare group create fleet", "this machine is the controller"),
    ("fanfare group join CODE", "with what 'fanfare group invite' has printed"),
])
.files(&[("fanfare-group", "the program that is started: beside this one, or in the PATH")]);

const SENSOR: Help = Help::new(&[
    ("sudo fanfare sensor", "what passes by on this machine's interfaces"),
    ("fanfare sensor --read trace.pcap", "the same of a capture file"),
])
.files(&[("fanfare-sensor", "the program that is started: beside this one, or in the PATH")]);

const VIDEO: Help = Help::new(&[
    ("fanfare video send test", "bars, a running number and a tone"),
    ("fanfare video serve", "a page and a server for players"),
])
.files(&[("fanfare-video", "the program that is started: beside this one, or in the PATH")]);

const ISLANDS: Help = Help::new(&[
    ("fanfare relay --join 239.255.42.1:6003 --accept 10.0.1.5", "beside the receivers"),
    ("fanfare send disk.img --to relay-b --with-group --expect 30", "at 10.0.1.5"),
])
.files(&[("fanfare-relay", "the program that is started: beside this one, or in the PATH")]);

/// Send files and messages to many machines at once, and know who has them
///
/// Each packet is sent once and reaches all receivers (multicast). Receivers request what they
/// lost. The sender lists who has every byte.
#[derive(Debug, Parser)]
#[command(
    name = "fanfare", version, max_term_width = 100,
    after_help = HELP.short(), after_long_help = HELP.long(), help_template = TEMPLATE
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
    /// Run real programs on emulated networks (needs fanfare-lab)
    #[command(disable_help_flag = true, after_help = LABORATORY.short())]
    Lab(CompanionArgs),
    /// Simulate networks in virtual time (needs fanfare-lab)
    #[command(disable_help_flag = true, after_help = LABORATORY.short())]
    Sim(CompanionArgs),
    /// Measure how fast this machine is (needs fanfare-lab)
    #[command(disable_help_flag = true, after_help = LABORATORY.short())]
    Bench(CompanionArgs),
    /// Link two nodes, and send messages between them (needs fanfare-proxy)
    #[command(disable_help_flag = true, after_help = LINKS.short())]
    Link(CompanionArgs),
    /// Carry TCP connections past loss and delay (needs fanfare-proxy)
    #[command(disable_help_flag = true, after_help = LINKS.short())]
    Proxy(CompanionArgs),
    /// Change who is in a group, and keep its key (needs fanfare-group)
    #[command(disable_help_flag = true, after_help = GROUPS.short())]
    Group(CompanionArgs),
    /// Tell what passes by on this machine's network (needs fanfare-sensor)
    #[command(disable_help_flag = true, after_help = SENSOR.short())]
    Sensor(CompanionArgs),
    /// Send video to a group, and serve it to players (needs fanfare-video)
    #[command(disable_help_flag = true, after_help = VIDEO.short())]
    Video(CompanionArgs),
    /// Join islands that no multicast reaches (needs fanfare-relay)
    #[command(disable_help_flag = true, after_help = ISLANDS.short())]
    Relay(CompanionArgs),
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
        Command::Link(args) => Task::Companion(Companion::Proxy, "link", args),
        Command::Proxy(args) => Task::Companion(Companion::Proxy, "proxy", args),
        Command::Group(args) => Task::Companion(Companion::Group, "group", args),
        Command::Sensor(args) => Task::Companion(Companion::Sensor, "sensor", args),
        Command::Video(args) => Task::Companion(Companion::Video, "video", args),
        Command::Relay(args) => Task::Companion(Companion::Relay, "relay", args),
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

/// The whole command line, as clap knows it.
pub(crate) fn program() -> clap::Command {
    Cli::command()
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

    #[cfg(feature = "nats")]
    #[test]
    fn the_page_of_reference_is_what_the_program_says() {
        let head = "# All options

*For people who look for one option. Afterwards you know every option of every command. This page is
made of `--help`.*

[Commands](../cli.md) is the overview, with the options that most people need. The options of `lab`,
`sim` and `bench` are on [a page of their own](lab.md).
";
        let path =
            concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/reference/options/fanfare.md");
        fanfare_command::pages::check_reference(Cli::command(), head, path.as_ref());
    }
}

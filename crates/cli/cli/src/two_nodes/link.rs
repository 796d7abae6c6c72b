//! `fanfare link`: a link to one other node, and messages over it.
//!
//! - `options`: how a node is; `accepting`: who may link to it; `sending`: messages to another
//! - `telling`: what happens to links, as it is told

mod accepting;
mod options;
mod sending;
mod telling;

pub(crate) use accepting::AcceptArgs;
use std::sync::Arc;
pub(crate) use telling::{follow, links_status, tell_listening};

use clap::{Args, Subcommand};
use fanfare_command::{Exit, Failure, Help, Output, OutputArgs};
use fanfare_link::Link;
use serde_json::Value;

pub(crate) use options::NodeArgs;

use crate::two_nodes::{
    EXITS,
    lines::{self},
    peers,
    running::{self, Asked, Signals},
    status::{self, SocketArgs, StatusArgs},
};

const HELP: Help = Help::new(&[
    ("fanfare id", "this machine's KEY, for the other end"),
    ("fanfare link listen --accept ship=KEY", "on one machine"),
    ("fanfare link send base=198.51.100.7:7001,KEY 'here I am'", "on the other"),
])
.exits(EXITS)
.values();

const FILES: &[(&str, &str)] = &[
    ("~/.config/fanfare/identity", "this machine's key pair, without --identity"),
    ("--accept-file FILE", "names and keys of nodes, a line each"),
];

const LISTEN: Help = Help::new(&[
    ("fanfare link listen --accept ship=KEY", "one node, at port 7001"),
    ("fanfare link listen --accept-file peers --json", "all of a list, for programs"),
])
.exits(EXITS)
.files(FILES)
.values();

const DIAL: Help = Help::new(&[
    ("fanfare link dial base=198.51.100.7:7001,KEY", "until Ctrl-C"),
    ("fanfare link dial base=198.51.100.7:7001,KEY --socket s", "for 'link status'"),
])
.exits(EXITS)
.files(FILES)
.values();

const RECV: Help = Help::new(&[
    ("fanfare link recv --accept ship=KEY", "each message on a line"),
    ("fanfare link recv --accept ship=KEY --count 1", "the first one"),
])
.exits(EXITS)
.files(FILES)
.values();

const STATUS: Help = Help::new(&[
    ("fanfare link status --socket s", "of a daemon that was started with --socket s"),
    ("fanfare link status --socket s --json", "with all counters"),
])
.exits(&[(Exit::Done, "done"), (Exit::Failed, "no daemon answers")]);

/// Link two nodes, and send messages between them
///
/// Both ends name each other's key. The link survives addresses that change and roads that break.
#[derive(Debug, Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
pub(crate) struct LinkArgs {
    #[command(subcommand)]
    command: LinkCommand,
}

#[derive(Debug, Subcommand)]
enum LinkCommand {
    Listen(ListenArgs),
    Dial(DialArgs),
    Send(sending::SendArgs),
    Recv(RecvArgs),
    /// Show how a daemon's links are
    #[command(after_help = STATUS.short(), after_long_help = STATUS.long())]
    Status(StatusArgs),
}

/// Wait for links, and print what comes over them
#[derive(Debug, Args)]
#[command(after_help = LISTEN.short(), after_long_help = LISTEN.long())]
struct ListenArgs {
    #[command(flatten)]
    accepting: AcceptArgs,
    #[command(flatten)]
    node: NodeArgs,
    #[command(flatten)]
    socket: SocketArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Keep a link to another node, and print what comes over it
#[derive(Debug, Args)]
#[command(after_help = DIAL.short(), after_long_help = DIAL.long())]
struct DialArgs {
    /// The other node: NAME=HOST:PORT,KEY
    #[arg(value_name = "PEER")]
    peer: String,
    #[command(flatten)]
    node: NodeArgs,
    #[command(flatten)]
    socket: SocketArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Wait for links, and print the messages that come, without anything else
#[derive(Debug, Args)]
#[command(after_help = RECV.short(), after_long_help = RECV.long())]
struct RecvArgs {
    #[command(flatten)]
    accepting: AcceptArgs,
    /// Exit after so many messages
    #[arg(long, value_name = "N")]
    count: Option<u64>,
    #[command(flatten)]
    node: NodeArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn run(args: &LinkArgs) -> Exit {
    match &args.command {
        LinkCommand::Listen(args) => running::run(args.output, |output| listen(args, output)),
        LinkCommand::Dial(args) => running::run(args.output, |output| dial(args, output)),
        LinkCommand::Send(args) => running::run(args.output, |output| sending::run(args, output)),
        LinkCommand::Recv(args) => running::run(args.output, |output| recv(args, output)),
        LinkCommand::Status(args) => status::run(args, describe),
    }
}

fn describe(answer: &Value) -> Vec<String> {
    answer["links"].as_array().into_iter().flatten().map(lines::status_text).collect()
}

/// Prints messages; with a limit it ends by telling so.
fn print_messages(link: Link, output: Arc<Output>, came: tokio::sync::mpsc::UnboundedSender<()>) {
    tokio::spawn(async move {
        loop {
            let message = link.recv().await;
            output.event(&lines::of_message(link.name(), &message));
            output.data(&String::from_utf8_lossy(&message.bytes));
            let _ = came.send(());
        }
    });
}

async fn listen(args: &ListenArgs, output: Output) -> Result<Exit, Failure> {
    let (output, mut signals) = (Arc::new(output), Signals::install()?);
    let node = args.node.start(args.accepting.listen, args.accepting.all()?)?;
    if let Ok(address) = node.address() {
        tell_listening(&output, "listening", address);
    }
    let told = node.clone();
    status::serve(&args.socket, move || links_status(&told))?;
    let (came, _here) = tokio::sync::mpsc::unbounded_channel();
    loop {
        tokio::select! {
            Some(link) = node.accept() => {
                follow(&link, &output);
                print_messages(link, output.clone(), came.clone());
            }
            asked = signals.next() => match asked {
                Asked::Reload => args.accepting.reload(&node, &output),
                Asked::End => break,
            },
        }
    }
    node.close().await;
    Ok(Exit::Interrupted)
}

async fn dial(args: &DialArgs, output: Output) -> Result<Exit, Failure> {
    let (output, mut signals) = (Arc::new(output), Signals::install()?);
    let peer = peers::peer(&args.peer)?;
    let node = args.node.start(NodeArgs::anywhere(), Vec::new())?;
    let link = node.dial(peer);
    follow(&link, &output);
    let told = node.clone();
    status::serve(&args.socket, move || links_status(&told))?;
    let (came, _here) = tokio::sync::mpsc::unbounded_channel();
    print_messages(link, output.clone(), came);
    while signals.next().await != Asked::End {}
    node.close().await;
    Ok(Exit::Interrupted)
}

async fn recv(args: &RecvArgs, output: Output) -> Result<Exit, Failure> {
    let (output, mut signals) = (Arc::new(output), Signals::install()?);
    let node = args.node.start(args.accepting.listen, args.accepting.all()?)?;
    let (came, mut here) = tokio::sync::mpsc::unbounded_channel();
    let mut count = 0;
    loop {
        tokio::select! {
            Some(link) = node.accept() => print_messages(link, output.clone(), came.clone()),
            _ = here.recv() => {
                count += 1;
                if args.count.is_some_and(|max| count >= max) {
                    break;
                }
            }
            asked = signals.next() => match asked {
                Asked::Reload => args.accepting.reload(&node, &output),
                Asked::End => {
                    node.close().await;
                    return Ok(Exit::Interrupted);
                }
            },
        }
    }
    // The last acknowledgement is to go out.
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    node.close().await;
    Ok(Exit::Done)
}

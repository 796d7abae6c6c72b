//! `fanfare node`: a member of a group that is always there, for programs on this machine.

use std::{
    path::{Path, PathBuf},
    sync::mpsc::RecvTimeoutError,
    time::Duration,
};

use clap::{Args, Subcommand};
use fanfare_node::{
    NodeBuilder,
    group::{GroupEvent, GroupOptions},
    messaging::{Filter, Subscription},
};

use crate::{
    config::FileArgs,
    exit::{Exit, Failure},
    group_args::{self, GROUP, MemberArgs},
    interrupt,
    json::{Line, Sent},
    local::{
        Request,
        client::Client,
        server::{self, Server},
    },
    net_args::NetArgs,
    progress::{Output, OutputArgs},
};

/// Where programs speak to the node.
const SOCKET: &str = "/run/fanfare/node.sock";
/// How often to look whether the node still lives; events come at once.
const POLL: Duration = Duration::from_millis(500);

/// Take part in a group for programs on this machine
///
/// They publish and subscribe through a local socket: 'fanfare pub --via', 'fanfare sub --via', or a
/// line of JSON for each request.
#[derive(Debug, Args)]
#[command(mut_arg("group", |group| group.default_value(GROUP)), args_conflicts_with_subcommands = true)]
pub(crate) struct NodeArgs {
    #[command(subcommand)]
    command: Option<NodeCommand>,
    /// The local socket
    #[arg(long, default_value = SOCKET, value_name = "PATH")]
    socket: PathBuf,
    /// Ask for messages of these topics, and keep them, also while no program wants them
    #[arg(long = "topic", value_name = "PATTERN")]
    topics: Vec<String>,
    #[command(flatten)]
    pub(crate) file: FileArgs,
    #[command(flatten)]
    member: MemberArgs,
    #[command(flatten)]
    net: NetArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Subcommand)]
enum NodeCommand {
    Status(StatusArgs),
}

/// Show how a running node stands
#[derive(Debug, Args)]
struct StatusArgs {
    /// Its local socket
    #[arg(long, default_value = SOCKET, value_name = "PATH")]
    socket: PathBuf,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn run(args: &NodeArgs) -> Exit {
    let (output, result) = match &args.command {
        Some(NodeCommand::Status(args)) => {
            let output = Output::new(args.output);
            let result = status(&args.socket, &output);
            (output, result)
        }
        None => {
            let output = Output::new(args.output);
            let result = serve(args, &output);
            (output, result)
        }
    };
    result.unwrap_or_else(|failure| crate::give_up(&output, &failure))
}

impl NodeArgs {
    /// The options, understood.
    pub(crate) fn plan(&self) -> Result<(NodeBuilder, GroupOptions, Vec<Filter>), Failure> {
        let (builder, mut options) = self.member.plan(&self.net)?;
        options.config.hears_itself = true;
        let filters = self.topics.iter().map(|text| group_args::filter(text));
        Ok((builder, options, filters.collect::<Result<_, _>>()?))
    }
}

fn serve(args: &NodeArgs, output: &Output) -> Result<Exit, Failure> {
    let (builder, options, filters) = args.plan()?;
    let group = builder.join(options)?;
    // Before there is a socket: who asks for the history is given it whole.
    for filter in filters {
        group.subscribe(Subscription::new(filter))?;
    }
    let server = Server::listen(&args.socket, group.handle())?;
    interrupt::stop_on_interrupt(group.stopper());
    group_args::show_start(&group, "in group", output);
    output.text(&format!("programs speak to it at {}", args.socket.display()));
    loop {
        match group.next_event(POLL) {
            Ok(GroupEvent::Message(message)) => server.hand_out(&message),
            // What says that there is room for more: to clients only what they asked for is said.
            Ok(GroupEvent::Sent { key }) => output.event(&Line::Sent(Sent { id: key.object.0 })),
            Ok(event) => {
                group_args::show(&event, output);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    server::close(&args.socket);
    drop(group);
    if output.is_json() {
        output.event(&Line::early_result(Exit::Interrupted as u8));
    }
    Ok(Exit::Interrupted)
}

fn status(path: &Path, output: &Output) -> Result<Exit, Failure> {
    let line = Client::connect(path)?.ask(&Request::Status {})?;
    if let Line::Status(status) = &line {
        let names = |member: &crate::json::MemberLine| match member.hears_us {
            Some(false) => format!("{:08x} (does not hear us)", member.id),
            _ => format!("{:08x}", member.id),
        };
        let members: Vec<String> = status.members.iter().map(names).collect();
        output.data(&format!("node     {:08x}", status.node));
        output.data(&format!("members  {}  {}", members.len(), members.join(" ")));
        output.data(&format!("own      {} messages that it can repair", status.own));
        let kept = crate::units::size(status.kept_bytes);
        output.data(&format!("kept     {} messages of others, {kept}", status.kept));
        output.data(&format!(
            "repairs  {} sent for others ({} sums), {} heard, {} of use",
            status.repairs_sent, status.sums_sent, status.repairs_heard, status.repairs_useful
        ));
        output.data(&format!(
            "refused  {} frames, {} messages whose bytes were wrong, {} evicted",
            status.frames_refused, status.wrong, status.evicted
        ));
    }
    output.event(&line);
    if output.is_json() {
        output.event(&Line::early_result(Exit::Done as u8));
    }
    Ok(Exit::Done)
}

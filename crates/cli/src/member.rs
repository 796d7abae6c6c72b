//! `fanfare node`: a member of one or more groups that is always there, for programs on this machine.
//!
//! Here: its options, and its status; `serving`: it runs.

mod serving;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use fanfare_node::{GroupSpec, Network, group::GroupOptions, messaging::Filter};

use crate::{
    config::{FileArgs, GatewaySettings, GroupSettings},
    exit::{Exit, Failure},
    group_args::{self, GROUP, MemberArgs, NOTATION},
    json::{GatewayLine, Line, MemberLine, StatusLine, WayLine},
    local::{Request, client::Client},
    net_args::NetArgs,
    progress::{Output, OutputArgs},
};

/// Where programs speak to the node.
const SOCKET: &str = "/run/fanfare/node.sock";

/// Take part in a group for programs on this machine
///
/// It is there also while they are not: keeps and repairs what it hears. They publish and subscribe
/// through a local socket, with 'fanfare pub --via', 'fanfare sub --via', or a line of JSON for each
/// request. Several groups, and gateways between them, are set in a file (--config).
#[derive(Debug, Args)]
#[command(
    mut_arg("group", |group| group.default_value(GROUP).alias("address")),
    mut_arg("unicast", |unicast| unicast.hide(true)),
    mut_arg("config", |config| config.help("Take options from this file, too: what is given here wins")),
    args_conflicts_with_subcommands = true,
    after_long_help = NOTATION
)]
pub(crate) struct NodeArgs {
    #[command(subcommand)]
    command: Option<NodeCommand>,
    /// Where programs find it: a local socket, which it makes
    #[arg(long, default_value = SOCKET, value_name = "PATH")]
    socket: PathBuf,
    /// Ask for what is lost of these topics, also while no program wants them; may be given several times
    #[arg(long = "topic", value_name = "PATTERN")]
    topics: Vec<String>,
    #[command(flatten)]
    pub(crate) file: FileArgs,
    /// Of the file, where it names them: then the group above is none.
    #[arg(skip)]
    pub(crate) groups: Vec<GroupSettings>,
    /// Between them.
    #[arg(skip)]
    pub(crate) gateways: Vec<GatewaySettings>,
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
///
/// Ends with 0 when it answers.
#[derive(Debug, Args)]
struct StatusArgs {
    /// The node's local socket
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
            let result = serving::serve(args, &output);
            (output, result)
        }
    };
    result.unwrap_or_else(|failure| crate::give_up(&output, &failure))
}

impl NodeArgs {
    /// Where it takes part: group, interface as it is given, TTL.
    pub(crate) fn place(&self) -> Result<(GroupSpec, Option<String>, u8), Failure> {
        Ok((self.net.group()?, self.net.interface(), self.net.ttl()?))
    }

    /// The options, understood.
    pub(crate) fn plan(&self) -> Result<(Network, GroupOptions, Vec<Filter>), Failure> {
        let (builder, mut options) = self.member.plan(&self.net)?;
        options.config.hears_itself = true;
        let filters = self.topics.iter().map(|text| group_args::filter(text));
        Ok((builder, options, filters.collect::<Result<_, _>>()?))
    }
}

/// What only several groups together show to be wrong: whose it is, and why.
pub(crate) fn clashes(groups: &[(&str, &NodeArgs)]) -> Vec<(usize, Failure)> {
    let mut clashes = Vec::new();
    for (number, (_, args)) in groups.iter().enumerate() {
        for (other, before) in &groups[..number] {
            let (Ok(group), Ok(taken)) = (args.net.group(), before.net.group()) else { continue };
            let interfaces = (args.net.interface(), before.net.interface());
            if group == taken && interfaces.0 == interfaces.1 {
                clashes.push((number, same(&group.group.to_string(), other)));
            }
            let dir = args.member.cache_dir();
            if let Some(dir) = dir.filter(|_| dir == before.member.cache_dir()) {
                let text = format!(
                    "cache-dir ({}): is that of group {other}. Give each its own",
                    dir.display()
                );
                clashes.push((number, Failure::usage("cache.shared", text)));
            }
        }
    }
    clashes
}

fn same(address: &str, other: &str) -> Failure {
    let text = format!(
        "group ({address}): has the address and the interface of group {other}. Give another address or \
         interface"
    );
    Failure::usage("group.same", text)
}

fn status(path: &Path, output: &Output) -> Result<Exit, Failure> {
    let mut client = Client::connect(path)?;
    let mut shown = Vec::new();
    let mut left = vec![None];
    while let Some(within) = left.pop() {
        let line = client.ask(&Request::Status { within: within.clone() })?;
        let Line::Status(status) = &line else { continue };
        let name = within.clone().or_else(|| status.groups.first().cloned());
        if within.is_none() {
            // The first has answered; the others in their order.
            left.extend(status.groups.iter().skip(1).rev().cloned().map(Some));
        }
        if let Some(name) = &name {
            show(output, &format!("group    {name}"));
        }
        show_status(status, output);
        for gateway in status.gateways.iter().filter(|gateway| !shown.contains(&gateway.groups)) {
            show_gateway(gateway, output);
        }
        shown.extend(status.gateways.iter().map(|gateway| gateway.groups.clone()));
        match &name {
            Some(name) => output.event_of(name, &line),
            None => output.event(&line),
        }
    }
    if output.is_json() {
        output.event(&Line::early_result(Exit::Done as u8));
    }
    Ok(Exit::Done)
}

/// A line for people, unless they want to know only whether it answers.
fn show(output: &Output, text: &str) {
    if !output.is_quiet() {
        output.data(text);
    }
}

fn show_gateway(gateway: &GatewayLine, output: &Output) {
    show(output, &format!("gateway  {}; {} refused", gateway.groups.join(", "), gateway.refused));
    for line in &gateway.ways {
        let WayLine { from, to, way } = line;
        show(
            output,
            &format!(
                "         {from} to {to}: {} carried ({}), {} left to others, {} wait",
                way.carried,
                crate::units::size(way.bytes),
                way.left,
                way.waiting
            ),
        );
    }
}

fn show_status(status: &StatusLine, output: &Output) {
    let names = |member: &MemberLine| match member.hears_us {
        Some(false) => format!("{:08x} (does not hear us)", member.id),
        _ => format!("{:08x}", member.id),
    };
    let members: Vec<String> = status.members.iter().map(names).collect();
    show(output, &format!("node     {:08x}", status.node));
    show(output, &format!("members  {}  {}", members.len(), members.join(" ")));
    show(output, &format!("own      {} messages that it can repair", status.own));
    let kept = crate::units::size(status.kept_bytes);
    show(output, &format!("kept     {} messages of others, {kept}", status.kept));
    show(
        output,
        &format!(
            "repairs  {} sent for others ({} sums), {} own sums ahead, {} asked for, {} heard, {} of use",
            status.repairs_sent,
            status.sums_sent,
            status.proactive_sums_sent,
            status.answers_sent,
            status.repairs_heard,
            status.repairs_useful
        ),
    );
    show(
        output,
        &format!(
            "refused  {} frames, {} messages whose bytes were wrong, {} evicted, {} expired, {} missed",
            status.frames_refused, status.wrong, status.evicted, status.expired, status.missed
        ),
    );
    if let Some(drops) = status.drops.to_words() {
        show(output, &format!("dropped  {drops}"));
    }
}

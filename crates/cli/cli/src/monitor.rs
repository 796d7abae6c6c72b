//! `fanfare monitor`: a member of a group that only looks and tells of itself.
//!
//! - `ask`: exact numbers of one node

pub(crate) mod ask;

use clap::{Args, Subcommand};
use fanfare_command::json::Line;
use fanfare_command::view::{ExportArgs, ReportArgs};
use fanfare_command::{Exit, Failure, Help, Output, OutputArgs, give_up, interrupt};

use crate::{
    args::{
        group::MemberArgs,
        monitor::MonitorArgs,
        network::{GROUP, NameArgs, NetArgs},
    },
    group::events,
    monitoring,
};

const HELP: Help = Help::new(&[
    ("fanfare monitor", "a page of all nodes of the default group"),
    ("fanfare monitor --group 239.255.42.2:6004 --interface wlan0", "another group"),
    ("fanfare monitor --monitor-capacity 56k", "over a slow radio"),
    ("fanfare monitor report --last 1h", "what was measured in the last hour"),
])
.exits(&[
    (Exit::Failed, "the group has ended"),
    (Exit::Permission, "permission denied"),
    (Exit::Resource, "port or memory missing on this machine"),
    (Exit::Interrupted, "stopped by Ctrl-C or SIGTERM"),
])
.files(&[("--monitor-token FILE", "the token that the page asks for")]);

/// Show all nodes of a group on a live page
///
/// Joins the group, publishes nothing, and shows what its nodes tell of themselves: who is there, who
/// hears whom, and what is wrong. Nodes tell of themselves when they run 'fanfare node --monitor', or
/// this command. 'fanfare watch' shows the same in a terminal.
#[derive(Debug, Args)]
#[command(
    mut_arg("group", |group| group.default_value(GROUP).alias("address")),
    mut_arg("unicast", |unicast| unicast.hide(true)),
    mut_arg("cache_dir", |dir| dir.hide(true)),
    args_conflicts_with_subcommands = true,
    after_help = HELP.short(), after_long_help = HELP.long()
)]
pub(crate) struct MonitorCommandArgs {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    monitor: MonitorArgs,
    #[command(flatten)]
    member: MemberArgs,
    #[command(flatten)]
    net: NetArgs,
    #[command(flatten)]
    name: NameArgs,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Debug, Subcommand)]
enum Action {
    Ask(Box<ask::AskArgs>),
    Export(ExportArgs),
    Report(ReportArgs),
}

pub(crate) fn run(args: &MonitorCommandArgs) -> Exit {
    match &args.action {
        Some(Action::Ask(args)) => return ask::run(args),
        Some(Action::Export(args)) => return fanfare_command::view::export(args),
        Some(Action::Report(args)) => return fanfare_command::view::report(args),
        None => {}
    }
    let output = Output::new(args.output);
    match watch(args, &output) {
        Ok(exit) => exit,
        Err(failure) => give_up(&output, &failure),
    }
}

fn watch(args: &MonitorCommandArgs, output: &Output) -> Result<Exit, Failure> {
    let plan = args.monitor.plan_always(args.member.rate()?)?;
    let group = args.member.join_to_stay(&args.net, |options| {
        options.publishes = false;
        options.config.monitor = Some(plan.config);
        options.name = args.name.get();
    })?;
    interrupt::stop_on_interrupt(group.stopper());
    let page = monitoring::open(&plan, &group, output, Vec::new)?;
    events::show_start(&group, "watching group", output);
    for event in group.events() {
        events::show(&event, output);
    }
    drop(page);
    if !interrupt::is_asked() {
        let text = "monitor (group): has ended. Start it again";
        return Err(Failure::new(Exit::Failed, "group.ended", text));
    }
    if output.is_json() {
        output.event(&Line::early_result(Exit::Interrupted as u8));
    }
    Ok(Exit::Interrupted)
}

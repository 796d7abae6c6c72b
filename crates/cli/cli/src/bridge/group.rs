//! `fanfare bridge group`: a gateway between a group and one or more others.

use std::{path::PathBuf, sync::mpsc::RecvTimeoutError};

use clap::Args;
use fanfare_command::config::gateway_options;
use fanfare_command::json::{Line, Way};
use fanfare_command::local::topics;
use fanfare_node::{
    QueueLimit,
    gateway::{Gateway, GatewayEvent},
    group::{Group, GroupEvent},
    messaging::{Filter, GatewayConfig, GroupIndex, Route},
    proto::Bitrate,
};

use super::{
    metrics::MetricsArgs,
    queue::QueueArgs,
    times::{EXITS, POLL},
};
use crate::{
    args::{
        group::MemberArgs,
        network::{GROUP, NetArgs},
    },
    group::{
        events,
        gateway::{self, GatewayReporter},
    },
};
use fanfare_command::{Exit, Failure, Help, Output, OutputArgs, interrupt, units};

const HERE: GroupIndex = GroupIndex(0);
/// Other groups: what a gateway knows of each is in memory, and each has threads of its own.
const OTHERS_MAX: usize = 15;

const HELP: Help = Help::new(&[
    ("fanfare bridge group --to 239.255.42.3:6004", "all topics, both ways"),
    ("fanfare bridge group --to 239.9.9.9:6004 --topic 'maps/#' --one-way", "one way"),
])
.exits(EXITS)
.files(&[("--cache-dir DIR", "kept messages and the node's last ids; see docs/reference/node.md")])
.values();

/// Connect groups: messages of one are published in the others, once
///
/// The gateway is a member of --group and of each --to. Several gateways may connect the same
/// groups, and groups may form a ring: each message carries its origin, and enters no group twice.
/// One of several gateways carries a message, and the others stand by. Messages from before the
/// gateway started are carried, too, if somebody still has them.
///
/// With several --to, options that begin with to- or back- are given once for all, or once for each
/// --to, in the same order.
#[derive(Debug, Args)]
#[command(
    mut_arg("group", |group| group.default_value(GROUP)),
    mut_arg("unicast", |unicast| unicast.hide(true)),
    after_help = HELP.short(), after_long_help = HELP.long()
)]
pub(crate) struct GroupArgs {
    /// Another group and port; repeatable
    #[arg(long, required = true, value_name = "GROUP:PORT")]
    to: Vec<String>,
    /// Interface of the other group [default: the same]
    #[arg(long, value_name = "NAME")]
    to_interface: Vec<String>,
    /// Time to live in the other group [default: that of --ttl]
    #[arg(long, value_name = "N", help_heading = "Other groups", hide_short_help = true)]
    to_ttl: Vec<String>,
    /// --cache-dir for the other group, one for each --to
    #[arg(
        long,
        value_name = "DIR",
        requires = "cache_dir",
        help_heading = "Other groups",
        hide_short_help = true
    )]
    to_cache_dir: Vec<PathBuf>,
    /// Topics to carry to the other groups [default: all]
    ///
    /// Without --back also from there.
    #[arg(long = "topic", value_name = "PATTERN")]
    topics: Vec<String>,
    /// Topics to carry from there [default: as --topic]
    #[arg(long = "back", value_name = "PATTERN", conflicts_with = "one_way")]
    back: Vec<String>,
    /// Carry nothing from the other groups
    #[arg(long, help_heading = "Other groups", hide_short_help = true)]
    one_way: bool,
    /// Upper limit of what is carried to the other group
    #[arg(long, default_value = gateway_options::RATE, value_name = "RATE", allow_hyphen_values = true, help_heading = "Other groups", hide_short_help = true)]
    to_rate: Vec<String>,
    /// Upper limit of what is carried from the other group
    #[arg(long, default_value = gateway_options::RATE, value_name = "RATE", allow_hyphen_values = true, help_heading = "Other groups", hide_short_help = true)]
    back_rate: Vec<String>,
    /// How long to wait for another gateway to carry a message first
    ///
    /// It must be longer than a message takes through a group.
    #[arg(long, default_value = gateway_options::STANDBY, value_name = "TIME", help_heading = "Several gateways", hide_short_help = true)]
    standby: String,
    /// How long to listen at first, to learn what the groups have already
    #[arg(long, default_value = gateway_options::LEARN, value_name = "TIME", help_heading = "Several gateways", hide_short_help = true)]
    learn: String,
    #[command(flatten)]
    queue: QueueArgs,
    #[command(flatten)]
    metrics: MetricsArgs,
    #[command(flatten)]
    member: MemberArgs,
    #[command(flatten)]
    net: NetArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

impl GroupArgs {
    /// The other groups' networks.
    fn there(&self) -> Result<Vec<NetArgs>, Failure> {
        if self.to.len() > OTHERS_MAX {
            let text = format!(
                "to ({} groups): more than {OTHERS_MAX}. Join some of them by another gateway",
                self.to.len()
            );
            return Err(Failure::usage("group.many", text));
        }
        let mut all = vec![self.net.clone()];
        for (number, to) in self.to.iter().enumerate() {
            let interface = self.nth("to-interface", &self.to_interface, number)?;
            let ttl = self.nth("to-ttl", &self.to_ttl, number)?;
            let net =
                self.net.elsewhere(to, interface.map(String::as_str), ttl.map(String::as_str));
            let group = net.group()?.group;
            for (place, other) in all.iter().enumerate() {
                if other.group()?.group == group && other.interface() == net.interface() {
                    let whose = if place == 0 { "the group itself" } else { "given twice" };
                    let text = format!(
                        "to ({group}): is {whose}. Give another group or port, or another --to-interface"
                    );
                    return Err(Failure::usage("group.same", text));
                }
            }
            all.push(net);
        }
        Ok(all.split_off(1))
    }

    /// The value for one of the other groups: one for all of them, or one for each.
    fn nth<'a, T>(
        &self,
        option: &str,
        values: &'a [T],
        number: usize,
    ) -> Result<Option<&'a T>, Failure> {
        match values.len() {
            0 | 1 => Ok(values.first()),
            count if count == self.to.len() => Ok(values.get(number)),
            count => {
                let groups = self.to.len();
                let text = format!(
                    "{option} ({count} times): --to is given {groups} times. Give it once, or as often"
                );
                Err(Failure::usage("to.unpaired", text))
            }
        }
    }

    /// What crosses, each way.
    fn routes(&self) -> Result<Vec<Route>, Failure> {
        let filters = |texts: &[String]| {
            texts.iter().map(|text| topics::filter(text)).collect::<Result<Vec<Filter>, _>>()
        };
        let to = if self.topics.is_empty() { &[String::from("#")][..] } else { &self.topics };
        let back = if self.back.is_empty() { to } else { &self.back };
        let (to, back) = (filters(to)?, filters(back)?);
        let mut routes = Vec::new();
        for number in 0..self.to.len() {
            let there = GroupIndex(number as u8 + 1);
            let rate_of = |option, what, values: &[String]| {
                let text = self.nth(option, values, number)?.cloned().unwrap_or_default();
                units::rate_of(what, &text)
            };
            let to_rate = rate_of("to-rate", "to rate", &self.to_rate)?;
            let back_rate = rate_of("back-rate", "back rate", &self.back_rate)?;
            routes.push(route((HERE, there), to.clone(), to_rate));
            if self.one_way {
                continue;
            }
            routes.push(route((there, HERE), back.clone(), back_rate));
            let others = (1..=self.to.len()).map(|other| GroupIndex(other as u8));
            let others = others.filter(|other| *other != there);
            routes.extend(others.map(|other| route((other, there), back.clone(), to_rate)));
        }
        Ok(routes)
    }

    /// The directories of all groups, or of none.
    fn cache_dirs(&self) -> Result<Vec<Option<PathBuf>>, Failure> {
        let (own, others) = (self.member.cache_dir(), &self.to_cache_dir);
        let given = others.len();
        if own.is_some() && given != self.to.len() {
            let text = format!(
                "to cache dir ({given}): --cache-dir is for one group, and there are {} others. Give \
                 --to-cache-dir for each --to",
                self.to.len()
            );
            return Err(Failure::usage("cache.one_sided", text));
        }
        let there = (0..self.to.len()).map(|number| others.get(number));
        let dirs: Vec<Option<PathBuf>> =
            [own].into_iter().chain(there).map(Option::<&_>::cloned).collect();
        for (number, dir) in dirs.iter().enumerate() {
            if let Some(dir) = dir.as_ref().filter(|_| dirs[..number].contains(dir)) {
                let text = format!(
                    "to cache dir ({}): is given for two groups. Give each its own",
                    dir.display()
                );
                return Err(Failure::usage("cache.shared", text));
            }
        }
        Ok(dirs)
    }
}

fn route((from, to): (GroupIndex, GroupIndex), filters: Vec<Filter>, rate: Bitrate) -> Route {
    Route { from, to, filters, rate }
}

pub(super) fn bridge(args: &GroupArgs, output: &Output) -> Result<Exit, Failure> {
    let (there, routes) = (args.there()?, args.routes()?);
    let times = gateway_options::times(&args.standby, &args.learn)?;
    let QueueLimit { messages: queue_messages, bytes: queue_bytes } = args.queue.limit()?;
    let times = GatewayConfig { queue_messages, queue_bytes, ..times };
    let dirs = args.cache_dirs()?;
    let metrics = args.metrics.open(output)?;
    gateway_options::remembers(args.net.node_id(), args.member.is_durable())?;
    let mut groups = Vec::new();
    for (net, dir) in [&args.net].into_iter().chain(&there).zip(dirs) {
        groups.push(args.member.join(net, |options| {
            // What it brought in an earlier life it is to hear of as what others bring.
            options.config.hears_itself = true;
            options.cache_dir = dir;
        })?);
    }
    let seed = u64::from(groups[0].id().0) << 32 | u64::from(groups[1].id().0);
    let mut gateway = Gateway::open(&mut groups, routes, times, seed)?;
    gateway.subscribe()?;
    groups.iter().for_each(|group| interrupt::stop_on_interrupt(group.stopper()));
    groups.iter().for_each(|group| events::show_start(group, "gateway in", output));
    let names: Vec<String> = groups.iter().map(|group| group.address().to_string()).collect();
    let (mut reporter, mut missed) = (GatewayReporter::new(true, metrics), 0);
    loop {
        match gateway.next_event(POLL) {
            Ok(event) => {
                missed += gateway::missed(&event);
                show(event, &groups, output);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        reporter.look(|| gateway::line(&gateway, &names, missed), output);
    }
    Ok(conclude(gateway, groups, missed, output))
}

fn conclude(gateway: Gateway, groups: Vec<Group>, missed: u64, output: &Output) -> Exit {
    let others = || (1..groups.len()).map(|other| GroupIndex(other as u8));
    let to = Way::from(gateway::total(&gateway, others().map(|other| (HERE, other))));
    let back = Way::from(gateway::total(&gateway, others().map(|other| (other, HERE))));
    let names: Vec<String> = groups.iter().map(|group| group.address().to_string()).collect();
    let ways = if groups.len() > 2 { gateway::ways(&gateway, &names) } else { Vec::new() };
    let refused = gateway.refused();
    drop(gateway);
    drop(groups);
    if ways.is_empty() {
        gateway::show("to", &to, output);
        gateway::show("back", &back, output);
    }
    for line in &ways {
        gateway::show(&format!("{} to {}", line.from, line.to), &line.way, output);
    }
    if output.is_json() {
        let exit = Exit::Interrupted as u8;
        output.event(&Line::gateway_result(exit, (to, back), ways, refused, missed));
    }
    Exit::Interrupted
}

fn show(event: GatewayEvent, groups: &[Group], output: &Output) {
    match event {
        GatewayEvent::Group(_, GroupEvent::Sent { .. }) => {}
        GatewayEvent::Group(_, event) => {
            events::show(&event, output);
        }
        GatewayEvent::NotPublished(side, why) => {
            let group = groups.get(usize::from(side.0)).map(|group| group.address().to_string());
            let text = format!("in {}: {why}", group.unwrap_or_default());
            output.warn("message.unpublished", text);
        }
    }
}

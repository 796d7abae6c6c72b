//! `fanfare bridge group`: a gateway between two groups.

use std::{path::PathBuf, sync::mpsc::RecvTimeoutError, time::Duration};

use clap::Args;
use fanfare_node::{
    gateway::{Gateway, GatewayEvent},
    group::{Group, GroupEvent},
    messaging::{Filter, GatewayConfig, GatewayStats, Route, Side},
    proto::Bitrate,
};

use super::POLL;
use crate::{
    exit::{Exit, Failure},
    group_args::{self, GROUP, MemberArgs},
    interrupt,
    json::{Line, Way},
    net_args::NetArgs,
    progress::{Output, OutputArgs},
    units,
};

const HERE: Side = Side(0);
const THERE: Side = Side(1);

/// Between two groups: what is published in one comes to the other, once
///
/// Several gateways may join the same groups, and groups may be in a ring: a message says where it was
/// published first, and goes to no group that has it. Of several gateways one carries, the others stand
/// by. What was published before the gateway came, and is still held, crosses too.
#[derive(Debug, Args)]
#[command(mut_arg("group", |group| group.default_value(GROUP)))]
pub(crate) struct GroupArgs {
    /// The other group and its port
    #[arg(long, value_name = "GROUP:PORT")]
    to: String,
    /// Interface of the other group, by name or address [default: that of --interface]
    #[arg(long, value_name = "NAME")]
    to_interface: Option<String>,
    /// Routers to pass in the other group, plus one [default: that of --ttl]
    #[arg(long, value_name = "N")]
    to_ttl: Option<String>,
    /// What --cache-dir is for the other group
    #[arg(long, value_name = "DIR", requires = "cache_dir")]
    to_cache_dir: Option<PathBuf>,
    /// Topics that go to the other group; without --back also those that come from there; all without it
    #[arg(long = "topic", value_name = "PATTERN")]
    topics: Vec<String>,
    /// Topics that come from the other group
    #[arg(long = "back", value_name = "PATTERN", conflicts_with = "one_way")]
    back: Vec<String>,
    /// Nothing comes from the other group
    #[arg(long)]
    one_way: bool,
    /// Most that goes to the other group, bits per second
    #[arg(long, default_value = "1M", value_name = "RATE")]
    to_rate: String,
    /// Most that comes from the other group, bits per second
    #[arg(long, default_value = "1M", value_name = "RATE")]
    back_rate: String,
    /// How long to leave a message to another gateway, while that carries; longer than a message takes
    /// through a group
    #[arg(long, default_value = "1s", value_name = "TIME")]
    standby: String,
    /// How long to learn first what the groups already have
    #[arg(long, default_value = "20s", value_name = "TIME")]
    learn: String,
    #[command(flatten)]
    member: MemberArgs,
    #[command(flatten)]
    net: NetArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

impl GroupArgs {
    /// The other group's network.
    fn there(&self) -> Result<NetArgs, Failure> {
        let ttl = self.to_ttl.as_deref();
        let there = self.net.elsewhere(&self.to, self.to_interface.as_deref(), ttl);
        let to = there.group()?.group;
        if to == self.net.group()?.group && there.interface() == self.net.interface() {
            let text = format!(
                "to ({to}): is the group itself. Give another group or port, or another --to-interface"
            );
            return Err(Failure::usage("group.same", text));
        }
        Ok(there)
    }

    /// What crosses, each way.
    fn routes(&self) -> Result<Vec<Route>, Failure> {
        let filters = |texts: &[String]| {
            texts.iter().map(|text| group_args::filter(text)).collect::<Result<Vec<Filter>, _>>()
        };
        let to = if self.topics.is_empty() { &[String::from("#")][..] } else { &self.topics };
        let back = if self.back.is_empty() { to } else { &self.back };
        let mut routes = vec![route((HERE, THERE), filters(to)?, rate("to rate", &self.to_rate)?)];
        if !self.one_way {
            routes.push(route((THERE, HERE), filters(back)?, rate("back rate", &self.back_rate)?));
        }
        Ok(routes)
    }

    fn times(&self) -> Result<GatewayConfig, Failure> {
        let standby = units::time("standby", &self.standby)?;
        if standby == Duration::ZERO {
            let text = format!(
                "standby ({}): is no time, in which no other gateway can be heard. Give more than a \
                 message takes through a group, as 1s",
                self.standby
            );
            return Err(Failure::usage("time.invalid", text));
        }
        Ok(GatewayConfig { standby, learning: units::time("learn", &self.learn)? })
    }
}

fn rate(what: &str, text: &str) -> Result<Bitrate, Failure> {
    let rate = units::rate_of(what, text)?;
    if rate.as_bytes_per_second() <= 0.0 {
        let text = format!("{what} ({text}): carries nothing. Give more, or --one-way");
        return Err(Failure::usage("rate.invalid", text));
    }
    Ok(rate)
}

fn route((from, to): (Side, Side), filters: Vec<Filter>, rate: Bitrate) -> Route {
    Route { from, to, filters, rate }
}

pub(super) fn bridge(args: &GroupArgs, output: &Output) -> Result<Exit, Failure> {
    let (there, routes, times) = (args.there()?, args.routes()?, args.times()?);
    if args.member.is_durable() && args.to_cache_dir.is_none() {
        let text = "cache dir: is that of one group. Give --to-cache-dir for the other, too";
        return Err(Failure::usage("cache.one_sided", text));
    }
    // What it brought in an earlier life it is to hear of as what others bring.
    let here = args.member.join(&args.net, |options| options.config.hears_itself = true)?;
    let there = args.member.join(&there, |options| {
        options.config.hears_itself = true;
        options.cache_dir.clone_from(&args.to_cache_dir);
    })?;
    let mut groups = [here, there];
    let seed = u64::from(groups[0].id().0) << 32 | u64::from(groups[1].id().0);
    let mut gateway = Gateway::open(&mut groups, routes, times, seed)?;
    gateway.subscribe()?;
    groups.iter().for_each(|group| interrupt::stop_on_interrupt(group.stopper()));
    groups.iter().for_each(|group| group_args::show_start(group, "gateway in", output));
    loop {
        match gateway.next_event(POLL) {
            Ok(event) => show(event, &groups, output),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    let (to, back) = (gateway.stats(HERE, THERE), gateway.stats(THERE, HERE));
    let refused = gateway.refused();
    drop(gateway);
    drop(groups);
    Ok(conclude((to, back), refused, output))
}

fn conclude((to, back): (GatewayStats, GatewayStats), refused: u64, output: &Output) -> Exit {
    let way = |name: &str, stats: GatewayStats| {
        output.text(&format!(
            "{name}: {} messages ({}) carried, {} left to other gateways, {} carried twice; \
             {} expired, {} replaced, {} dropped, {} waited at the end",
            stats.carried,
            units::size(stats.bytes),
            stats.left,
            stats.doubled,
            stats.expired,
            stats.replaced,
            stats.dropped + stats.too_far,
            stats.waiting,
        ));
    };
    way("to", to);
    way("back", back);
    if output.is_json() {
        let (to, back) = (Way::from(to), Way::from(back));
        output.event(&Line::gateway_result(Exit::Interrupted as u8, to, back, refused));
    }
    Exit::Interrupted
}

fn show(event: GatewayEvent, groups: &[Group], output: &Output) {
    match event {
        GatewayEvent::Group(_, GroupEvent::Sent { .. }) => {}
        GatewayEvent::Group(_, event) => {
            group_args::show(&event, output);
        }
        GatewayEvent::NotPublished(side, why) => {
            let group = groups.get(usize::from(side.0)).map(|group| group.address().to_string());
            let text = format!("in {}: {why}", group.unwrap_or_default());
            output.warn("message.unpublished", text);
        }
    }
}

//! `fanfare bridge udp`: between a group and plain UDP multicast.

use std::{net::SocketAddr, sync::mpsc::RecvTimeoutError};

use clap::{Args, ValueEnum};
use fanfare_command::json::{CrossingWay, Line};
use fanfare_command::local::topics;
use fanfare_node::{
    bridge::{Bridge, BridgeCounts, BridgeEvent, BridgeOptions},
    group::GroupEvent,
};

use super::{
    metrics::MetricsArgs,
    queue::{self, CrossingReporter, QueueArgs},
    times::{EXITS, POLL, Times},
};
use crate::{
    args::{
        group::MemberArgs,
        network::{GROUP, NetArgs},
    },
    group::events,
};
use fanfare_command::{Exit, Failure, Help, Output, OutputArgs, interrupt, units};

/// Most that a datagram of UDP over IPv4 holds (RFC 768, RFC 791).
const DATAGRAM_MAX: u64 = 65_507;

const HELP: Help = Help::new(&[
    ("fanfare bridge udp --preset tak", "situational awareness of TAK"),
    ("fanfare bridge udp --udp 239.2.3.4:5000 --topic sensors", "another group"),
])
.exits(EXITS)
.files(&[("--cache-dir DIR", "kept messages and the node's last ids; see docs/reference/node.md")])
.values();

/// Connect a group with plain UDP multicast
///
/// Datagrams become messages, and messages datagrams. The same content crosses once within --window. If two bridges connect the same networks, give
/// one of them --standby: it carries only what the other does not.
#[derive(Debug, Args)]
#[command(
    mut_arg("group", |group| group.default_value(GROUP)),
    mut_arg("unicast", |unicast| unicast.hide(true)),
    after_help = HELP.short(), after_long_help = HELP.long()
)]
pub(crate) struct UdpArgs {
    /// Plain multicast group and port
    #[arg(long, value_name = "ADDRESS:PORT", required_unless_present = "preset")]
    udp: Option<String>,
    /// Topic of the datagrams
    ///
    /// Datagrams are published under it. Messages of this topic and below go out as datagrams.
    #[arg(long, value_name = "TOPIC", required_unless_present = "preset")]
    topic: Option<String>,
    /// Known traffic; tak: 239.2.3.1:6969, topic tak/sa
    #[arg(long, value_enum, value_name = "NAME")]
    preset: Option<Preset>,
    /// Network interface of the plain group [default: that of --interface]
    #[arg(long, value_name = "NAME")]
    udp_interface: Option<String>,
    /// Time to live of datagrams on the plain side
    #[arg(
        long,
        default_value_t = 1,
        value_name = "N",
        help_heading = "Datagrams",
        hide_short_help = true
    )]
    udp_ttl: u8,
    /// Discard datagrams in the group after this time
    #[arg(
        long,
        default_value = "60s",
        value_name = "TIME",
        help_heading = "Datagrams",
        hide_short_help = true
    )]
    expiry: String,
    /// Longest datagram to carry
    #[arg(
        long,
        default_value = "65507",
        value_name = "SIZE",
        help_heading = "Datagrams",
        hide_short_help = true
    )]
    datagram_max: String,
    #[command(flatten)]
    queue: QueueArgs,
    #[command(flatten)]
    metrics: MetricsArgs,
    #[command(flatten)]
    times: Times,
    #[command(flatten)]
    member: MemberArgs,
    #[command(flatten)]
    net: NetArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Preset {
    Tak,
}

impl Preset {
    /// The plain group and the topic. ATAK's mesh sends its situational awareness to this group by
    /// default.
    fn udp_and_topic(self) -> (&'static str, &'static str) {
        match self {
            Self::Tak => ("239.2.3.1:6969", "tak/sa"),
        }
    }
}

impl UdpArgs {
    /// The options, understood.
    fn options(&self) -> Result<BridgeOptions, Failure> {
        let preset = self.preset.map(Preset::udp_and_topic);
        let given = |text: &Option<String>, preset: Option<&'static str>| {
            text.clone().or(preset.map(str::to_owned)).unwrap_or_default()
        };
        let plain = plain_group(&given(&self.udp, preset.map(|preset| preset.0)))?;
        let topic = given(&self.topic, preset.map(|preset| preset.1));
        if plain == self.net.group()?.group {
            let text =
                format!("udp ({plain}): is the group itself. Give another to one of the two sides");
            return Err(Failure::usage("udp.invalid", text));
        }
        let datagram_max = units::bytes("datagram max", &self.datagram_max)?;
        if datagram_max > DATAGRAM_MAX {
            let text = format!(
                "datagram max ({datagram_max}): is more than a datagram holds. Give up to \
                 {DATAGRAM_MAX}"
            );
            return Err(Failure::usage("size.invalid", text));
        }
        let (window, standby) = self.times.read()?;
        Ok(BridgeOptions {
            plain,
            interface: self.udp_interface.clone().or_else(|| self.net.interface()),
            ttl: self.udp_ttl,
            topic: topics::topic(&topic)?,
            expiry: units::expiry(&self.expiry)?,
            datagram_max: datagram_max as usize,
            window,
            standby,
            queue: self.queue.limit()?,
        })
    }
}

fn plain_group(text: &str) -> Result<SocketAddr, Failure> {
    let invalid = |why: &str| {
        let text = format!("udp ({text}): {why}. Give a group and a port, as 239.2.3.1:6969");
        Failure::usage("udp.invalid", text)
    };
    let address: SocketAddr = text.parse().map_err(|_| invalid("not an address with a port"))?;
    match address.ip().is_multicast() && address.port() != 0 {
        true => Ok(address),
        false => Err(invalid("not a multicast group")),
    }
}

pub(super) fn bridge(args: &UdpArgs, output: &Output) -> Result<Exit, Failure> {
    let options = args.options()?;
    let metrics = args.metrics.open(output)?;
    let mut group = args.member.join(&args.net, |_| {})?;
    let mut bridge = Bridge::open(&mut group, options.clone())?;
    bridge.subscribe()?;
    interrupt::stop_on_interrupt(group.stopper());
    events::show_start(&group, "bridging", output);
    output.text(&format!("with {} under topic {}", options.plain, options.topic));
    let mut reporter = CrossingReporter::new(metrics);
    loop {
        match bridge.next_event(POLL) {
            Ok(event) => show(event, &options, output),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        reporter.look(|| ways(bridge.crossed().with_losses(bridge.losses())), output);
    }
    let crossed = bridge.crossed();
    drop(bridge);
    let losses = group.leave().losses;
    conclude(ways(crossed.with_losses(losses)), output)
}

fn ways(crossed: BridgeCounts) -> [CrossingWay; 2] {
    let BridgeCounts { to_group, to_plain } = crossed;
    let (group, plain) = ("the group", "the plain side");
    [CrossingWay::of(group, plain, to_plain), CrossingWay::of(plain, group, to_group)]
}

fn conclude(ways: [CrossingWay; 2], output: &Output) -> Result<Exit, Failure> {
    ways.iter().for_each(|way| output.text(&queue::shown(way)));
    if output.is_json() {
        output.event(&Line::bridge_result(Exit::Interrupted as u8, ways));
    }
    Ok(Exit::Interrupted)
}

fn show(event: BridgeEvent, options: &BridgeOptions, output: &Output) {
    match event {
        BridgeEvent::Group(GroupEvent::Sent { .. }) => {}
        BridgeEvent::Group(event) => {
            events::show(&event, output);
        }
        BridgeEvent::TooLong(bytes) => output.warn(
            "datagram.too_long",
            format!(
                "datagram ({bytes} bytes): is longer than may cross ({} bytes)",
                options.datagram_max
            ),
        ),
        BridgeEvent::NotSent(bytes, why) => output.warn(
            "datagram.unsent",
            format!("datagram ({bytes} bytes): could not be sent to {}: {why}", options.plain),
        ),
        BridgeEvent::NotPublished(why) => output.warn("datagram.unpublished", why.to_string()),
    }
}

//! `fanfare bridge nats`: between a group and NATS.

use std::sync::mpsc::RecvTimeoutError;

use clap::Args;
use fanfare_command::json::{Broker, CrossingWay, Line, ResultLine};
use fanfare_command::local::topics;
use fanfare_node::nats::{
    Bridge, BridgeEvent, BridgeOptions, NatsCounts, NatsError, Pattern, Refusal, StreamOptions,
    SubjectError, Subjects,
};
use fanfare_node::{group::GroupEvent, messaging::Filter};

use super::{
    metrics::MetricsArgs,
    nats_login::LoginArgs,
    queue::{self, CrossingReporter, QueueArgs},
    times::{POLL, Times},
};
use crate::{
    args::{
        group::MemberArgs,
        network::{GROUP, NetArgs},
    },
    group::events,
};
use fanfare_command::{Exit, Failure, Help, Output, OutputArgs, interrupt, units};

/// A stream takes messages of one id once within two minutes, unless it says otherwise, and a consumer's
/// name may have so many bytes before ours.
const DURABLE_MAX: usize = 200;

const HELP: Help = Help::new(&[
    ("fanfare bridge nats --nats nats://hq:4222 --topic 'convoy/#'", "both ways"),
    ("fanfare bridge nats --nats tls://hq --creds edge.creds --subject 'orders.>'", "login"),
])
.exits(&[
    (Exit::Failed, "TLS failed, or the group has ended"),
    (Exit::Permission, "NATS refused the login"),
    (Exit::Resource, "disk, memory or port missing on this machine"),
    (Exit::Nobody, "no NATS server answered"),
    (Exit::Interrupted, "stopped by Ctrl-C or SIGTERM"),
])
.environment(&[("FANFARE_NATS_PASSWORD", "password of --user"), ("FANFARE_NATS_TOKEN", "token")])
.files(&[
    ("--cache-dir DIR", "kept messages and the node's last ids; see docs/reference/node.md"),
    ("--creds FILE and others", "login and certificates; only their owner may read them"),
])
.values();

/// Connect a group with NATS, a message broker
///
/// Topic a/b is subject a.b, and + and # are * and >. Messages do not go back to where they came
/// from, not even by other bridges. If two bridges connect the same group and the same NATS, give
/// one of them --standby, or both the same --stream.
#[derive(Debug, Args)]
#[command(
    mut_arg("group", |group| group.default_value(GROUP)),
    mut_arg("unicast", |unicast| unicast.hide(true)),
    after_help = HELP.short(), after_long_help = HELP.long()
)]
pub(crate) struct NatsArgs {
    /// Topics to carry to NATS
    ///
    /// Without --subject also from there.
    #[arg(long = "topic", value_name = "PATTERN", required_unless_present = "subjects")]
    topics: Vec<String>,
    /// Subjects to carry from NATS
    ///
    /// Without --topic also to there.
    #[arg(long = "subject", value_name = "PATTERN")]
    subjects: Vec<String>,
    /// With only --topic or only --subject: carry nothing the other way
    #[arg(long, help_heading = "Subjects and streams", hide_short_help = true)]
    one_way: bool,
    /// Begin subjects with this, and a dot
    #[arg(
        long,
        value_name = "SUBJECT",
        help_heading = "Subjects and streams",
        hide_short_help = true
    )]
    prefix: Option<String>,
    /// Publish to this JetStream stream, and fetch from it
    ///
    /// The stream acknowledges each message.
    #[arg(long, value_name = "NAME", conflicts_with = "standby")]
    stream: Option<String>,
    /// Name of the stream's consumers; bridges of one name share the work [default: of --site]
    #[arg(
        long,
        value_name = "NAME",
        requires = "stream",
        help_heading = "Subjects and streams",
        hide_short_help = true
    )]
    durable: Option<String>,
    /// Name of this group in NATS; groups of one name take nothing from each other [default: its
    /// address]
    #[arg(
        long,
        value_name = "NAME",
        help_heading = "Subjects and streams",
        hide_short_help = true
    )]
    site: Option<String>,
    /// Name of this NATS in the group; all bridges to one NATS need the same
    #[arg(
        long,
        default_value = "nats",
        value_name = "NAME",
        help_heading = "Subjects and streams",
        hide_short_help = true
    )]
    system: String,
    /// Discard messages from NATS in the group after this time
    #[arg(
        long,
        default_value = "1h",
        value_name = "TIME",
        help_heading = "Subjects and streams",
        hide_short_help = true
    )]
    expiry: String,
    #[command(flatten)]
    queue: QueueArgs,
    #[command(flatten)]
    metrics: MetricsArgs,
    #[command(flatten)]
    times: Times,
    #[command(flatten)]
    login: LoginArgs,
    #[command(flatten)]
    member: MemberArgs,
    #[command(flatten)]
    net: NetArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

impl NatsArgs {
    /// The options, understood.
    fn options(&self) -> Result<BridgeOptions, Failure> {
        let subjects = Subjects::below(self.prefix.as_deref()).map_err(|e| subject_failure(&e))?;
        let (filters, patterns) = self.both_ways(&subjects)?;
        let site = match &self.site {
            Some(site) => name("site", site)?,
            None => self.net.group()?.group.to_string(),
        };
        let (window, standby) = self.times.read()?;
        Ok(BridgeOptions {
            login: self.login.login()?,
            subjects,
            filters,
            patterns,
            stream: self.stream_options(&site)?,
            site,
            system: name("system", &self.system)?,
            expiry: units::expiry(&self.expiry)?,
            window,
            standby,
            queue: self.queue.limit()?,
        })
    }

    /// What goes out, and what comes in.
    fn both_ways(&self, subjects: &Subjects) -> Result<(Vec<Filter>, Vec<Pattern>), Failure> {
        let filters = self.topics.iter().map(|text| topics::filter(text));
        let mut filters = filters.collect::<Result<Vec<_>, _>>()?;
        let patterns = self.subjects.iter().map(|text| Pattern::new(text));
        let mut patterns =
            patterns.collect::<Result<Vec<_>, _>>().map_err(|error| subject_failure(&error))?;
        if self.one_way && !filters.is_empty() && !patterns.is_empty() {
            let text = "one-way (with --topic and --subject): the one goes to NATS, the other comes \
                        from it. Leave one out";
            return Err(Failure::usage("subject.invalid", text));
        }
        if patterns.is_empty() && !self.one_way {
            patterns = filters.iter().flat_map(|filter| subjects.patterns(filter)).collect();
        } else if filters.is_empty() && !self.one_way {
            let counterpart = |pattern: &Pattern| {
                subjects.filter(pattern).ok_or_else(|| {
                    let text = format!(
                        "subject ({}): no topic has such subjects. Give --topic as well, or --one-way",
                        pattern.as_str()
                    );
                    Failure::usage("subject.invalid", text)
                })
            };
            filters = patterns.iter().map(counterpart).collect::<Result<_, _>>()?;
        }
        Ok((filters, patterns))
    }

    fn stream_options(&self, site: &str) -> Result<Option<StreamOptions>, Failure> {
        let Some(stream) = &self.stream else { return Ok(None) };
        let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let checked = |what: &str, text: &str| match text.chars().all(allowed)
            && !text.is_empty()
            && text.len() <= DURABLE_MAX
        {
            true => Ok(text.to_owned()),
            false => {
                let text = format!(
                    "{what} ({text:?}): is no name in JetStream. Use up to {DURABLE_MAX} letters, \
                     digits, - and _"
                );
                Err(Failure::usage("stream.invalid", text))
            }
        };
        let own = || {
            let site: String = site.chars().map(|c| if allowed(c) { c } else { '-' }).collect();
            format!("fanfare-{site}")
        };
        let durable = self.durable.clone().unwrap_or_else(own);
        let (name, durable) = (checked("stream", stream)?, checked("durable", &durable)?);
        Ok(Some(StreamOptions { name, durable }))
    }
}

/// Goes into a header.
fn name(what: &str, text: &str) -> Result<String, Failure> {
    if text.is_empty() || text.len() > DURABLE_MAX || text.chars().any(char::is_control) {
        let text = format!("{what} ({text:?}): is no name. Use up to {DURABLE_MAX} characters");
        return Err(Failure::usage("name.invalid", text));
    }
    Ok(text.to_owned())
}

fn subject_failure(error: &SubjectError) -> Failure {
    Failure::usage("subject.invalid", error.to_string())
}

fn nats_failure(error: &NatsError) -> Failure {
    let (exit, code) = match error {
        NatsError::Unreachable { .. } => (Exit::Nobody, "nats.unreachable"),
        NatsError::Denied { .. } => (Exit::Permission, "nats.denied"),
        NatsError::Tls { .. } => (Exit::Failed, "nats.tls"),
        NatsError::Creds(_) => (Exit::Usage, "nats.creds"),
        NatsError::NoStream(_) => (Exit::Usage, "stream.missing"),
        NatsError::NoJetStream(_) => (Exit::Failed, "stream.unavailable"),
        NatsError::Consumer { .. } => (Exit::Failed, "stream.consumer"),
        NatsError::System(_) => (Exit::Resource, "system"),
    };
    Failure::new(exit, code, error.to_string())
}

pub(super) fn bridge(args: &NatsArgs, output: &Output) -> Result<Exit, Failure> {
    let options = args.options()?;
    let servers = options.login.servers.to_string();
    let is_stream = options.stream.is_some();
    let metrics = args.metrics.open(output)?;
    let mut group = args.member.join(&args.net, |_| {})?;
    let mut bridge = Bridge::open(&mut group, options).map_err(|error| nats_failure(&error))?;
    bridge.subscribe()?;
    interrupt::stop_on_interrupt(group.stopper());
    events::show_start(&group, "bridging", output);
    let mut reporter = CrossingReporter::new(metrics);
    let ended = loop {
        match bridge.next_event(POLL) {
            Ok(BridgeEvent::Ended(error)) => break Some(error),
            Ok(event) => show(event, &servers, is_stream, output),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break None,
        }
        reporter.look(|| ways(bridge.crossed().with_losses(bridge.losses())), output);
    };
    let exit = match ended {
        Some(error) => {
            let failure = nats_failure(&error);
            output.failure(&failure);
            failure.exit
        }
        None => Exit::Interrupted,
    };
    let crossed = bridge.close();
    let crossed = crossed.with_losses(group.leave().losses);
    conclude(crossed, exit, output);
    Ok(exit)
}

fn ways(crossed: NatsCounts) -> [CrossingWay; 2] {
    let (group, nats) = ("the group", "NATS");
    [CrossingWay::of(group, nats, crossed.to_nats), CrossingWay::of(nats, group, crossed.to_group)]
}

fn conclude(crossed: NatsCounts, exit: Exit, output: &Output) {
    ways(crossed).iter().for_each(|way| output.text(&queue::shown(way)));
    if output.is_json() {
        output.event(&result_line(exit as u8, crossed));
    }
}

fn result_line(exit: u8, crossed: NatsCounts) -> Line {
    let NatsCounts { to_group, to_nats, acknowledged, retried, reconnects } = crossed;
    let ways = ways(crossed);
    Line::Result(Box::new(ResultLine::Nats {
        ok: exit == 0,
        exit,
        to_group: to_group.carried,
        to_nats: to_nats.carried,
        acknowledged,
        retried,
        duplicates: to_group.duplicates + to_nats.duplicates,
        dropped: ways.iter().map(CrossingWay::lost).sum(),
        expired: to_group.expired + to_nats.expired,
        waiting: to_nats.waiting,
        reconnects,
        ways: ways.into(),
    }))
}

fn show(event: BridgeEvent, servers: &str, is_stream: bool, output: &Output) {
    match event {
        BridgeEvent::Group(GroupEvent::Sent { .. }) => {}
        BridgeEvent::Group(event) => {
            events::show(&event, output);
        }
        BridgeEvent::Connected(there) => {
            let (state, text) = match there {
                true => ("connected", "is there"),
                false if is_stream => ("lost", "does not answer; messages wait for it"),
                false => (
                    "lost",
                    "does not answer; messages wait for it. What is published there now does not come",
                ),
            };
            output.text(&format!("nats ({servers}): {text}"));
            let (servers, state) = (servers.to_owned(), state.to_owned());
            output.event(&Line::Broker(Broker { servers, state }));
        }
        BridgeEvent::Dropped(refusal) => {
            let code = match &refusal {
                Refusal::TooLong(..) => "message.too_long",
                Refusal::NoTopic(_) => "subject.unmapped",
                Refusal::Group(_) => "message.unpublished",
                Refusal::Nats(..) => "message.unsent",
            };
            output.warn(code, refusal.to_string());
        }
        BridgeEvent::Trouble(what) => {
            output.warn("nats.refused", format!("nats ({servers}): {what}"));
        }
        BridgeEvent::Ended(error) => output.warn("nats.ended", error.to_string()),
    }
}

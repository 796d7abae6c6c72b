//! `fanfare bridge nats`: between a group and NATS.

use std::sync::mpsc::RecvTimeoutError;

use clap::Args;
use fanfare_nats::{
    Bridge, BridgeEvent, BridgeOptions, Crossed, NatsError, Pattern, Refusal, StreamOptions,
    SubjectError, Subjects,
};
use fanfare_node::{group::GroupEvent, messaging::Filter};

use super::{
    nats_login::LoginArgs,
    times::{POLL, Times},
};
use crate::{
    args::{
        group::{MemberArgs, NOTATION},
        network::{GROUP, NetArgs},
    },
    group::{events, topics},
    json::{Broker, Line},
};
use fanfare_command::{Exit, Failure, Output, OutputArgs, interrupt, units};

/// A stream takes messages of one id once within two minutes, unless it says otherwise, and a consumer's
/// name may have so many bytes before ours.
const DURABLE_MAX: usize = 200;

/// Between a group and NATS: a broker where there is a network, Fanfare where there is a radio
///
/// Topic a/b is subject a.b, and + and # are * and >. What comes from one side does not go back there,
/// also not by other bridges. Where two bridges join the same group and the same NATS, give one of
/// them --standby, or both the same --stream.
#[derive(Debug, Args)]
#[command(
    mut_arg("group", |group| group.default_value(GROUP)),
    mut_arg("unicast", |unicast| unicast.hide(true)),
    after_long_help = NOTATION
)]
pub(crate) struct NatsArgs {
    /// Topics that go to NATS; without --subject their subjects come from there, too
    #[arg(long = "topic", value_name = "PATTERN", required_unless_present = "subjects")]
    topics: Vec<String>,
    /// Subjects that come from NATS; without --topic their topics go there, too
    #[arg(long = "subject", value_name = "PATTERN")]
    subjects: Vec<String>,
    /// With only --topic or only --subject: nothing the other way
    #[arg(long)]
    one_way: bool,
    /// Subjects of topics begin so, with a dot behind
    #[arg(long, value_name = "SUBJECT")]
    prefix: Option<String>,
    /// Publish to this stream of JetStream, which acknowledges, and fetch from it
    #[arg(long, value_name = "NAME", conflicts_with = "standby")]
    stream: Option<String>,
    /// Name of the stream's consumers; bridges of one name share what it hands out [default: of --site]
    #[arg(long, value_name = "NAME", requires = "stream")]
    durable: Option<String>,
    /// Name of this group in NATS: groups of one name take nothing from each other [default: its address]
    #[arg(long, value_name = "NAME")]
    site: Option<String>,
    /// Name of this NATS in the group; bridges to one NATS must agree
    #[arg(long, default_value = "nats", value_name = "NAME")]
    system: String,
    /// After so long nobody in the group is given what came from NATS any more
    #[arg(long, default_value = "1h", value_name = "TIME")]
    expiry: String,
    /// Messages that may wait for NATS; then the oldest give way
    #[arg(long, default_value = "10000", value_name = "N")]
    queue: usize,
    /// Bytes that may wait for NATS
    #[arg(long, default_value = "64MiB", value_name = "SIZE")]
    queue_bytes: String,
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
        let queue_bytes = units::bytes("queue bytes", &self.queue_bytes)?;
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
            queue: (self.queue, usize::try_from(queue_bytes).unwrap_or(usize::MAX)),
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
    let mut group = args.member.join(&args.net, |_| {})?;
    let mut bridge = Bridge::open(&mut group, options).map_err(|error| nats_failure(&error))?;
    bridge.subscribe()?;
    interrupt::stop_on_interrupt(group.stopper());
    events::show_start(&group, "bridging", output);
    let ended = loop {
        match bridge.next_event(POLL) {
            Ok(BridgeEvent::Ended(error)) => break Some(error),
            Ok(event) => show(event, &servers, output),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break None,
        }
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
    drop(group);
    conclude(crossed, exit, output);
    Ok(exit)
}

fn conclude(crossed: Crossed, exit: Exit, output: &Output) {
    output.text(&format!(
        "{} messages to the group, {} to NATS, {} wait for it; {} duplicates, {} dropped, {} expired",
        crossed.to_group,
        crossed.to_nats,
        crossed.waiting,
        crossed.duplicates,
        crossed.dropped,
        crossed.expired
    ));
    if output.is_json() {
        output.event(&Line::nats_result(exit as u8, crossed));
    }
}

fn show(event: BridgeEvent, servers: &str, output: &Output) {
    match event {
        BridgeEvent::Group(GroupEvent::Sent { .. }) => {}
        BridgeEvent::Group(event) => {
            events::show(&event, output);
        }
        BridgeEvent::Connected(there) => {
            let (state, text) = match there {
                true => ("connected", "is there"),
                false => ("lost", "does not answer; messages wait for it"),
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

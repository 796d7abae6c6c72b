//! `fanfare sub`.
//!
//! Here: its options; `taking`: messages as they come.

mod taking;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use clap::{Args, ValueEnum};
use fanfare_node::{
    group::Message,
    messaging::{History, Ordering, Subscription, description::PRIORITY_MAX},
};

use crate::{
    group_args::{self, GROUP, MemberArgs, NOTATION},
    json::{MessageLine, hex, tag_text},
    local::{Request, client::Client},
    net_args::NetArgs,
};
use fanfare_command::{Exit, Failure, Output, OutputArgs, interrupt, units};
use taking::Taking;

/// Subscribe to topics of a group
///
/// Shows each message as a line, TOPIC CONTENT. While it runs it keeps what it hears, also what does not
/// match, and repairs it for others.
#[derive(Debug, Args)]
#[command(
    mut_arg("group", |group| group.default_value(GROUP)),
    mut_arg("unicast", |unicast| unicast.hide(true)),
    mut_arg("quiet", |quiet| quiet.help("Print nothing but messages and errors")),
    after_long_help = NOTATION
)]
pub(crate) struct SubArgs {
    /// Topics: '+' stands for one level, '#' for the rest, so 'convoy/+/position', 'convoy/#', or '#'
    /// for all
    #[arg(required = true, value_name = "PATTERN")]
    patterns: Vec<String>,
    /// Write each message to a file below this directory: TOPIC/PUBLISHER-INSTANCE-NUMBER
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Create DIR
    #[arg(long, requires = "out")]
    create_dirs: bool,
    /// In which order: as they come, each publisher's as published, the same of each topic, or only
    /// the latest of each publisher and topic
    #[arg(long, value_enum, default_value = "arrival")]
    order: Order,
    /// Do not ask for what is lost: take what comes
    #[arg(long)]
    unreliable: bool,
    /// Give up a message that has not come whole so long after it was first heard of
    #[arg(long, value_name = "TIME")]
    deadline: Option<String>,
    /// Only messages of at least this priority, 0 to 10
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = clap::value_parser!(u8).range(..=i64::from(PRIORITY_MAX)))]
    priority: u8,
    /// Which earlier messages are wanted: so many of each publisher (10), those of a time (10m), 'none',
    /// or 'all' that anybody still has
    #[arg(long, default_value = "all", value_name = "N|TIME")]
    history: String,
    /// Ask the 'fanfare node' on this machine whose --socket this is, instead of taking part
    #[arg(long, value_name = "SOCKET", conflicts_with_all = ["group", "cache_dir"])]
    via: Option<PathBuf>,
    /// Which group of that node, by its name in the node's file [default: its first]
    #[arg(long, value_name = "NAME", requires = "via")]
    via_group: Option<String>,
    /// End after so many messages
    #[arg(long, value_name = "N")]
    count: Option<u64>,
    /// End when nothing has come for so long
    #[arg(long, value_name = "TIME")]
    timeout: Option<String>,
    #[command(flatten)]
    member: MemberArgs,
    #[command(flatten)]
    net: NetArgs,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Order {
    Arrival,
    Source,
    Topic,
    Latest,
}

/// What a client of a node asks for, and the filter as it wrote it.
pub(crate) fn subscription_of(request: Request) -> Result<(String, Subscription), Failure> {
    let Request::Subscribe { filter, order, history, priority, deadline_ms, unreliable, .. } =
        request
    else {
        let text = "request (another): is no subscription. Write \"do\":\"subscribe\"";
        return Err(Failure::usage("request.invalid", text));
    };
    let order = order.unwrap_or_else(|| "arrival".to_owned());
    let ordering = Order::from_str(&order, false).map_err(|_| {
        let text =
            format!("order ({order}): not known. Use one of: arrival, source, topic, latest");
        Failure::usage("request.invalid", text)
    })?;
    let subscription = Subscription {
        reliable: !unreliable,
        ordering: ordering.into(),
        deadline: deadline_ms.map(Duration::from_millis),
        priority_min: group_args::priority(priority.unwrap_or(0))?,
        history: self::history(history.as_deref().unwrap_or("all"))?,
        ..Subscription::new(group_args::filter(&filter)?)
    };
    Ok((filter, subscription))
}

impl From<Order> for Ordering {
    fn from(order: Order) -> Self {
        match order {
            Order::Arrival => Self::Arrival,
            Order::Source => Self::Source,
            Order::Topic => Self::SourceTopic,
            Order::Latest => Self::Latest,
        }
    }
}

pub(crate) fn run(args: &SubArgs) -> Exit {
    let output = Output::new(args.output);
    match subscribe(args, &output) {
        Ok(exit) => exit,
        Err(failure) => fanfare_command::give_up(&output, &failure),
    }
}

impl SubArgs {
    fn subscriptions(&self) -> Result<Vec<Subscription>, Failure> {
        let deadline = self.deadline.as_deref().map(|text| units::time("deadline", text));
        let plain = Subscription {
            reliable: !self.unreliable,
            ordering: self.order.into(),
            deadline: deadline.transpose()?,
            priority_min: self.priority,
            history: history(&self.history)?,
            ..Subscription::new(group_args::filter("#")?)
        };
        let all = self.patterns.iter();
        all.map(|text| Ok(Subscription { filter: group_args::filter(text)?, ..plain.clone() }))
            .collect()
    }
}

impl SubArgs {
    fn taking<'a>(&self, output: &'a Output) -> Result<Taking<'a>, Failure> {
        let time = |text: &String| Ok((text.clone(), units::time("timeout", text)?));
        let timeout: Option<Result<_, Failure>> = self.timeout.as_ref().map(time);
        let mut taking = Taking::new(output, (self.count, timeout.transpose()?));
        if let Some(path) = &self.out {
            taking.write_into(path, self.create_dirs)?;
        }
        Ok(taking)
    }

    fn subscribe_via(&self, path: &Path, mut taking: Taking<'_>) -> Result<Exit, Failure> {
        let mut client = Client::connect(path)?;
        interrupt::call_on_interrupt(client.closer());
        for filter in &self.patterns {
            let millis = |text| units::time("deadline", text).map(|time| time.as_millis() as u64);
            let request = Request::Subscribe {
                filter: filter.clone(),
                order: self.order.to_possible_value().map(|value| value.get_name().to_owned()),
                history: Some(self.history.clone()),
                priority: Some(self.priority),
                deadline_ms: self.deadline.as_deref().map(millis).transpose()?,
                unreliable: self.unreliable,
                raw: self.out.is_some(),
                within: self.via_group.clone(),
            };
            taking.show_subscribed(&client.ask(&request)?);
        }
        let end = taking.take_via(&mut client);
        Ok(taking.conclude(end, None))
    }
}

fn history(text: &str) -> Result<History, Failure> {
    // A number alone counts messages; a time has its unit.
    let time =
        || units::time("history", text).ok().filter(|_| text.ends_with(['s', 'm', 'h', 'd']));
    match (text, text.parse()) {
        ("all", _) => Ok(History::All),
        ("none", _) => Ok(History::Last(0)),
        (_, Ok(count)) => Ok(History::Last(count)),
        _ => time().map(History::Since).ok_or_else(|| {
            let text = format!(
                "history ({text}): not a number up to 65535, a time such as 10m, 'none' or 'all'. \
                 Give one of them"
            );
            Failure::usage("history.invalid", text)
        }),
    }
}

fn subscribe(args: &SubArgs, output: &Output) -> Result<Exit, Failure> {
    let subscriptions = args.subscriptions()?;
    let mut taking = args.taking(output)?;
    if let Some(path) = &args.via {
        return args.subscribe_via(path, taking);
    }
    let group = args.member.join(&args.net, |options| options.publishes = false)?;
    interrupt::stop_on_interrupt(group.stopper());
    // They come to one place, and share the room there.
    let gate = group.gate();
    for subscription in subscriptions {
        group.subscribe_through(subscription, &gate)?;
    }
    group_args::show_start(&group, "listening to", output);
    let end = taking.take(&group);
    let report = group.leave();
    Ok(taking.conclude(end, Some(&report)))
}

/// A message as JSON, with its content up to `max` bytes, unless that is in the file at `path`.
pub(crate) fn message_line(message: &Message, max: u64, path: Option<String>) -> MessageLine {
    let mut content = Vec::new();
    let shown = path.is_none() && message.body.len() <= max;
    // A file of ours that cannot be read back: then it is shown without its content.
    let shown = shown && message.body.copy_to(&mut content).is_ok();
    let content = String::from_utf8(content).map_err(|error| hex(error.as_bytes()));
    let (text, hex) = match content {
        Ok(text) => (Some(text), None),
        Err(hex) => (None, Some(hex)),
    };
    let options = &message.description.options;
    let identity = message.description.identity(message.key);
    MessageLine {
        topic: message.description.topic.as_str().to_owned(),
        publisher: identity.node.0,
        instance: Some(identity.instance.0),
        number: identity.number,
        gateway: options.origin.map(|_| message.key.sender.0),
        hops: options.origin.map(|origin| origin.hops),
        size: message.body.len(),
        priority: options.priority,
        tag: options.tag,
        tag_text: options.tag.and_then(tag_text),
        text: text.filter(|_| shown),
        hex: hex.filter(|_| shown),
        path,
        bytes: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_is_a_number_of_messages_or_a_time_with_its_unit() {
        let read = |text| history(text).ok();
        assert_eq!(read("10"), Some(History::Last(10)));
        assert_eq!(read("none"), Some(History::Last(0)));
        assert_eq!(read("all"), Some(History::All));
        for (text, seconds) in [("10s", 10), ("10m", 600), ("1.5h", 5400), ("10d", 864_000)] {
            assert_eq!(read(text), Some(History::Since(Duration::from_secs(seconds))), "{text}");
        }
        for text in ["", "-1", "65536", "1.5", "10w", "-10m", "m", "some"] {
            let failure = history(text).expect_err(text);
            assert!(failure.text.contains("a time such as 10m"), "{failure}");
        }
    }
}

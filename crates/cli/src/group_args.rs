//! What `pub`, `sub` and `node` have in common: the group and its limits.

use std::path::PathBuf;

use clap::Args;
use fanfare_node::{
    NodeBuilder,
    group::{BodyError, Gap, Group, GroupError, GroupEvent, GroupOptions, TooLong},
    messaging::{Filter, Topic, TopicError, description::PRIORITY_MAX},
    proto::{NodeId, ObjectKey, SenderConfig, StorageError},
};

use crate::{
    exit::{Exit, Failure, id_taken, rejoined},
    json::{Dropped, Line, Lost, Member, Start},
    net_args::NetArgs,
    progress::Output,
    units,
};

/// Groups for messages by default: next to those for files, which would take messages for files.
pub(crate) const GROUP: &str = "239.255.42.2:6004";

/// Options of a member of a group.
#[derive(Debug, Args)]
#[command(next_help_heading = "Group")]
pub(crate) struct MemberArgs {
    /// Most that is sent, bits per second
    #[arg(long, default_value = "10M", value_name = "RATE")]
    rate: String,
    /// Most of it for repairing what others have published
    #[arg(long, default_value = "250k", value_name = "RATE")]
    repair_rate: String,
    /// Others' messages kept for repair, bytes
    #[arg(long, default_value = "64MiB", value_name = "SIZE")]
    cache: String,
    /// How long they are kept
    #[arg(long, default_value = "1h", value_name = "TIME")]
    keep: String,
    /// Keep messages, this node's id and its numbers in this directory, over restarts and crashes
    #[arg(long, value_name = "DIR")]
    cache_dir: Option<PathBuf>,
    /// Longest message, bytes
    #[arg(long, default_value = "1GiB", value_name = "SIZE")]
    message_max: String,
}

impl MemberArgs {
    /// Longest message.
    pub(crate) fn message_max(&self) -> Result<u64, Failure> {
        units::bytes("message max", &self.message_max)
    }

    /// What of others' messages, and of own ones beyond the last thousand, is kept.
    pub(crate) fn cache_bytes(&self) -> Result<u64, Failure> {
        units::bytes("cache", &self.cache)
    }

    /// Whether it outlives the process.
    pub(crate) fn is_durable(&self) -> bool {
        self.cache_dir.is_some()
    }

    /// Where.
    pub(crate) fn cache_dir(&self) -> Option<&PathBuf> {
        self.cache_dir.as_ref()
    }

    /// Makes a member.
    pub(crate) fn join(
        &self,
        net: &NetArgs,
        alter: impl FnOnce(&mut GroupOptions),
    ) -> Result<Group, Failure> {
        let (builder, mut options) = self.plan(net)?;
        alter(&mut options);
        Ok(builder.join(options)?)
    }

    /// The options, understood.
    pub(crate) fn plan(&self, net: &NetArgs) -> Result<(NodeBuilder, GroupOptions), Failure> {
        let mut options =
            GroupOptions { message_max: self.message_max()?, ..GroupOptions::default() };
        options.config.repair_rate = units::rate_of("repair rate", &self.repair_rate)?;
        options.config.cache_bytes = self.cache_bytes()?;
        options.config.cache_age = units::time("keep", &self.keep)?;
        options.cache_dir.clone_from(&self.cache_dir);
        let sender = SenderConfig { rate: units::rate(&self.rate)?, ..SenderConfig::default() };
        Ok((net.builder()?.sender_config(sender), options))
    }
}

/// A topic, or why it is none.
pub(crate) fn topic(text: &str) -> Result<Topic, Failure> {
    Topic::new(text).map_err(|error| topic_failure(&error))
}

/// A filter, or why it is none.
pub(crate) fn filter(text: &str) -> Result<Filter, Failure> {
    Filter::new(text).map_err(|error| topic_failure(&error))
}

/// A priority, or why it is none.
pub(crate) fn priority(number: u8) -> Result<u8, Failure> {
    if number <= PRIORITY_MAX {
        return Ok(number);
    }
    let text = format!("priority ({number}): is above {PRIORITY_MAX}. Give 0 to {PRIORITY_MAX}");
    Err(Failure::usage("priority.invalid", text))
}

fn topic_failure(error: &TopicError) -> Failure {
    Failure::usage("topic.invalid", error.to_string())
}

impl From<GroupError> for Failure {
    fn from(error: GroupError) -> Self {
        let code = match &error {
            GroupError::Publish(_) => "message.refused",
            GroupError::TooLarge { .. } => "message.too_large",
            GroupError::NotDurable(_) | GroupError::Cache(..) => {
                return Self::new(Exit::Resource, "cache.unwritten", error.to_string());
            }
            GroupError::Ended => return Self::new(Exit::Failed, "group.ended", error.to_string()),
        };
        Self::usage(code, error.to_string())
    }
}

impl From<BodyError> for Failure {
    fn from(error: BodyError) -> Self {
        let text = error.to_string();
        match error {
            BodyError::TooLarge { .. } => Self::usage("message.too_large", text),
            BodyError::Unreadable(_) => Self::usage("message.unreadable", text),
            BodyError::Spool(_) => Self::new(Exit::Resource, "message.spool", text),
        }
    }
}

/// Says where it is.
pub(crate) fn show_start(group: &Group, what: &str, output: &Output) {
    output.event(&Line::Start(Start {
        group: group.address().to_string(),
        node_id: group.id().0,
        interface: group.interface().map(|interface| interface.name.clone()),
        objects: None,
        bytes: None,
        dir: None,
    }));
    let on = group.interface().map_or_else(String::new, |i| format!(" on {}", i.name));
    output.text(&format!("{what} {}{on} as {}", group.address(), group.id()));
}

/// What concerns everybody in a group; false for what does not.
pub(crate) fn show(event: &GroupEvent, output: &Output) -> bool {
    let member = |node: &NodeId, state: &str| {
        output.event(&Line::Member(Member { id: node.0, state: state.to_owned() }));
    };
    match event {
        GroupEvent::Joined { node } => member(node, "joined"),
        GroupEvent::Left { node } => member(node, "left"),
        GroupEvent::HearsUs { node, hears: true } => member(node, "hears-us"),
        GroupEvent::HearsUs { node, hears: false } => member(node, "deaf-to-us"),
        GroupEvent::Lost { key, reason, too_long } => {
            show_lost(*key, *reason, too_long.as_ref(), output);
        }
        GroupEvent::Dropped(gap) => show_gap(gap, output),
        GroupEvent::NotDurable { why } => output.warn(
            "cache.unwritten",
            format!("cache directory: {why}; what comes now would not outlive a restart"),
        ),
        GroupEvent::Damaged { messages, aside } => {
            let aside = aside.as_ref().map_or_else(String::new, |path| {
                format!("; its database could not be read and is now {}", path.display())
            });
            output.warn(
                "cache.damaged",
                format!("cache directory: {messages} messages are damaged and gone{aside}"),
            );
        }
        GroupEvent::NodeIdTaken { id, own, other } => {
            output.warn("node_id.taken", id_taken(*id, *own, *other, None));
        }
        GroupEvent::Overrun { lost } => output.warn("overrun", format!("{lost} events were lost")),
        GroupEvent::SendRefused { why } => {
            output.warn("send.refused", format!("the system refuses to send: {why}"));
        }
        GroupEvent::ReceiveFailed { why } => {
            output.warn("receive.failed", format!("nothing can be received: {why}"));
        }
        GroupEvent::Rejoined { interface } => output.warn("interface.back", rejoined(interface)),
        GroupEvent::Message(_) | GroupEvent::Sent { .. } => return false,
    }
    true
}

/// A message that could not be kept, and what helps.
fn show_lost(key: ObjectKey, reason: StorageError, too_long: Option<&TooLong>, output: &Output) {
    let reason = match reason {
        StorageError::Refused => "refused",
        StorageError::Full => "disk-full",
        StorageError::Failed => "disk-error",
    };
    output.text(&match too_long {
        Some(TooLong { topic, size, max }) => {
            let topic = topic.as_ref().map_or("its topic was not heard", |topic| topic.as_str());
            format!(
                "warning: a message of {} ({topic}; {size} bytes) is longer than messages may be here \
                 ({max} bytes), and is not kept. Raise --message-max",
                key.sender
            )
        }
        None => format!("warning: a message of {} could not be kept: {reason}", key.sender),
    });
    output.event(&Line::Lost(Lost {
        publisher: key.sender.0,
        id: key.object.0,
        reason: reason.to_owned(),
        topic: too_long.and_then(|known| Some(known.topic.as_ref()?.as_str().to_owned())),
        size: too_long.map(|known| known.size),
        max: too_long.map(|known| known.max),
    }));
}

/// Messages that were to come, and were gone before there was time for them.
fn show_gap(gap: &Gap, output: &Output) {
    show_dropped(&Dropped { subscription: gap.subscription.0, messages: gap.messages }, output);
}

/// The same of a subscription at a node.
pub(crate) fn show_dropped(line: &Dropped, output: &Output) {
    output.text(&format!(
        "warning: {} messages were gone from the cache before they could be taken. Take them quicker, or \
         raise --cache and --keep",
        line.messages
    ));
    output.event(&Line::Dropped(line.clone()));
}

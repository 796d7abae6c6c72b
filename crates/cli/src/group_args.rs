//! What `pub`, `sub` and `node` have in common: the group and its limits.

use std::{io, path::PathBuf};

use clap::Args;
use fanfare_node::{
    Network,
    group::{BodyError, Damage, Gap, Group, GroupError, GroupEvent, GroupOptions, TooLong},
    messaging::{Filter, Topic, TopicError, description::PRIORITY_MAX},
    proto::{ObjectKey, SenderConfig, StorageError},
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

/// How values are written, at the end of the help.
pub(crate) const NOTATION: &str = "RATE is in bits per second, such as 64k, 10M or 1G; SIZE in bytes, such as 1400, 64KiB or 1GiB; TIME \
     such as 500ms, 30s, 2m, 1h or 7d.";

/// Options of a member of a group.
#[derive(Debug, Args)]
#[command(next_help_heading = "Group")]
pub(crate) struct MemberArgs {
    /// Most that this node sends, of its own and of others' messages together
    #[arg(long, default_value = "10M", value_name = "RATE", allow_hyphen_values = true)]
    rate: String,
    /// Most of that with which it repairs what others have published
    #[arg(long, default_value = "250k", value_name = "RATE", allow_hyphen_values = true)]
    repair_rate: String,
    /// How much of others' messages it keeps, to repair it for who has lost it
    #[arg(long, default_value = "64MiB", value_name = "SIZE")]
    cache: String,
    /// How long it keeps them
    #[arg(long, default_value = "1h", value_name = "TIME")]
    keep: String,
    /// Keep them in this directory, with own messages and this node's id, over restarts and crashes
    /// [default: in memory]
    #[arg(long, value_name = "DIR")]
    cache_dir: Option<PathBuf>,
    /// Longest message that is published, or taken from others
    #[arg(long, default_value = "1GiB", value_name = "SIZE")]
    message_max: String,
    /// Bytes of a message that one packet carries [default: 1400, less where the interface's packets are
    /// shorter]
    #[arg(long, value_name = "BYTES")]
    segment: Option<String>,
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
    pub(crate) fn plan(&self, net: &NetArgs) -> Result<(Network, GroupOptions), Failure> {
        let mut options =
            GroupOptions { message_max: self.message_max()?, ..GroupOptions::default() };
        options.config.repair_rate = units::rate_of("repair rate", &self.repair_rate)?;
        options.config.cache_bytes = self.cache_bytes()?;
        options.config.cache_age = units::time("keep", &self.keep)?;
        options.cache_dir.clone_from(&self.cache_dir);
        let mut sender = SenderConfig { rate: units::rate(&self.rate)?, ..SenderConfig::default() };
        net.require_multicast()?;
        let mut builder = net.builder()?;
        match self.segment.as_deref().map(units::segment).transpose()? {
            Some(given) => sender.segment_size = given,
            None => builder = builder.shorten_segment(),
        }
        Ok((builder.sender_config(sender), options))
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
            GroupError::NotDurable(why) => return unwritten(why),
            GroupError::Cache(io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded, _) => {
                return unwritten("the disk is full");
            }
            GroupError::Cache(_, why) => return unwritten(why),
            GroupError::Ended => {
                let text = "group (left): this member has ended. Start it again";
                return Self::new(Exit::Failed, "group.ended", text);
            }
        };
        Self::usage(code, error.to_string())
    }
}

fn unwritten(why: &str) -> Failure {
    let text = format!(
        "cache ({why}): the message could not be written to the cache directory, and was not published. \
         Make room there, and publish it again"
    );
    Failure::new(Exit::Resource, "cache.unwritten", text)
}

impl From<BodyError> for Failure {
    fn from(error: BodyError) -> Self {
        match error {
            BodyError::TooLarge { .. } => Self::usage("message.too_large", error.to_string()),
            BodyError::Unreadable(why) => {
                let text = format!("message ({why}): cannot be read. Give another file");
                Self::usage("message.unreadable", text)
            }
            BodyError::Spool(why) => {
                let text = format!(
                    "message ({why}): cannot be kept in the directory for temporary files. Make room \
                     there, or set TMPDIR"
                );
                Self::new(Exit::Resource, "message.spool", text)
            }
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

/// What an event says of another member.
pub(crate) fn member(event: &GroupEvent) -> Option<Member> {
    let (node, state) = match event {
        GroupEvent::Joined { node } => (node, "joined"),
        GroupEvent::Left { node } => (node, "left"),
        GroupEvent::HearsUs { node, hears: true } => (node, "hears-us"),
        GroupEvent::HearsUs { node, hears: false } => (node, "deaf-to-us"),
        _ => return None,
    };
    Some(Member { id: node.0, state: state.to_owned() })
}

/// What concerns everybody in a group; false for what does not.
pub(crate) fn show(event: &GroupEvent, output: &Output) -> bool {
    match event {
        GroupEvent::Joined { .. } | GroupEvent::Left { .. } | GroupEvent::HearsUs { .. } => {
            member(event).into_iter().for_each(|member| output.event(&Line::Member(member)));
        }
        GroupEvent::Lost { key, reason, too_long } => {
            show_lost(*key, *reason, too_long.as_ref(), output);
        }
        GroupEvent::Dropped(gap) => show_gap(gap, output),
        GroupEvent::NotDurable { why } => output.warn(
            "cache.unwritten",
            format!("cache directory: {why}; what comes now would not outlive a restart"),
        ),
        GroupEvent::Durable { unkept } => output.warn("cache.written", durable(*unkept)),
        GroupEvent::Damaged(damage) => output.warn("cache.damaged", damaged(damage)),
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

fn durable(unkept: u64) -> String {
    let meanwhile = match unkept {
        0 => String::new(),
        unkept => format!("; {unkept} messages that came meanwhile would not"),
    };
    format!("cache directory: what comes would outlive a restart again{meanwhile}")
}

/// What is gone, as far as it is known.
fn damaged(damage: &Damage) -> String {
    let Damage { database, aside, saved, lost, own, is_partial } = damage;
    let mut gone = Vec::new();
    if *lost > 0 || *own == 0 {
        gone.push(format!("{lost} messages of others"));
    }
    if *own > 0 {
        gone.push(format!("{own} of this node's own"));
    }
    let least = if *is_partial { "at least " } else { "" };
    let mut text = match database {
        Some(why) => format!("cache directory: its database is damaged ({why})"),
        None => String::from("cache directory: messages in it are damaged"),
    };
    text += &match lost + own {
        0 if *is_partial => String::from("; what is gone is not known"),
        _ => format!("; {least}{} are gone", gone.join(" and ")),
    };
    if let Some(aside) = aside {
        text += &format!(
            ", {saved} of others are saved; this node begins a new life, and the damaged database is now {}",
            aside.display()
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_gone_is_said_with_what_is_not_known() {
        let some = Damage { lost: 2, ..Damage::default() };
        let own = Damage { own: 1, ..Damage::default() };
        assert_eq!(
            [damaged(&some), damaged(&own)],
            [
                "cache directory: messages in it are damaged; 2 messages of others are gone",
                "cache directory: messages in it are damaged; 1 of this node's own are gone"
            ]
        );
        let all = Damage {
            database: Some("its checksums are wrong".into()),
            aside: Some("/c/messages.redb.broken-1".into()),
            saved: 999,
            lost: 1,
            own: 1,
            is_partial: true,
        };
        assert_eq!(
            damaged(&all),
            "cache directory: its database is damaged (its checksums are wrong); at least 1 messages of \
             others and 1 of this node's own are gone, 999 of others are saved; this node begins a new \
             life, and the damaged database is now /c/messages.redb.broken-1"
        );
    }
}

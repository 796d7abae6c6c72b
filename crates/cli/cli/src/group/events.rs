//! What members of a group are told of: joined, left, lost, dropped.

use fanfare_command::Output;
use fanfare_command::json::{Dropped, Line, Lost, Member, Start};
use fanfare_node::{
    group::{Damage, Gap, Group, GroupEvent, TooLong},
    proto::{ObjectKey, StorageError},
};

use crate::warnings::{id_taken, interface_awaited, interface_down, interface_up, rejoined, twin};

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
    if let Some(interface) = group.awaited() {
        return output.warn("interface.awaited", interface_awaited(interface));
    }
    let on = group.interface().map_or_else(String::new, |i| format!(" on {}", i.name));
    output.text(&format!("{what} {}{on} as {}", group.address(), group.id()));
}

/// What concerns everybody in a group; false for what does not.
pub(crate) fn show(event: &GroupEvent, output: &Output) -> bool {
    match event {
        GroupEvent::Joined { .. } | GroupEvent::Left { .. } | GroupEvent::HearsUs { .. } => {
            Member::of(event).into_iter().for_each(|member| output.event(&Line::Member(member)));
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
        GroupEvent::Twin { id, node } => output.warn("node_id.twin", twin(*id, *node)),
        GroupEvent::Overrun { lost } => output.warn("overrun", format!("{lost} events were lost")),
        GroupEvent::SendRefused { why } => {
            output.warn("send.refused", format!("the system refuses to send: {why}"));
        }
        GroupEvent::ReceiveFailed { why } => {
            output.warn("receive.failed", format!("nothing can be received: {why}"));
        }
        GroupEvent::Rejoined { interface } => output.warn("interface.back", rejoined(interface)),
        GroupEvent::InterfaceDown { interface } => {
            output.warn("interface.down", interface_down(interface));
        }
        GroupEvent::InterfaceUp { interface } => {
            output.warn("interface.up", interface_up(interface));
        }
        GroupEvent::Reach { code, text } | GroupEvent::NotOpened { code, text, .. } => {
            output.warn(code, text.clone());
        }
        GroupEvent::Message(_) | GroupEvent::Batch(_) | GroupEvent::Sent { .. } => return false,
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

//! Publishes a message to a group, and prints what others publish:
//! `cargo run --example publish_subscribe -- GROUP TOPIC TEXT`

#![allow(clippy::print_stderr, clippy::print_stdout)]

use std::{env, error::Error};

use fanfare::{
    Group, GroupEvent, GroupOptions, Network,
    groups::{Body, Filter, Options, Subscription, Topic, Watch},
};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    let [group, topic, text] = &args[..] else {
        return Err("usage: publish_subscribe GROUP TOPIC TEXT".into());
    };
    let member = join(group, "#")?;
    publish(&member, topic, text)?;
    while let Some((topic, text)) = next_message(&member) {
        println!("{topic}: {text}");
    }
    Ok(())
}

/// Takes part in a group, and asks for the messages on some topics: `#` stands for all of them.
pub(crate) fn join(group: &str, topics: &str) -> Result<Group, Box<dyn Error>> {
    let member = Network::new(group.parse()?).join(GroupOptions::default())?;
    member.subscribe(Subscription::new(Filter::new(topics)?))?;
    Ok(member)
}

/// Publishes a text.
pub(crate) fn publish(member: &Group, topic: &str, text: &str) -> Result<(), Box<dyn Error>> {
    let body = Body::new(text.as_bytes().to_vec());
    member.publish(Topic::new(topic)?, body, Options::default(), Watch::Nothing)?;
    Ok(())
}

/// Waits for the next message of another member; `None` when this member has ended.
pub(crate) fn next_message(member: &Group) -> Option<(String, String)> {
    member.events().find_map(|event| {
        let GroupEvent::Message(message) = event else { return None };
        let bytes = message.body.to_vec().ok()?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Some((message.description.topic.to_string(), text))
    })
}

//! Messages of a group, with their content.

use fanfare_node::group::Message;

use super::{
    hex::hex,
    messages::{MessageLine, tag_text},
};

/// A message as JSON, with its content up to `max` bytes, unless that is in the file at `path`.
pub fn message_line(message: &Message, max: u64, path: Option<String>) -> MessageLine {
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

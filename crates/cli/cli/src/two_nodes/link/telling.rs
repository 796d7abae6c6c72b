//! What happens to links, as it is told.

use std::{net::SocketAddr, sync::Arc};

use fanfare_command::Output;
use fanfare_link::{Link, Node};
use serde_json::{Value, json};

use crate::two_nodes::lines::{self, Line};

/// How all links of a node are.
pub(crate) fn links_status(node: &Node) -> Value {
    let links: Vec<Value> = node.links().iter().map(lines::status).collect();
    let early = node.early();
    let [clear, stranger, unknown, overrun] = node.dropped();
    json!({
        "event": "status",
        "links": links,
        "refused_handshakes": node.peers().refused(),
        "dropped": {
            "clear": clear, "stranger": stranger, "unknown": unknown, "overrun": overrun,
        },
        "early": { "asked": early.asked, "taken": early.taken, "refused": early.refused },
    })
}

/// Tells what happens to a link, until it ends.
pub(crate) fn follow(link: &Link, output: &Arc<Output>) {
    let (link, output) = (link.clone(), output.clone());
    let mut events = link.events();
    // What has happened before this was listening.
    if let Some(attached) = link.connections().borrow().as_ref() {
        let event = fanfare_link::Event::Connected {
            address: *attached.address.borrow(),
            resumed: attached.resumed,
            round_trip: attached.connection.rtt(),
        };
        output.event(&lines::of_link(link.name(), &event));
        output.text(&lines::link_text(link.name(), &event));
    }
    tokio::spawn(async move {
        use tokio::sync::broadcast::error::RecvError;
        loop {
            match events.recv().await {
                Ok(event) => {
                    output.event(&lines::of_link(link.name(), &event));
                    output.text(&lines::link_text(link.name(), &event));
                }
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return,
            }
        }
    });
}

pub(crate) fn tell_listening(output: &Output, what: &'static str, address: SocketAddr) {
    output.event(&Line::Listening { what, address });
    output.text(&format!("{what}: {address}"));
}

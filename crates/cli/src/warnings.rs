//! Warnings that more than one command gives.

use std::net::SocketAddr;

use fanfare_node::proto::NodeId;

/// What to say of an interface on which this node goes on, or begins.
pub(crate) fn rejoined(interface: &str) -> String {
    format!(
        "interface {interface} is there, or has another address: this node continues on {interface}"
    )
}

/// What to say of an interface that is down.
pub(crate) fn interface_down(interface: &str) -> String {
    format!("interface {interface} is down: nothing is sent or received until it is up again")
}

/// What to say of an interface that is up again.
pub(crate) fn interface_up(interface: &str) -> String {
    format!("interface {interface} is up again: this node continues on {interface}")
}

/// What to say of two nodes with one id.
pub(crate) fn id_taken(
    id: NodeId,
    own: SocketAddr,
    other: SocketAddr,
    new: Option<NodeId>,
) -> String {
    let so = match new {
        Some(new) => format!("this node is {} now", new.0),
        None => "give one of them another --node-id".to_owned(),
    };
    format!("node id {} is used by {own} (this node) and by {other}: {so}", id.0)
}

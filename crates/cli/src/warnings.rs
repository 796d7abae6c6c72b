//! Warnings that more than one command gives.

use std::net::SocketAddr;

use fanfare_node::proto::NodeId;

/// What to say of an interface that has come back.
pub(crate) fn rejoined(interface: &str) -> String {
    format!("interface {interface} had disappeared and is back: this node continues there")
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

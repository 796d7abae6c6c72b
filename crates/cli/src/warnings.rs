//! Warnings that more than one command gives.

use std::net::SocketAddr;

use fanfare_node::proto::NodeId;

/// What to say of an interface that has come back.
pub(crate) fn rejoined(interface: &str) -> String {
    format!("interface {interface} had gone and is there again: this node goes on there")
}

/// What to say of two nodes with one id.
pub(crate) fn id_taken(
    id: NodeId,
    own: SocketAddr,
    other: SocketAddr,
    new: Option<NodeId>,
) -> String {
    let so = match new {
        Some(new) => format!("this one is {} now", new.0),
        None => "give one of them another --node-id, or none".to_owned(),
    };
    format!("node id {} is borne by {own} (this node) and by {other}: {so}", id.0)
}

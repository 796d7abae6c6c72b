//! Warnings that more than one command gives.

use std::net::SocketAddr;

use fanfare_command::{Exit, Failure, Output};
use fanfare_files::TransferEvent;
use fanfare_node::proto::NodeId;

/// What concerns this end of a transfer, sender or receiver; nothing for other events.
pub(crate) fn of_transfer(event: &TransferEvent, output: &Output) {
    match event {
        TransferEvent::SendRefused { why } => {
            output.warn("send.refused", format!("the system refuses to send: {why}"));
        }
        TransferEvent::ReceiveFailed { why } => {
            output.warn("receive.failed", format!("nothing can be received: {why}"));
        }
        TransferEvent::Rejoined { interface } => {
            output.warn("interface.back", rejoined(interface));
        }
        TransferEvent::InterfaceDown { interface } => {
            output.warn("interface.down", interface_down(interface));
        }
        TransferEvent::InterfaceUp { interface } => {
            output.warn("interface.up", interface_up(interface));
        }
        TransferEvent::NodeIdTaken { id, own, other, new } => {
            output.warn("node_id.taken", id_taken(*id, *own, *other, *new));
        }
        TransferEvent::Reach { code, text } | TransferEvent::NotOpened { code, text, .. } => {
            output.warn(code, text.clone());
        }
        TransferEvent::Overrun { lost } => {
            output.warn("overrun", format!("{lost} events were lost"));
        }
        TransferEvent::Send(_)
        | TransferEvent::Receive(_)
        | TransferEvent::BufferOverrun { .. } => {}
    }
}

/// A mistake with keys that this node has seen in others' packets, or in its own.
#[derive(Debug, Default)]
pub(crate) struct KeyMistake(Option<(&'static str, String)>);

impl KeyMistake {
    /// Notes what the event says of keys.
    pub(crate) fn on_event(&mut self, event: &TransferEvent) {
        if let TransferEvent::NotOpened { code, text, mistake: true } = event {
            self.0 = Some((code, text.clone()));
        }
    }

    /// A receiver's key is not believed.
    pub(crate) fn on_refused_key(&mut self, receiver: &str, key: Option<&str>, revoked: bool) {
        let text = match (key, revoked) {
            (None, _) => {
                format!("receiver {receiver} did not sign its receipt. Check its identity file")
            }
            (Some(_), true) => format!(
                "the key of receiver {receiver} was revoked. Add its new key, or leave it out of --expect"
            ),
            (Some(key), false) => format!(
                "receiver {receiver} has signed with a key that is not in the list ({key}). Add it with \
                 'fanfare trust add' if it is right"
            ),
        };
        self.0 = Some(("trust.unknown_key", text));
    }

    /// What a sender has sent is not signed with the key that the user named.
    pub(crate) fn on_other_signer(&mut self, sender: String) {
        let text = format!(
            "what sender {sender} sent is not signed with the key of --from. Check that it sends with --sign, \
             and compare the key with 'fanfare id' there"
        );
        self.0 = Some(("sender.other_key", text));
    }

    /// Where it failed although packets came, keys were why.
    pub(crate) fn explain(self, failure: Option<Failure>) -> Option<Failure> {
        let failure = failure?;
        let unexplained = matches!(failure.exit, Exit::Nobody | Exit::Failed | Exit::Partial);
        Some(match self.0.filter(|_| unexplained) {
            Some((code, text)) => {
                Failure::new(Exit::Permission, code, format!("keys (of this group): {text}"))
            }
            None => failure,
        })
    }
}

/// What to say of an interface on which this node goes on, or begins.
pub(crate) fn rejoined(interface: &str) -> String {
    format!(
        "interface {interface} is there, or has another address: this node continues on {interface}"
    )
}

/// What to say of an interface that is not there yet.
pub(crate) fn interface_awaited(interface: &str) -> String {
    format!("interface {interface} is down or has no address: this node waits for it")
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

/// Warning about two nodes with one id and instance.
pub(crate) fn twin(id: NodeId, holder: NodeId) -> String {
    format!(
        "another node publishes with the numbers of this one (node id {}): node {} holds messages of \
         that one, and acknowledges none of this one. Start one of the two again",
        id.0, holder.0
    )
}

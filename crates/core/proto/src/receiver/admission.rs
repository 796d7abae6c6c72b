//! Decides which senders are heard at all, before anything is kept of them.

use crate::{
    context::Context, datagram::RecvMeta, event::Event, roll_call::RollCall, stats::DropReason,
};
use alloc::{collections::BTreeSet, vec::Vec};
use core::net::{IpAddr, SocketAddr};
use fanfare_wire::{Cmd, Message, NodeId};

/// Refused senders that are reported by name; the messages of others are only counted.
const REFUSED_MAX: usize = 64;

/// The senders that a receiver hears. A sender that fits either field is heard. With neither, nobody
/// is: roll calls are then reported, so that the driver can choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OnlyFrom {
    /// The sender with this node id.
    pub node: Option<NodeId>,
    /// Every sender at this address, whatever its port.
    pub address: Option<IpAddr>,
}

/// Admits senders, and reports those that it refuses.
#[derive(Debug, Default)]
pub(super) struct Admission {
    only: Option<OnlyFrom>,
    refused: BTreeSet<NodeId>,
}

impl Admission {
    pub(super) fn set(&mut self, only: Option<OnlyFrom>) {
        self.only = only;
    }

    /// Whether `node`, heard from `source`, is heard.
    pub(super) fn admits(&self, node: NodeId, source: SocketAddr) -> bool {
        self.only.is_none_or(|only| {
            only.node == Some(node) || only.address == Some(source.ip().to_canonical())
        })
    }

    /// Counts a message of a sender that is not heard, and reports the sender once.
    pub(super) fn refuse(
        &mut self,
        ctx: &mut Context<'_>,
        meta: &RecvMeta,
        (sender, message): (NodeId, &Message<'_>),
    ) {
        ctx.stats.drop(DropReason::NotAdmitted);
        let invitation = self.invitation(message);
        let new = self.refused.len() < REFUSED_MAX && self.refused.insert(sender);
        if new || invitation.is_some() {
            let source = meta.source;
            ctx.events.push(Event::SenderRefused { sender, source, invitation });
        }
    }

    /// What a roll call says, while it is not known who is to be heard.
    fn invitation(&self, message: &Message<'_>) -> Option<Vec<u8>> {
        let undecided = self.only == Some(OnlyFrom::default());
        match message {
            Message::Cmd(Cmd::Application(command)) if undecided => {
                RollCall::parse(command.content).map(|call| call.content.to_vec())
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admits(only: OnlyFrom, node: u32, last: u8) -> bool {
        let mut admission = Admission::default();
        admission.set(Some(only));
        admission.admits(NodeId(node), SocketAddr::from(([10, 0, 0, last], 4000)))
    }

    #[test]
    fn a_sender_is_heard_by_its_id_or_its_address() {
        let address = Some(IpAddr::from([10, 0, 0, 1]));
        let only = OnlyFrom { node: Some(NodeId(7)), address };
        assert!(admits(only, 7, 9) && admits(only, 8, 1) && !admits(only, 8, 9));
        assert!(!admits(OnlyFrom::default(), 7, 1), "nobody");
        assert!(Admission::default().admits(NodeId(7), SocketAddr::from(([10, 0, 0, 1], 1))));
    }
}

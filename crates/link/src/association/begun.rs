//! Messages that go over a connection before the other end has said that it accepts this one.
//!
//! QUIC's handshake has proved who the other end is. Whether it accepts this end's key it says later: when it
//! does not, it cannot read anything of what was sent. Until then nothing counts as delivered, and all of it
//! goes again over the next connection.

use std::sync::atomic::Ordering;

use quinn::Connection;
use tokio::task::JoinHandle;

use super::{Association, Attached, ENDED};
use crate::messages::carrier;

/// A connection that this end has dialled, and what sends messages over it.
#[derive(Debug)]
pub(super) struct Begun {
    connection: Connection,
    carrier: JoinHandle<()>,
}

impl Begun {
    fn is(&self, connection: &Connection) -> bool {
        self.connection.stable_id() == connection.stable_id()
    }
}

impl Association {
    /// Sends messages over this connection from now on, unless there is another one: over one that is
    /// only quiet they may still arrive.
    pub(crate) fn begin(&self, connection: &Connection) {
        self.begun.with(|begun| {
            if self.current.borrow().is_some() || self.ended.load(Ordering::Relaxed) {
                return;
            }
            let turn = self.mail.outbox.with(|outbox| outbox.on_begun());
            let carrier = carrier::send(self.mail.clone(), connection.clone(), turn);
            let carrier = tokio::spawn(carrier);
            *begun = Some(Begun { connection: connection.clone(), carrier });
        });
    }

    /// Whether messages go over a connection.
    pub(super) fn has_begun(&self) -> bool {
        self.begun.with(|begun| begun.is_some()) || self.current.borrow().is_some()
    }

    /// This connection does not come into use: what went over it waits again.
    pub(crate) fn abandon(&self, connection: &Connection) {
        self.begun.with(|begun| {
            if let Some(begun) = begun.take_if(|begun| begun.is(connection)) {
                begun.carrier.abort();
                self.mail.outbox.with(|outbox| outbox.on_connection_lost());
            }
        });
    }

    /// A connection comes into use: the one before it, and what sends messages over this one.
    pub(super) fn take_over(&self, attached: Attached) -> (Option<Attached>, JoinHandle<()>) {
        self.begun.with(|begun| {
            let connection = attached.connection.clone();
            let old = self.current.send_replace(Some(attached));
            let begun = match begun.take() {
                Some(begun) if begun.is(&connection) => {
                    self.mail.outbox.with(|outbox| outbox.on_accepted());
                    self.mail.outgoing.notify_one();
                    return (old, begun.carrier);
                }
                begun => begun,
            };
            // This one answered sooner than the one that was dialled.
            if let Some(begun) = begun {
                begun.carrier.abort();
            }
            let turn = self.mail.outbox.with(|outbox| outbox.on_connection_lost());
            (old, tokio::spawn(carrier::send(self.mail.clone(), connection, turn)))
        })
    }

    /// The application has ended the link.
    pub(crate) fn end_begun(&self) {
        if let Some(begun) = self.begun.with(Option::take) {
            begun.connection.close(ENDED, b"the link has ended");
        }
    }
}

//! Messages that go over a connection before the other end has said that it accepts this one.
//!
//! QUIC's handshake has proved who the other end is. Whether it accepts this end's key it says later: when it
//! does not, it reads nothing of what was sent. Until then nothing counts as delivered, and all of it goes
//! again over the next connection.

use std::sync::Arc;

use quinn::Connection;
use tokio::task::JoinHandle;

use crate::{
    lock::Locked,
    messages::carrier::{self, Mail},
};

/// A connection that this end has dialled, and what sends messages over it, until it is in use.
#[derive(Debug, Default)]
pub(crate) struct Begun(Locked<Option<(Connection, JoinHandle<()>)>>);

fn is_same(one: &Connection, other: &Connection) -> bool {
    one.stable_id() == other.stable_id()
}

impl Begun {
    /// Sends messages over this connection from now on, if they may go.
    pub(super) fn begin(
        &self,
        mail: &Arc<Mail>,
        connection: &Connection,
        may_go: impl FnOnce() -> bool,
    ) {
        self.0.with(|begun| {
            if may_go() {
                let turn = mail.outbox.with(|outbox| outbox.on_begun());
                let carrier = tokio::spawn(carrier::send(mail.clone(), connection.clone(), turn));
                *begun = Some((connection.clone(), carrier));
            }
        });
    }

    /// Whether messages go over a connection that is not in use.
    pub(super) fn is_some(&self) -> bool {
        self.0.with(|begun| begun.is_some())
    }

    /// This connection does not come into use: what went over it waits again.
    pub(super) fn abandon(&self, mail: &Mail, connection: &Connection) {
        self.0.with(|begun| {
            if let Some((_, carrier)) = begun.take_if(|(begun, _)| is_same(begun, connection)) {
                carrier.abort();
                mail.outbox.with(|outbox| outbox.on_connection_lost());
            }
        });
    }

    /// This connection comes into use, as `put` says: what that gave, and what sends messages over it.
    pub(super) fn take_over<R>(
        &self,
        mail: &Arc<Mail>,
        connection: &Connection,
        put: impl FnOnce() -> R,
    ) -> (R, JoinHandle<()>) {
        self.0.with(|begun| {
            let before = put();
            match begun.take() {
                Some((begun, carrier)) if is_same(&begun, connection) => {
                    mail.outbox.with(|outbox| outbox.on_accepted());
                    mail.outgoing.notify_one();
                    return (before, carrier);
                }
                // The other end has dialled, too, and this one was there first.
                Some((_, carrier)) => carrier.abort(),
                None => {}
            }
            let turn = mail.outbox.with(|outbox| outbox.on_connection_lost());
            (before, tokio::spawn(carrier::send(mail.clone(), connection.clone(), turn)))
        })
    }

    /// The link has ended: the connection that is to be closed.
    pub(crate) fn end(&self) -> Option<Connection> {
        self.0.with(Option::take).map(|(connection, _)| connection)
    }
}

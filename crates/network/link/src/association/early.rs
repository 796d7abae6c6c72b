//! What an association sends and takes with first packets, by its tickets.

use std::{
    net::SocketAddr,
    sync::{Arc, atomic::Ordering},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use super::{Association, Attached};
use crate::{
    early::{
        Early, PART_SIZE,
        ticket::{LABELS, Ticket},
    },
    event::Event,
    hello::{Hello, Met},
    lock::Locked,
    messages::carrier,
};

/// All parts of a message come within this time: a connection follows its first packet by then, as long as
/// a handshake and its hello may take.
const FOLLOWS: Duration = Duration::from_secs(20);

/// The time since 1970.
fn wall() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

impl Association {
    /// This end dials there, or does not dial any more.
    pub(crate) fn dial(&self, to: Option<SocketAddr>) {
        self.dialling.with(|dialling| *dialling = to);
        self.send_early();
    }

    /// Sends what may go with the first packet, while there is no connection.
    pub(crate) fn send_early(&self) {
        if self.begun.is_some()
            || self.current.borrow().is_some()
            || !self.mail.outbox.with(|outbox| outbox.has_early())
        {
            return;
        }
        let (now, wall) = (self.clock.now(), wall());
        if let Some(to) = self.dialling.with(|to| *to)
            && let Some(salt) = fanfare_crypto::system_salt()
        {
            // Without a ticket it goes with the connection.
            self.early.with(|early| early.ask(wall, (self.key, to), self.hello(), salt));
        }
        if !self.early.with(|early| early.is_under_way(now, &self.key)) {
            return;
        }
        while let Some(job) = self.mail.outbox.with(|outbox| outbox.poll_early()) {
            for part in carrier::parts(&job, PART_SIZE) {
                let (sealed, asked) = self.early.with(|early| {
                    (early.seal((now, wall), &self.key, &part), early.is_asked(&self.key))
                });
                let Some((to, datagram)) = sealed else { return };
                if asked {
                    self.shared.send_copies(to, datagram.clone());
                }
                // What is lost comes with the connection.
                self.shared.send_soon(to, datagram);
            }
        }
    }

    /// The other end has begun with a first packet: what it sent before is over if it is another instance.
    /// False when its messages are for an instance of this end that is no more.
    pub(crate) fn meet(&self, theirs: Hello) -> bool {
        match self.who.with(|who| who.on_dialled(who.hello(), theirs)) {
            Met::Same => true,
            Met::Another => {
                self.restart();
                true
            }
            Met::Gone | Met::Void => false,
        }
    }

    /// Whether more may be taken of what that end has begun.
    pub(crate) fn is_met(&self, theirs: Hello) -> bool {
        self.who.with(|who| who.is_met(theirs))
    }

    /// The other end was started anew.
    pub(super) fn restart(&self) {
        self.begin_anew();
        self.tell(Event::Restarted);
    }

    /// Both ends draw a ticket for the next first packet.
    pub(super) fn draw(&self, attached: &Attached) {
        let [Some(secret), Some(id)] = LABELS.map(|label| attached.export(label)) else { return };
        let at = (self.clock.now(), wall());
        let ticket = Ticket::new(secret, id);
        self.early.with(|early| early.on_connected(at, self.key, attached.is_client(), ticket));
    }

    /// A part of a message came with a first packet, or in answer to it.
    pub(crate) fn on_early(&self, part: &[u8]) {
        if !part.is_empty() && !self.ended.load(Ordering::Relaxed) {
            carrier::on_datagram(&self.mail, FOLLOWS, part);
        }
    }
}

/// The tickets of a node: all its associations have them together.
pub(crate) type SharedEarly = Arc<Locked<Early>>;

//! What an association sends and takes with first packets, by its tickets.

use std::{
    net::SocketAddr,
    sync::{Arc, atomic::Ordering},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use fanfare_proto::Time;

use super::{Association, Attached, REPLACED};
use crate::{
    early::{
        Early, PART_SIZE,
        ticket::{LABELS, Ticket},
    },
    event::Event,
    hello::{Hello, Instance},
    lock::Locked,
    messages::carrier,
};

/// A connection follows its first packet within this time: as long as a handshake and its hello may
/// take.
const FOLLOWS: Duration = Duration::from_secs(20);

/// What an association knows of its first packets.
#[derive(Debug, Default)]
pub(super) struct First {
    /// Where this end dials at present.
    dialling: Locked<Option<SocketAddr>>,
    /// The other end's process, which has begun with a first packet, and when.
    met: Locked<Option<(Instance, Time)>>,
}

/// The time since 1970.
fn wall() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

impl Association {
    /// This end dials there, or does not dial any more.
    pub(crate) fn dial(&self, to: Option<SocketAddr>) {
        self.first.dialling.with(|dialling| *dialling = to);
        self.send_early();
    }

    /// Sends what may go with the first packet, while there is no connection.
    pub(crate) fn send_early(&self) {
        if self.current.borrow().is_some() || !self.mail.outbox.with(|outbox| outbox.has_early()) {
            return;
        }
        let (now, wall) = (self.clock.now(), wall());
        if let Some(to) = self.first.dialling.with(|to| *to)
            && let Some(salt) = fanfare_seal::system_salt()
        {
            // Without a ticket it goes with the connection.
            self.early.with(|early| early.ask(wall, (self.key, to), self.hello(), salt));
        }
        if !self.early.with(|early| early.is_under_way(now, &self.key)) {
            return;
        }
        while let Some(job) = self.mail.outbox.with(|outbox| outbox.poll_early()) {
            for part in carrier::parts(&job, PART_SIZE) {
                let sealed = self.early.with(|early| early.seal((now, wall), &self.key, &part));
                let Some((to, datagram)) = sealed else { return };
                // A lost one comes with the connection.
                self.shared.send_soon(to, datagram);
            }
        }
    }

    /// The other end has begun with a first packet: what it sent before is over if it is another process.
    pub(crate) fn meet(&self, theirs: Hello) {
        let own = self.hello();
        let before = self.known.with(|known| std::mem::replace(known, theirs.instance));
        self.first.met.with(|met| *met = Some((theirs.instance, self.clock.now())));
        if own.resumes(theirs) {
            return;
        }
        if let Some(old) = self.current.send_replace(None) {
            old.connection.close(REPLACED, b"another connection begins");
        }
        if before != [0; 16] {
            self.restart();
        }
    }

    /// Whether this process has begun with a first packet just before, so that its connection does not
    /// begin anew.
    pub(super) fn has_met(&self, theirs: Instance) -> bool {
        let met = self.first.met.with(Option::take);
        let now = self.clock.now();
        met.is_some_and(|(instance, at)| instance == theirs && now.since(at) < FOLLOWS)
    }

    /// The other end was started anew.
    pub(super) fn restart(&self) {
        self.mail.outbox.with(|outbox| outbox.on_restart());
        self.mail.inbox.with(|inbox| inbox.on_restart());
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

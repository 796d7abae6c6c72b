//! Messages with the first packet: 0-RTT, for ends that have met before.
//!
//! When a connection begins, both ends draw a ticket from its keys. Nothing of it is sent. The end that
//! dialled keeps it, in a file if it is to, and uses it once: with the first packet of the next
//! connection goes a datagram with its hello and a message that may be sent so. The other end has the
//! ticket in memory. It opens the datagram, and forgets the ticket.
//!
//! ```text
//! byte 0       0xb7: neither QUIC, nor NORM, nor sealed NORM
//! byte 1       1 from the end that dials, 2 the answer
//! byte 2-17    which ticket
//! byte 18-33   salt: no key is used twice, even where a file of tickets was copied
//! byte 34      number of this datagram
//! AES-256-GCM, and its tag of 16 bytes, of
//!   from the end that dials: age of the ticket, ms (8), hello (34), a part of a message
//!   the answer: a part of a message
//! ```
//! Short ones of the end that dials go three times, 10 ms apart, as QUIC's handshake does.
//!
//! What goes so goes over the connection, too, once that is there, and messages have numbers: so what
//! is lost or refused here arrives a little later, and nothing arrives twice.
//!
//! Replays: a ticket is taken for one salt and each number once, within ten seconds of the age that
//! its sender says. The next connection of that peer makes it void, and so does the end of the process.
//!
//! - [`ticket`]: what both ends draw; [`tickets`]: those that are kept, and their file
//! - [`exchange`]: datagrams with one ticket; [`register`]: tickets that others may use
//! - `Early`: all of it, without clock and socket

pub(crate) mod came;
pub mod exchange;
pub mod register;
#[cfg(test)]
mod tests;
pub mod ticket;
pub mod tickets;

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use fanfare_crypto::{PublicKey, Salt};
use fanfare_proto::Time;

use crate::hello::Hello;
pub use came::{Came, Origin, PART_SIZE};
use exchange::{Exchange, Side};
use register::Register;
use ticket::Ticket;
use tickets::Tickets;

/// How often.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EarlyCounts {
    /// First flights that this end sent.
    pub asked: u64,
    /// Datagrams of others that were taken.
    pub taken: u64,
    /// Those that were not: no such ticket, used, too old, or forged.
    pub refused: u64,
}

#[derive(Debug)]
struct Asked {
    exchange: Exchange,
    to: SocketAddr,
    hello: Hello,
    begun: Duration,
}

/// Everything that a node knows of tickets.
#[derive(Debug)]
pub struct Early {
    tickets: Tickets,
    register: Register,
    asked: BTreeMap<PublicKey, Asked>,
    /// The last one that was refused.
    refused: Option<exchange::Head>,
    /// How often something was sent, taken and refused.
    pub counts: EarlyCounts,
}

impl Early {
    /// With the tickets that were kept.
    #[must_use]
    pub fn new(tickets: Tickets) -> Self {
        let (register, asked) = (Register::default(), BTreeMap::new());
        Self { tickets, register, asked, refused: None, counts: EarlyCounts::default() }
    }

    /// A connection has begun, and this ticket was drawn from it. `wall`: the time since 1970.
    pub fn on_connected(
        &mut self,
        (now, wall): (Time, Duration),
        peer: PublicKey,
        dialled: bool,
        ticket: Ticket,
    ) {
        self.asked.remove(&peer);
        match dialled {
            true => self.tickets.put(peer, wall, ticket),
            false => self.register.issue(now, peer, ticket),
        }
    }

    /// Dials with the ticket of this peer, if there is one. It is gone then.
    pub fn ask(
        &mut self,
        wall: Duration,
        (peer, to): (PublicKey, SocketAddr),
        hello: Hello,
        salt: Salt,
    ) -> bool {
        let Some((begun, ticket)) = self.tickets.take(wall, &peer) else { return false };
        let Some(exchange) = Exchange::new(&ticket, salt, Side::Dialling) else { return false };
        self.asked.insert(peer, Asked { exchange, to, hello, begun });
        self.counts.asked += 1;
        true
    }

    /// Whether something may be sent to this peer.
    #[must_use]
    pub fn is_under_way(&self, now: Time, peer: &PublicKey) -> bool {
        self.asked.contains_key(peer) || self.register.is_under_way(now, peer)
    }

    /// Whether this end has dialled that peer with a ticket: it may send as much as it wants.
    #[must_use]
    pub fn is_asked(&self, peer: &PublicKey) -> bool {
        self.asked.contains_key(peer)
    }

    /// A part of a message to this peer, as a datagram, and where to. `None`: it has to wait for the
    /// connection.
    pub fn seal(
        &mut self,
        (now, wall): (Time, Duration),
        peer: &PublicKey,
        part: &[u8],
    ) -> Option<(SocketAddr, Vec<u8>)> {
        let Some(asked) = self.asked.get_mut(peer) else {
            return self.register.answer(now, peer, part);
        };
        let age = wall.saturating_sub(asked.begun).as_millis();
        let age = u64::try_from(age).unwrap_or(u64::MAX).to_be_bytes();
        let bytes = [&age[..], &asked.hello.bytes(), part].concat();
        asked.exchange.seal(&bytes).map(|datagram| (asked.to, datagram))
    }

    /// A datagram came from there. `None`, and counted, when it is not of an exchange.
    pub fn on_datagram(&mut self, now: Time, source: SocketAddr, datagram: &[u8]) -> Option<Came> {
        let came = self.opened(now, source, datagram);
        match &came {
            Some(_) => self.counts.taken += 1,
            None if self.is_copy(datagram) => {}
            None => self.counts.refused += 1,
        }
        came
    }

    /// Whether a datagram that was not taken is a copy of one before.
    fn is_copy(&mut self, datagram: &[u8]) -> bool {
        let Some(head) = exchange::Head::parse(datagram) else { return false };
        let last = self.refused.replace(head);
        last == Some(head) || self.register.has_seen(head)
    }

    fn opened(&mut self, now: Time, source: SocketAddr, datagram: &[u8]) -> Option<Came> {
        let head = exchange::Head::parse(datagram)?;
        if head.is_request() {
            return self.register.on_request(now, source, head, datagram);
        }
        let mut all = self.asked.iter_mut();
        let (peer, asked) = all.find(|(_, asked)| asked.exchange.is(head))?;
        let part = asked.exchange.open(head, datagram)?;
        Some(Came { peer: *peer, from: Origin::Dialled, part })
    }
}

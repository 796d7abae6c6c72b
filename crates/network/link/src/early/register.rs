//! Tickets that others may use, each once: what RFC 8446 calls single-use tickets (8.1), with the check
//! of their age (8.3).

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use fanfare_crypto::PublicKey;
use fanfare_proto::Time;

use super::{
    came::{Came, Origin},
    exchange::{Exchange, Head, Side},
    ticket::{Id, Ticket},
};
use crate::hello::{self, Hello};

/// A ticket is of no use after so long. A day: whoever comes back later waits one round trip.
pub(crate) const LIFETIME: Duration = Duration::from_secs(24 * 3600);
/// Tickets in memory: with more, those of who came first are void.
const ISSUED_MAX: usize = 4096;
/// The sender's clock and this one may differ by so much since the ticket was drawn (RFC 8446, 8.3).
const AGE_SLACK: Duration = Duration::from_secs(10);
/// An exchange ends so long after its first datagram: the connection is there, or will not come.
const EXCHANGE: Duration = Duration::from_secs(10);
/// An address that has not proven itself gets so much more than it has sent (RFC 9000, 8.1).
const AMPLIFICATION: usize = 3;

#[derive(Debug)]
struct Issued {
    peer: PublicKey,
    at: Time,
    ticket: Ticket,
}

#[derive(Debug)]
struct Begun {
    exchange: Exchange,
    source: SocketAddr,
    until: Time,
    /// Bytes that may be answered.
    budget: usize,
}

/// What the end that is dialled knows.
#[derive(Debug, Default)]
pub(crate) struct Register {
    issued: BTreeMap<Id, Issued>,
    /// Exchanges under way: one a peer.
    begun: BTreeMap<PublicKey, Begun>,
    /// The last one whose connection is there: a copy of its datagrams may still come.
    over: Option<Exchange>,
}

impl Register {
    /// This peer may use this one, and no other any more.
    pub(crate) fn issue(&mut self, now: Time, peer: PublicKey, ticket: Ticket) {
        let over = self.begun.remove(&peer).map(|begun| begun.exchange);
        self.over = over.or_else(|| self.over.take());
        self.issued.retain(|_, one| one.peer != peer && now.since(one.at) < LIFETIME);
        if self.issued.len() >= ISSUED_MAX {
            let oldest = self.issued.iter().min_by_key(|(_, one)| one.at).map(|(id, _)| *id);
            oldest.and_then(|id| self.issued.remove(&id));
        }
        self.issued.insert(ticket.id, Issued { peer, at: now, ticket });
    }

    /// A datagram of a peer that dials.
    pub(crate) fn on_request(
        &mut self,
        now: Time,
        source: SocketAddr,
        head: Head,
        datagram: &[u8],
    ) -> Option<Came> {
        self.begun.retain(|_, one| now < one.until);
        let under_way = self.begun.iter_mut().find(|(_, one)| one.exchange.is(head));
        if let Some((peer, begun)) = under_way {
            let plain = begun.exchange.open(head, datagram)?;
            begun.budget += AMPLIFICATION * datagram.len();
            let (_, hello, part) = said(&plain)?;
            return Some(Came { peer: *peer, from: Origin::Later(hello), part });
        }
        let issued = self.issued.get(&head.id)?;
        let (peer, age) = (issued.peer, now.since(issued.at));
        let mut exchange = Exchange::new(&issued.ticket, head.salt, Side::Dialled)?;
        let plain = exchange.open(head, datagram)?;
        // Whoever can seal with it has used it, however old it is.
        self.issued.remove(&head.id);
        let (since, hello, part) = said(&plain)?;
        if since.abs_diff(age) > AGE_SLACK || age >= LIFETIME {
            return None;
        }
        let budget = AMPLIFICATION * datagram.len();
        self.begun.insert(peer, Begun { exchange, source, until: now + EXCHANGE, budget });
        Some(Came { peer, from: Origin::First(hello), part })
    }

    /// Whether this one has come before.
    pub(crate) fn has_seen(&self, head: Head) -> bool {
        let mut known = self.begun.values().map(|one| &one.exchange).chain(&self.over);
        known.any(|exchange| exchange.has_seen(head))
    }

    /// Whether this peer may be answered.
    pub(crate) fn is_under_way(&self, now: Time, peer: &PublicKey) -> bool {
        self.begun.get(peer).is_some_and(|one| now < one.until)
    }

    /// An answer to this peer, and where to.
    pub(crate) fn answer(
        &mut self,
        now: Time,
        peer: &PublicKey,
        part: &[u8],
    ) -> Option<(SocketAddr, Vec<u8>)> {
        let begun = self.begun.get_mut(peer).filter(|one| now < one.until)?;
        let datagram = (part.len() + 64 <= begun.budget).then(|| begun.exchange.seal(part))??;
        begun.budget = begun.budget.saturating_sub(datagram.len());
        Some((begun.source, datagram))
    }
}

/// The age that is said, the hello, and the part of a message.
fn said(plain: &[u8]) -> Option<(Duration, Hello, Vec<u8>)> {
    let (age, rest) = plain.split_first_chunk()?;
    let (hello, part) = rest.split_first_chunk::<{ hello::BYTES }>()?;
    let age = Duration::from_millis(u64::from_be_bytes(*age));
    Some((age, Hello::parse(hello)?, part.to_vec()))
}

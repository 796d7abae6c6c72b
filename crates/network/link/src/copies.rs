//! Which datagrams of a handshake are sent again at once, and which come too soon.
//!
//! QUIC sends a lost packet of a handshake again after a second, then after two: it knows no round trip
//! yet. At 15 % loss a link then needs 2 to 7 s. So each datagram of a handshake has two copies, as short
//! messages have where much is lost. A copy that was not needed costs a kilobyte, once for each link.
//!
//! An end that was dialled does not know yet who has dialled. It sends no copy that makes it more than three
//! times what came from there, as QUIC does.
//!
//! What the end that dials says first may come sooner than the last packet of its handshake: that one was
//! lost, and its copy is on its way. QUIC drops what it cannot use yet, and takes its copies for the same
//! packet come twice, so that it would wait for a timeout. Hence QUIC is not shown such a packet: it gets a
//! copy.

use std::{collections::HashMap, net::SocketAddr, time::Duration};

use fanfare_proto::Time;

/// When the copies follow. Losses come in bursts, and few bursts last so long.
pub(crate) const AFTER: [Duration; 2] = [Duration::from_millis(10), Duration::from_millis(20)];
/// What an end may send to an address that has proved nothing, in parts of what came from there (RFC 9000
/// 8.1).
const AMPLIFIED: u64 = 3;
/// After its last long packet a handshake is over, but for what the ends say to each other first: it goes in
/// short packets, up to so long later. Three round trips over a satellite.
const LATER: Duration = Duration::from_secs(2);
/// Those are short; what is longer is a probe of the MTU, or data.
pub(crate) const SHORT: usize = 400;
/// Handshakes at a time; beyond that there are no copies for new ones.
const HANDSHAKES: usize = 256;

/// A handshake.
#[derive(Debug)]
struct Handshake {
    /// It was this end that dialled.
    dialled: bool,
    received: u64,
    sent: u64,
    /// When its last long packet went or came.
    last: Time,
    /// The connection id that this end has chosen.
    own: Vec<u8>,
    /// The other end has used it in a long packet: when it has dialled, that was its last one.
    answered: bool,
}

impl Handshake {
    fn is_over(&self, now: Time) -> bool {
        now.since(self.last) > LATER
    }
}

/// The handshakes of late.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    handshakes: HashMap<SocketAddr, Handshake>,
}

/// QUIC's long header (RFC 9000 17.2): Initial and Handshake have it.
fn is_long(datagram: &[u8]) -> bool {
    datagram.first().is_some_and(|first| first & 0x80 != 0)
}

/// The connection ids of a long header: that of the end that it is for, and its sender's.
fn ids(datagram: &[u8]) -> Option<(&[u8], &[u8])> {
    let taken = |bytes| -> Option<(&[u8], &[u8])> {
        let (length, rest) = <[u8]>::split_first(bytes)?;
        rest.split_at_checked((*length).into())
    };
    let (to, rest) = taken(datagram.get(5..)?)?;
    Some((to, taken(rest)?.0))
}

impl Copies {
    /// A datagram of QUIC's has come. False when it is for a handshake whose last packet has not.
    pub(crate) fn on_received(&mut self, now: Time, from: SocketAddr, datagram: &[u8]) -> bool {
        let long = is_long(datagram);
        let Some(handshake) = self.of(now, from, long, false) else { return true };
        handshake.received += datagram.len() as u64;
        if long {
            handshake.answered |= ids(datagram).is_some_and(|(to, _)| to == handshake.own);
        }
        let is_of_it = || {
            !handshake.own.is_empty()
                && datagram.get(1..).is_some_and(|rest| rest.starts_with(&handshake.own))
        };
        long || handshake.answered || !is_of_it()
    }

    /// A datagram of QUIC's goes out. Whether copies of it should follow.
    pub(crate) fn on_sent(&mut self, now: Time, to: SocketAddr, datagram: &[u8]) -> bool {
        let long = is_long(datagram);
        let Some(handshake) = self.of(now, to, long, true) else { return false };
        handshake.sent += datagram.len() as u64;
        let own = ids(datagram).filter(|_| long).map(|(_, own)| own);
        if let Some(own) = own.filter(|own| *own != handshake.own) {
            (handshake.own, handshake.answered) = (own.to_vec(), false);
        }
        long || datagram.len() <= SHORT
    }

    /// Whether a copy of so many bytes may go out now: what came meanwhile counts.
    pub(crate) fn may_copy(&mut self, now: Time, to: SocketAddr, bytes: usize) -> bool {
        let Some(handshake) = self.under_way(now, to) else { return false };
        let sent = handshake.sent + bytes as u64;
        let may = handshake.dialled || sent <= handshake.received * AMPLIFIED;
        if may {
            handshake.sent = sent;
        }
        may
    }

    /// The handshake that a datagram belongs to. A long one begins it or keeps it going.
    fn of(
        &mut self,
        now: Time,
        address: SocketAddr,
        long: bool,
        sent: bool,
    ) -> Option<&mut Handshake> {
        if !long {
            return self.under_way(now, address);
        }
        if !self.handshakes.contains_key(&address) {
            self.handshakes.retain(|_, handshake| !handshake.is_over(now));
            if self.handshakes.len() >= HANDSHAKES {
                return None;
            }
        }
        let (own, answered) = (Vec::new(), false);
        let new = Handshake { dialled: sent, received: 0, sent: 0, last: now, own, answered };
        let handshake = self.handshakes.entry(address).or_insert(new);
        handshake.last = now;
        Some(handshake)
    }

    fn under_way(&mut self, now: Time, address: SocketAddr) -> Option<&mut Handshake> {
        if self.handshakes.get(&address)?.is_over(now) {
            self.handshakes.remove(&address);
        }
        self.handshakes.get_mut(&address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn address(port: u16) -> SocketAddr {
        ([10, 0, 0, 1], port).into()
    }

    const INITIAL: [u8; 1200] = [0xc0; 1200];
    const SHORT_PACKET: [u8; 200] = [0x40; 200];

    #[test]
    fn the_end_that_dials_copies_its_handshake_and_what_it_says_first() {
        let mut copies = Copies::default();
        assert!(!copies.on_sent(at(0), address(1), &SHORT_PACKET), "no handshake is under way");
        assert!(copies.on_sent(at(0), address(1), &INITIAL));
        copies.on_received(at(500), address(1), &INITIAL);
        assert!(copies.on_sent(at(501), address(1), &SHORT_PACKET));
        assert!(!copies.on_sent(at(501), address(1), &[0x40; 1300]), "a probe of the MTU, or data");
        assert!(!copies.on_sent(at(501), address(2), &SHORT_PACKET), "another peer");
        assert!(!copies.on_sent(at(2600), address(1), &SHORT_PACKET), "it was over long ago");
        assert!(copies.handshakes.is_empty());
    }

    #[test]
    fn the_end_that_was_dialled_sends_three_times_what_came_at_most() {
        let mut copies = Copies::default();
        copies.on_received(at(0), address(1), &INITIAL);
        for packet in [&INITIAL[..], &SHORT_PACKET] {
            assert!(copies.on_sent(at(1), address(1), packet));
        }
        let copied = |copies: &mut Copies, now| {
            [INITIAL.len(), SHORT_PACKET.len()].map(|size| copies.may_copy(now, address(1), size))
        };
        assert_eq!(copied(&mut copies, at(11)), [true, true]);
        assert_eq!(copied(&mut copies, at(21)), [false, true], "one Initial has come");
        // Its copy comes, as from an end that has these copies.
        copies.on_received(at(22), address(1), &INITIAL);
        assert_eq!(copied(&mut copies, at(23)), [true, true]);
        let handshake = &copies.handshakes[&address(1)];
        assert!(handshake.sent <= AMPLIFIED * handshake.received);
        assert!(!copies.may_copy(at(11), address(2), 1), "nobody");
    }

    /// A long packet to `to` from `from`.
    fn long(to: [u8; 8], from: [u8; 8]) -> Vec<u8> {
        [&[0xc0, 0, 0, 0, 1, 8][..], &to, &[8], &from, &[7; 100]].concat()
    }

    /// A short packet to `to`.
    fn short(to: [u8; 8]) -> Vec<u8> {
        [&[0x40][..], &to, &[7; 100]].concat()
    }

    #[test]
    fn what_comes_sooner_than_the_end_of_its_handshake_is_not_taken() {
        let mut copies = Copies::default();
        let (drawn, near, far) = ([1; 8], [2; 8], [3; 8]);
        assert!(copies.on_received(at(0), address(1), &long(drawn, near)));
        copies.on_sent(at(1), address(1), &long(near, far));
        assert!(copies.on_received(at(10), address(1), &long(drawn, near)), "a copy");
        assert!(!copies.on_received(at(500), address(1), &short(far)));
        assert!(copies.on_received(at(501), address(1), &short([4; 8])), "another connection");
        assert!(copies.on_received(at(502), address(2), &short(far)), "from elsewhere");
        assert!(copies.on_received(at(510), address(1), &long(far, near)));
        assert!(copies.on_received(at(511), address(1), &short(far)));
    }

    #[test]
    fn the_end_that_dials_takes_all_that_follows_an_answer() {
        let mut copies = Copies::default();
        let (drawn, near, far) = ([1; 8], [2; 8], [3; 8]);
        copies.on_sent(at(0), address(1), &long(drawn, near));
        assert!(copies.on_received(at(500), address(1), &long(near, far)));
        assert!(copies.on_received(at(501), address(1), &short(near)));
        // Cut off, or of another version: QUIC says what it thinks of it.
        for length in 1..20 {
            assert!(copies.on_received(at(502), address(3), &long(near, far)[..length]));
            copies.on_sent(at(502), address(3), &long(near, far)[..length]);
        }
    }

    #[test]
    fn handshakes_that_are_known_have_a_bound() {
        let mut copies = Copies::default();
        let sent = |copies: &mut Copies, now, count: u16| {
            (0..count).filter(|port| copies.on_sent(now, address(*port), &INITIAL)).count()
        };
        assert_eq!(sent(&mut copies, at(0), 300), HANDSHAKES);
        assert_eq!(sent(&mut copies, at(3000), 10), 10, "the old ones are over");
    }
}

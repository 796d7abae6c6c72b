//! Knocks at senders whose addresses are known: firewalls and routers that translate addresses let in
//! answers to them, where they would let in no call. It has no time or chance of its own.

use std::net::{IpAddr, SocketAddr};

use fanfare_wire::units::time::{Duration, Time};

use crate::serve::message::{Message, SessionName};

/// The first knock waits for the sender's own calls (each 150 ms): a host that they reach need not knock.
const FIRST: Duration = Duration::from_millis(400);
/// The sender may begin a moment later than its receivers. It is to serve them within a second.
const QUICK: Duration = Duration::from_millis(250);
const QUICK_COUNT: u32 = 20;
/// Later a knock is to keep the way open: routers forget one that nothing has used for 30 s (RFC 4787 4.3
/// asks for two minutes, many keep to less).
const CALM: Duration = Duration::from_secs(2);

/// A sender that is knocked at.
#[derive(Debug)]
struct KnockedSender {
    address: SocketAddr,
    nonce: u64,
    knocks: u32,
    next: Time,
}

/// Knocks at senders.
#[derive(Debug)]
pub(crate) struct SenderKnocks {
    session: SessionName,
    senders: Vec<KnockedSender>,
}

impl SenderKnocks {
    /// Knocks in this session at these addresses; `nonce`: chance, for each.
    pub(crate) fn new(
        session: SessionName,
        senders: &[SocketAddr],
        mut nonce: impl FnMut() -> u64,
    ) -> Self {
        let senders = senders.iter().map(|address| KnockedSender {
            address: *address,
            nonce: nonce(),
            knocks: 0,
            next: Time::ZERO,
        });
        Self { session, senders: senders.collect() }
    }

    /// The number by which a sender at this host knows this receiver, however it finds it: what it finds later
    /// replaces what it has found.
    pub(crate) fn nonce_of(&self, host: IpAddr) -> Option<u64> {
        self.senders.iter().find(|one| one.address.ip() == host).map(|one| one.nonce)
    }

    /// True if this answers a knock.
    pub(crate) fn is_answer(&self, from: IpAddr, nonce: u64) -> bool {
        self.nonce_of(from) == Some(nonce)
    }

    /// The next knock, and where it goes. Nobody is knocked at who is `heard` anyway.
    pub(crate) fn poll(
        &mut self,
        now: Time,
        heard: impl Fn(IpAddr) -> bool,
    ) -> Option<(SocketAddr, Vec<u8>)> {
        for one in &mut self.senders {
            if one.next == Time::ZERO {
                one.next = now + FIRST;
            }
            if now < one.next {
                continue;
            }
            one.next = now + if one.knocks < QUICK_COUNT { QUICK } else { CALM };
            if heard(one.address.ip()) {
                continue;
            }
            one.knocks = one.knocks.saturating_add(1);
            let (nonce, session) = (one.nonce, self.session);
            return Some((one.address, Message::Knock { nonce, session }.encode(0)));
        }
        None
    }

    /// Time at which [`Self::poll`] has something.
    pub(crate) fn next_timeout(&self) -> Option<Time> {
        self.senders.iter().map(|one| one.next).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanfare_wire::units::time::at;

    fn knocker() -> SenderKnocks {
        let group = SocketAddr::from(([239, 255, 42, 1], 6003));
        SenderKnocks::new(group.into(), &[SocketAddr::from(([10, 0, 0, 1], 6003))], || 5)
    }

    fn knocks(knocker: &mut SenderKnocks, times: std::ops::Range<u64>, heard: bool) -> Vec<u64> {
        times.step_by(10).filter(|time| knocker.poll(at(*time), |_| heard).is_some()).collect()
    }

    #[test]
    fn a_sender_is_knocked_at_after_its_first_calls_quickly_at_first_and_then_now_and_then() {
        let mut knocker = knocker();
        let all = knocks(&mut knocker, 10..20_000, false);
        assert_eq!(all[..3], [410, 660, 910]);
        assert_eq!(all[19..22], [5160, 5410, 7410]);
    }

    #[test]
    fn nobody_is_knocked_at_while_heard_and_again_when_not() {
        let mut knocker = knocker();
        assert!(knocks(&mut knocker, 10..5000, true).is_empty());
        assert!(!knocks(&mut knocker, 5000..5500, false).is_empty());
    }

    #[test]
    fn an_answer_is_one_to_the_nonce_from_the_host_that_was_knocked_at() {
        let (knocker, host) = (knocker(), IpAddr::from([10, 0, 0, 1]));
        assert!(knocker.is_answer(host, 5) && !knocker.is_answer(host, 6));
        assert!(!knocker.is_answer(IpAddr::from([10, 0, 0, 2]), 5));
    }
}

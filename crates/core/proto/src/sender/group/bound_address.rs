//! From where a receiver's feedback is believed.
//!
//! A node id is a word that anybody can say. So it is bound to the address of its first message.
//! A receiver may move (DHCP, another interface, another relay in front of it). Another address is
//! believed when it has echoed two probes that were sent after it was first heard, so that it hears the
//! group, and the first address has been silent for some time.

use crate::time::{Duration, Time};
use core::net::SocketAddr;

/// The old address is silent for so long: a receiver at work speaks at least once in it, because it
/// answers probes, flushes and roll calls. Long enough to lose two answers to probes a second apart.
const SILENCE: Duration = Duration::from_secs(3);
/// Probes that the new address must have echoed.
const ECHOES: u8 = 2;
/// Probes of which an echo counts as fresh: those sent last. Two may cross with an answer, and one
/// may be lost. A blind guess of `cc_sequence`, which begins at random, hits one time in 4,096.
pub(in crate::sender) const FRESH_PROBES: u16 = 16;

/// Whether a feedback's `cc_sequence` is that of one of the last probes.
pub(in crate::sender) fn is_fresh(echoed: u16, sent: u16) -> bool {
    sent.wrapping_sub(echoed) < FRESH_PROBES
}

/// Another address that says it is the same node.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    source: SocketAddr,
    /// `cc_sequence` of the probe sent last when it was first heard, and then of the last it echoed.
    last: u16,
    echoes: u8,
    /// When it was first heard, or last echoed a probe.
    since: Time,
}

impl Candidate {
    /// A fresh probe is echoed. It counts when it was sent after the last one that counted, however long
    /// ago that is: with `auto` a hundred probes go in a second, and a receiver that does not limit the
    /// rate answers few of them.
    fn on_echo(&mut self, now: Time, echoed: u16, sent: u16) {
        if sent.wrapping_sub(echoed) < sent.wrapping_sub(self.last) {
            (self.last, self.since) = (echoed, now);
            self.echoes = self.echoes.saturating_add(1);
        }
    }
}

/// The address of one receiver.
#[derive(Debug, Clone, Copy)]
pub(in crate::sender) struct BoundAddress {
    source: SocketAddr,
    heard: Time,
    /// It has echoed a fresh probe. Who has not gives way at once to who has: an attacker may speak
    /// first.
    proved: bool,
    candidate: Option<Candidate>,
}

impl BoundAddress {
    pub(in crate::sender) fn new(now: Time, source: SocketAddr) -> Self {
        Self { source, heard: now, proved: false, candidate: None }
    }

    /// Feedback came from `source`, with this `cc_sequence` if it has one; `sent` is that of the
    /// probe sent last. True when it is believed.
    pub(in crate::sender) fn check(
        &mut self,
        now: Time,
        source: SocketAddr,
        echoed: Option<u16>,
        sent: u16,
    ) -> bool {
        let fresh = echoed.is_some_and(|echoed| is_fresh(echoed, sent));
        if source == self.source {
            self.heard = now;
            self.proved |= fresh;
            self.candidate = None;
            return true;
        }
        if fresh && !self.proved {
            *self = Self { proved: true, ..Self::new(now, source) };
            return true;
        }
        let new = Candidate { source, last: sent, echoes: 0, since: now };
        let same = |candidate: &Candidate| candidate.source == source;
        let mut candidate = self.candidate.filter(same).unwrap_or(new);
        if let Some(echoed) = echoed.filter(|echoed| is_fresh(*echoed, sent)) {
            candidate.on_echo(now, echoed, sent);
        }
        // Claims of many addresses do not push each other out. One that proves nothing for some time gives
        // way: the receiver may have moved once more.
        let gives_way = |known: Candidate| same(&known) || now.since(known.since) >= SILENCE;
        if self.candidate.is_none_or(gives_way) {
            self.candidate = Some(candidate);
        }
        let moved = candidate.echoes >= ECHOES && now.since(self.heard) >= SILENCE;
        if moved {
            *self = Self { proved: true, ..Self::new(now, source) };
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::at;

    fn address(n: u8) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, n], 6003))
    }

    /// It has echoed probe 0.
    fn proved() -> BoundAddress {
        let mut bound = BoundAddress::new(at(0), address(1));
        assert!(bound.check(at(0), address(1), Some(0), 0));
        bound
    }

    #[test]
    fn another_address_is_not_believed_while_the_first_one_speaks() {
        let mut bound = proved();
        for n in 0..100u16 {
            let now = at(u64::from(n) * 1000);
            assert!(!bound.check(now, address(66), Some(n), n), "it echoes every probe");
            assert!(bound.check(now, address(1), None, n));
        }
    }

    #[test]
    fn who_spoke_first_without_having_heard_a_probe_gives_way_to_who_has() {
        let mut bound = BoundAddress::new(at(0), address(66));
        assert!(bound.check(at(1), address(66), None, 5));
        assert!(bound.check(at(2), address(1), Some(5), 5));
        assert!(!bound.check(at(3), address(66), None, 5));
    }

    #[test]
    fn a_receiver_that_moves_is_believed_when_it_has_echoed_two_probes() {
        let mut bound = proved();
        assert!(!bound.check(at(2000), address(2), Some(10), 10));
        assert!(!bound.check(at(3000), address(2), Some(11), 11));
        assert!(bound.check(at(4000), address(2), Some(12), 12));
        assert!(!bound.check(at(4001), address(1), Some(12), 12), "the old one is foreign now");
    }

    #[test]
    fn a_receiver_that_answers_few_of_many_probes_is_believed_where_it_has_moved_to() {
        let mut bound = proved();
        // A probe each 10 ms, one answer a second.
        let believed = (3..10).find(|second: &u16| {
            let sent = second * 100;
            bound.check(at(u64::from(*second) * 1000), address(2), Some(sent - 1), sent)
        });
        assert_eq!(believed, Some(5), "the first answer, and two later ones");
    }

    #[test]
    fn an_address_that_proves_nothing_does_not_keep_the_receiver_from_moving() {
        let mut bound = proved();
        let mut believed = None;
        for n in 0..100u16 {
            let now = at(3000 + u64::from(n) * 100);
            assert!(!bound.check(now, address(66), None, n));
            if bound.check(now, address(2), Some(n), n) {
                believed.get_or_insert(n);
                assert!(bound.check(now, address(2), None, n));
            }
        }
        assert!(believed.is_some_and(|n| n < 50), "{believed:?}");
    }

    #[test]
    fn one_echo_that_comes_again_and_again_counts_once() {
        let mut bound = proved();
        assert!(!bound.check(at(4000), address(2), Some(10), 10));
        for n in 0..100u16 {
            assert!(!bound.check(at(5000 + u64::from(n) * 10), address(2), Some(11), 11 + n / 10));
        }
    }

    #[test]
    fn who_does_not_hear_the_group_is_never_believed() {
        let mut bound = BoundAddress::new(at(0), address(1));
        for n in 0..1000u16 {
            let now = at(4000 + u64::from(n));
            assert!(!bound.check(now, address(66), Some(n), 40_000 + n / 100));
            assert!(!bound.check(now, address(66), None, 40_000 + n / 100));
        }
    }
}

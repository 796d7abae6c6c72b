//! Pins a remote sender to its address and instance, and requests confirmation before anything is
//! destroyed. A message that would end a running transfer must come twice, at least a GRTT apart,
//! with no contradiction in between. So a single forged datagram has no effect.

use crate::{
    stats::DropReason,
    time::{Duration, Time},
};
use core::net::{IpAddr, SocketAddr};
use fanfare_wire::InstanceId;

/// A claim must stand at least so long in real time, however short the GRTT is: on a LAN two datagrams
/// a GRTT of one millisecond apart are one burst of a forger, and a sender at work is heard far more
/// often than once a second.
pub(crate) const CONFIRM_MIN: Duration = Duration::from_secs(1);

/// A claim that takes effect when it is heard again.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Confirmation<T> {
    claim: Option<(T, Time)>,
}

impl<T> Default for Confirmation<T> {
    fn default() -> Self {
        Self { claim: None }
    }
}

impl<T> Confirmation<T> {
    /// `claim` was heard. True when an `agrees`-ing one was heard `apart` or longer ago, and no less
    /// than [`CONFIRM_MIN`].
    pub(crate) fn hear(
        &mut self,
        now: Time,
        claim: T,
        apart: Duration,
        agrees: impl Fn(&T, &T) -> bool,
    ) -> bool {
        match &self.claim {
            Some((earlier, since)) if agrees(earlier, &claim) => {
                let confirmed = now.since(*since) >= apart.max(CONFIRM_MIN);
                if confirmed {
                    self.claim = None;
                }
                confirmed
            }
            _ => {
                self.claim = Some((claim, now));
                false
            }
        }
    }

    /// Something was heard that the claim denies.
    pub(crate) fn contradict(&mut self) {
        self.claim = None;
    }
}

/// Where a sender's messages come from, and in which of its instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) source: SocketAddr,
    pub(crate) instance: InstanceId,
}

/// What a message's identity means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// As always.
    Known,
    /// Not (yet) to be believed.
    Refused(DropReason),
    /// The sender is elsewhere now.
    Moved,
    /// The sender is elsewhere, and has been there for long: who was believed so far spoke at the same
    /// time, and was not the sender.
    Disowned,
    /// The sender has restarted with a new instance id.
    Restarted,
}

/// Pins a sender to its identity.
#[derive(Debug, Clone)]
pub(crate) struct PinnedIdentity {
    pinned: Identity,
    other: Confirmation<Identity>,
    /// Another host that has spoken as this sender in its present instance, before and after which the
    /// pinned one did: one of them is not the sender. The last of them, and when.
    rival: Option<(IpAddr, Time)>,
    /// Messages as always, up to the number that makes a sender worth keeping.
    consistent: u8,
    /// Only others have spoken of it so far: its own first word counts more.
    from_peers: bool,
}

/// Messages after which a sender is no longer given up for a new one.
const CONSISTENT: u8 = 3;
/// Who has been silent for so long while the pinned one spoke is no rival any more. A sender at work is
/// heard every second. Two relays that begin together both speak, until each has heard the other; the one
/// that stands by then is no impostor when it takes over.
const RIVAL: Duration = Duration::from_secs(10);

impl PinnedIdentity {
    pub(crate) fn new(identity: Identity) -> Self {
        let (other, rival) = (Confirmation::default(), None);
        Self { pinned: identity, other, rival, consistent: 0, from_peers: false }
    }
    /// A sender that others speak of; its address is not known.
    pub(crate) fn of_peers(identity: Identity) -> Self {
        Self { from_peers: true, ..Self::new(identity) }
    }
    pub(crate) fn is_from_peers(&self) -> bool {
        self.from_peers
    }
    pub(crate) fn pinned(&self) -> Identity {
        self.pinned
    }
    pub(crate) fn is_established(&self) -> bool {
        self.consistent >= CONSISTENT
    }

    /// A message of this sender arrived. `silent`: the pinned one has not been heard for so long that
    /// another is believed at once.
    pub(crate) fn check(
        &mut self,
        now: Time,
        identity: Identity,
        grtt: Duration,
        silent: bool,
    ) -> Verdict {
        let before = self.pinned;
        if core::mem::take(&mut self.from_peers) {
            self.pinned = identity;
            let same = identity.instance == before.instance;
            return if same { Verdict::Known } else { Verdict::Restarted };
        }
        if identity == before {
            self.rival = self.rival_now(now).or(self.rival);
            self.rival = self.rival.filter(|(_, heard)| now.since(*heard) < RIVAL);
            self.other.contradict();
            self.consistent = self.consistent.saturating_add(1).min(CONSISTENT);
            return Verdict::Known;
        }
        if silent || self.other.hear(now, identity, grtt, |a, b| a == b) {
            self.other.contradict();
            self.pinned = identity;
            let rival = self.rival.take().is_some_and(|(ip, _)| ip == identity.source.ip());
            return match identity.instance == before.instance {
                false => Verdict::Restarted,
                true if rival => Verdict::Disowned,
                true => Verdict::Moved,
            };
        }
        let foreign = identity.source != before.source;
        Verdict::Refused(if foreign { DropReason::ForeignSource } else { DropReason::Unconfirmed })
    }

    /// Another host that claims to be this sender in this instance, and has not been denied since.
    fn rival_now(&self, now: Time) -> Option<(IpAddr, Time)> {
        let (claim, _) = self.other.claim?;
        let (rival, pinned) = (claim.source.ip(), self.pinned.source.ip());
        (claim.instance == self.pinned.instance && rival != pinned).then_some((rival, now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::at;

    const GRTT: Duration = Duration::from_millis(100);

    fn identity(port: u16, instance: u16) -> Identity {
        let source = SocketAddr::from(([10, 0, 0, 1], port));
        Identity { source, instance: InstanceId(instance) }
    }

    #[test]
    fn a_new_instance_is_believed_when_it_is_heard_twice_a_second_apart() {
        let mut pinned = PinnedIdentity::new(identity(1, 1));
        let refused = Verdict::Refused(DropReason::Unconfirmed);
        assert_eq!(pinned.check(at(0), identity(1, 2), GRTT, false), refused);
        assert_eq!(pinned.check(at(999), identity(1, 2), GRTT, false), refused);
        assert_eq!(pinned.check(at(1000), identity(1, 2), GRTT, false), Verdict::Restarted);
        assert_eq!(pinned.check(at(1001), identity(1, 2), GRTT, false), Verdict::Known);
    }

    #[test]
    fn who_has_been_silent_is_replaced_at_once_and_who_speaks_again_is_not() {
        let mut pinned = PinnedIdentity::new(identity(1, 1));
        let refused = Verdict::Refused(DropReason::ForeignSource);
        assert_eq!(pinned.check(at(0), identity(2, 2), GRTT, false), refused);
        assert_eq!(pinned.check(at(20), identity(2, 2), GRTT, true), Verdict::Restarted);
        assert_eq!(pinned.check(at(21), identity(2, 2), GRTT, false), Verdict::Known);
        assert_eq!(pinned.check(at(22), identity(1, 1), GRTT, false), refused);
        assert_eq!(pinned.check(at(60), identity(3, 2), GRTT, true), Verdict::Moved);
    }

    #[test]
    fn a_message_of_the_old_instance_in_between_contradicts_the_new_one() {
        let mut pinned = PinnedIdentity::new(identity(1, 1));
        for ms in (0..10_000).step_by(500) {
            assert!(matches!(
                pinned.check(at(ms), identity(1, 2), GRTT, false),
                Verdict::Refused(_)
            ));
            assert_eq!(pinned.check(at(ms + 250), identity(1, 1), GRTT, false), Verdict::Known);
        }
    }

    #[test]
    fn another_address_is_foreign_until_it_is_confirmed_as_a_move() {
        let mut pinned = PinnedIdentity::new(identity(1, 1));
        let refused = Verdict::Refused(DropReason::ForeignSource);
        assert_eq!(pinned.check(at(0), identity(2, 1), GRTT, false), refused);
        assert_eq!(pinned.check(at(1000), identity(2, 1), GRTT, false), Verdict::Moved);
    }

    #[test]
    fn who_spoke_at_the_same_time_as_the_one_that_is_believed_has_not_moved() {
        let host = |last: u8, port| {
            let source = SocketAddr::from(([10, 0, 0, last], port));
            Identity { source, instance: InstanceId(1) }
        };
        let mut pinned = PinnedIdentity::new(host(66, 1));
        for ms in (0..3_000).step_by(500) {
            assert!(matches!(pinned.check(at(ms), host(1, 1), GRTT, false), Verdict::Refused(_)));
            assert_eq!(pinned.check(at(ms + 250), host(66, 1), GRTT, false), Verdict::Known);
        }
        assert!(matches!(pinned.check(at(3_000), host(1, 1), GRTT, false), Verdict::Refused(_)));
        assert_eq!(pinned.check(at(4_000), host(1, 1), GRTT, false), Verdict::Disowned);
        // Another port of the same host is not another host, and who is new has moved.
        for (next, verdict) in [(host(1, 2), Verdict::Moved), (host(2, 1), Verdict::Moved)] {
            assert_eq!(pinned.check(at(4_500), host(1, 1), GRTT, false), Verdict::Known);
            assert!(matches!(
                pinned.check(at(5_000), host(1, 2), GRTT, false),
                Verdict::Refused(_)
            ));
            assert_eq!(pinned.check(at(5_500), host(1, 1), GRTT, false), Verdict::Known);
            let mut pinned = pinned.clone();
            assert!(matches!(pinned.check(at(6_000), next, GRTT, false), Verdict::Refused(_)));
            assert_eq!(pinned.check(at(7_000), next, GRTT, false), verdict);
        }
    }

    #[test]
    fn who_spoke_long_ago_and_has_let_the_other_speak_since_has_moved() {
        let host = |last: u8| {
            let source = SocketAddr::from(([10, 0, 0, last], 1));
            Identity { source, instance: InstanceId(1) }
        };
        for (spoke_until, verdict) in [(11_000, Verdict::Disowned), (9_000, Verdict::Moved)] {
            let mut pinned = PinnedIdentity::new(host(66));
            for ms in (0..20_000).step_by(500) {
                if ms <= spoke_until {
                    assert!(matches!(
                        pinned.check(at(ms), host(1), GRTT, false),
                        Verdict::Refused(_)
                    ));
                }
                assert_eq!(pinned.check(at(ms + 250), host(66), GRTT, false), Verdict::Known);
            }
            assert!(matches!(pinned.check(at(23_000), host(1), GRTT, false), Verdict::Refused(_)));
            assert_eq!(pinned.check(at(24_000), host(1), GRTT, false), verdict, "{spoke_until}");
        }
    }

    #[test]
    fn a_senders_own_first_message_overrides_what_peers_reported() {
        let mut pinned = PinnedIdentity::of_peers(identity(0, 1));
        assert_eq!(pinned.check(at(0), identity(1, 1), GRTT, false), Verdict::Known);
        assert!(matches!(pinned.check(at(1), identity(2, 1), GRTT, false), Verdict::Refused(_)));
        let mut pinned = PinnedIdentity::of_peers(identity(0, 1));
        assert_eq!(pinned.check(at(0), identity(1, 2), GRTT, false), Verdict::Restarted);
    }

    #[test]
    fn claims_that_differ_do_not_confirm_each_other() {
        let mut pinned = PinnedIdentity::new(identity(1, 1));
        for ms in (0..10_000).step_by(1000) {
            let instance = 2 + u16::try_from(ms / 1000).unwrap();
            assert!(matches!(
                pinned.check(at(ms), identity(1, instance), GRTT, false),
                Verdict::Refused(_)
            ));
        }
    }
}

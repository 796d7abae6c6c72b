//! What is known of one other doctor.

use std::{net::SocketAddr, time::Duration};

use fanfare_proto::Time;

use super::exchange::{ENOUGH, Way};
use super::probe::{Heard, Probe};

/// Probes back from the newest within which a repetition is recognised.
const WINDOW: u32 = 64;

/// What one machine heard of another's probes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hears {
    /// Probes heard, each counted once.
    pub heard: u32,
    /// Probes sent since the first one heard.
    pub of: u32,
    /// How many of the newest in a row were not heard.
    pub missed_lately: u32,
}

/// What the exchange with one other machine came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerReport {
    /// The machine's name, as it says.
    pub name: String,
    /// Where it sends from.
    pub address: SocketAddr,
    /// Probes of it heard by multicast, each counted once.
    pub heard: u32,
    /// Probes it sent since the first one heard.
    pub of: u32,
    /// What it heard of ours, by its own word; `None` when it never said that it did.
    pub hears_us: Option<Hears>,
    /// Our probes since it was first heard.
    pub our_probes: u32,
    /// Shortest round trip.
    pub rtt: Option<Duration>,
    /// Probes that came again.
    pub duplicates: u32,
    /// Probes of it that came by unicast, which it sends when it believes that we are deaf.
    pub unicast: u32,
    /// Since its last probe.
    pub silent_for: Duration,
    /// It said good-bye.
    pub left: bool,
    /// Longest packet that its interface takes, as it says; 0 where it does not.
    pub mtu: u16,
    /// Probes of it heard that were as long as that.
    pub full: u32,
}

/// One other doctor.
#[derive(Debug)]
pub(crate) struct Peer {
    name: String,
    address: SocketAddr,
    /// Our own next sequence when it was first heard.
    begun: u32,
    span: Option<Span>,
    unicast: u32,
    mtu: u16,
    full: u32,
    last_at: Time,
    left: bool,
    hears_us: Option<Hears>,
    rtt: Option<Duration>,
}

/// The probes heard by multicast.
#[derive(Debug)]
struct Span {
    since: Time,
    first: u32,
    last: u32,
    count: u32,
    /// Bit n: `last - n` was heard.
    recent: u64,
    duplicates: u32,
    last_at: Time,
}

impl Peer {
    pub(crate) fn new(name: &str, address: SocketAddr, begun: u32) -> Self {
        Self {
            name: name.to_owned(),
            address,
            begun,
            span: None,
            unicast: 0,
            mtu: 0,
            full: 0,
            last_at: Time::ZERO,
            left: false,
            hears_us: None,
            rtt: None,
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// When it was first heard by multicast.
    pub(crate) fn since(&self) -> Option<Time> {
        self.span.as_ref().map(|span| span.since)
    }

    pub(crate) fn on_probe(&mut self, now: Time, way: Way, probe: &Probe) {
        self.last_at = now;
        self.mtu = probe.mtu;
        if probe.full {
            self.full += u32::from(way == Way::Multicast);
            return;
        }
        self.left |= probe.leaving;
        match (way, &mut self.span) {
            (Way::Unicast, _) => self.unicast += 1,
            (Way::Multicast, Some(span)) => span.on_sequence(now, probe.sequence),
            (Way::Multicast, none) => *none = Some(Span::begin(now, probe.sequence)),
        }
    }

    /// It says what it heard of us. `sent_at` is when we sent the last of it, `newest` the newest
    /// probe of ours that it could have heard by then.
    pub(crate) fn on_echo(&mut self, now: Time, echo: &Heard, sent_at: Option<Time>, newest: u32) {
        let end = echo.last.max(newest);
        let of = end.saturating_sub(echo.first).saturating_add(1);
        let missed_lately = end - echo.last;
        self.hears_us = Some(Hears { heard: echo.count.min(of), of, missed_lately });
        if let Some(rtt) = sent_at.and_then(|at| now.since(at).checked_sub(echo.held)) {
            self.rtt = Some(self.rtt.map_or(rtt, |least| least.min(rtt)));
        }
    }

    /// What our next probe says of it.
    pub(crate) fn heard_entry(&self, boot: u64, now: Time) -> Option<Heard> {
        let Span { first, last, count, last_at, .. } = *self.span.as_ref()?;
        Some(Heard { boot, first, last, count, held: now.since(last_at) })
    }

    /// Enough went out since it was first heard, and it says nothing of having heard any.
    pub(crate) fn seems_deaf(&self, next: u32) -> bool {
        !self.left && self.hears_us.is_none() && next.saturating_sub(self.begun) >= ENOUGH
    }

    pub(crate) fn report(&self, now: Time, next: u32) -> PeerReport {
        let (heard, of, duplicates) = match &self.span {
            Some(span) => (span.count, span.last.saturating_sub(span.first) + 1, span.duplicates),
            None => (0, 0, 0),
        };
        PeerReport {
            name: self.name.clone(),
            address: self.address,
            heard,
            of,
            hears_us: self.hears_us,
            our_probes: next.saturating_sub(self.begun),
            rtt: self.rtt,
            duplicates,
            unicast: self.unicast,
            silent_for: now.since(self.span.as_ref().map_or(self.last_at, |span| span.last_at)),
            left: self.left,
            mtu: self.mtu,
            full: self.full,
        }
    }
}

impl Span {
    fn begin(now: Time, sequence: u32) -> Self {
        Self {
            since: now,
            first: sequence,
            last: sequence,
            count: 1,
            recent: 1,
            duplicates: 0,
            last_at: now,
        }
    }

    fn on_sequence(&mut self, now: Time, sequence: u32) {
        if sequence > self.last {
            let ahead = sequence - self.last;
            self.recent = if ahead < WINDOW { self.recent << ahead | 1 } else { 1 };
            (self.last, self.last_at) = (sequence, now);
            self.count += 1;
            return;
        }
        let behind = self.last - sequence;
        if behind >= WINDOW || self.recent & 1 << behind != 0 {
            // Beyond the window it is far too late to be anything else.
            self.duplicates += 1;
            return;
        }
        self.recent |= 1 << behind;
        self.first = self.first.min(sequence);
        self.count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span_of(sequences: &[u32]) -> (u32, u32, u32) {
        let mut span = Span::begin(Time::ZERO, sequences[0]);
        sequences[1..].iter().for_each(|s| span.on_sequence(Time::ZERO, *s));
        (span.count, span.last - span.first + 1, span.duplicates)
    }

    #[test]
    fn order_does_not_matter_and_repetitions_do_not_count() {
        assert_eq!(span_of(&[3, 4, 5]), (3, 3, 0));
        assert_eq!(span_of(&[4, 3, 6, 5]), (4, 4, 0));
        assert_eq!(span_of(&[3, 5, 5, 3]), (2, 3, 2));
        assert_eq!(span_of(&[0, 100, 0, 100]), (2, 101, 2));
        assert_eq!(span_of(&[0, 64, 64]), (2, 65, 1));
    }

    #[test]
    fn a_boast_of_more_probes_than_were_sent_is_cut() {
        let mut peer = Peer::new("x", SocketAddr::from(([10, 0, 0, 1], 1)), 0);
        let echo = Heard { boot: 1, first: 0, last: 9, count: 500, held: Duration::from_secs(9) };
        peer.on_echo(Time::from_nanos(5), &echo, Some(Time::ZERO), 9);
        assert_eq!(
            peer.report(Time::ZERO, 10).hears_us,
            Some(Hears { heard: 10, of: 10, missed_lately: 0 })
        );
        assert_eq!(peer.report(Time::ZERO, 10).rtt, None);
    }
}

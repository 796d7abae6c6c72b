//! Doctors exchange probes: who hears whom, how many, how long it takes. No I/O, no clock.

use std::{
    collections::{BTreeMap, VecDeque},
    net::SocketAddr,
    time::Duration,
};

use fanfare_proto::Time;

use super::peer::{Peer, PeerReport};
use super::probe::{ENTRIES_MAX, Probe};

/// Between two probes: quick enough for 25 in five seconds, slow enough for any radio.
pub(crate) const INTERVAL: Duration = Duration::from_millis(200);
/// Peers remembered; more are counted and ignored, since anybody can invent them.
pub(crate) const PEERS_MAX: usize = 64;
/// Sending times remembered: 13 s of probes, longer than any answer is worth waiting for.
const SENT_MAX: usize = 64;
/// Own probes after which a peer should have heard one of them.
pub(crate) const ENOUGH: u32 = 5;

/// How a probe came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// To the group.
    Multicast,
    /// To this machine alone: the sender found that we do not hear it by multicast, or wants to see.
    Unicast,
}

/// One doctor's side of the exchange.
#[derive(Debug)]
pub(crate) struct Exchange {
    boot: u64,
    name: String,
    mtu: u16,
    next_at: Time,
    /// Sequence of the next probe; as many were sent.
    next: u32,
    sent: VecDeque<(u32, Time)>,
    own_heard: u32,
    peers: BTreeMap<u64, Peer>,
    ignored: u64,
}

impl Exchange {
    /// `boot` is random; probes begin at `now`.
    /// `mtu`: the longest packet that its interface takes.
    pub(crate) fn new(boot: u64, name: String, mtu: u32, now: Time) -> Self {
        Self {
            boot,
            name,
            // What no packet of IP is longer than is as good as unknown.
            mtu: u16::try_from(mtu).unwrap_or(0),
            next_at: now,
            next: 0,
            sent: VecDeque::new(),
            own_heard: 0,
            peers: BTreeMap::new(),
            ignored: 0,
        }
    }

    /// The probe that is due, if one is.
    pub(crate) fn poll_probe(&mut self, now: Time) -> Option<Probe> {
        if now < self.next_at {
            return None;
        }
        self.next_at = now.plus(INTERVAL);
        Some(self.probe(now, false))
    }

    /// The last probe: the others need not wonder.
    pub(crate) fn good_bye(&mut self, now: Time) -> Probe {
        self.probe(now, true)
    }

    /// When the next probe is due.
    pub(crate) fn next_timeout(&self) -> Time {
        self.next_at
    }

    fn probe(&mut self, now: Time, leaving: bool) -> Probe {
        let sequence = self.next;
        self.next += 1;
        if self.sent.len() == SENT_MAX {
            self.sent.pop_front();
        }
        self.sent.push_back((sequence, now));
        // With more peers than fit, each probe names others.
        let start = sequence as usize * ENTRIES_MAX % self.peers.len().max(1);
        let turn = self.peers.iter().cycle().skip(start).take(self.peers.len().min(ENTRIES_MAX));
        let heard = turn.filter_map(|(boot, peer)| peer.heard_entry(*boot, now)).collect();
        let name = self.name.clone();
        Probe { boot: self.boot, sequence, name, leaving, heard, mtu: self.mtu, full: false }
    }

    /// A probe came; our own come back too.
    pub(crate) fn on_probe(&mut self, now: Time, source: SocketAddr, way: Way, probe: &Probe) {
        if probe.boot == self.boot {
            if probe.full {
                return;
            }
            self.own_heard += u32::from(way == Way::Multicast);
            return;
        }
        if self.peers.len() == PEERS_MAX && !self.peers.contains_key(&probe.boot) {
            self.ignored += 1;
            return;
        }
        let (boot, next) = (self.boot, self.next);
        let peer =
            self.peers.entry(probe.boot).or_insert_with(|| Peer::new(&probe.name, source, next));
        peer.on_probe(now, way, probe);
        if let Some(entry) = probe.heard.iter().find(|entry| entry.boot == boot) {
            let sent_at = self.sent.iter().find(|(sequence, _)| *sequence == entry.last);
            // The newest probe may still be under way to it.
            peer.on_echo(now, entry, sent_at.map(|(_, at)| *at), next.saturating_sub(2));
        }
    }

    /// Peers to which a probe should go by unicast as well: they show no sign of hearing the group.
    pub(crate) fn deaf_peers(&self) -> impl Iterator<Item = SocketAddr> + '_ {
        self.peers.values().filter(|peer| peer.seems_deaf(self.next)).map(Peer::address)
    }

    /// Probes sent, and how many of them came back to this machine.
    pub(crate) fn own(&self) -> (u32, u32) {
        (self.own_heard, self.next)
    }

    /// When the newest peer was first heard, so that the exchange can last long enough for it.
    pub(crate) fn newest_peer(&self) -> Option<Time> {
        self.peers.values().filter_map(Peer::since).max()
    }

    /// Probes of peers beyond the most that are remembered.
    pub(crate) fn ignored(&self) -> u64 {
        self.ignored
    }

    /// What became of it, by name.
    pub(crate) fn reports(&self, now: Time) -> Vec<PeerReport> {
        let mut reports: Vec<_> = self.peers.values().map(|p| p.report(now, self.next)).collect();
        reports.sort_by(|a, b| (&a.name, a.address).cmp(&(&b.name, b.address)));
        reports
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    fn address(n: u8) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, n], 40_000))
    }

    /// Two doctors for `rounds` probes each, 5 ms apart; `lost(from, sequence)` says what is lost.
    fn talk(rounds: u64, lost: impl Fn(u8, u32) -> bool) -> [Exchange; 2] {
        let mut one = Exchange::new(1, "lab-01".into(), 1500, at(0));
        let mut two = Exchange::new(2, "lab-02".into(), 1500, at(100));
        for round in 0..rounds {
            let now = at(round * 200);
            let probe = one.poll_probe(now).expect("due");
            one.on_probe(now, address(1), Way::Multicast, &probe);
            if !lost(1, probe.sequence) {
                two.on_probe(now.plus(5 * MS), address(1), Way::Multicast, &probe);
            }
            let now = at(round * 200 + 100);
            let probe = two.poll_probe(now).expect("due");
            if !lost(2, probe.sequence) {
                one.on_probe(now.plus(5 * MS), address(2), Way::Multicast, &probe);
            }
        }
        [one, two]
    }

    #[test]
    fn probes_are_200_ms_apart() {
        let mut one = Exchange::new(1, String::new(), 1500, at(0));
        assert_eq!(one.poll_probe(at(0)).unwrap().sequence, 0);
        assert_eq!(one.poll_probe(at(199)), None);
        assert_eq!(one.next_timeout(), at(200));
        assert_eq!(one.poll_probe(at(200)).unwrap().sequence, 1);
    }

    #[test]
    fn without_loss_both_hear_all_and_the_round_trip_leaves_out_the_time_held() {
        let [one, two] = talk(25, |_, _| false);
        assert_eq!(one.own(), (25, 25));
        let report = &one.reports(at(5000))[0];
        assert_eq!((report.name.as_str(), report.address), ("lab-02", address(2)));
        assert_eq!((report.heard, report.of), (25, 25));
        let hears = report.hears_us.unwrap();
        assert_eq!((hears.heard, hears.of), (25, 25));
        assert_eq!(report.rtt, Some(10 * MS));
        assert_eq!(report.duplicates, 0);
        assert_eq!(two.reports(at(5000)).len(), 1);
    }

    #[test]
    fn loss_in_one_direction_shows_in_that_direction_only() {
        let [one, two] = talk(25, |from, sequence| from == 1 && sequence == 7);
        let (seen_by_one, seen_by_two) = (&one.reports(at(5000))[0], &two.reports(at(5000))[0]);
        assert_eq!((seen_by_one.heard, seen_by_one.of), (25, 25));
        assert_eq!(seen_by_one.hears_us.map(|h| (h.heard, h.of)), Some((24, 25)));
        assert_eq!((seen_by_two.heard, seen_by_two.of), (24, 25));
    }

    #[test]
    fn one_that_hears_nothing_is_known_as_deaf_by_the_other() {
        let [one, two] = talk(25, |from, _| from == 1);
        let report = &one.reports(at(5000))[0];
        assert_eq!((report.heard, report.of, report.hears_us), (25, 25, None));
        assert_eq!(one.deaf_peers().collect::<Vec<_>>(), [address(2)]);
        assert!(two.reports(at(5000)).is_empty());
    }

    #[test]
    fn unicast_tells_the_deaf_one_who_speaks() {
        let [mut one, mut two] = talk(25, |from, _| from == 1);
        let probe = one.poll_probe(at(5000)).unwrap();
        two.on_probe(at(5005), address(1), Way::Unicast, &probe);
        let report = &two.reports(at(5100))[0];
        assert_eq!((report.heard, report.unicast), (0, 1));
        assert_eq!(report.hears_us.map(|h| (h.heard, h.of)), Some((25, 25)));
    }

    #[test]
    fn a_repeated_probe_counts_once_and_is_told() {
        let [mut one, mut two] = talk(3, |_, _| false);
        let probe = two.poll_probe(at(700)).unwrap();
        for _ in 0..3 {
            one.on_probe(at(705), address(2), Way::Multicast, &probe);
        }
        let report = &one.reports(at(800))[0];
        assert_eq!((report.heard, report.of, report.duplicates), (4, 4, 2));
    }

    #[test]
    fn one_that_stops_without_a_good_bye_has_lost_what_it_would_have_said() {
        let [mut one, mut two] = talk(10, |_, _| false);
        let report = &one.reports(at(5000))[0];
        assert!(report.silent_for > Duration::from_secs(3) && !report.left);
        let bye = two.good_bye(at(2000));
        one.on_probe(at(2005), address(2), Way::Multicast, &bye);
        assert!(one.reports(at(5000))[0].left);
    }

    #[test]
    fn a_peer_that_stops_hearing_us_is_noticed_though_it_once_did() {
        let [one, _] = talk(25, |from, sequence| from == 1 && sequence >= 5);
        assert_eq!(one.reports(at(5000))[0].hears_us.map(|h| (h.heard, h.of)), Some((5, 24)));
    }

    #[test]
    fn invented_peers_are_bounded_and_all_real_ones_are_named_in_turn() {
        let mut one = Exchange::new(1, String::new(), 1500, at(0));
        for boot in 100..200 {
            let probe = Probe { boot, name: "x".into(), mtu: 1500, ..Probe::default() };
            one.on_probe(at(1), address(9), Way::Multicast, &probe);
        }
        assert_eq!((one.reports(at(2)).len(), one.ignored()), (PEERS_MAX, 36));
        let mut named = std::collections::BTreeSet::new();
        for round in 0..16 {
            let probe = one.poll_probe(at(200 * round)).unwrap();
            named.extend(probe.heard.iter().map(|entry| entry.boot));
        }
        assert_eq!(named.len(), PEERS_MAX);
    }
}

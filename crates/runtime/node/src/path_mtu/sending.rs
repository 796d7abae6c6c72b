//! The sender's side: marks, series of rungs, and limits.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use fanfare_proto::Time;

use super::message::{PathMessage, RUNG_MIN};

/// What every path of IPv4 carries (RFC 791: packets of 576 bytes), beside the longest headers of IP and
/// UDP: messages of this length need no marks, and no limit is lower.
pub(super) const ALWAYS: usize = 528;
/// Lengths that are tried: MTU of 576, 1000, 1280 (RFC 8200), 1420 (WireGuard), 1450 (VXLAN), 1492 (PPPoE),
/// 1500, 4000 and 9000, less 48 bytes of IPv6 and UDP.
const RUNGS: [usize; 9] = [ALWAYS, 952, 1_232, 1_372, 1_402, 1_444, 1_452, 3_952, 8_952];
/// Lengths that are taken one after another where the system refuses a datagram: beside the rungs those that
/// only an interface of this machine can have.
pub(super) const SHORTER: [usize; 12] =
    [100, 252, ALWAYS, 952, 1_232, 1_372, 1_402, 1_444, 1_452, 3_952, 8_952, 65_000];
/// A mark comes after so long. Two without a datagram between them are a sign: a second is soon enough for
/// people, and 21 bytes each are nothing even on radio.
const MARK: Duration = Duration::from_millis(400);
/// Lengths that differ by less count as one: headers of messages differ.
pub(super) const SAME: usize = 64;
/// Each length is tried twice: one datagram may be lost.
const SERIES: u32 = 2;
/// Between two series, and at least between two of them that found nothing wrong.
const SERIES_GAP: Duration = Duration::from_millis(150);
const QUIET: Duration = Duration::from_secs(10);
/// Limits are tried again after so long, and one that nobody confirms is let go after three times: a path may
/// get better.
const AGAIN: Duration = Duration::from_secs(30);
const LAPSES: Duration = Duration::from_secs(100);
/// Destinations and hosts with limits, each at most.
const DESTINATIONS_MAX: usize = 256;
const HOSTS_MAX: usize = 256;

/// What was sent to one destination.
#[derive(Debug)]
struct SentDatagrams {
    longest: usize,
    count: u16,
    mark: Option<Time>,
    last: Time,
}

/// Limit of what goes to a host, or through the group to it.
#[derive(Debug, Clone, Copy)]
struct PathLimit {
    bytes: usize,
    /// The longest that was heard, also where it is shorter than any limit.
    heard: usize,
    until: Time,
    /// People know of it.
    told: bool,
    /// The series that has shown it.
    series: Option<u32>,
}

/// One attempt to find what lengths come through.
#[derive(Debug)]
struct RungSeries {
    number: u32,
    left: u32,
    next: Time,
    to: Vec<SocketAddr>,
}

/// News that people are told: a host whose path has a smaller MTU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ShortPath {
    /// The host.
    pub(crate) host: IpAddr,
    /// What comes there at most, and what was sent: bytes of a UDP datagram.
    pub(crate) heard: usize,
    pub(crate) sent: usize,
}

impl std::fmt::Display for ShortPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { host, heard, sent } = self;
        let header = if host.is_ipv4() { 28 } else { 48 };
        if *heard < ALWAYS {
            let least = ALWAYS + 48;
            return write!(
                f,
                "host {host} gets nothing: packets of {least} bytes do not arrive there, and none are sent \
                 shorter than that. Give its path an MTU of {least} or more"
            );
        }
        let (heard, sent) = (heard + header, sent + header);
        write!(
            f,
            "the path to host {host} has a smaller MTU: packets of {sent} bytes do not arrive there, those \
             of {heard} do. From now on longer ones go in fragments; a shorter --segment saves that"
        )
    }
}

/// The sender's side.
#[derive(Debug)]
pub(super) struct SendingSide {
    overhead: usize,
    sent: BTreeMap<SocketAddr, SentDatagrams>,
    limits: BTreeMap<IpAddr, PathLimit>,
    /// Hosts that have heard everything of the series of this number.
    clear: BTreeMap<IpAddr, u32>,
    series: Option<RungSeries>,
    /// Longest message that was to be sent.
    wanted: usize,
    /// Who may have a series next, and when limits are tried again.
    next_series: Time,
    again: Option<Time>,
    pub(super) messages: VecDeque<(SocketAddr, Vec<u8>)>,
    pub(super) news: VecDeque<ShortPath>,
}

impl SendingSide {
    pub(super) fn new(overhead: usize) -> Self {
        Self {
            overhead,
            sent: BTreeMap::new(),
            limits: BTreeMap::new(),
            clear: BTreeMap::new(),
            series: None,
            wanted: 0,
            next_series: Time::ZERO,
            again: None,
            messages: VecDeque::new(),
            news: VecDeque::new(),
        }
    }

    /// The longest message that may go there in one datagram.
    pub(super) fn limit(&self, to: SocketAddr) -> usize {
        let own = |ip: &IpAddr| self.limits.get(ip).map(|limit| limit.bytes);
        let ip = to.ip();
        if is_one(ip) {
            return own(&ip).unwrap_or(usize::MAX);
        }
        self.limits.values().map(|limit| limit.bytes).min().unwrap_or(usize::MAX)
    }

    /// A message is to be sent of this length, whatever becomes of it.
    pub(super) fn on_wanted(&mut self, now: Time, to: SocketAddr, size: usize) {
        if size <= ALWAYS.saturating_sub(self.overhead) {
            return;
        }
        self.wanted = self.wanted.max(size);
        if !self.sent.contains_key(&to) && self.sent.len() >= DESTINATIONS_MAX {
            self.sent.retain(|_, sent| now.since(sent.last) < QUIET);
            if self.sent.len() >= DESTINATIONS_MAX {
                return;
            }
        }
        let new = || SentDatagrams { longest: 0, count: 0, mark: None, last: now };
        self.sent.entry(to).or_insert_with(new).last = now;
    }

    /// Datagrams of messages of `size` bytes have gone there.
    pub(super) fn on_sent(&mut self, now: Time, to: SocketAddr, size: usize, count: usize) {
        if size <= ALWAYS.saturating_sub(self.overhead) || count == 0 {
            return;
        }
        let Some(sent) = self.sent.get_mut(&to) else { return };
        if size > sent.longest + SAME {
            sent.count = 0;
        }
        sent.longest = sent.longest.max(size);
        if size + SAME > sent.longest {
            let count = u16::try_from(count).unwrap_or(u16::MAX);
            sent.count = sent.count.saturating_add(count);
        }
        sent.mark = sent.mark.or(Some(now + MARK));
    }

    /// The system refuses a message of so many bytes there: the next one is shorter. False where it cannot
    /// be.
    pub(super) fn on_refused(&mut self, now: Time, to: SocketAddr, size: usize) -> bool {
        let fits = |bytes: &usize| bytes.saturating_sub(self.overhead);
        let shorter = SHORTER.iter().map(fits).rev().find(|bytes| *bytes < size && *bytes > 0);
        let Some(bytes) = shorter else { return false };
        let told = self.limits.get(&to.ip()).is_some_and(|limit| limit.told);
        let until = now + LAPSES;
        self.set(now, to.ip(), PathLimit { bytes, heard: bytes, until, told, series: None })
    }

    fn set(&mut self, now: Time, host: IpAddr, limit: PathLimit) -> bool {
        if !self.limits.contains_key(&host) && self.limits.len() >= HOSTS_MAX {
            return false;
        }
        self.limits.insert(host, limit);
        self.again = self.again.or(Some(now + AGAIN));
        true
    }

    /// A host says that it hears nothing of this length.
    pub(super) fn on_deaf(&mut self, now: Time, source: SocketAddr, wanted: usize, number: u32) {
        let sent = self.sent.values().any(|sent| now.since(sent.last) < QUIET);
        if !sent || wanted > self.wanted + SAME || self.series.is_some() || now < self.next_series {
            return;
        }
        self.begin(now, Some(source.ip()), number);
    }

    /// Tries lengths: those who hear the group, and the host alone where it is sent to.
    fn begin(&mut self, now: Time, host: Option<IpAddr>, number: u32) {
        let recent = self.sent.iter().filter(|(_, sent)| now.since(sent.last) < QUIET);
        let goes = |to: &SocketAddr| {
            !is_one(to.ip()) || host.map_or(self.limits.contains_key(&to.ip()), |ip| ip == to.ip())
        };
        let to: Vec<_> = recent.map(|(to, _)| *to).filter(goes).collect();
        if !to.is_empty() {
            self.clear.clear();
            self.series = Some(RungSeries { number, left: SERIES, next: now, to });
            self.next_series = now + QUIET;
        }
    }

    /// A host says what it has heard of a series.
    pub(super) fn on_heard(
        &mut self,
        now: Time,
        source: SocketAddr,
        number: u32,
        heard: usize,
        wanted: usize,
    ) {
        let base = self.series.as_ref().map(|series| series.number);
        let Some(base) = base.filter(|base| number.wrapping_sub(*base) < SERIES) else { return };
        let host = source.ip();
        let before = self.limits.get(&host).copied();
        let is_second = before.is_some_and(|limit| limit.series == Some(base));
        if heard >= wanted {
            self.limits.remove(&host);
            if self.clear.len() < HOSTS_MAX {
                self.clear.insert(host, base);
            }
            return;
        }
        // Of the answers to a series the better one counts: one datagram may be lost.
        if self.clear.get(&host) == Some(&base) {
            return;
        }
        let least = ALWAYS.saturating_sub(self.overhead);
        let heard = before.filter(|_| is_second).map_or(heard, |old| old.heard.max(heard));
        let (bytes, until) = (heard.max(least), now + LAPSES);
        let told = before.is_some_and(|limit| limit.told);
        // That nothing long enough comes is a hard word: both series must say so.
        let tells = heard >= least || is_second;
        let limit = PathLimit { bytes, heard, until, told: told || tells, series: Some(base) };
        if self.set(now, host, limit) && tells && !told {
            let (heard, sent) = (heard + self.overhead, wanted + self.overhead);
            // Who does not fetch them does not want them.
            self.news.truncate(HOSTS_MAX - 1);
            self.news.push_back(ShortPath { host, heard, sent });
        }
        // Others may be found soon.
        self.next_series = self.next_series.min(now + SERIES_GAP * 4);
    }

    pub(super) fn advance(&mut self, now: Time, number: impl FnOnce() -> u32) {
        self.limits.retain(|_, limit| now < limit.until);
        for (to, sent) in &mut self.sent {
            if sent.mark.is_some_and(|at| at <= now) {
                let longest = u16::try_from(sent.longest).unwrap_or(u16::MAX);
                let mark = PathMessage::Mark { longest, count: sent.count };
                self.messages.push_back((*to, mark.to_bytes()));
                (sent.longest, sent.count, sent.mark) = (0, 0, None);
            }
        }
        if self.again.is_some_and(|at| at <= now) {
            self.again = (!self.limits.is_empty()).then_some(now + AGAIN);
            if self.series.is_none() && self.again.is_some() {
                self.begin(now, None, number());
            }
        }
        self.send_series(now);
    }

    fn send_series(&mut self, now: Time) {
        let Some(series) = self.series.as_mut().filter(|series| series.next <= now) else { return };
        if series.left == 0 {
            self.series = None;
            return;
        }
        series.left -= 1;
        // Answers to the last one come in time, also from far.
        series.next = now + if series.left == 0 { SERIES_GAP * 10 } else { SERIES_GAP };
        let number = series.number.wrapping_add(SERIES - 1 - series.left);
        let fits = |bytes: &usize| bytes.saturating_sub(self.overhead);
        let mut lengths: Vec<usize> =
            RUNGS.iter().map(fits).filter(|bytes| *bytes < self.wanted).collect();
        lengths.push(self.wanted);
        let longest = u16::try_from(self.wanted).unwrap_or(u16::MAX);
        for to in &series.to {
            for length in &lengths {
                let rung = PathMessage::Rung { series: number, longest, last: false };
                let mut rung = rung.to_bytes();
                rung.resize((*length).max(RUNG_MIN), 0);
                self.messages.push_back((*to, rung));
            }
            let last = PathMessage::Rung { series: number, longest, last: true };
            self.messages.push_back((*to, last.to_bytes()));
        }
    }

    pub(super) fn next_timeout(&self) -> Option<Time> {
        let marks = self.sent.values().filter_map(|sent| sent.mark);
        let series = self.series.as_ref().map(|series| series.next);
        marks.chain(series).chain(self.again).min()
    }
}

/// Whether an address is of one host.
pub(super) fn is_one(ip: IpAddr) -> bool {
    !ip.is_multicast() && ip != IpAddr::V4(std::net::Ipv4Addr::BROADCAST)
}

//! The sender's side: who is given a run to pass on, and who is sent copies.

use std::{collections::VecDeque, net::SocketAddr};

use fanfare_wire::units::{
    rng::Rng,
    time::{Duration, Time},
};

use crate::serve::{
    blame::CHUNK,
    message::{HOSTS_MAX, Message, Roster, Set, Status},
    peek::{Peek, Symbol, pieces},
};

/// A receiver that has said nothing of itself for so long is out: it is sent copies, if it is there.
const LEASE: Duration = Duration::from_secs(3);
/// Rosters to one that does not answer, at first; then each [`ROSTER`].
const QUICK: Duration = Duration::from_millis(150);
const QUICK_COUNT: u32 = 8;
const ROSTER: Duration = Duration::from_secs(1);
/// Symbols of a run at most: longer ones save no more calls.
const RUN_MAX: u16 = 2 * CHUNK;
/// To pass on a run takes so long at most, where that is possible. Until then the next one waits, and a
/// queue of that length forms in the receiver's link: home routers have room for some ten milliseconds.
const PASSED_WITHIN: f64 = 0.020;
/// The rate is measured over this.
const RATE_OVER: Duration = Duration::from_millis(200);
/// Who has not been heard for so long is in no roster.
const SILENT: Duration = Duration::from_secs(15);

/// Objects of so many bytes go to all from here: hashes are among them, by which the others are checked.
const SMALL: u64 = 300_000;
/// Hosts that serve each other: a set of them is one word in a message.
const CIRCLE_MAX: usize = HOSTS_MAX;
/// Data is held back for so long while receivers find each other: copies for all of them would fill the
/// sender's link.
const FORMING: Duration = Duration::from_secs(4);
/// One that has not said within this that it takes part is not waited for.
const UNKNOWN: Duration = Duration::from_millis(1000);

/// What the application is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum News {
    /// This host has passed on wrong bytes, says that one.
    Wrong {
        /// Who has done it.
        host: SocketAddr,
        /// Who has found it.
        by: SocketAddr,
    },
}

/// A receiver, as it was named.
#[derive(Debug)]
struct Host {
    address: SocketAddr,
    heard: Option<Time>,
    status: Option<(Status, Time)>,
    next_roster: Time,
    rosters: u32,
}

/// Which run a symbol is in.
type Run = (u16, u32, u16, bool);

/// A sender to single hosts.
#[derive(Debug)]
pub struct Source {
    sender: Option<u32>,
    hosts: Vec<Host>,
    rng: Rng,
    /// Who gets everything from others: no copies go to them.
    served: Vec<usize>,
    /// Who passes on: a round gives each of them one run. Their order changes a little with each, so that
    /// the same two are not always neighbours.
    passing: Vec<usize>,
    turn: usize,
    current: Option<(Run, usize)>,
    /// Symbols of a run.
    length: u16,
    /// Somebody looks for who has passed on wrong bytes.
    suspected: bool,
    /// Bytes since this time.
    counted: (u64, Time),
    /// The object that was begun last, if it is a small one.
    small: Option<u16>,
    /// Since when somebody is there who gets nothing from others yet.
    forming: Option<Time>,
    /// They have begun to get everything from each other, which was not told yet.
    begun: bool,
    wrong: Set,
    news: VecDeque<News>,
}

impl Source {
    /// To these hosts; the first 64 of them pass on to each other.
    #[must_use]
    pub fn new(hosts: &[SocketAddr], seed: u64) -> Self {
        let host = |address: &SocketAddr| Host {
            address: *address,
            heard: None,
            status: None,
            next_roster: Time::ZERO,
            rosters: 0,
        };
        Self {
            sender: None,
            hosts: hosts.iter().take(CIRCLE_MAX).map(host).collect(),
            rng: Rng::new(seed),
            served: Vec::new(),
            passing: Vec::new(),
            turn: 0,
            current: None,
            length: 1,
            suspected: false,
            counted: (0, Time::ZERO),
            small: None,
            forming: None,
            begun: false,
            wrong: Set::default(),
            news: VecDeque::new(),
        }
    }

    /// One more host. It passes on, too, if it is among the first 64.
    pub fn add(&mut self, address: SocketAddr) {
        if self.hosts.len() < CIRCLE_MAX {
            let (heard, status, next_roster) = (None, None, Time::ZERO);
            self.hosts.push(Host { address, heard, status, next_roster, rosters: 0 });
        }
    }

    /// Whether a datagram is one of a receiver's messages about this; it is taken then.
    pub fn on_datagram(&mut self, now: Time, from: SocketAddr, datagram: &[u8]) -> bool {
        if !Message::is_one(datagram) {
            return false;
        }
        if let Some((sender, Message::Status(status))) = Message::parse(datagram)
            && self.sender == Some(sender)
        {
            self.on_status(now, from, status);
        }
        true
    }

    fn on_status(&mut self, now: Time, from: SocketAddr, status: Status) {
        let number = usize::from(status.host);
        // Who hears the group needs nobody to pass on, and is waited for by nobody.
        let alone = |host: &&mut Host| host.address == from && host.heard.is_some();
        let Some(host) = self.hosts.get_mut(number).filter(alone) else {
            return;
        };
        let by = host.address;
        let before = host.status.replace((status, now)).map(|(status, _)| status);
        if before == Some(status) {
            return;
        }
        let newly = Set(status.wrong.0 & !self.wrong.0);
        self.wrong.0 |= newly.0;
        for (wrong, host) in self.hosts.iter().enumerate() {
            if newly.has(wrong) && wrong != number {
                self.news.push_back(News::Wrong { host: host.address, by });
            }
        }
        self.choose(now);
    }

    /// A receiver is there, and does not hear the group; `by_group`: it does.
    pub fn on_heard(&mut self, now: Time, from: SocketAddr, by_group: bool) {
        let mut lost = false;
        for host in self.hosts.iter_mut().filter(|host| host.address == from) {
            if by_group {
                lost |= host.status.take().is_some();
                host.heard = None;
                continue;
            }
            if host.heard.is_none() {
                host.next_roster = now;
                self.forming = Some(now);
            }
            host.heard = Some(now);
        }
        if lost {
            self.choose(now);
        }
    }

    /// Looks who still passes on.
    pub fn advance(&mut self, now: Time) {
        let expired = |host: &Host| host.status.is_some_and(|(_, at)| now.since(at) >= LEASE);
        if self.hosts.iter().any(expired) {
            for host in self.hosts.iter_mut().filter(|host| expired(host)) {
                host.status = None;
            }
            self.choose(now);
        }
    }

    /// All who get everything from each other: of those that pass on, each serves all of them.
    fn choose(&mut self, now: Time) {
        let live = |host: &Host| {
            host.status.filter(|(_, at)| now.since(*at) < LEASE).map(|(status, _)| status)
        };
        let statuses: Vec<Option<Status>> = self.hosts.iter().map(live).collect();
        let mut members: Vec<usize> =
            (0..self.hosts.len()).filter(|host| statuses[*host].is_some()).collect();
        let wrong = self.wrong;
        let passes = |host: usize| statuses[host].is_some_and(|s| s.passes) && !wrong.has(host);
        let serves =
            |from: usize, to: usize| statuses[from].is_some_and(|status| status.serves.has(to));
        loop {
            let lacks = |host: usize| {
                let others = members.iter().filter(|other| **other != host);
                let lack = |other: &&usize| {
                    (passes(host) && !serves(host, **other))
                        || (passes(**other) && !serves(**other, host))
                };
                others.filter(lack).count()
            };
            let worst = members.iter().copied().max_by_key(|host| lacks(*host));
            match worst {
                Some(worst) if lacks(worst) > 0 => members.retain(|host| *host != worst),
                _ => break,
            }
        }
        self.passing = members.iter().copied().filter(|host| passes(*host)).collect();
        let useful = members.len() > 1 && !self.passing.is_empty();
        self.begun |= useful && self.served.is_empty();
        self.served = if useful { members } else { Vec::new() };
        self.turn = self.passing.len();
        self.current = None;
    }

    /// Ends of the pieces of a batch: each goes to other destinations.
    #[must_use]
    pub fn pieces(&self, batch: &[u8], stride: usize) -> Vec<usize> {
        let whole = || if batch.is_empty() { Vec::new() } else { vec![batch.len()] };
        if self.served.is_empty() {
            return whole();
        }
        pieces(batch, stride, |peek| peek.and_then(|peek| peek.symbol).map(|s| self.run_of(s)))
    }

    fn run_of(&self, symbol: Symbol) -> Run {
        if self.suspected {
            return (symbol.object, symbol.block, 0, false);
        }
        (symbol.object, symbol.block, symbol.number / self.length, symbol.repair)
    }

    /// So many bytes go to all now, in messages of this size: how long runs are follows from the rate.
    ///
    /// Long runs cost less. Of short ones each is passed on sooner, and no queue forms for it. While a
    /// receiver looks for who passes on wrong bytes, one host has a whole block, repairs too: then a
    /// piece that proves wrong came by that host alone.
    pub fn on_sent(&mut self, now: Time, bytes: usize, size: usize) {
        let (sum, since) = (self.counted.0 + bytes as u64, self.counted.1);
        self.counted.0 = sum;
        let elapsed = now.since(since);
        if elapsed < RATE_OVER {
            return;
        }
        self.counted = (0, now);
        let others = self.served.len().saturating_sub(1).max(1);
        let suspects = |host: &Host| host.status.is_some_and(|(status, _)| status.suspects);
        self.suspected = self.hosts.iter().any(suspects);
        let bytes = sum as f64 / elapsed.as_secs_f64() * PASSED_WITHIN;
        let symbols = bytes / (others * size.max(1)) as f64;
        self.length = symbols.clamp(1.0, RUN_MAX.into()) as u16;
    }

    /// Whom a piece that begins so is given to, to be passed on; `None`: to all.
    pub fn choose_for(&mut self, first: Option<Peek>) -> Option<SocketAddr> {
        if let Some(peek) = first {
            self.sender = Some(peek.sender);
        }
        let symbol = first?.symbol?;
        if let Some(size) = symbol.size {
            self.small = (size <= SMALL).then_some(symbol.object);
        }
        if self.served.is_empty() || self.small == Some(symbol.object) {
            return None;
        }
        let run = self.run_of(symbol);
        let same = self.current.filter(|(current, _)| *current == run);
        let host = match same {
            Some((_, host)) => host,
            None => self.next_in_round()?,
        };
        self.current = Some((run, host));
        self.hosts.get(host).map(|host| host.address)
    }

    fn next_in_round(&mut self) -> Option<usize> {
        if self.turn >= self.passing.len() {
            self.turn = 0;
            let (all, rng) = (&mut self.passing, &mut self.rng);
            for at in (1..all.len()).rev() {
                // Whoever had the last turn is not to have the next one, too: two runs would wait there.
                let with = if self.suspected {
                    rng.below(at as u64 + 1)
                } else {
                    at as u64 - rng.below(2)
                };
                all.swap(at, with as usize);
            }
        }
        self.turn += 1;
        self.passing.get(self.turn - 1).copied()
    }

    /// Whether this host gets everything from others.
    #[must_use]
    pub fn is_served(&self, address: SocketAddr) -> bool {
        self.served.iter().any(|host| self.hosts[*host].address == address)
    }

    /// Whether data is to wait for receivers that are about to serve each other; until when it will at
    /// most.
    #[must_use]
    pub fn is_forming(&self, now: Time) -> Option<Time> {
        let end = self.forming? + FORMING;
        let there = self.hosts.iter().filter(|host| host.heard.is_some()).count();
        let unknown_until = self.forming? + UNKNOWN;
        let awaited = |(number, host): (usize, &Host)| match host.status {
            Some(_) => !self.served.contains(&number),
            None => host.heard.is_some() && now < unknown_until,
        };
        let waits = there > 1 && now < end && self.hosts.iter().enumerate().any(awaited);
        waits.then_some(if now < unknown_until { unknown_until } else { end })
    }

    /// Whether they have begun to get everything from each other since this was asked last.
    pub fn take_begun(&mut self) -> bool {
        std::mem::take(&mut self.begun)
    }

    /// How many get everything from each other.
    #[must_use]
    pub fn served(&self) -> usize {
        self.served.len()
    }

    /// The next roster, and where to.
    pub fn poll_message(&mut self, now: Time) -> Option<(SocketAddr, Vec<u8>)> {
        let sender = self.sender?;
        let listed = |host: &Host| host.heard.is_some_and(|at| now.since(at) < SILENT);
        if self.hosts.iter().filter(|host| listed(host)).count() < 2 {
            return None;
        }
        let due = |host: &Host| listed(host) && host.next_roster <= now;
        let you = self.hosts.iter().position(due)?;
        let numbered = self.hosts.iter().enumerate().filter(|(_, host)| listed(host));
        let hosts = numbered.map(|(number, host)| (number as u8, host.address)).collect();
        let bytes = Message::Roster(Roster { you: you as u8, hosts }).encode(sender);
        let host = &mut self.hosts[you];
        host.rosters += 1;
        let quick = host.status.is_none() && host.rosters < QUICK_COUNT;
        host.next_roster = now + if quick { QUICK } else { ROSTER };
        Some((host.address, bytes))
    }

    /// What the application is to be told.
    pub fn poll_news(&mut self) -> Option<News> {
        self.news.pop_front()
    }

    /// When there is a roster to be sent.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Time> {
        let heard = self.hosts.iter().filter(|host| host.heard.is_some());
        if self.sender.is_none() || heard.clone().count() < 2 {
            return None;
        }
        heard.map(|host| host.next_roster).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanfare_wire::units::time::at;

    fn address(last: u8) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, last], 6003))
    }

    fn peek(block: u32, number: u16) -> Option<Peek> {
        let symbol = Some(Symbol { object: 1, block, number, repair: false, size: None });
        Some(Peek { sender: 7, sequence: 0, is_command: false, symbol, stamp: None })
    }

    fn status(host: u8, serves: u64, wrong: u64) -> Vec<u8> {
        let (passes, suspects) = (true, false);
        let status = Status { host, passes, suspects, serves: Set(serves), wrong: Set(wrong) };
        Message::Status(status).encode(7)
    }

    fn source(count: u8) -> Source {
        let hosts: Vec<_> = (0..count).map(address).collect();
        let mut source = Source::new(&hosts, 1);
        source.choose_for(Some(Peek {
            sender: 7,
            sequence: 0,
            is_command: true,
            symbol: None,
            stamp: None,
        }));
        for host in 0..count {
            source.on_heard(at(0), address(host), false);
        }
        source
    }

    #[test]
    fn runs_go_to_one_receiver_each_once_all_serve_each_other() {
        let mut source = source(3);
        assert_eq!(source.choose_for(peek(0, 0)), None);
        for (host, serves) in [(0, 0b110), (1, 0b101)] {
            assert!(source.on_datagram(at(1), address(host), &status(host, serves, 0)));
        }
        assert_eq!(source.served(), 2, "the third has not said that it serves");
        assert!(source.take_begun() && !source.take_begun());
        source.on_datagram(at(1), address(2), &status(2, 0b011, 0));
        assert_eq!(source.served(), 3);
        let mut counts = [0; 3];
        source.on_sent(at(1000), 1_000_000, 1000);
        for block in 0..30 {
            let to = source.choose_for(peek(block, 0)).unwrap();
            assert_eq!(source.choose_for(peek(block, 9)), Some(to), "one run");
            counts[(0..3).position(|n| address(n as u8) == to).unwrap()] += 1;
        }
        assert_eq!(counts, [10; 3]);
    }

    #[test]
    fn a_run_is_as_long_as_one_receiver_passes_on_in_20_ms_and_long_while_somebody_suspects() {
        let mut source = source(11);
        let all = (1 << 11) - 1;
        let say = |source: &mut Source, second: u64, suspects: bool| {
            for host in 0..11 {
                let serves = Set(all & !(1 << host));
                let said = Status { host, passes: true, suspects, serves, wrong: Set(0) };
                source.on_datagram(
                    at(second * 1000),
                    address(host),
                    &Message::Status(said).encode(7),
                );
            }
        };
        say(&mut source, 1, false);
        assert_eq!((source.served(), source.length), (11, 1), "nothing is known of the rate");
        // Ten others, messages of 1,000 bytes.
        for (second, bytes_a_second, length) in
            [(1, 100_000, 1), (2, 2_000_000, 4), (3, 100_000_000, 32), (4, 600_000, 1)]
        {
            for tenth in 0..10 {
                source.on_sent(at(second * 1000 + tenth * 100), bytes_a_second / 10, 1000);
            }
            assert_eq!(source.length, length, "{bytes_a_second} bytes a second");
        }
        say(&mut source, 5, true);
        source.on_sent(at(5000), 0, 1000);
        let to = source.choose_for(peek(3, 0));
        assert_eq!(source.choose_for(peek(3, 60)), to, "a whole block");
    }

    #[test]
    fn data_waits_for_those_who_are_about_to_serve_each_other_and_not_for_who_knows_nothing_of_it()
    {
        let mut source = source(3);
        assert!(source.is_forming(at(900)).is_some());
        assert_eq!(source.is_forming(at(1100)), None, "nobody has said anything");
        source.on_datagram(at(100), address(0), &status(0, 0, 0));
        source.on_datagram(at(100), address(1), &status(1, 0b01, 0));
        assert!(source.is_forming(at(2000)).is_some());
        source.on_datagram(at(2000), address(0), &status(0, 0b10, 0));
        assert_eq!((source.is_forming(at(2000)), source.served()), (None, 2));
    }

    #[test]
    fn who_hears_the_group_is_not_waited_for_whatever_it_says_of_passing_on() {
        let mut source = source(3);
        (1..3).for_each(|host| source.on_heard(at(10), address(host), true));
        source.on_datagram(at(100), address(1), &status(1, 0b001, 0));
        source.on_datagram(at(100), address(0), &status(0, 0b010, 0));
        assert_eq!((source.is_forming(at(200)), source.served()), (None, 0));
    }

    #[test]
    fn who_cannot_reach_another_is_sent_copies() {
        let mut source = source(3);
        for (host, serves) in [(0, 0b110), (1, 0b101), (2, 0b001)] {
            source.on_datagram(at(1), address(host), &status(host, serves, 0));
        }
        assert_eq!(source.served(), 2);
        assert!(
            source.is_served(address(0))
                && source.is_served(address(1)) != source.is_served(address(2))
        );
    }

    #[test]
    fn who_has_passed_on_wrong_bytes_is_named_and_given_nothing_more() {
        let mut source = source(3);
        for (host, serves) in [(0, 0b110), (1, 0b101), (2, 0b011)] {
            source.on_datagram(at(1), address(host), &status(host, serves, 0));
        }
        source.on_datagram(at(2), address(0), &status(0, 0b110, 0b100));
        source.on_datagram(at(2), address(1), &status(1, 0b101, 0b100));
        let told: Vec<_> = std::iter::from_fn(|| source.poll_news()).collect();
        assert_eq!(told, [News::Wrong { host: address(2), by: address(0) }], "once");
        assert_eq!(source.served(), 3);
        assert!((0..20).all(|block| source.choose_for(peek(block, 0)) != Some(address(2))));
    }

    #[test]
    fn who_is_silent_for_three_seconds_is_given_nothing() {
        let mut source = source(2);
        source.on_datagram(at(0), address(0), &status(0, 0b10, 0));
        source.on_datagram(at(0), address(1), &status(1, 0b01, 0));
        assert_eq!(source.served(), 2);
        source.on_datagram(at(2000), address(1), &status(1, 0b01, 0));
        source.advance(at(3500));
        assert_eq!(source.served(), 0);
        assert_eq!(source.choose_for(peek(0, 0)), None);
    }

    #[test]
    fn a_roster_goes_to_each_that_is_there_and_tells_it_its_number() {
        let mut source = source(2);
        let mut told = Vec::new();
        while let Some((to, bytes)) = source.poll_message(at(1)) {
            let Some((7, Message::Roster(roster))) = Message::parse(&bytes) else { panic!() };
            told.push((to, roster.you, roster.hosts.len()));
        }
        assert_eq!(told, [(address(0), 0, 2), (address(1), 1, 2)]);
        assert!(source.next_timeout().is_some_and(|next| next > at(1)));
        let mut alone = Source::new(&[address(0)], 1);
        alone.choose_for(peek(0, 0));
        alone.on_heard(at(0), address(0), false);
        assert_eq!(alone.poll_message(at(1)), None, "there is nobody to pass on to");
    }
}

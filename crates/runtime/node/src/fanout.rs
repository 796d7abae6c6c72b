//! Where messages to the group go: to its multicast address, to single hosts that multicast may not
//! reach, or to both. A host that answers by the group hears the group, and is sent no copies then.
//! Which hosts these are is found by calls ([`Caller`]): those that were named, and those that do not hear
//! the group. A host is sent copies at the port that it has answered from, when it has joined the session.

use std::{
    collections::VecDeque,
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use crate::serve::{
    AdmittedPath, Caller, FoundHost, Message, News, SocketDoor, Source, peek::peek,
};
use fanfare_proto::{Bitrate, Time};
use fanfare_wire::Report;

use crate::{chance::random, reach::Reach};

/// A host that hears the group is believed to for so long after it has said something there. Then it
/// is sent copies again: multicast may have stopped, as where a switch forgets its members after
/// 260 s.
const HEARD: Duration = Duration::from_secs(30);

/// A host that answers, and not by the group, does not hear it. Answers to the first messages may go
/// either way: so long is waited.
const DEAF_AFTER: Duration = Duration::from_millis(900);

/// Hosts that are found at most: each is sent copies, and more are better named, or reached by a relay.
const FOUND_MAX: usize = 64;

/// Addresses that were heard by the group and are no hosts here are remembered, the newest of them: one may be found
/// later, and is not deaf then.
const GROUP_HEARD_MAX: usize = 256;

/// A host that was found is sent commands alone until it has answered them as a receiver. So often the
/// engine is asked whether it has.
const LOOK: Duration = Duration::from_millis(20);
/// One that does not answer for so long is let go. It may say again that it is deaf. The roll is called
/// every two seconds at the latest, and an answer may be lost twice.
const PROBATION: Duration = Duration::from_secs(10);

/// Another receiver of the same host, at another port, was ended if nothing was heard of it for so long. The
/// roll is called every two seconds, and an answer may be lost.
const GONE: Duration = Duration::from_secs(6);
/// The first hosts that were named are waited for so long at most, before anything is sent.
const FIRST: Duration = Duration::from_secs(3);

/// A host, and when it was heard by the group last.
#[derive(Debug, Clone, Copy)]
struct Host {
    address: SocketAddr,
    /// Number by which the receiver tells itself from others.
    nonce: u64,
    /// Time at which it was heard last.
    heard: Time,
    by_group: Option<Time>,
    /// Since when it is heard, but not by the group.
    direct: Option<Time>,
    /// It has said and shown that it hears nothing by the group.
    shown: bool,
    /// It was told that it does not hear the group.
    deaf: bool,
    /// When it was found, if it has not answered as a receiver since. It is sent no data until then: a
    /// host that only claims to be deaf is to cost nothing.
    on_probation: Option<Time>,
}

impl Host {
    fn new(now: Time, address: SocketAddr, nonce: u64, on_probation: bool) -> Self {
        let (by_group, direct, on_probation) = (None, None, on_probation.then_some(now));
        let (shown, deaf) = (false, false);
        Self { address, nonce, heard: now, by_group, direct, shown, deaf, on_probation }
    }
}

/// An address that was heard by the group.
#[derive(Debug, Clone, Copy)]
struct GroupHeard {
    address: SocketAddr,
    at: Time,
}

/// Where messages to the group go.
#[derive(Debug)]
pub(crate) struct Fanout {
    group: SocketAddr,
    /// The group's own address is among the destinations.
    multicast: bool,
    hosts: Vec<Host>,
    /// Addresses that were heard by the group last, and when.
    group_heard: VecDeque<GroupHeard>,
    /// Where the present batch goes, and how many of these have had it.
    destinations: Vec<SocketAddr>,
    done: usize,
    /// The first destination after the group's own is to pass the piece on.
    given: Option<SocketAddr>,
    /// Hosts that pass on to each other, where that is wanted.
    source: Option<Source>,
    shares: bool,
    /// Finds hosts.
    caller: Option<Caller>,
    /// Time until which hosts that were named are waited for, before anything is sent.
    begins: Option<Time>,
    /// The sender's node id.
    sender: u32,
    /// A host for which there was no room, once, and how many times there was none.
    refused: (Option<SocketAddr>, u64),
    /// When the engine is next asked about hosts on probation.
    next_look: Time,
    /// Hosts that knock are let in; by which door they are to be answered. Only the newest are kept.
    lets_in: bool,
    doors: VecDeque<AdmittedPath>,
}

impl Fanout {
    /// Fans out what `sender` sends; `multicast`: to the group's own address, too.
    pub(crate) fn new(group: SocketAddr, sender: u32, multicast: bool) -> Self {
        Self {
            group,
            multicast,
            hosts: Vec::new(),
            group_heard: VecDeque::new(),
            destinations: Vec::new(),
            done: 0,
            given: None,
            source: None,
            shares: true,
            caller: None,
            begins: None,
            sender,
            refused: (None, 0),
            next_look: Time::ZERO,
            lets_in: false,
            doors: VecDeque::new(),
        }
    }

    /// Finds these hosts, which are to be sent to whether or not they hear the group. `most`: the rate
    /// that may be used.
    pub(crate) fn name(&mut self, hosts: &[SocketAddr], most: Bitrate, now: Time) {
        self.caller = Some(Caller::new(self.group, hosts, most, secret()));
        self.source = (self.shares && hosts.len() > 1).then(|| Source::new(&[], random()));
        self.begins = (!self.multicast).then_some(now + FIRST);
    }

    /// Sends to these hosts from the start: none of them answers. `most`: the rate that may be used.
    pub(crate) fn push_to(&mut self, hosts: &[SocketAddr], most: Bitrate, now: Time) {
        self.caller = Some(Caller::new(self.group, hosts, most, secret()).one_way());
        self.hosts.extend(hosts.iter().map(|host| Host::new(now, *host, 0, false)));
    }

    /// Finds hosts that do not hear the group: calls go there, to all hosts of the link.
    /// `most`: the rate that may be used.
    pub(crate) fn call(&mut self, everybody: SocketAddr, most: Bitrate) {
        let group = self.group;
        let caller = self.caller.get_or_insert_with(|| Caller::new(group, &[], most, secret()));
        caller.call_all(everybody);
    }

    /// Lets in hosts that knock: nobody may be able to call them. `most`: the rate that may be used.
    pub(crate) fn let_in(&mut self, most: Bitrate) {
        let group = self.group;
        let caller = self.caller.get_or_insert_with(|| Caller::new(group, &[], most, secret()));
        caller.let_in();
        self.lets_in = true;
    }

    /// The next host that is to be answered by this door from now on.
    pub(crate) fn poll_door(&mut self) -> Option<AdmittedPath> {
        self.doors.pop_front()
    }

    /// A host that has knocked at this door is answered there, unless it is served by another and shows
    /// nothing (`is_found`): anybody can write its address on a datagram.
    fn on_door(&mut self, path: AdmittedPath, is_found: bool) {
        let known = self.hosts.iter().any(|host| host.address == path.address);
        if path.door == SocketDoor::Group || (known && !is_found) {
            return;
        }
        if self.doors.len() >= FOUND_MAX {
            self.doors.pop_front();
        }
        self.doors.push_back(path);
    }

    /// Time until which [`Self::waits`] may say so.
    pub(crate) fn begins(&self) -> Option<Time> {
        self.begins
    }

    /// True if there is nobody to send to yet.
    pub(crate) fn waits(&mut self, now: Time) -> bool {
        let alone = self.caller.as_ref().is_some_and(Caller::is_alone);
        self.begins = self.begins.filter(|until| now < *until && alone);
        self.begins.is_some()
    }

    /// Each host is sent everything from here.
    pub(crate) fn copy_only(&mut self) {
        (self.source, self.shares) = (None, false);
    }

    /// The group has another address now.
    pub(crate) fn set_group(&mut self, group: SocketAddr) {
        self.group = group;
        if let Some(caller) = &mut self.caller {
            caller.set_group(group);
        }
    }

    /// Datagrams came from this address to this host alone. NORM's feedback goes by the group where that
    /// is heard, so it says that the group is not. What hosts say beside NORM, of calls and of passing on,
    /// always comes so, and says nothing of it.
    pub(crate) fn on_unicast(&mut self, now: Time, source: SocketAddr, run: &[u8], stride: usize) {
        let Some(host) = self.hosts.iter_mut().find(|host| host.address == source) else { return };
        let mut all = run.chunks(stride.max(1));
        if all.any(|datagram| !datagram.starts_with(&Report::FROM_NOBODY)) {
            return self.on_heard(now, source, false);
        }
        host.heard = now;
        if let (None, Some(shared)) = (host.by_group, &mut self.source) {
            shared.on_heard(now, source, false);
        }
    }

    /// Feedback came from this address, by the group or not.
    pub(crate) fn on_heard(&mut self, now: Time, source: SocketAddr, by_group: bool) {
        let mut known = false;
        for host in self.hosts.iter_mut().filter(|host| host.address == source) {
            known = true;
            host.heard = now;
            host.by_group = by_group.then_some(now);
            host.shown &= !by_group;
            host.direct = if by_group { None } else { host.direct.or(Some(now)) };
        }
        if let Some(shared) = &mut self.source {
            shared.on_heard(now, source, by_group);
        }
        if !known {
            self.note_group(now, source, by_group);
        }
    }

    /// Notes whether an address that is no host here was heard by the group.
    fn note_group(&mut self, now: Time, source: SocketAddr, by_group: bool) {
        if let Some(at) = self.group_heard.iter().position(|heard| heard.address == source) {
            self.group_heard.remove(at);
        }
        if by_group {
            if self.group_heard.len() >= GROUP_HEARD_MAX {
                self.group_heard.pop_front();
            }
            self.group_heard.push_back(GroupHeard { address: source, at: now });
        }
    }

    /// The time at which this address was heard by the group last, if it is still believed to hear it.
    fn take_group_heard(&mut self, now: Time, address: SocketAddr) -> Option<Time> {
        let at = self.group_heard.iter().position(|heard| heard.address == address)?;
        let heard = self.group_heard.remove(at)?;
        (now.since(heard.at) < HEARD).then_some(heard.at)
    }

    /// Who hears the group, as it shows now.
    pub(crate) fn poll_news(&mut self, now: Time) -> Option<Reach> {
        if let Some(refused) = self.refused.0.take() {
            return Some(Reach::TooMany(refused));
        }
        let multicast = self.multicast;
        let told = |host: &&mut Host| multicast && host.on_probation.is_none();
        self.hosts.iter_mut().filter(told).find_map(|host| {
            let hears = host.by_group.is_some();
            let silent = host.direct.is_some_and(|since| now.since(since) >= DEAF_AFTER);
            let is_deaf = host.shown || silent;
            let news = if host.deaf { hears } else { is_deaf };
            host.deaf ^= news;
            let reach = if hears { Reach::Back } else { Reach::Deaf };
            news.then(|| reach(host.address))
        })
    }

    /// What a host says of its passing on: whether it was that.
    pub(crate) fn take(
        &mut self,
        now: Time,
        path: AdmittedPath,
        run: &[u8],
        stride: usize,
    ) -> bool {
        let (source, mut found) = (path.address, false);
        for datagram in run.chunks(stride.max(1)) {
            let caller = self.caller.as_mut();
            let host = caller.and_then(|one| one.on_datagram(self.sender, source, datagram));
            if self.lets_in && Message::is_one(datagram) {
                self.on_door(path, host.is_some());
            }
            found |= host.is_some();
            host.into_iter().for_each(|host| self.on_found(now, host));
        }
        let Some(shared) = &mut self.source else { return found };
        let mut all = run.chunks(stride.max(1));
        all.all(|datagram| shared.on_datagram(now, source, datagram))
    }

    /// A host has shown that it is there, and has joined the session: copies go to it from now on. One that
    /// was not named is sent data once it has answered as a receiver.
    fn on_found(&mut self, now: Time, found: FoundHost) {
        let FoundHost { address, named, nonce } = found;
        // The same receiver is reached by another way, or another one of its host has ended.
        let is_gone = |host: &Host| {
            let other = host.address != address;
            let silent = host.address.ip() == address.ip() && now.since(host.heard) > GONE;
            other && (silent || host.nonce == nonce)
        };
        self.hosts.retain(|host| !is_gone(host));
        if !self.hosts.iter().any(|host| host.address == address) {
            if named.is_none() && self.hosts.len() >= FOUND_MAX && !self.make_room() {
                if self.refused.1 == 0 {
                    self.refused.0 = Some(address);
                }
                self.refused.1 += 1;
                return;
            }
            let by_group = self.take_group_heard(now, address);
            let host = Host::new(now, address, nonce, named.is_none());
            self.hosts.push(Host { by_group, ..host });
            if let (Some(shared), true) = (&mut self.source, named.is_some()) {
                shared.add(address);
                if by_group.is_none() {
                    shared.on_heard(now, address, false);
                }
            }
        }
        for host in self.hosts.iter_mut().filter(|host| host.address == address) {
            (host.heard, host.nonce) = (now, nonce);
            if named.is_none() {
                (host.by_group, host.shown) = (None, true);
            }
        }
    }

    /// The host that is on probation for the longest gives way.
    fn make_room(&mut self) -> bool {
        let since = |n: &usize| self.hosts.get(*n).and_then(|host| host.on_probation);
        let waiting = (0..self.hosts.len()).filter(|n| since(n).is_some());
        let oldest = waiting.min_by_key(since);
        oldest.map(|n| self.hosts.remove(n)).is_some()
    }

    /// Hosts on probation are sent everything once they have answered as receivers: the engine `knows` a
    /// receiver there that it sends to.
    pub(crate) fn admit(&mut self, now: Time, knows: impl Fn(IpAddr) -> bool) {
        if now < self.next_look || self.hosts.iter().all(|host| host.on_probation.is_none()) {
            return;
        }
        self.next_look = now + LOOK;
        let is_late = |host: &Host| host.on_probation.is_some_and(|at| now.since(at) > PROBATION);
        self.hosts.retain(|host| !is_late(host));
        for host in self.hosts.iter_mut().filter(|host| host.on_probation.is_some()) {
            if !knows(host.address.ip()) {
                continue;
            }
            host.on_probation = None;
            if self.shares {
                self.source.get_or_insert_with(|| Source::new(&[], random())).add(host.address);
            }
        }
    }

    /// What is to be told to hosts that pass on to each other.
    pub(crate) fn poll_message(&mut self, now: Time) -> Option<(SocketAddr, Vec<u8>)> {
        let sender = self.sender;
        let call = self.caller.as_mut().and_then(|caller| caller.poll_message(now, sender));
        if call.is_some() {
            return call;
        }
        let shared = self.source.as_mut()?;
        shared.advance(now);
        shared.poll_message(now)
    }

    /// Whether hosts have begun to pass on to each other since this was asked last.
    pub(crate) fn take_begun(&mut self) -> bool {
        self.source.as_mut().is_some_and(Source::take_begun)
    }

    /// A host that has passed on wrong bytes, and who says so.
    pub(crate) fn poll_wrong(&mut self) -> Option<(SocketAddr, SocketAddr)> {
        let News::Wrong { host, by } = self.source.as_mut()?.poll_news()?;
        Some((host, by))
    }

    /// When [`Self::poll_message`] has something.
    pub(crate) fn next_timeout(&self) -> Option<Time> {
        let call = self.caller.as_ref().and_then(Caller::next_timeout);
        call.into_iter().chain(self.source.as_ref().and_then(Source::next_timeout)).min()
    }

    /// Ends of the pieces of a batch for the group: each may go to other destinations.
    pub(crate) fn pieces(&self, batch: &[u8], stride: usize) -> Vec<usize> {
        match &self.source {
            Some(shared) => shared.pieces(batch, stride),
            None => vec![batch.len()],
        }
    }

    /// A piece is to go to the group, which begins with this message, in a batch of so many bytes.
    pub(crate) fn begin(&mut self, now: Time, first: &[u8], bytes: usize) {
        self.done = 0;
        self.destinations.clear();
        self.destinations.extend(self.multicast.then_some(self.group));
        let seen = peek(first);
        if let Some(caller) = &mut self.caller {
            caller.on_group(now, bytes, seen.is_some_and(|message| message.symbol.is_some()));
        }
        let multicast = self.multicast;
        let hears =
            |host: &Host| multicast && host.by_group.is_some_and(|at| now.since(at) < HEARD);
        let shared = &mut self.source;
        if let (Some(shared), true) = (&mut *shared, seen.is_some_and(|seen| seen.symbol.is_some()))
        {
            shared.on_sent(now, bytes, first.len());
        }
        let given = shared.as_mut().and_then(|shared| shared.choose_for(seen));
        self.destinations.extend(given);
        self.given = given;
        let served = |address| {
            given.is_some() && shared.as_ref().is_some_and(|shared| shared.is_served(address))
        };
        let is_command = seen.is_some_and(|message| message.is_command);
        let may = |host: &Host| is_command || host.on_probation.is_none();
        let copies = self.hosts.iter().filter(|host| !hears(host) && may(host));
        let copies = copies.map(|host| host.address);
        self.destinations.extend(copies.filter(|address| !served(*address)));
    }

    /// Whether this destination is to pass the piece on.
    pub(crate) fn is_given(&self, address: SocketAddr) -> bool {
        self.given == Some(address)
    }

    /// Whether the piece is for somebody who is to pass it on.
    pub(crate) fn is_shared(&self) -> bool {
        self.given.is_some()
    }

    /// Until when data waits for hosts that are about to pass on to each other.
    pub(crate) fn holds(&self, now: Time, first: &[u8]) -> Option<Time> {
        let until = self.source.as_ref()?.is_forming(now)?;
        peek(first)?.symbol.is_some().then_some(until)
    }

    /// A batch is to go to this address alone.
    pub(crate) fn begin_for(&mut self, address: SocketAddr) {
        self.done = 0;
        self.given = None;
        self.destinations.clear();
        self.destinations.push(address);
    }

    /// Where the present batch goes next; `None` when all have had it.
    pub(crate) fn next(&self) -> Option<SocketAddr> {
        self.destinations.get(self.done).copied()
    }

    /// This destination has had the whole batch.
    pub(crate) fn on_sent(&mut self) {
        self.done += 1;
    }
}

fn secret() -> [u8; 32] {
    let mut secret = [0; 32];
    for part in secret.chunks_exact_mut(8) {
        part.copy_from_slice(&random().to_ne_bytes());
    }
    secret
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, last], 6003))
    }
    /// NORM_CMD(EOT) of node 7.
    const COMMAND: &[u8] = &[0x13, 4, 0, 0, 0, 0, 0, 7, 0, 1, 0, 0, 2, 0, 0, 0];
    fn group() -> SocketAddr {
        SocketAddr::from(([239, 255, 42, 1], 6003))
    }
    fn at(seconds: u64) -> Time {
        Time::ZERO + Duration::from_secs(seconds)
    }
    fn destinations(fanout: &mut Fanout, now: Time) -> Vec<SocketAddr> {
        fanout.begin(now, &[], 0);
        let mut all = Vec::new();
        while let Some(next) = fanout.next() {
            all.push(next);
            fanout.on_sent();
        }
        all
    }

    fn found(last: u8) -> FoundHost {
        FoundHost { address: address(last), named: Some(address(last)), nonce: last.into() }
    }
    fn deaf(last: u8) -> FoundHost {
        FoundHost { address: address(last), named: None, nonce: last.into() }
    }
    /// Fans out to these hosts, which have answered, and to the group or not.
    fn to(hosts: &[u8], multicast: bool) -> Fanout {
        let mut fanout = Fanout::new(group(), 7, multicast);
        let named: Vec<SocketAddr> = hosts.iter().map(|last| address(*last)).collect();
        fanout.name(&named, Bitrate::mbps(100), at(0));
        hosts.iter().for_each(|last| fanout.on_found(at(0), found(*last)));
        fanout
    }

    #[test]
    fn where_nobody_answers_all_hosts_are_sent_everything_at_once_and_told_so() {
        let mut fanout = Fanout::new(group(), 7, false);
        fanout.push_to(&[2, 3, 4].map(address), Bitrate::mbps(100), at(0));
        assert!(!fanout.waits(at(0)));
        let told: Vec<SocketAddr> =
            std::iter::from_fn(|| fanout.poll_message(at(0))).map(|(to, _)| to).collect();
        assert_eq!(told, [2, 3, 4].map(address));
        for seconds in [0, 5, 3_600] {
            assert_eq!(destinations(&mut fanout, at(seconds)), [2, 3, 4].map(address));
        }
        assert_eq!(fanout.poll_news(at(9)), None);
    }

    #[test]
    fn without_hosts_a_batch_goes_to_the_group_and_with_hosts_alone_to_each_that_has_answered() {
        assert_eq!(destinations(&mut Fanout::new(group(), 7, true), at(0)), [group()]);
        assert_eq!(destinations(&mut to(&[2, 3], false), at(0)), [address(2), address(3)]);
        let mut fanout = Fanout::new(group(), 7, false);
        fanout.name(&[address(2), address(3)], Bitrate::mbps(100), at(0));
        assert!(fanout.waits(at(1)) && destinations(&mut fanout, at(1)).is_empty());
        fanout.on_found(at(1), found(3));
        assert_eq!(destinations(&mut fanout, at(1)), [address(3)]);
        assert!(!fanout.waits(at(5)));
    }

    #[test]
    fn two_receivers_of_one_host_are_both_sent_to_and_one_that_was_started_anew_takes_the_place() {
        let mut fanout = to(&[2], false);
        let other = SocketAddr::from(([10, 0, 0, 2], 50_000));
        let named = Some(address(2));
        fanout.on_found(at(1), FoundHost { address: other, named, nonce: 91 });
        assert_eq!(destinations(&mut fanout, at(1)), [address(2), other]);
        fanout.on_heard(at(8), other, false);
        let third = SocketAddr::from(([10, 0, 0, 2], 50_001));
        fanout.on_found(at(9), FoundHost { address: third, named, nonce: 92 });
        assert_eq!(destinations(&mut fanout, at(9)), [other, third], "the first is silent");
    }

    #[test]
    fn a_host_that_answers_by_the_group_is_sent_no_copies_until_it_is_silent_there() {
        let mut fanout = to(&[2, 3], true);
        assert_eq!(destinations(&mut fanout, at(0)), [group(), address(2), address(3)]);
        fanout.on_heard(at(1), address(2), true);
        assert_eq!(destinations(&mut fanout, at(2)), [group(), address(3)]);
        assert_eq!(destinations(&mut fanout, at(31)), [group(), address(2), address(3)]);
        fanout.on_heard(at(32), address(2), true);
        fanout.on_heard(at(33), address(2), false);
        assert_eq!(destinations(&mut fanout, at(34)), [group(), address(2), address(3)]);
    }

    #[test]
    fn a_host_that_was_heard_by_the_group_before_it_was_found_is_sent_no_copies_and_not_waited_for()
    {
        let mut fanout = Fanout::new(group(), 7, true);
        let hosts = [2, 3, 4].map(address);
        fanout.name(&hosts, Bitrate::mbps(100), at(0));
        hosts.iter().for_each(|host| fanout.on_heard(at(1), *host, true));
        [2, 3, 4].iter().for_each(|last| fanout.on_found(at(2), found(*last)));
        assert_eq!(destinations(&mut fanout, at(2)), [group()]);
        let data = [0; 32];
        assert_eq!(fanout.source.as_ref().and_then(|source| source.is_forming(at(2))), None);
        assert_eq!(fanout.holds(at(2), &data), None);
        fanout.on_heard(at(3), address(2), false);
        assert_eq!(destinations(&mut fanout, at(3)), [group(), address(2)]);
    }

    #[test]
    fn addresses_that_were_heard_by_the_group_are_remembered_up_to_a_number() {
        let mut fanout = Fanout::new(group(), 7, true);
        for port in 1..1_000 {
            fanout.on_heard(at(1), SocketAddr::from(([10, 0, 0, 9], port)), true);
        }
        assert_eq!(fanout.group_heard.len(), GROUP_HEARD_MAX);
        fanout.on_heard(at(1), SocketAddr::from(([10, 0, 0, 9], 999)), false);
        assert_eq!(fanout.group_heard.len(), GROUP_HEARD_MAX - 1);
    }

    #[test]
    fn a_host_that_answers_by_unicast_for_a_second_is_deaf_until_it_answers_by_the_group() {
        let mut fanout = to(&[2, 3], true);
        fanout.on_heard(at(1), address(3), true);
        fanout.on_heard(at(1), address(2), false);
        assert_eq!(fanout.poll_news(at(1)), None);
        assert_eq!(fanout.poll_news(at(2)), Some(Reach::Deaf(address(2))));
        assert_eq!(fanout.poll_news(at(3)), None, "once");
        fanout.on_heard(at(4), address(2), true);
        assert_eq!(fanout.poll_news(at(4)), Some(Reach::Back(address(2))));
        assert_eq!(fanout.poll_news(at(60)), None);
        let mut alone = to(&[2], false);
        alone.on_heard(at(1), address(2), false);
        assert_eq!(alone.poll_news(at(9)), None, "the group is not sent to");
    }

    #[test]
    fn what_a_host_says_of_calls_and_of_passing_on_does_not_say_that_it_is_deaf() {
        let aside = Message::Here { nonce: 1, cookie: 2, host: 3, port: 0 }.encode(7);
        /// NORM_ACK of node 9.
        const FEEDBACK: &[u8] = &[0x15, 5, 0, 0, 0, 0, 0, 9];
        let mut fanout = to(&[2, 3], true);
        fanout.on_heard(at(1), address(2), true);
        for seconds in 2..20 {
            fanout.on_unicast(at(seconds), address(2), &aside, aside.len());
            fanout.on_unicast(at(seconds), address(3), &aside, aside.len());
            assert_eq!(fanout.poll_news(at(seconds)), None);
            assert_eq!(destinations(&mut fanout, at(seconds)), [group(), address(3)]);
        }
        fanout.on_unicast(at(20), address(2), FEEDBACK, FEEDBACK.len());
        assert_eq!(destinations(&mut fanout, at(20)), [group(), address(2), address(3)]);
        assert_eq!(fanout.poll_news(at(21)), Some(Reach::Deaf(address(2))));
    }

    #[test]
    fn a_host_that_was_not_named_is_sent_copies_once_it_has_shown_that_it_hears_no_group() {
        let data = |fanout: &mut Fanout, now| {
            fanout.begin(now, &[], 0);
            fanout.destinations.clone()
        };
        let mut fanout = Fanout::new(group(), 7, true);
        fanout.call(address(255), Bitrate::mbps(100));
        assert_eq!(data(&mut fanout, at(0)), [group()]);
        for everybody in [group(), address(255)] {
            let (to, call) = fanout.poll_message(at(0)).unwrap();
            assert_eq!((to, Message::is_one(&call)), (everybody, true));
        }
        let from = SocketAddr::from(([10, 0, 0, 2], 40_000));
        let say = |cookie| {
            let (nonce, host, port) = (1, u16::MAX, 0);
            Message::Here { nonce, cookie, host, port }.encode(7)
        };
        let hear = |fanout: &mut Fanout, said: &[u8]| {
            fanout.take(
                at(1),
                AdmittedPath { address: from, door: SocketDoor::Own },
                said,
                said.len(),
            )
        };
        hear(&mut fanout, &say(0));
        assert_eq!(data(&mut fanout, at(1)), [group()], "it has shown nothing");
        let (to, answer) = fanout.poll_message(at(1)).unwrap();
        let Some((_, Message::Cookie { cookie, .. })) = Message::parse(&answer) else {
            panic!("no cookie")
        };
        assert_eq!(to, from);
        hear(&mut fanout, &say(cookie));
        fanout.admit(at(1), |_| false);
        assert_eq!(fanout.poll_news(at(1)), None);
        assert_eq!(data(&mut fanout, at(1)), [group()], "nobody knows it as a receiver");
        fanout.begin(at(1), COMMAND, COMMAND.len());
        assert_eq!(fanout.destinations, [group(), from], "it can answer commands");
        fanout.admit(at(2), |ip| ip == from.ip());
        assert_eq!(fanout.poll_news(at(2)), Some(Reach::Deaf(from)));
        assert_eq!(data(&mut fanout, at(2)), [group(), from], "at the port that it spoke from");
        fanout.on_heard(at(2), from, true);
        assert_eq!(fanout.poll_news(at(2)), Some(Reach::Back(from)));
        assert_eq!(data(&mut fanout, at(3)), [group()]);
    }

    #[test]
    fn more_deaf_hosts_than_there_is_room_for_are_told_once() {
        let mut fanout = Fanout::new(group(), 7, true);
        for last in 0..100 {
            fanout.on_found(at(u64::from(last)), deaf(last));
            fanout.admit(at(u64::from(last)), |_| true);
        }
        assert_eq!((fanout.hosts.len(), fanout.refused.1), (64, 36));
        assert_eq!(fanout.poll_news(at(1)), Some(Reach::TooMany(address(64))));
        let told: Vec<_> = std::iter::from_fn(|| fanout.poll_news(at(1))).collect();
        assert!(told.len() == 64 && told.iter().all(|reach| matches!(reach, Reach::Deaf(_))));
    }

    #[test]
    fn hosts_that_claim_to_be_deaf_and_never_answer_give_way_to_one_that_is() {
        let mut fanout = Fanout::new(group(), 7, true);
        for last in 0..200 {
            fanout.on_found(at(1), deaf(last));
        }
        assert_eq!((fanout.hosts.len(), fanout.refused.1), (64, 0));
        fanout.on_found(at(2), deaf(250));
        fanout.admit(at(2), |ip| ip == address(250).ip());
        assert_eq!(fanout.poll_news(at(2)), Some(Reach::Deaf(address(250))));
        fanout.admit(at(12), |_| false);
        assert_eq!(fanout.hosts.len(), 1, "the others are let go");
    }

    #[test]
    fn who_knocks_is_answered_by_the_door_that_it_has_knocked_at_and_nobody_moves_another_host_by_its_address()
     {
        let mut fanout = to(&[2], true);
        let knock = Message::Knock { nonce: 5, session: group().into() }.encode(0);
        let at_door = |address, door| AdmittedPath { address, door };
        let path = at_door(address(3), SocketDoor::Machine);
        assert!(!fanout.take(at(1), path, &knock, knock.len()));
        assert_eq!(fanout.poll_door(), None, "nobody is to be let in");
        fanout.let_in(Bitrate::mbps(100));
        fanout.take(at(1), path, &knock, knock.len());
        assert_eq!((fanout.poll_door(), fanout.poll_door()), (Some(path), None));
        let served = at_door(address(2), SocketDoor::Machine);
        fanout.take(at(1), served, &knock, knock.len());
        assert_eq!(fanout.poll_door(), None, "it has shown nothing");
        for port in 0..1000 {
            let path = at_door(SocketAddr::from(([10, 0, 1, 1], port)), SocketDoor::Own);
            fanout.take(at(1), path, &knock, knock.len());
        }
        assert_eq!(fanout.doors.len(), FOUND_MAX);
    }

    #[test]
    fn a_batch_for_one_address_goes_there_alone() {
        let mut fanout = to(&[2], true);
        fanout.begin_for(address(9));
        assert_eq!(fanout.next(), Some(address(9)));
        fanout.on_sent();
        assert_eq!(fanout.next(), None);
    }
}

//! Finds hosts that are to be sent to alone, and have joined the session. Hosts that were named are found
//! by calls to each of them. Hosts of the link that multicast does not reach are found by a broadcast now
//! and then. It says how many messages have gone to the group. Who has joined the session answers ([`crate::serve::ear`]), and
//! is sent copies: a named host in any case, another when it hears the calls and none of the messages.
//!
//! Broadcast reaches every host of the link, also where a switch, an access point or a packet filter keeps
//! multicast back. Nobody is sent copies who has not shown by a cookie that it is at its address.

use std::{collections::VecDeque, net::SocketAddr};

use fanfare_wire::units::{
    rate::Bitrate,
    time::{Duration, Time},
};

use crate::serve::{
    budget::Budget,
    cookie::Secret,
    ear::MISSED,
    message::{ALL_HOSTS, Message, NO_HOST, SessionName},
};

/// Calls come quickly at first: a receiver says that it is deaf after three messages and 0.4 s, and
/// is to be served within a second of the sender's start.
const QUICK: Duration = Duration::from_millis(150);
const QUICK_COUNT: u32 = 8;
/// Later, too, a receiver that starts is to be served within a second: it hears its first call, and the two
/// that tell it, with a round trip and a busy machine's delay to spare.
const CALM: Duration = Duration::from_millis(250);
/// A named host that was found is called so often: it answers if it was started anew, or is forgotten.
const REMIND: Duration = Duration::from_secs(2);
/// The first calls to a named host cost nothing of the budget: it is worth a packet or two to know whether
/// it is there.
const FREE: u32 = 2;
/// A host that has told its port so often, and does not answer there, is behind a router that leads to the
/// port alone by which it was named.
const PORT_TRIES: u32 = 3;
/// Answers that wait to be sent; more are dropped and counted. A lost one is asked for again.
const ANSWERS_MAX: usize = 64;

/// A host that was named.
#[derive(Debug)]
struct NamedHost {
    address: SocketAddr,
    calls: u32,
    next: Time,
    found: bool,
    /// Answers that told another port than they came from.
    told: u32,
}

/// A host that has shown that it is there and has joined the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoundHost {
    /// Address at which it takes what is sent to it alone.
    pub address: SocketAddr,
    /// The address by which it was named, if it was.
    pub named: Option<SocketAddr>,
    /// Number by which the receiver tells itself from others, wherever it is reached.
    pub nonce: u64,
}

/// A datagram, and where it goes.
type AddressedMessage = (SocketAddr, Vec<u8>);

/// Calls, and finds who answers.
#[derive(Debug)]
pub struct Caller {
    secret: Secret,
    /// The group, whose name is that of the session.
    group: SocketAddr,
    /// Every host of the link, where all are called.
    everybody: Option<SocketAddr>,
    named: Vec<NamedHost>,
    /// Nobody answers: named hosts are told that they are sent to.
    one_way: bool,
    /// Hosts that knock are let in.
    lets_in: bool,
    budget: Budget,
    /// Messages that have gone to the group, and those of them before the last call.
    messages: u32,
    called: u32,
    calls: u32,
    next: Time,
    /// What is to follow the message that was polled last.
    second: Option<Vec<u8>>,
    answers: VecDeque<AddressedMessage>,
    dropped: u64,
}

impl Caller {
    /// Calls in the session of this group, and calls these hosts. `most`: the rate that may be used.
    /// `secret`: chance.
    #[must_use]
    pub fn new(group: SocketAddr, named: &[SocketAddr], most: Bitrate, secret: [u8; 32]) -> Self {
        let named = named.iter().map(|address| NamedHost {
            address: *address,
            calls: 0,
            next: Time::ZERO,
            found: false,
            told: 0,
        });
        Self {
            secret: Secret::new(secret),
            group,
            everybody: None,
            named: named.collect(),
            one_way: false,
            lets_in: false,
            budget: Budget::new(most),
            messages: 0,
            called: 0,
            calls: 0,
            next: Time::ZERO,
            second: None,
            answers: VecDeque::new(),
            dropped: 0,
        }
    }

    /// Calls all hosts of the link, too, by this address: what they miss is missed in the group.
    pub fn call_all(&mut self, everybody: SocketAddr) {
        self.everybody = Some(everybody);
    }

    /// Nobody answers: it tells each named host that it sends there, and waits for none.
    #[must_use]
    pub fn one_way(mut self) -> Self {
        self.one_way = true;
        self
    }

    /// Lets in hosts that knock, as it would have called them.
    pub fn let_in(&mut self) {
        self.lets_in = true;
    }

    /// The group has another address now.
    pub fn set_group(&mut self, group: SocketAddr) {
        self.group = group;
    }

    /// A batch of so many bytes goes to the group.
    pub fn on_group(&mut self, now: Time, bytes: usize, is_data: bool) {
        self.messages = self.messages.wrapping_add(1);
        self.budget.on_sent(now, bytes, is_data);
    }

    /// A datagram came; a host that says, and has shown, that it is there and is to be sent to.
    pub fn on_datagram(
        &mut self,
        sender: u32,
        from: SocketAddr,
        datagram: &[u8],
    ) -> Option<FoundHost> {
        let (about, message) = Message::parse(datagram)?;
        let (nonce, cookie, host, port) = match message {
            Message::Here { nonce, cookie, host, port } => (nonce, cookie, host, port),
            Message::Knock { nonce, session } => {
                if self.lets_in && session == SessionName::from(self.group) {
                    self.show(sender, from, nonce);
                }
                return None;
            }
            _ => return None,
        };
        let may_be_unnamed = (self.everybody.is_some() || self.lets_in) && host == ALL_HOSTS;
        let named = self.named.get_mut(usize::from(host));
        if about != sender || (named.is_none() && !may_be_unnamed) {
            return None;
        }
        let mut to = from;
        if port > 0 {
            to.set_port(port);
        }
        let right = self.secret.cookie(to, sender);
        // What is shown is shown from the address that is sent to.
        if cookie == right && to == from {
            let named = named.map(|named| {
                named.found = true;
                named.address
            });
            return Some(FoundHost { address: to, named, nonce });
        }
        let by_port = named.is_some_and(|named| {
            named.told = named.told.saturating_add(u32::from(to != from));
            to != from && named.told >= PORT_TRIES && !named.found
        });
        self.show(sender, to, nonce);
        if by_port {
            self.show(sender, from, nonce);
        }
        None
    }

    /// Has a host show that it is at this address.
    fn show(&mut self, sender: u32, to: SocketAddr, nonce: u64) {
        if self.answers.len() < ANSWERS_MAX {
            let cookie = self.secret.cookie(to, sender);
            let answer = Message::Cookie { host: NO_HOST, nonce, cookie };
            self.answers.push_back((to, answer.encode(sender)));
        } else {
            self.dropped += 1;
        }
    }

    /// What is to be sent next, and where to. Where little has gone to the group since the last call,
    /// this one goes there, too, before it goes to all hosts: then there is something to be missed.
    pub fn poll_message(&mut self, now: Time, sender: u32) -> Option<AddressedMessage> {
        if let (Some(call), Some(everybody)) = (self.second.take(), self.everybody) {
            return Some((everybody, call));
        }
        if let Some(answer) = self.answers.pop_front() {
            return Some(answer);
        }
        if let Some(call) = self.call_named(now, sender) {
            return Some(call);
        }
        let everybody = self.everybody?;
        if now < self.next || self.messages == 0 {
            return None;
        }
        self.next = now + if self.calls < QUICK_COUNT { QUICK } else { CALM };
        let little = self.messages.wrapping_sub(self.called) < MISSED;
        if !self.budget.take(now, 1 + u32::from(little)) {
            return None;
        }
        self.calls = self.calls.saturating_add(1);
        self.messages = self.messages.wrapping_add(u32::from(little));
        self.called = self.messages;
        let call = self.call(ALL_HOSTS, everybody.port()).encode(sender);
        if little {
            self.second = Some(call.clone());
            return Some((self.group, call));
        }
        Some((everybody, call))
    }

    fn call(&self, host: u16, called: u16) -> Message {
        let session = SessionName::from(self.group);
        Message::Call { messages: self.messages, host, called, session }
    }

    /// A call to the named host whose turn it is.
    fn call_named(&mut self, now: Time, sender: u32) -> Option<AddressedMessage> {
        let number = self.named.iter().position(|named| named.next <= now)?;
        let named = self.named.get_mut(number)?;
        named.next = now
            + match (named.found || self.one_way, named.calls < QUICK_COUNT) {
                (true, true) if self.one_way => QUICK,
                (true, _) => REMIND,
                (false, true) => QUICK,
                (false, false) => CALM,
            };
        let free = named.calls < FREE;
        if !free && !self.budget.take(now, 1) {
            return None;
        }
        named.calls = named.calls.saturating_add(1);
        let to = named.address;
        let message = match self.one_way {
            true => Message::Push { called: to.port(), session: self.group.into() },
            false => self.call(number as u16, to.port()),
        };
        Some((to, message.encode(sender)))
    }

    /// When there is a call to be sent.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Time> {
        let all = (self.everybody.is_some() && self.messages > 0).then_some(self.next);
        self.named.iter().map(|named| named.next).chain(all).min()
    }

    /// True if a host was named, and none has answered yet.
    #[must_use]
    pub fn is_alone(&self) -> bool {
        !self.one_way && !self.named.is_empty() && self.named.iter().all(|named| !named.found)
    }

    /// Answers that there was no room for.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::{
        door::SocketDoor,
        ear::{Called, Ear, JoinedSession, SenderIdentity},
    };
    use fanfare_wire::units::time::at;

    const ID: u32 = 7;
    const SPEAKER: SenderIdentity = SenderIdentity {
        address: SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1)), 6003),
        id: ID,
    };

    fn address(last: u8) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, last], 6003))
    }

    fn group() -> SocketAddr {
        SocketAddr::from(([239, 255, 42, 1], 6003))
    }

    fn caller(most: Bitrate) -> Caller {
        let mut caller = Caller::new(group(), &[], most, [1; 32]);
        caller.call_all(address(255));
        caller
    }

    fn joined_ear() -> Ear {
        Ear::new(JoinedSession::new(group().into()))
    }

    fn here(cookie: u64) -> Message {
        Message::Here { nonce: 1, cookie, host: ALL_HOSTS, port: 0 }
    }

    fn fast() -> Caller {
        caller(Bitrate::mbps(10_000))
    }

    /// The calls of this time, and when a host was found by them. The roll is called every half second.
    /// `hears`: messages to the group arrive.
    fn run(
        caller: &mut Caller,
        ear: &mut Ear,
        times: std::ops::Range<u64>,
        hears: bool,
    ) -> Vec<u64> {
        let mut found = Vec::new();
        for time in times.step_by(10) {
            if time % 500 == 0 {
                caller.on_group(at(time), 60, false);
                if hears {
                    ear.on_group(SPEAKER);
                }
            }
            while let Some((to, message)) = caller.poll_message(at(time), ID) {
                let answer = match Message::parse(&message).unwrap().1 {
                    Message::Call { .. } if to == caller.group => {
                        if hears {
                            ear.on_group(SPEAKER);
                        }
                        None
                    }
                    Message::Call { messages, host, called, session } => {
                        let call = Called { messages, host, port: called };
                        ear.on_call(at(time), SPEAKER, session, call, 5)
                    }
                    Message::Cookie { nonce, cookie, .. } => {
                        ear.on_cookie(at(time), SPEAKER, SocketDoor::Own, nonce, cookie)
                    }
                    other => panic!("{other:?}"),
                };
                let Some(said) = answer.map(|answer| answer.encode(ID)) else { continue };
                if caller.on_datagram(ID, address(2), &said).is_some() {
                    found.push(time);
                }
                assert!(caller.answers.iter().all(|(_, cookie)| said.len() >= cookie.len()));
            }
        }
        found
    }

    #[test]
    fn a_host_that_hears_calls_and_nothing_by_the_group_is_found_within_half_a_second() {
        let (mut caller, mut ear) = (fast(), joined_ear());
        assert_eq!(run(&mut caller, &mut ear, 0..4000, false).first(), Some(&450));
    }

    #[test]
    fn one_that_starts_later_is_found_within_a_second_also_while_there_is_no_data() {
        for start in [3000, 3110, 3390] {
            let (mut caller, mut ear) = (fast(), joined_ear());
            run(&mut caller, &mut joined_ear(), 0..start, true);
            let found = run(&mut caller, &mut ear, start..start + 3000, false);
            assert!(found[0] - start < 900, "{start}: {found:?}");
        }
    }

    #[test]
    fn a_host_that_hears_the_group_is_not_found_and_one_that_loses_a_message_neither() {
        let (mut caller, mut ear) = (fast(), joined_ear());
        let none: [u64; 0] = [];
        assert_eq!(run(&mut caller, &mut ear, 0..5000, true), none);
        assert_eq!(run(&mut caller, &mut ear, 5000..5500, false), none);
        assert_eq!(run(&mut caller, &mut ear, 5500..9000, true), none);
        assert!(
            !run(&mut caller, &mut ear, 9000..15_000, false).is_empty(),
            "it hears it no longer"
        );
    }

    #[test]
    fn on_a_radio_of_10_kbit_per_second_a_deaf_host_is_found_and_there_are_few_calls() {
        let (mut caller, mut ear) = (caller(Bitrate::kbps(10)), joined_ear());
        let (mut calls, mut found) = (0, None);
        for time in (0..200_000).step_by(100) {
            if time % 1200 == 0 {
                caller.on_group(at(time), 1400, true);
            }
            while let Some((to, message)) = caller.poll_message(at(time), ID) {
                calls += 1;
                let Some((_, Message::Call { messages, host, called, session })) =
                    Message::parse(&message)
                else {
                    panic!()
                };
                let here = to == address(255);
                let call = Called { messages, host, port: called };
                let said = here.then(|| ear.on_call(at(time), SPEAKER, session, call, 5));
                found = found.or(said.flatten().map(|_| time));
            }
        }
        assert!((10..=15).contains(&calls), "{calls}");
        assert!(found.is_some_and(|time| time < 40_000), "{found:?}");
    }

    #[test]
    fn nobody_is_found_without_the_cookie_of_its_address() {
        let mut caller = fast();
        let say = |cookie| here(cookie).encode(ID);
        assert_eq!(caller.on_datagram(ID, address(2), &say(0)), None);
        let (_, answer) = caller.poll_message(at(0), ID).unwrap();
        let Some((_, Message::Cookie { cookie, .. })) = Message::parse(&answer) else { panic!() };
        assert_eq!(caller.on_datagram(ID, address(3), &say(cookie)), None, "of another address");
        assert_eq!(caller.on_datagram(8, address(2), &say(cookie)), None, "of another sender");
        let found = FoundHost { address: address(2), named: None, nonce: 1 };
        assert_eq!(caller.on_datagram(ID, address(2), &say(cookie)), Some(found));
    }

    #[test]
    fn a_flood_of_deaf_hosts_waits_in_a_bounded_queue() {
        let mut caller = fast();
        for port in 0..1000 {
            let from = SocketAddr::from(([10, 0, 1, 1], port));
            let said = here(0).encode(ID);
            assert_eq!(caller.on_datagram(ID, from, &said), None);
        }
        assert_eq!((caller.answers.len(), caller.dropped()), (64, 1000 - 64));
        caller.answers.clear();
        assert_eq!(caller.poll_message(at(0), ID), None, "nothing has gone to the group");
    }

    #[test]
    fn a_named_host_is_called_at_once_and_found_at_the_port_that_it_answers_from() {
        let mut caller =
            Caller::new(group(), &[address(3), address(4)], Bitrate::kbps(56), [1; 32]);
        assert!(caller.is_alone());
        let (to, call) = caller.poll_message(at(0), ID).unwrap();
        let Some((_, Message::Call { host, .. })) = Message::parse(&call) else { panic!() };
        assert_eq!((to, host), (address(3), 0));
        let own = SocketAddr::from(([10, 0, 0, 3], 50_000));
        let say = |cookie, port| Message::Here { nonce: 1, cookie, host, port }.encode(ID);
        // From the port that was called, since a firewall here may let in no other answer.
        assert_eq!(caller.on_datagram(ID, address(3), &say(0, 50_000)), None);
        let (to, answer) = caller.poll_message(at(1), ID).unwrap();
        let Some((_, Message::Cookie { cookie, .. })) = Message::parse(&answer) else { panic!() };
        assert_eq!(to, own, "the cookie opens the way to the port that is sent to");
        assert_eq!(
            caller.on_datagram(ID, address(3), &say(cookie, 50_000)),
            None,
            "not from there"
        );
        let found = FoundHost { address: own, named: Some(address(3)), nonce: 1 };
        assert_eq!(caller.on_datagram(ID, own, &say(cookie, 0)), Some(found));
        assert!(!caller.is_alone());
    }

    #[test]
    fn hosts_that_do_not_answer_cost_a_radio_of_56_kbit_per_second_little() {
        let hosts: Vec<SocketAddr> = (1..=10).map(address).collect();
        let mut caller = Caller::new(group(), &hosts, Bitrate::kbps(56), [1; 32]);
        let mut calls = 0;
        for time in (0..60_000).step_by(10) {
            while caller.poll_message(at(time), ID).is_some() {
                calls += 1;
            }
        }
        assert!((20..60).contains(&calls), "{calls} in a minute");
    }
}

//! Hosts that multicast does not reach are found without being named. A sender to a group calls by
//! broadcast, now and then: so many messages have gone to the group. Who hears the calls and none of the
//! messages says so ([`crate::ear`]), and is sent copies.
//!
//! Broadcast reaches every host of the link, also where a switch, an access point or a packet filter keeps
//! multicast back. Nobody is sent copies who has not shown by a cookie that it is at its address.

use std::{collections::VecDeque, net::SocketAddr};

use fanfare_units::{
    rate::Bitrate,
    time::{Duration, Time},
};

use crate::{
    budget::Budget,
    cookie::Secret,
    ear::MISSED,
    message::{Message, NO_HOST},
};

/// Calls come quickly at first: a receiver says that it is deaf after three messages and 0.4 s, and
/// is to be served within a second of the sender's start.
const QUICK: Duration = Duration::from_millis(150);
const QUICK_COUNT: u32 = 8;
/// Later, too, a receiver that starts is to be served within a second: it hears its first call, and the two
/// that tell it, with a round trip and a busy machine's delay to spare.
const CALM: Duration = Duration::from_millis(250);
/// Answers that wait to be sent; more are dropped and counted. A lost one is asked for again.
const ANSWERS_MAX: usize = 64;

/// Calls, and finds who answers.
#[derive(Debug)]
pub struct Caller {
    secret: Secret,
    /// The group, and where calls go: every host of the link.
    group: SocketAddr,
    to: SocketAddr,
    budget: Budget,
    /// Messages that have gone to the group, and those of them before the last call.
    messages: u32,
    called: u32,
    calls: u32,
    next: Time,
    /// What is to follow the message that was polled last.
    second: Option<Vec<u8>>,
    answers: VecDeque<(SocketAddr, Vec<u8>)>,
    dropped: u64,
}

impl Caller {
    /// Calls go `to` there; what is missed is missed in `group`. `most`: the rate that may be used.
    /// `secret`: chance.
    #[must_use]
    pub fn new((group, to): (SocketAddr, SocketAddr), most: Bitrate, secret: [u8; 32]) -> Self {
        Self {
            secret: Secret::new(secret),
            group,
            to,
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

    /// The group has another address now.
    pub fn set_group(&mut self, group: SocketAddr) {
        self.group = group;
    }

    /// A batch of so many bytes goes to the group.
    pub fn on_group(&mut self, now: Time, bytes: usize, is_data: bool) {
        self.messages = self.messages.wrapping_add(1);
        self.budget.on_sent(now, bytes, is_data);
    }

    /// A datagram came; a host that says, and has shown that it is there, that it does not hear the group.
    pub fn on_datagram(
        &mut self,
        sender: u32,
        from: SocketAddr,
        datagram: &[u8],
    ) -> Option<SocketAddr> {
        let (about, Message::Deaf { nonce, cookie }) = Message::parse(datagram)? else {
            return None;
        };
        if about != sender {
            return None;
        }
        let right = self.secret.cookie(from, sender);
        if cookie == right {
            return Some(from);
        }
        if self.answers.len() < ANSWERS_MAX {
            let answer = Message::Cookie { host: NO_HOST, nonce, cookie: right };
            self.answers.push_back((from, answer.encode(sender)));
        } else {
            self.dropped += 1;
        }
        None
    }

    /// What is to be sent next, and where to. Where little has gone to the group since the last call,
    /// this one goes there, too, before it goes to all hosts: then there is something to be missed.
    pub fn poll_message(&mut self, now: Time, sender: u32) -> Option<(SocketAddr, Vec<u8>)> {
        if let Some(call) = self.second.take() {
            return Some((self.to, call));
        }
        if let Some(answer) = self.answers.pop_front() {
            return Some(answer);
        }
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
        let call = Message::Call { messages: self.messages }.encode(sender);
        if little {
            self.second = Some(call.clone());
            return Some((self.group, call));
        }
        Some((self.to, call))
    }

    /// When there is a call to be sent.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Time> {
        (self.messages > 0).then_some(self.next)
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
    use crate::ear::Ear;
    use fanfare_units::time::at;

    const ID: u32 = 7;

    fn address(last: u8) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, last], 6003))
    }

    fn caller(most: Bitrate) -> Caller {
        let group = SocketAddr::from(([239, 255, 42, 1], 6003));
        Caller::new((group, address(255)), most, [1; 32])
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
                    ear.on_group(ID);
                }
            }
            while let Some((to, message)) = caller.poll_message(at(time), ID) {
                let answer = match Message::parse(&message).unwrap().1 {
                    Message::Call { .. } if to == caller.group => {
                        if hears {
                            ear.on_group(ID);
                        }
                        None
                    }
                    Message::Call { messages } => {
                        ear.on_call(at(time), (address(1), ID), messages, 5)
                    }
                    Message::Cookie { nonce, cookie, .. } => {
                        ear.on_cookie((address(1), ID), nonce, cookie)
                    }
                    other => panic!("{other:?}"),
                };
                let Some(said) = answer else { continue };
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
        let (mut caller, mut ear) = (fast(), Ear::default());
        assert_eq!(run(&mut caller, &mut ear, 0..4000, false).first(), Some(&450));
    }

    #[test]
    fn one_that_starts_later_is_found_within_a_second_also_while_there_is_no_data() {
        for start in [3000, 3110, 3390] {
            let (mut caller, mut ear) = (fast(), Ear::default());
            run(&mut caller, &mut Ear::default(), 0..start, true);
            let found = run(&mut caller, &mut ear, start..start + 3000, false);
            assert!(found[0] - start < 900, "{start}: {found:?}");
        }
    }

    #[test]
    fn a_host_that_hears_the_group_is_not_found_and_one_that_loses_a_message_neither() {
        let (mut caller, mut ear) = (fast(), Ear::default());
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
        let (mut caller, mut ear) = (caller(Bitrate::kbps(10)), Ear::default());
        let (mut calls, mut found) = (0, None);
        for time in (0..200_000).step_by(100) {
            if time % 1200 == 0 {
                caller.on_group(at(time), 1400, true);
            }
            while let Some((to, message)) = caller.poll_message(at(time), ID) {
                calls += 1;
                let Some((_, Message::Call { messages })) = Message::parse(&message) else {
                    panic!()
                };
                let here = to == address(255);
                let said = here.then(|| ear.on_call(at(time), (address(1), ID), messages, 5));
                found = found.or(said.flatten().map(|_| time));
            }
        }
        assert!((10..=15).contains(&calls), "{calls}");
        assert!(found.is_some_and(|time| time < 40_000), "{found:?}");
    }

    #[test]
    fn nobody_is_found_without_the_cookie_of_its_address() {
        let mut caller = fast();
        let say = |cookie| Message::Deaf { nonce: 1, cookie }.encode(ID);
        assert_eq!(caller.on_datagram(ID, address(2), &say(0)), None);
        let (_, answer) = caller.poll_message(at(0), ID).unwrap();
        let Some((_, Message::Cookie { cookie, .. })) = Message::parse(&answer) else { panic!() };
        assert_eq!(caller.on_datagram(ID, address(3), &say(cookie)), None, "of another address");
        assert_eq!(caller.on_datagram(8, address(2), &say(cookie)), None, "of another sender");
        assert_eq!(caller.on_datagram(ID, address(2), &say(cookie)), Some(address(2)));
    }

    #[test]
    fn a_flood_of_deaf_hosts_waits_in_a_bounded_queue() {
        let mut caller = fast();
        for port in 0..1000 {
            let from = SocketAddr::from(([10, 0, 1, 1], port));
            let said = Message::Deaf { nonce: 1, cookie: 0 }.encode(ID);
            assert_eq!(caller.on_datagram(ID, from, &said), None);
        }
        assert_eq!((caller.answers.len(), caller.dropped()), (64, 1000 - 64));
        caller.answers.clear();
        assert_eq!(caller.poll_message(at(0), ID), None, "nothing has gone to the group");
    }
}

//! Hosts that multicast does not reach are found without being named. A sender to a group calls by
//! broadcast, now and then: so many messages have gone to the group. Who hears the calls and none of the
//! messages says so ([`crate::ear`]), and is sent copies.
//!
//! Broadcast reaches every host of the link, also where a switch, an access point or a packet filter keeps
//! multicast back. Nobody is sent copies who has not shown by a cookie that it is at its address.

use std::{collections::VecDeque, net::SocketAddr};

use fanfare_units::time::{Duration, Time};

use crate::{
    cookie::Secret,
    message::{Message, NO_HOST},
};

/// Calls come quickly at first, while the roll is called every half second: a deaf host is to be
/// found within about a second. Later they come as often as the roll is called while data flows.
const QUICK: Duration = Duration::from_millis(250);
const QUICK_COUNT: u32 = 16;
const CALM: Duration = Duration::from_secs(2);
/// Answers that wait to be sent; more are dropped and counted. A lost one is asked for again.
const ANSWERS_MAX: usize = 64;

/// Calls, and finds who answers.
#[derive(Debug)]
pub struct Caller {
    secret: Secret,
    /// Where calls go: every host of the link.
    to: SocketAddr,
    messages: u32,
    calls: u32,
    next: Time,
    answers: VecDeque<(SocketAddr, Vec<u8>)>,
    dropped: u64,
}

impl Caller {
    /// Calls go `to` there. `secret`: chance.
    #[must_use]
    pub fn new(to: SocketAddr, secret: [u8; 32]) -> Self {
        Self {
            secret: Secret::new(secret),
            to,
            messages: 0,
            calls: 0,
            next: Time::ZERO,
            answers: VecDeque::new(),
            dropped: 0,
        }
    }

    /// A batch goes to the group.
    pub fn on_group(&mut self) {
        self.messages = self.messages.wrapping_add(1);
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

    /// What is to be sent next, and where to.
    pub fn poll_message(&mut self, now: Time, sender: u32) -> Option<(SocketAddr, Vec<u8>)> {
        if let Some(answer) = self.answers.pop_front() {
            return Some(answer);
        }
        if now < self.next || self.messages == 0 {
            return None;
        }
        self.calls = self.calls.saturating_add(1);
        self.next = now + if self.calls < QUICK_COUNT { QUICK } else { CALM };
        Some((self.to, Message::Call { messages: self.messages }.encode(sender)))
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

    fn caller() -> Caller {
        Caller::new(address(255), [1; 32])
    }

    /// The calls of this time, and who is found by them. `hears`: messages to the group arrive.
    fn run(caller: &mut Caller, ear: &mut Ear, times: std::ops::Range<u64>, hears: bool) -> usize {
        let mut found = 0;
        for time in times.step_by(50) {
            if time % 500 == 0 {
                caller.on_group();
                if hears {
                    ear.on_group(ID);
                }
            }
            while let Some((_, call)) = caller.poll_message(at(time), ID) {
                let Some((_, Message::Call { messages })) = Message::parse(&call) else {
                    panic!("no call")
                };
                let said = ear.on_call(at(time), (address(1), ID), messages, 5);
                let Some(said) = said else { continue };
                let found_now = caller.on_datagram(ID, address(2), &said).is_some();
                found += usize::from(found_now);
                let Some((to, cookie)) = (!found_now).then(|| caller.answers.pop_front()).flatten()
                else {
                    continue;
                };
                assert_eq!((to, said.len() >= cookie.len()), (address(2), true));
                let Some((_, Message::Cookie { nonce, cookie, .. })) = Message::parse(&cookie)
                else {
                    panic!("no cookie")
                };
                let again = ear.on_cookie((address(1), ID), nonce, cookie).unwrap();
                found += usize::from(caller.on_datagram(ID, address(2), &again).is_some());
            }
        }
        found
    }

    #[test]
    fn a_host_that_hears_calls_and_nothing_by_the_group_is_found_within_two_seconds() {
        let (mut caller, mut ear) = (caller(), Ear::default());
        assert_eq!(run(&mut caller, &mut ear, 0..500, false), 0, "it may have come late");
        assert!(run(&mut caller, &mut ear, 500..2000, false) > 0);
    }

    #[test]
    fn a_host_that_hears_the_group_is_not_found_and_one_that_loses_a_message_neither() {
        let (mut caller, mut ear) = (caller(), Ear::default());
        assert_eq!(run(&mut caller, &mut ear, 0..5000, true), 0);
        assert_eq!(run(&mut caller, &mut ear, 5000..5500, false), 0);
        assert_eq!(run(&mut caller, &mut ear, 5500..9000, true), 0);
        assert!(run(&mut caller, &mut ear, 9000..15_000, false) > 0, "it hears it no longer");
    }

    #[test]
    fn nobody_is_found_without_the_cookie_of_its_address() {
        let mut caller = caller();
        let say = |cookie| Message::Deaf { nonce: 1, cookie }.encode(ID);
        assert_eq!(caller.on_datagram(ID, address(2), &say(0)), None);
        let (_, answer) = caller.poll_message(at(0), ID).unwrap();
        let Some((_, Message::Cookie { cookie, .. })) = Message::parse(&answer) else { panic!() };
        assert_eq!(caller.on_datagram(ID, address(3), &say(cookie)), None, "of another address");
        assert_eq!(caller.on_datagram(8, address(2), &say(cookie)), None, "of another sender");
        assert_eq!(caller.on_datagram(ID, address(2), &say(cookie)), Some(address(2)));
    }

    #[test]
    fn a_flood_of_deaf_hosts_waits_in_a_bounded_queue_and_calls_come_seldom() {
        let mut caller = caller();
        for port in 0..1000 {
            let from = SocketAddr::from(([10, 0, 1, 1], port));
            let said = Message::Deaf { nonce: 1, cookie: 0 }.encode(ID);
            assert_eq!(caller.on_datagram(ID, from, &said), None);
        }
        assert_eq!((caller.answers.len(), caller.dropped()), (64, 1000 - 64));
        caller.answers.clear();
        assert_eq!(caller.poll_message(at(0), ID), None, "nothing has gone to the group");
        caller.on_group();
        let calls = (0..60_000).filter(|time| caller.poll_message(at(*time), ID).is_some());
        assert_eq!(calls.count(), 16 + 28);
    }
}

//! A receiver's answers to senders that call ([`crate::serve::Caller`]): that it has joined their session and
//! hears nothing of it, or that it is the host that was named. Whose call it has answered may send to it
//! alone. Calls of sessions that it has not joined are not answered. It has no time of its own.

use std::{
    collections::VecDeque,
    net::{IpAddr, SocketAddr},
};

use fanfare_wire::units::time::{Duration, Time};

use crate::serve::{
    door::SocketDoor,
    message::{ALL_HOSTS, HOSTS_MAX, Message, SessionName},
};

/// Who has heard none of so many messages to the group, for so long, does not hear the group. One
/// that has heard it before may have lost a burst, and waits longer.
pub(crate) const MISSED: u32 = 3;
const SILENT: Duration = Duration::from_millis(400);
const SILENT_SINCE_HEARD: Duration = Duration::from_secs(2);
/// Senders at once whose calls a receiver attends to: as many as hosts that a sender finds.
const SENDERS_MAX: usize = 64;
/// A sender that has not called for so long is forgotten: on a radio of 10 kbit/s there are 16 s between two
/// calls.
const FORGET: Duration = Duration::from_secs(60);
/// A host that was named and is sent to does not answer again: the sender has found it. It answers when
/// nothing has come for so long, as the sender may have forgotten it. The roll is called every two
/// seconds at the latest, and a message may be lost.
const UNSERVED: Duration = Duration::from_secs(5);

/// Doors that wait to be told: those of the hosts of some transfers. All are told in the same turn.
const DOORS_MAX: usize = 4 * HOSTS_MAX;
/// So many answers to calls may be lost, or cross the cookie on its way: then the host knocks.
const KNOCK_AFTER: u32 = 3;

/// The session that a receiver has joined, and whom it listens to there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JoinedSession {
    /// The session.
    pub session: SessionName,
    /// The one address that it listens to, if one was given (source-specific multicast).
    pub source: Option<IpAddr>,
    /// The node id of the one sender that it takes something from, if one was given. Others may pass it on.
    pub sender: Option<u32>,
    /// The address of the one sender that it takes something from, likewise.
    pub address: Option<IpAddr>,
}

impl JoinedSession {
    /// Joins this session, whoever sends.
    #[must_use]
    pub fn new(session: SessionName) -> Self {
        Self { session, source: None, sender: None, address: None }
    }

    /// True if a call is for a receiver that has joined so. A host may be named with the port that it listens at, or
    /// with one that a router leads to that.
    fn takes(&self, caller: SenderIdentity, session: SessionName, call: Called) -> bool {
        let named = call.host != ALL_HOSTS && self.session == session.at_port(call.port);
        (self.session == session || named) && self.listens_to(caller)
    }

    /// True if it takes something from this sender.
    fn listens_to(&self, caller: SenderIdentity) -> bool {
        let is_there = |one: Option<IpAddr>| one.is_none_or(|ip| ip == caller.address.ip());
        is_there(self.source)
            && is_there(self.address)
            && self.sender.is_none_or(|sender| sender == caller.id)
    }
}

/// A sender, where it speaks from and by its node id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SenderIdentity {
    pub(crate) address: SocketAddr,
    pub(crate) id: u32,
}

/// Content of a call beside its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Called {
    pub(crate) messages: u32,
    pub(crate) host: u16,
    pub(crate) port: u16,
}

/// Address that somebody sends from, and the door by which it comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdmittedPath {
    /// The address.
    pub address: SocketAddr,
    /// The socket by which it comes, and by which it is answered.
    pub door: SocketDoor,
}

/// A sender that calls.
#[derive(Debug)]
struct CallingSender {
    speaker: SenderIdentity,
    /// Since when, and since how many messages, nothing was heard by the group.
    since: Time,
    messages: u32,
    /// It was heard by the group since the last call, or ever.
    heard: bool,
    ever: bool,
    called: Time,
    nonce: u64,
    cookie: u64,
    /// Answers to calls of all hosts since the last cookie.
    unheard: u32,
    /// The number of this host in the last call.
    host: u16,
    /// Address that it sends from to this host alone, and the door, once it has given a cookie; and the time
    /// at which something came so last.
    admitted: Option<AdmittedPath>,
    served: Option<Time>,
}

/// Answers calls.
#[derive(Debug)]
pub(crate) struct Ear {
    joined: JoinedSession,
    callers: Vec<CallingSender>,
    /// Calls of sessions that were not joined, or of senders that are not listened to.
    foreign: u64,
    /// Senders that speak by another door from now on. Only the newest are worth telling.
    doors: VecDeque<AdmittedPath>,
}

impl Ear {
    pub(crate) fn new(joined: JoinedSession) -> Self {
        Self { joined, callers: Vec::new(), foreign: 0, doors: VecDeque::new() }
    }

    /// True if everybody may send it something, and pass it on: no one source was chosen.
    pub(crate) fn takes_from_all(&self) -> bool {
        self.joined.source.is_none()
    }

    /// Whether it is worth knowing who sends to the group: somebody has called, and was not heard there
    /// since.
    pub(crate) fn listens(&self) -> bool {
        self.callers.iter().any(|caller| !caller.heard)
    }

    /// A message of this sender came by the group, from where it calls from, too: two machines that were
    /// cloned may have one id.
    pub(crate) fn on_group(&mut self, speaker: SenderIdentity) {
        for caller in self.callers.iter_mut().filter(|caller| caller.speaker == speaker) {
            (caller.heard, caller.ever) = (true, true);
        }
    }

    /// True if what comes so may be sent to this host alone: the call was answered.
    pub(crate) fn is_admitted(&self, one: AdmittedPath) -> bool {
        self.callers.iter().any(|caller| caller.admitted == Some(one))
    }

    /// Something came so, to this host alone.
    pub(crate) fn on_served(&mut self, now: Time, one: AdmittedPath) {
        let is_it = |caller: &&mut CallingSender| caller.admitted == Some(one);
        for caller in self.callers.iter_mut().filter(is_it) {
            caller.served = Some(now);
        }
    }

    /// True if a call is to this host by its name, and for the session that was joined.
    pub(crate) fn is_meant(
        &self,
        speaker: SenderIdentity,
        session: SessionName,
        call: Called,
    ) -> bool {
        call.host != ALL_HOSTS && self.joined.takes(speaker, session, call)
    }

    /// A sender calls, of this session. The answer, if it does not hear the group, or is named; `nonce`:
    /// chance.
    pub(crate) fn on_call(
        &mut self,
        now: Time,
        speaker: SenderIdentity,
        session: SessionName,
        call: Called,
        nonce: u64,
    ) -> Option<Message> {
        if !self.joined.takes(speaker, session, call) {
            self.foreign += 1;
            return None;
        }
        let last =
            |caller: &CallingSender| caller.called.max(caller.served.unwrap_or(caller.called));
        self.callers.retain(|caller| now.since(last(caller)) < FORGET);
        let known = self.callers.iter().position(|caller| caller.speaker == speaker);
        let at = match known {
            Some(at) => at,
            None if self.callers.len() < SENDERS_MAX => {
                self.callers.push(CallingSender::new(now, speaker, call, nonce));
                self.callers.len() - 1
            }
            None => return None,
        };
        let caller = self.callers.get_mut(at)?;
        caller.called = now;
        if call.host != ALL_HOSTS {
            caller.host = call.host;
            let served = caller.served.is_some_and(|at| now.since(at) < UNSERVED);
            return (!served).then(|| caller.answer());
        }
        // Of the first call it is not known yet what was missed.
        known?;
        if caller.heard {
            (caller.heard, caller.since, caller.messages) = (false, now, call.messages);
            return None;
        }
        let patience = if caller.ever { SILENT_SINCE_HEARD } else { SILENT };
        let missed = call.messages.wrapping_sub(caller.messages);
        let deaf = now.since(caller.since) >= patience && missed >= MISSED;
        caller.unheard = caller.unheard.saturating_add(u32::from(deaf));
        deaf.then(|| caller.answer())
    }

    /// True if a sender that calls all hosts does not hear the answers: a firewall before it lets in nothing
    /// that goes to the port it calls from. It may hear what goes to the port that it calls.
    pub(crate) fn is_unheard(&self, speaker: SenderIdentity) -> bool {
        let unheard = |caller: &CallingSender| caller.unheard >= KNOCK_AFTER;
        self.callers.iter().any(|caller| caller.speaker == speaker && unheard(caller))
    }

    /// A sender has opened to a knock with this nonce: it is as one that has called all.
    pub(crate) fn on_opened(&mut self, now: Time, speaker: SenderIdentity, nonce: u64) {
        let known =
            |caller: &CallingSender| caller.speaker.id == speaker.id && caller.nonce == nonce;
        if !self.callers.iter().any(known) && self.callers.len() < SENDERS_MAX {
            let call = Called { messages: 0, host: ALL_HOSTS, port: 0 };
            self.callers.push(CallingSender::new(now, speaker, call, nonce));
        }
    }

    /// True if something came lately from a sender at this host, or ever by the group.
    pub(crate) fn is_heard(&self, now: Time, host: IpAddr) -> bool {
        let serves = |at: Time| now.since(at) < UNSERVED;
        let mut there = self.callers.iter().filter(|caller| caller.speaker.address.ip() == host);
        there.any(|caller| caller.ever || caller.served.is_some_and(serves))
    }

    /// A sender sends to this host alone in this session, and hears no answer: what comes by this door is
    /// taken from now on. The way of a data diode is shown by nothing else.
    pub(crate) fn on_push(
        &mut self,
        now: Time,
        speaker: SenderIdentity,
        session: SessionName,
        door: SocketDoor,
        port: u16,
    ) {
        // A host is meant by the address that this came to: it has no number.
        let call = Called { messages: 0, host: 0, port };
        if self.on_call(now, speaker, session, call, 0).is_none()
            && !self.callers.iter().any(|caller| caller.speaker == speaker)
        {
            return;
        }
        let admitted = AdmittedPath { address: speaker.address, door };
        for caller in self.callers.iter_mut().filter(|caller| caller.speaker == speaker) {
            (caller.admitted, caller.served) = (Some(admitted), Some(now));
        }
    }

    /// The sender wants to see this. What to answer. It may speak from another address than it has called
    /// from: a router in between can give it one for each way. By the door of the machine it speaks only
    /// where no other leads here.
    pub(crate) fn on_cookie(
        &mut self,
        now: Time,
        speaker: SenderIdentity,
        door: SocketDoor,
        nonce: u64,
        cookie: u64,
    ) -> Option<Message> {
        let is_it = |one: &&mut CallingSender| one.speaker.id == speaker.id && one.nonce == nonce;
        if !self.joined.listens_to(speaker) {
            self.foreign += 1;
            return None;
        }
        let caller = self.callers.iter_mut().find(is_it)?;
        let named = caller.host != ALL_HOSTS;
        let by_own = caller.admitted.is_some_and(|one| one.door == SocketDoor::Own);
        if (caller.heard && !named)
            || caller.cookie == cookie
            || (by_own && door != SocketDoor::Own)
        {
            return None;
        }
        (caller.cookie, caller.unheard) = (cookie, 0);
        let admitted = AdmittedPath { address: speaker.address, door };
        (caller.admitted, caller.served) = (Some(admitted), Some(now));
        let answer = caller.answer();
        self.on_door(admitted);
        Some(answer)
    }

    /// Whoever is at this address is spoken to by this door from now on.
    pub(crate) fn on_door(&mut self, path: AdmittedPath) {
        if self.doors.len() >= DOORS_MAX {
            self.doors.pop_front();
        }
        self.doors.push_back(path);
    }

    /// The next sender that has shown by which door it is to be answered, feedback and all.
    pub(crate) fn poll_door(&mut self) -> Option<AdmittedPath> {
        self.doors.pop_front()
    }
}

impl CallingSender {
    fn new(now: Time, speaker: SenderIdentity, call: Called, nonce: u64) -> Self {
        Self {
            speaker,
            since: now,
            messages: call.messages,
            heard: false,
            ever: false,
            called: now,
            nonce,
            cookie: 0,
            unheard: 0,
            host: call.host,
            admitted: None,
            served: None,
        }
    }

    fn answer(&self) -> Message {
        Message::Here { nonce: self.nonce, cookie: self.cookie, host: self.host, port: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanfare_wire::units::time::at;

    fn session(last: u8) -> SessionName {
        SocketAddr::from(([239, 255, 42, last], 6003)).into()
    }
    fn speaker() -> SenderIdentity {
        SenderIdentity { address: SocketAddr::from(([10, 0, 0, 1], 4000)), id: 7 }
    }

    fn own() -> AdmittedPath {
        AdmittedPath { address: speaker().address, door: SocketDoor::Own }
    }

    #[test]
    fn a_host_that_is_named_with_the_port_of_its_group_is_meant_and_not_one_of_another_group() {
        let at_port = |port| SessionName::from(SocketAddr::from(([239, 255, 42, 1], port)));
        let call = Called { messages: 0, host: 0, port: 7000 };
        for (joined, session, host, answers) in [
            (at_port(7000), at_port(6003), 0, true),
            (at_port(7000), at_port(6003), ALL_HOSTS, false),
            (at_port(7001), at_port(6003), 0, false),
            (at_port(6003), at_port(6003), 0, true),
            (session(2), at_port(6003), 0, false),
        ] {
            let mut ear = Ear::new(JoinedSession::new(joined));
            let said = ear.on_call(at(0), speaker(), session, Called { host, ..call }, 5);
            assert_eq!(said.is_some(), answers, "{joined} {session}");
        }
    }

    #[test]
    fn who_cannot_be_reached_at_its_own_port_is_reached_at_that_of_the_machine() {
        let mut ear = Ear::new(JoinedSession::new(session(1)));
        let call = Called { messages: 0, host: 0, port: 6003 };
        ear.on_call(at(0), speaker(), session(1), call, 5);
        assert!(ear.on_cookie(at(1), speaker(), SocketDoor::Machine, 5, 98).is_some());
        let machine = AdmittedPath { door: SocketDoor::Machine, ..own() };
        assert!(ear.is_admitted(machine) && !ear.is_admitted(own()));
        assert!(ear.on_cookie(at(2), speaker(), SocketDoor::Own, 5, 99).is_some());
        assert!(!ear.is_admitted(machine) && ear.is_admitted(own()));
        assert_eq!(ear.on_cookie(at(3), speaker(), SocketDoor::Machine, 5, 98), None);
    }

    #[test]
    fn a_sender_that_hears_no_answer_is_admitted_where_its_session_source_and_id_are_right() {
        let joined = JoinedSession::new(session(1));
        let source = |last: u8| Some(IpAddr::from([10, 0, 0, last]));
        let machine = AdmittedPath { door: SocketDoor::Machine, ..own() };
        for (joined, name, port, admits) in [
            (joined, session(1), 6003, true),
            (joined, session(2), 6003, false),
            (joined, session(1), 7000, true),
            (JoinedSession { source: source(2), ..joined }, session(1), 6003, false),
            (JoinedSession { address: source(2), ..joined }, session(1), 6003, false),
            (JoinedSession { sender: Some(8), ..joined }, session(1), 6003, false),
        ] {
            let mut ear = Ear::new(joined);
            ear.on_push(at(0), speaker(), name, SocketDoor::Machine, port);
            assert_eq!(ear.is_admitted(machine), admits, "{joined:?} {name:?} {port}");
            assert!(!ear.is_admitted(own()));
        }
    }

    #[test]
    fn a_call_of_another_session_source_or_sender_is_not_answered_and_admits_nobody() {
        let joined = JoinedSession::new(session(1));
        let call = Called { messages: 9, host: 0, port: 6003 };
        let source = |last: u8| Some(IpAddr::from([10, 0, 0, last]));
        for (joined, name, answers) in [
            (joined, session(1), true),
            (joined, session(2), false),
            (JoinedSession { source: source(1), ..joined }, session(1), true),
            (JoinedSession { source: source(2), ..joined }, session(1), false),
            (JoinedSession { address: source(1), ..joined }, session(1), true),
            (JoinedSession { address: source(2), ..joined }, session(1), false),
            (JoinedSession { sender: Some(7), ..joined }, session(1), true),
            (JoinedSession { sender: Some(8), ..joined }, session(1), false),
        ] {
            let mut ear = Ear::new(joined);
            let said = ear.on_call(at(0), speaker(), name, call, 5);
            assert_eq!(said.is_some(), answers, "{joined:?} {name:?}");
            let cookie = ear.on_cookie(at(1), speaker(), SocketDoor::Own, 5, 99);
            assert_eq!(cookie.is_some(), answers);
            assert_eq!(ear.is_admitted(own()), answers);
            assert_eq!(ear.foreign > 0, !answers);
        }
    }

    #[test]
    fn a_named_host_answers_until_it_is_sent_to_and_again_when_nothing_comes_any_more() {
        let mut ear = Ear::new(JoinedSession::new(session(1)));
        let call = Called { messages: 0, host: 3, port: 6003 };
        let calls =
            |now, ear: &mut Ear| ear.on_call(at(now), speaker(), session(1), call, 5).is_some();
        assert!(calls(0, &mut ear) && calls(150, &mut ear));
        assert!(ear.on_cookie(at(160), speaker(), SocketDoor::Own, 5, 99).is_some());
        assert!(!calls(300, &mut ear));
        ear.on_served(at(4000), own());
        assert!(!calls(8000, &mut ear) && calls(9001, &mut ear));
    }

    #[test]
    fn a_cookie_without_the_number_that_was_given_admits_nobody() {
        let mut ear = Ear::new(JoinedSession::new(session(1)));
        ear.on_call(at(0), speaker(), session(1), Called { messages: 0, host: 0, port: 6003 }, 5);
        assert_eq!(ear.on_cookie(at(1), speaker(), SocketDoor::Own, 6, 99), None);
        let other = SenderIdentity { id: 8, ..speaker() };
        assert_eq!(ear.on_cookie(at(1), other, SocketDoor::Own, 5, 99), None);
        assert!(!ear.is_admitted(own()));
    }

    #[test]
    fn more_senders_than_there_is_room_for_are_not_attended_to() {
        let mut ear = Ear::new(JoinedSession::new(session(1)));
        let call = Called { messages: 0, host: 0, port: 6003 };
        let answered = (0..100_u32).filter(|id| {
            let speaker = SenderIdentity { id: *id, ..speaker() };
            ear.on_call(at(0), speaker, session(1), call, 5).is_some()
        });
        assert_eq!(answered.count(), SENDERS_MAX);
    }
}

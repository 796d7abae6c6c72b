//! A receiver's side: whom it asks to pass on to it, and whom it serves.

mod circle;

use std::{
    collections::VecDeque,
    net::{IpAddr, SocketAddr},
};

use fanfare_wire::units::{
    rng::Rng,
    time::{Duration, Time},
};

use crate::serve::{
    blame::Chunk,
    cookie::Secret,
    door::SocketDoor,
    ear::{AdmittedPath, Called, JoinedSession, SenderIdentity},
    greeter::{CallGreeter, MemberReply},
    knock::SenderKnocks,
    message::{Message, NO_HOST, SessionName},
    order::{Arrival, Held},
    passing::Passing,
    peek::peek,
};
use circle::Circle;

/// Senders at once whose transfers it is in.
const CIRCLES_MAX: usize = 8;
/// A transfer of which its sender says nothing for so long is over.
const FORGET: Duration = Duration::from_secs(10);

/// How a receiver takes part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Settings {
    /// It passes nothing on. What others pass on it takes.
    pub selfish: bool,
    /// Bytes a second that it passes on at most.
    pub limit: Option<u64>,
    /// It is not to be heard: it does not say that it hears no group.
    pub silent: bool,
    /// For tests: the last byte of each message that it passes on is wrong.
    pub alters: bool,
}

/// What becomes of a run that came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// It has nothing to do with this: it is for the protocol, as it is.
    Other,
    /// It was taken. [`Member::poll`] gives what is for the protocol.
    Taken,
    /// It is for nobody here: who sent it has no leave to send to this host alone.
    Refused,
}

/// A run of messages that came by a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IncomingRun<'a> {
    /// The address that it came from.
    pub from: SocketAddr,
    /// The socket that it came by.
    pub door: SocketDoor,
    /// The time at which the system took it.
    pub arrived: Time,
    /// The bytes of all messages.
    pub run: &'a [u8],
    /// Bytes of each message; the last may be shorter.
    pub stride: usize,
}

/// Who has passed on wrong bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Accusation {
    /// The host.
    pub host: SocketAddr,
    /// The sender whose transfer it is.
    pub sender: SocketAddr,
}

/// A receiver. `M` is what its driver knows of a run beside its bytes.
#[derive(Debug)]
pub struct Member<M> {
    settings: Settings,
    secret: Secret,
    rng: Rng,
    circles: Vec<Circle<M>>,
    greeter: CallGreeter,
    knocker: Option<SenderKnocks>,
    session: SessionName,
    passing: Passing,
    out: VecDeque<(SocketAddr, Vec<u8>)>,
    accusations: VecDeque<Accusation>,
    /// It is in one more transfer, which was not told yet.
    joined: bool,
    /// Host that has called this one by its name, and was not answered since this receiver is silent: to be
    /// told once.
    unanswered: Option<IpAddr>,
    told_unanswered: bool,
}

impl<M: Copy> Member<M> {
    /// Takes part in the session that it has `joined`. `secret` and `seed`: chance.
    #[must_use]
    pub fn new(settings: Settings, joined: JoinedSession, secret: [u8; 32], seed: u64) -> Self {
        Self {
            settings,
            secret: Secret::new(secret),
            rng: Rng::new(seed),
            circles: Vec::new(),
            greeter: CallGreeter::new(joined),
            knocker: None,
            session: joined.session,
            passing: Passing::new(settings.limit.map(|limit| limit as f64)),
            out: VecDeque::new(),
            accusations: VecDeque::new(),
            joined: false,
            unanswered: None,
            told_unanswered: false,
        }
    }

    /// Knocks at these senders, too: no call of theirs may reach this host. Without effect where it is silent.
    #[must_use]
    pub fn knocking_at(mut self, senders: &[SocketAddr]) -> Self {
        if !senders.is_empty() && !self.settings.silent {
            let (session, rng) = (self.session, &mut self.rng);
            self.knocker = Some(SenderKnocks::new(session, senders, || rng.next_u64()));
        }
        self
    }

    /// The port that it speaks from, for those that hear another.
    pub fn set_port(&mut self, port: u16) {
        self.greeter.set_port(port);
    }

    /// A run came, and was read now. `meta` is given what is for the protocol: as if it came from this
    /// address. `reaches`: whether the interface that was chosen leads to an address; true where none was.
    pub fn on_run(
        &mut self,
        now: Time,
        incoming: IncomingRun<'_>,
        meta: impl Fn(SocketAddr) -> M,
        reaches: impl Fn(IpAddr) -> bool,
    ) -> Way {
        let IncomingRun { from, door, arrived, run, stride } = incoming;
        if Message::is_one(run) {
            for datagram in run.chunks(stride.max(1)) {
                self.on_message(now, from, door, datagram, &reaches);
            }
            return Way::Taken;
        }
        match door {
            SocketDoor::Group => {
                if self.greeter.ear.listens()
                    && let Some(peek) = peek(run.get(..stride).unwrap_or(run))
                {
                    self.greeter.ear.on_group(SenderIdentity { address: from, id: peek.sender });
                }
                return Way::Other;
            }
            SocketDoor::Own | SocketDoor::Machine => {}
        }
        let admitted = AdmittedPath { address: from, door };
        let is_of_circle = self.circles.iter().any(|circle| circle.host_at(from).is_some());
        if door == SocketDoor::Machine && !self.greeter.ear.is_admitted(admitted) && !is_of_circle {
            return Way::Refused;
        }
        self.greeter.ear.on_served(now, admitted);
        if let Some(circle) = self.circles.iter_mut().find(|circle| circle.sender == from) {
            let arrival = Arrival { arrived, due: None, meta: meta(from) };
            return circle.on_direct(now, (run, stride), arrival, &mut self.passing, self.settings);
        }
        for circle in &mut self.circles {
            if let Some(host) = circle.host_at(from) {
                let arrival = Arrival { arrived, due: None, meta: meta(circle.sender) };
                return circle.on_passed(now, host, (run, stride), arrival);
            }
        }
        let may = self.greeter.ear.is_admitted(admitted) || is_feedback(run);
        if may { Way::Other } else { Way::Refused }
    }

    fn on_message(
        &mut self,
        now: Time,
        from: SocketAddr,
        door: SocketDoor,
        datagram: &[u8],
        reaches: &impl Fn(IpAddr) -> bool,
    ) {
        let Some((sender, message)) = Message::parse(datagram) else { return };
        let speaker = SenderIdentity { address: from, id: sender };
        match message {
            Message::Roster(mut roster) => {
                // Who listens to one address takes nothing that others pass on.
                let admitted = AdmittedPath { address: from, door };
                if !self.greeter.ear.is_admitted(admitted) || !self.greeter.ear.takes_from_all() {
                    return;
                }
                roster.hosts.retain(|(number, host)| *number == roster.you || reaches(host.ip()));
                // Where this host is reached by one port alone, it speaks to all from there: they know it so.
                for (_, address) in &roster.hosts {
                    self.greeter.ear.on_door(AdmittedPath { address: *address, door });
                }
                let is_it = |circle: &Circle<M>| (circle.sender, circle.id) == (from, sender);
                if !self.circles.iter().any(is_it) && self.circles.len() < CIRCLES_MAX {
                    self.circles.push(Circle::new(now, from, sender, self.rng.next_u64()));
                    self.joined = true;
                }
                if let Some(circle) = self.circles.iter_mut().find(|circle| is_it(circle)) {
                    circle.on_roster(now, roster);
                }
            }
            Message::Ask { host, nonce, cookie } => {
                for circle in self.circles.iter_mut().filter(|circle| circle.id == sender) {
                    if self.settings.selfish || !circle.is_host(host, from) {
                        continue;
                    }
                    let right = self.secret.cookie(from, sender);
                    if cookie == right {
                        circle.serve(now, host, from);
                    } else {
                        let answer = Message::Cookie { host: circle.own, nonce, cookie: right };
                        self.out.push_back((from, answer.encode(sender)));
                    }
                }
            }
            Message::Call { messages, host, called, session } if self.settings.silent => {
                let call = Called { messages, host, port: called };
                let meant = self.greeter.ear.is_meant(speaker, session, call);
                if meant && !self.told_unanswered {
                    self.told_unanswered = true;
                    self.unanswered = Some(from.ip());
                }
            }
            Message::Call { .. } | Message::Push { .. } | Message::Cookie { host: NO_HOST, .. } => {
                if let Message::Cookie { nonce, .. } = message
                    && self.knocker.as_ref().is_some_and(|one| one.is_answer(from.ip(), nonce))
                {
                    self.greeter.ear.on_opened(now, speaker, nonce);
                }
                let knocked = self.knocker.as_ref().and_then(|one| one.nonce_of(from.ip()));
                let nonce = knocked.unwrap_or_else(|| self.rng.next_u64());
                self.greeter.on_message(now, speaker, door, &message, nonce);
            }
            Message::Cookie { host, nonce, cookie } => {
                for circle in self.circles.iter_mut().filter(|circle| circle.id == sender) {
                    circle.on_cookie(now, (host, from), nonce, cookie);
                }
            }
            Message::Status(_) | Message::Here { .. } | Message::Knock { .. } => {}
        }
    }

    /// The next sender that is to be answered by this door from now on, feedback and all.
    pub fn poll_door(&mut self) -> Option<AdmittedPath> {
        self.greeter.poll_door()
    }

    /// The next run for the protocol.
    pub fn poll(&mut self, now: Time) -> Option<Held<M>> {
        self.circles.iter_mut().find_map(|circle| circle.poll(now))
    }

    /// The next of its own messages, and where to.
    pub fn poll_message(&mut self, now: Time) -> Option<MemberReply> {
        if let Some(reply) = self.greeter.poll_reply() {
            return Some(reply);
        }
        let ear = &self.greeter.ear;
        let knocker = self.knocker.as_mut();
        if let Some((to, bytes)) = knocker.and_then(|one| one.poll(now, |ip| ear.is_heard(now, ip)))
        {
            return Some(MemberReply { to, bytes, by_machine: false });
        }
        self.circles.retain(|circle| now.since(circle.heard) < FORGET);
        for circle in &mut self.circles {
            circle.speak(now, self.settings, &mut self.out);
        }
        let (to, bytes) = self.out.pop_front()?;
        Some(MemberReply { to, bytes, by_machine: false })
    }

    /// The next run to be passed on: where to, in messages of how many bytes.
    pub fn poll_pass(&mut self, now: Time) -> Option<(SocketAddr, usize, &[u8])> {
        self.passing.next(now)
    }

    /// So many bytes of the one that was polled went out, or are given up.
    pub fn on_passed(&mut self, bytes: usize) {
        self.passing.on_passed(bytes);
    }

    /// Whether its rate is limited.
    #[must_use]
    pub fn is_limited(&self) -> bool {
        self.settings.limit.is_some()
    }

    /// Whether something waits to be passed on.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        self.passing.is_waiting()
    }

    /// Bytes that were passed on so far, and that there was no room for.
    #[must_use]
    pub fn passed(&self) -> (u64, u64) {
        (self.passing.passed, self.passing.dropped)
    }

    /// Pieces of an object of this sender proved wrong.
    pub fn on_wrong(&mut self, sender: u32, object: u16, pieces: &[Vec<Chunk>]) {
        for circle in self.circles.iter_mut().filter(|circle| circle.id == sender) {
            if let Some(host) = circle.on_wrong(object, pieces) {
                self.accusations.push_back(Accusation { host, sender: circle.sender });
            }
        }
    }

    /// Whether it has become part of a circle since this was asked last.
    pub fn take_joined(&mut self) -> bool {
        std::mem::take(&mut self.joined)
    }

    /// Host that calls this one by its name, and is not answered since this receiver is silent. Once.
    pub fn poll_unanswered(&mut self) -> Option<IpAddr> {
        self.unanswered.take()
    }

    /// Who was found to have passed on wrong bytes.
    pub fn poll_accusation(&mut self) -> Option<Accusation> {
        self.accusations.pop_front()
    }

    /// When there is something to do.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Time> {
        let circles = self.circles.iter().filter_map(Circle::next_timeout);
        let knock = self.knocker.as_ref().and_then(SenderKnocks::next_timeout);
        circles.chain(self.passing.next_timeout()).chain(knock).min()
    }
}

/// True if a run is what receivers tell senders by NORM of version 1: NACK, ACK or REPORT (RFC 5740 4.1,
/// types 4 to 6).
fn is_feedback(run: &[u8]) -> bool {
    run.first().is_some_and(|first| first >> 4 == 1 && (4..=6).contains(&(first & 0x0f)))
}

/// The number of a run's first message, if it is this sender's.
fn number_of(run: &[u8], stride: usize, sender: u32) -> Option<crate::serve::peek::Peek> {
    let first = run.chunks(stride.max(1)).next()?;
    peek(first).filter(|peek| peek.sender == sender)
}

#[cfg(test)]
mod tests;

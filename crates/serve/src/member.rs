//! A receiver's side: whom it asks to pass on to it, and whom it serves.

mod circle;

use std::{collections::VecDeque, net::SocketAddr};

use fanfare_units::{
    rng::Rng,
    time::{Duration, Time},
};

use crate::{
    blame::Chunk,
    cookie::Secret,
    ear::Ear,
    message::{self, Message, NO_HOST},
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
    ear: Ear,
    passing: Passing,
    out: VecDeque<(SocketAddr, Vec<u8>)>,
    accusations: VecDeque<Accusation>,
    /// It is in one more transfer, which was not told yet.
    joined: bool,
}

impl<M: Copy> Member<M> {
    /// `secret` and `seed`: chance.
    #[must_use]
    pub fn new(settings: Settings, secret: [u8; 32], seed: u64) -> Self {
        Self {
            settings,
            secret: Secret::new(secret),
            rng: Rng::new(seed),
            circles: Vec::new(),
            ear: Ear::default(),
            passing: Passing::new(settings.limit.map(|limit| limit as f64)),
            out: VecDeque::new(),
            accusations: VecDeque::new(),
            joined: false,
        }
    }

    /// A run came, and was read now. `arrived`: when the system took it; `direct`: to this machine alone.
    /// `meta` is given what is for the protocol: as if it came from this address.
    pub fn on_run(
        &mut self,
        (now, arrived): (Time, Time),
        (from, direct): (SocketAddr, bool),
        (run, stride): (&[u8], usize),
        meta: impl Fn(SocketAddr) -> M,
    ) -> Way {
        if message::is_one(run) {
            for datagram in run.chunks(stride.max(1)) {
                self.on_message(now, (from, direct), datagram);
            }
            return Way::Taken;
        }
        if !direct {
            if self.ear.listens()
                && let Some(peek) = peek(run.get(..stride).unwrap_or(run))
            {
                self.ear.on_group(peek.sender);
            }
            return Way::Other;
        }
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
        Way::Other
    }

    fn on_message(&mut self, now: Time, (from, direct): (SocketAddr, bool), datagram: &[u8]) {
        let Some((sender, message)) = Message::parse(datagram) else { return };
        match message {
            Message::Roster(roster) => {
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
            Message::Cookie { host: NO_HOST, nonce, cookie } => {
                let answer = self.ear.on_cookie((from, sender), nonce, cookie);
                self.out.extend(answer.map(|answer| (from, answer)));
            }
            Message::Cookie { host, nonce, cookie } => {
                for circle in self.circles.iter_mut().filter(|circle| circle.id == sender) {
                    circle.on_cookie(now, (host, from), nonce, cookie);
                }
            }
            Message::Call { .. } if !direct => self.ear.on_group(sender),
            Message::Call { messages } if !self.settings.silent => {
                let nonce = self.rng.next_u64();
                let answer = self.ear.on_call(now, (from, sender), messages, nonce);
                self.out.extend(answer.map(|answer| (from, answer)));
            }
            Message::Status(_) | Message::Call { .. } | Message::Deaf { .. } => {}
        }
    }

    /// The next run for the protocol.
    pub fn poll(&mut self, now: Time) -> Option<Held<M>> {
        self.circles.iter_mut().find_map(|circle| circle.poll(now))
    }

    /// The next of its own messages, and where to.
    pub fn poll_message(&mut self, now: Time) -> Option<(SocketAddr, Vec<u8>)> {
        self.circles.retain(|circle| now.since(circle.heard) < FORGET);
        for circle in &mut self.circles {
            circle.speak(now, self.settings, &mut self.out);
        }
        self.out.pop_front()
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

    /// Who was found to have passed on wrong bytes.
    pub fn poll_accusation(&mut self) -> Option<Accusation> {
        self.accusations.pop_front()
    }

    /// When there is something to do.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Time> {
        let circles = self.circles.iter().filter_map(Circle::next_timeout);
        circles.chain(self.passing.next_timeout()).min()
    }
}

/// The number of a run's first message, if it is this sender's.
fn number_of(run: &[u8], stride: usize, sender: u32) -> Option<crate::peek::Peek> {
    let first = run.chunks(stride.max(1)).next()?;
    peek(first).filter(|peek| peek.sender == sender)
}

#[cfg(test)]
mod tests;

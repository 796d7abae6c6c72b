//! Who has made a code: says where it is, takes part in exchanges, counts wrong guesses.

use std::{
    collections::{BTreeMap, VecDeque},
    net::SocketAddr,
    time::Duration,
};

use crate::code_exchange::{
    code::Code,
    message::{Exchange, Message, Why},
    secret::{self, Agreed, Grant},
};

/// Between two beacons.
const BEACON: Duration = Duration::from_secs(1);
/// An exchange that is not proved by then is forgotten: a guest sends its proof at once, and again
/// every half second.
const PROOF_WAIT: Duration = Duration::from_secs(10);
/// Exchanges at a time, and of one address: a stranger who only begins them keeps few others out.
const PENDING_MAX: usize = 64;
const PENDING_OF_ONE: usize = 8;
/// New exchanges in a second: each costs about a third of a millisecond.
const PER_SECOND: u32 = 100;
/// Refused exchanges that are remembered, so that what is sent again is not counted again.
const REFUSED_MAX: usize = 64;

/// For whom a code is good, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// So many guests.
    pub guests: usize,
    /// So long.
    pub time: Duration,
    /// So many wrong guesses.
    pub guesses: u8,
}

impl Default for Terms {
    fn default() -> Self {
        Self { guests: 1, time: Duration::from_secs(600), guesses: 5 }
    }
}

/// What has happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostEvent {
    /// A guest who knows the code, and was given the key, is here.
    Joined(SocketAddr),
    /// Somebody here had other words; so many guesses are left.
    WrongGuess(SocketAddr, u8),
    /// There were too many wrong guesses: nobody else is let in.
    Closed,
    /// All guests are here.
    Full,
    /// The time is over.
    Over,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Shut(Why),
}

struct Pending {
    agreed: Agreed,
    /// What the guest has proposed: another one is another exchange.
    share: Vec<u8>,
    answer: Vec<u8>,
    source: SocketAddr,
    until: Duration,
}

/// The machine of who has made a code. Times are since its beginning.
pub struct Host {
    code: Code,
    grant: Grant,
    terms: Terms,
    /// Tells hosts with the same slot apart.
    id: [u8; 8],
    state: State,
    joined: usize,
    wrong: u8,
    pending: BTreeMap<Exchange, Pending>,
    granted: BTreeMap<Exchange, Vec<u8>>,
    refused: VecDeque<Exchange>,
    /// Exchanges begun in this second.
    begun: (u64, u32),
    next_beacon: Duration,
    outgoing: VecDeque<(Option<SocketAddr>, Vec<u8>)>,
    events: VecDeque<HostEvent>,
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Host of slot {}, {:?}, {} joined", self.code.slot(), self.state, self.joined)
    }
}

impl Host {
    /// Gives this to guests who know the code. `id`: random.
    #[must_use]
    pub fn new(code: &Code, grant: Grant, terms: Terms, id: [u8; 8]) -> Self {
        Self {
            code: code.clone(),
            grant,
            terms,
            id,
            state: State::Open,
            joined: 0,
            wrong: 0,
            pending: BTreeMap::new(),
            granted: BTreeMap::new(),
            refused: VecDeque::new(),
            begun: (0, 0),
            next_beacon: Duration::ZERO,
            outgoing: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// Something came from there; anything but messages for this code is left alone.
    pub fn on_datagram(&mut self, now: Duration, source: SocketAddr, bytes: &[u8]) {
        let Some((slot, message)) = Message::parse(bytes) else { return };
        if slot != self.code.slot() {
            return;
        }
        match message {
            Message::Question if self.state == State::Open => {
                self.send(Some(source), &Message::Beacon { host: self.id });
            }
            Message::Proposal { host, exchange, share } if host == self.id => {
                self.on_proposal(now, source, exchange, share);
            }
            Message::Proof { exchange, tag } => self.on_proof(source, exchange, tag),
            _ => {}
        }
    }

    fn on_proposal(&mut self, now: Duration, source: SocketAddr, exchange: Exchange, share: &[u8]) {
        if let Some(pending) = self.pending.get(&exchange) {
            if pending.share != share {
                return;
            }
            let share = pending.answer.clone();
            return self.send(Some(source), &Message::Answer { exchange, share: &share });
        }
        if let State::Shut(why) = self.state {
            return self.refuse(source, exchange, why);
        }
        let of_one = self.pending.values().filter(|one| one.source.ip() == source.ip()).count();
        let second = now.as_secs();
        let begun = if self.begun.0 == second { self.begun.1 } else { 0 };
        if self.pending.len() >= PENDING_MAX || of_one >= PENDING_OF_ONE || begun >= PER_SECOND {
            return self.refuse(source, exchange, Why::Busy);
        }
        self.begun = (second, begun + 1);
        let Some((agreed, answer)) = secret::answer(&self.code, self.id, exchange, share) else {
            return;
        };
        self.send(Some(source), &Message::Answer { exchange, share: &answer });
        let (until, share) = (now + PROOF_WAIT, share.to_vec());
        self.pending.insert(exchange, Pending { agreed, share, answer, source, until });
    }

    fn on_proof(&mut self, source: SocketAddr, exchange: Exchange, tag: [u8; 32]) {
        if let Some(sealed) = self.granted.get(&exchange).cloned() {
            return self.send(Some(source), &Message::Grant { exchange, sealed: &sealed });
        }
        if self.refused.contains(&exchange) {
            return self.refuse(source, exchange, Why::Wrong);
        }
        let Some(pending) = self.pending.remove(&exchange) else { return };
        if let State::Shut(why) = self.state {
            return self.refuse(source, exchange, why);
        }
        if !pending.agreed.is_proved_by(tag) {
            return self.on_wrong(source, exchange);
        }
        let Some(sealed) = pending.agreed.seal(&self.grant) else { return };
        self.send(Some(source), &Message::Grant { exchange, sealed: &sealed });
        self.granted.insert(exchange, sealed);
        self.joined += 1;
        self.events.push_back(HostEvent::Joined(source));
        if self.joined >= self.terms.guests {
            self.state = State::Shut(Why::Over);
            self.events.push_back(HostEvent::Full);
        }
    }

    fn on_wrong(&mut self, source: SocketAddr, exchange: Exchange) {
        self.wrong = self.wrong.saturating_add(1);
        self.refused.push_back(exchange);
        if self.refused.len() > REFUSED_MAX {
            self.refused.pop_front();
        }
        self.events.push_back(HostEvent::WrongGuess(source, self.left()));
        self.refuse(source, exchange, Why::Wrong);
        if self.left() == 0 {
            self.state = State::Shut(Why::Closed);
            self.events.push_back(HostEvent::Closed);
        }
    }

    fn left(&self) -> u8 {
        self.terms.guesses.saturating_sub(self.wrong)
    }

    fn refuse(&mut self, to: SocketAddr, exchange: Exchange, why: Why) {
        let left = self.left();
        self.send(Some(to), &Message::Refusal { exchange, why, left });
    }

    fn send(&mut self, to: Option<SocketAddr>, message: &Message<'_>) {
        // What is not fetched is not worth memory.
        if self.outgoing.len() < 4 * PENDING_MAX {
            self.outgoing.push_back((to, message.encode(self.code.slot())));
        }
    }

    /// It is this late.
    pub fn handle_timeout(&mut self, now: Duration) {
        self.pending.retain(|_, one| one.until > now);
        if self.state != State::Open {
            return;
        }
        if now >= self.terms.time {
            self.state = State::Shut(Why::Over);
            self.events.push_back(HostEvent::Over);
        } else if now >= self.next_beacon {
            self.next_beacon = now + BEACON;
            self.send(None, &Message::Beacon { host: self.id });
        }
    }

    /// When it has something to do without anything coming; `None` once it lets nobody in.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Duration> {
        (self.state == State::Open).then_some(self.next_beacon.min(self.terms.time))
    }

    /// What goes out next: to an address, or to the meeting place.
    pub fn poll_transmit(&mut self) -> Option<(Option<SocketAddr>, Vec<u8>)> {
        self.outgoing.pop_front()
    }

    /// What has happened.
    pub fn poll_event(&mut self) -> Option<HostEvent> {
        self.events.pop_front()
    }
}

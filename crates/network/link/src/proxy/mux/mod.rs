//! Many connections in one NORM session, without I/O: who may send next, and how much.
//!
//! - `span`: pieces of connections, as a NORM object; `control`: what is said beside them
//! - `incoming`, `outgoing`: the two directions of one connection
//! - `model`: tests against a slow one
//!
//! The owner gives it what arrives ([`Mux::on_span`], [`Mux::on_control`]) and what programs write,
//! and takes out what is to go ([`Mux::poll_span`], [`Mux::poll_control`]) and what has happened
//! ([`Mux::poll_event`]).

pub mod control;
pub mod incoming;
#[cfg(test)]
mod model;
pub mod outgoing;
pub mod span;

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use fanfare_proto::Time;

use control::Control;
use incoming::{CREDIT_MAX, CREDIT_MIN, Incoming};
use outgoing::Outgoing;
use span::{RECORD_HEAD, Record};

pub use incoming::Violation;

/// What all connections together may have been granted, bytes.
const GRANTED_MAX: u64 = 256 << 20;
/// With fewer connections each begins with more credit: a lost piece holds up what is behind it for
/// some round trips, and the sender must not wait for it.
const FEW: usize = 1000;
const CREDIT_FEW: u64 = 256 << 10;
const VERY_FEW: usize = 100;
const CREDIT_VERY_FEW: u64 = 1 << 20;
/// What one connection sends before it is the next one's turn.
const QUANTUM: usize = 4096;

/// Something that has happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The other end asks for a connection.
    Opened(u64, Vec<u8>),
    /// It has answered.
    Replied(u64, Vec<u8>),
    /// Bytes, or the end, can be read.
    Readable(u64),
    /// There is room for more.
    Writable(u64),
    /// The connection is reset.
    Reset(u64),
}

/// Pieces of connections, to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// As they travel.
    pub bytes: Vec<u8>,
    /// It begins with those who send little: an answer, or a question.
    pub awaited: bool,
}

/// There is no such connection, or not any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gone;

#[derive(Debug)]
struct Connection {
    out: Outgoing,
    inc: Incoming,
    /// It is in one of the queues.
    waits: bool,
    deficit: usize,
    /// Its writer found no room.
    blocked: bool,
    /// What the other end was granted at first.
    first: u64,
}

/// All connections of a link.
#[derive(Debug)]
pub struct Mux {
    /// The lowest bit of the connections that this end opens.
    role: u64,
    opened: u64,
    connections: BTreeMap<u64, Connection>,
    prompt: VecDeque<u64>,
    bulk: VecDeque<u64>,
    controls: VecDeque<Control>,
    events: VecDeque<Event>,
    round_trip: Duration,
    /// What all may hold.
    windows: u64,
}

impl Mux {
    /// For the end with this role, 0 or 1; the other end has the other one.
    #[must_use]
    pub fn new(role: u64) -> Self {
        Self {
            role: role & 1,
            opened: 0,
            connections: BTreeMap::new(),
            prompt: VecDeque::new(),
            bulk: VecDeque::new(),
            controls: VecDeque::new(),
            events: VecDeque::new(),
            round_trip: Duration::from_millis(100),
            windows: 0,
        }
    }

    /// The round trip, by which credit is reckoned.
    pub fn set_round_trip(&mut self, round_trip: Duration) {
        self.round_trip = round_trip.max(Duration::from_millis(10));
    }

    /// What a new connection is granted.
    #[must_use]
    pub fn first_credit(&self) -> u64 {
        match self.connections.len() {
            0..VERY_FEW => CREDIT_VERY_FEW,
            VERY_FEW..FEW => CREDIT_FEW,
            _ => CREDIT_MIN,
        }
    }

    /// What the other end was granted at first, by the request or the answer.
    #[must_use]
    pub fn granted_first(&self, id: u64) -> u64 {
        self.connections.get(&id).map_or(0, |one| one.first)
    }

    /// Whether its end is on its way.
    #[must_use]
    pub fn is_sent(&self, id: u64) -> bool {
        self.connections.get(&id).is_some_and(|one| one.out.is_done())
    }

    /// What could not be said yet is said first.
    pub fn unpoll_control(&mut self, control: Control) {
        self.controls.push_front(control);
    }

    /// Whether it is there.
    #[must_use]
    pub fn has(&self, id: u64) -> bool {
        self.connections.contains_key(&id)
    }

    /// Asks for a connection; `frame` says to where, and grants [`Self::first_credit`].
    pub fn open(&mut self, frame: Vec<u8>) -> u64 {
        self.open_with(frame, Vec::new())
    }

    /// The same with the first bytes, at most [`control::FIRST_MAX`] of them.
    pub fn open_with(&mut self, frame: Vec<u8>, first: Vec<u8>) -> u64 {
        let credit = self.first_credit();
        self.opened += 1;
        let id = self.opened << 1 | self.role;
        self.insert(id, credit);
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.out.begin_behind(first.len());
        }
        self.controls.push_back(Control::Open(id, frame, first));
        id
    }

    fn insert(&mut self, id: u64, credit: u64) {
        let connection = Connection {
            out: Outgoing::default(),
            inc: Incoming::new(credit),
            waits: false,
            deficit: 0,
            blocked: true,
            first: credit,
        };
        self.windows += credit;
        self.connections.insert(id, connection);
    }

    fn remove(&mut self, id: u64) -> bool {
        let removed = self.connections.remove(&id);
        self.windows -= removed.as_ref().map_or(0, |one| one.inc.window());
        removed.is_some()
    }

    /// Answers a request.
    pub fn reply(&mut self, id: u64, frame: Vec<u8>) {
        self.controls.push_back(Control::Reply(id, frame));
    }

    /// What the other end grants with its request or answer.
    pub fn on_first_credit(&mut self, id: u64, credit: u64) {
        self.credit(id, credit);
    }

    /// Takes as many of the bytes as there is room for; how many. `None`: the connection is no more.
    pub fn write(&mut self, now: Time, id: u64, bytes: &[u8]) -> Option<usize> {
        let connection = self.connections.get_mut(&id)?;
        let take = connection.out.room().min(bytes.len());
        connection.blocked = take < bytes.len();
        if take > 0 {
            connection.out.push(bytes[..take].to_vec());
            self.line_up(now, id);
        }
        Some(take)
    }

    /// Nothing more is written. Who has asked for the connection waits for the answer first: a span may
    /// overtake the request, and is of no connection then.
    pub fn finish(&mut self, now: Time, id: u64) -> bool {
        let Some(connection) = self.connections.get_mut(&id) else { return false };
        connection.out.finish();
        self.line_up(now, id);
        true
    }

    /// Ends a connection at once; the other end is told.
    pub fn reset(&mut self, id: u64) {
        if self.remove(id) {
            self.controls.push_back(Control::Reset(id));
        }
    }

    /// There is no such connection; the other end has been told so by the answer.
    pub fn forget(&mut self, id: u64) {
        self.remove(id);
    }

    /// Ends all connections: the other end does not know them any more.
    pub fn reset_all(&mut self) {
        for id in std::mem::take(&mut self.connections).into_keys() {
            self.events.push_back(Event::Reset(id));
        }
        self.windows = 0;
        self.controls.clear();
        self.prompt.clear();
        self.bulk.clear();
    }

    /// The next bytes of a connection; an empty piece is the end. `None`: nothing is there yet.
    ///
    /// # Errors
    /// When the connection is no more.
    pub fn read(&mut self, now: Time, id: u64) -> Result<Option<Vec<u8>>, Gone> {
        let connection = self.connections.get_mut(&id).ok_or(Gone)?;
        if let Some(bytes) = connection.inc.fetch() {
            let room = GRANTED_MAX.saturating_sub(self.windows).min(CREDIT_MAX);
            let before = connection.inc.window();
            if let Some(up_to) = connection.inc.grant(now, self.round_trip, room) {
                self.controls.push_back(Control::Credit(id, up_to));
            }
            self.windows = self.windows - before + connection.inc.window();
            return Ok(Some(bytes));
        }
        let done = connection.inc.is_done();
        if done {
            self.forget_done(id);
        }
        Ok(done.then(Vec::new))
    }

    /// A connection of which both directions have ended is no more.
    fn forget_done(&mut self, id: u64) {
        let over = |one: &Connection| one.inc.is_done() && one.out.is_done();
        if self.connections.get(&id).is_some_and(over) {
            self.remove(id);
        }
    }

    /// A message about a connection has come.
    ///
    /// # Errors
    /// When it cannot be.
    pub fn on_control(&mut self, bytes: &[u8]) -> Result<(), Violation> {
        match Control::parse(bytes).ok_or(Violation::Malformed)? {
            Control::Open(id, frame, first) => {
                if id & 1 == self.role || self.connections.contains_key(&id) {
                    return Err(Violation::Malformed);
                }
                let credit = self.first_credit();
                self.insert(id, credit);
                if let Some(connection) = self.connections.get_mut(&id) {
                    let record = Record { id, offset: 0, bytes: &first, last: false };
                    connection.inc.on_record(&record)?;
                }
                self.events.push_back(Event::Opened(id, frame));
            }
            Control::Reply(id, frame) => {
                if self.connections.contains_key(&id) {
                    self.events.push_back(Event::Replied(id, frame));
                }
            }
            Control::Credit(id, up_to) => self.credit(id, up_to),
            Control::Reset(id) => {
                if self.remove(id) {
                    self.events.push_back(Event::Reset(id));
                }
            }
        }
        Ok(())
    }

    fn credit(&mut self, id: u64, up_to: u64) {
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.out.on_credit(up_to);
            self.wake_writer(id);
        }
    }

    fn wake_writer(&mut self, id: u64) {
        if let Some(connection) = self.connections.get_mut(&id)
            && connection.blocked
            && connection.out.room() > 0
        {
            connection.blocked = false;
            self.events.push_back(Event::Writable(id));
        }
    }

    /// A span has come, whole.
    ///
    /// # Errors
    /// When it cannot be.
    pub fn on_span(&mut self, bytes: &[u8]) -> Result<(), Violation> {
        for record in span::parse(bytes).ok_or(Violation::Malformed)? {
            // What was reset here may still be on its way from there.
            let Some(connection) = self.connections.get_mut(&record.id) else { continue };
            if connection.inc.on_record(&record)? {
                self.events.push_back(Event::Readable(record.id));
            }
        }
        Ok(())
    }

    /// What is to be said, each in a message.
    pub fn poll_control(&mut self) -> Option<Control> {
        self.controls.pop_front()
    }

    /// What has happened.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Whether there is something for a span.
    #[must_use]
    pub fn has_data(&self) -> bool {
        !(self.prompt.is_empty() && self.bulk.is_empty())
    }

    /// Connections at present.
    #[must_use]
    pub fn len(&self) -> usize {
        self.connections.len()
    }

    /// There is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.connections.is_empty()
    }

    fn line_up(&mut self, now: Time, id: u64) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        if connection.waits || !connection.out.has_data() {
            return;
        }
        connection.waits = true;
        match connection.out.is_prompt(now) {
            true => self.prompt.push_back(id),
            false => self.bulk.push_back(id),
        }
    }

    /// A span of at most so many bytes: those that send little first, then the others in turn. A span
    /// that begins with those who send little ends with their last segment: it can be read only when all
    /// of it has come. For the same reason an answer of a segment or more shares it with none behind it.
    pub fn poll_span(&mut self, now: Time, max: usize, segment: usize) -> Option<Span> {
        let (mut span, mut max) = (span::begin(), max);
        let awaited = !self.prompt.is_empty();
        while span.len() + RECORD_HEAD < max {
            let prompt = self.prompt.pop_front();
            let is_prompt = prompt.is_some();
            let Some(id) = prompt.or_else(|| self.bulk.pop_front()) else { break };
            self.take_turn(now, id, max, &mut span);
            let has_more = self.connections.get(&id).is_some_and(|one| one.out.has_data());
            if is_prompt && !has_more && span.len() >= segment {
                break;
            }
            if is_prompt && self.prompt.is_empty() {
                max = max.min(span.len().next_multiple_of(segment.max(1)));
            }
        }
        (!span::is_empty(&span)).then_some(Span { bytes: span, awaited })
    }

    fn take_turn(&mut self, now: Time, id: u64, max: usize, span: &mut Vec<u8>) {
        let alone = self.prompt.is_empty() && self.bulk.is_empty();
        let Some(connection) = self.connections.get_mut(&id) else { return };
        connection.waits = false;
        if connection.deficit == 0 {
            connection.deficit = QUANTUM;
        }
        let room = max - span.len() - RECORD_HEAD;
        let may = if alone { room } else { room.min(connection.deficit) };
        let (offset, bytes, last) = connection.out.take(now, may);
        connection.deficit = match connection.out.has_data() {
            true => connection.deficit.saturating_sub(bytes.len()),
            // Whoever has nothing to send saves nothing up.
            false => 0,
        };
        if !bytes.is_empty() || last {
            span::put(&Record { id, offset, bytes: &bytes, last }, span);
        }
        if last {
            // Who waits for the end to be on its way is told.
            self.events.push_back(Event::Writable(id));
        }
        if self.connections.get(&id).is_some_and(|one| one.deficit > 0) {
            // The span was full: its turn goes on in the next one.
            self.resume(id);
        }
        self.line_up(now, id);
        self.wake_writer(id);
        self.forget_done(id);
    }

    fn resume(&mut self, id: u64) {
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.waits = true;
            self.bulk.push_front(id);
        }
    }
}

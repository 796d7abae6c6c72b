//! The receivers of one sender that pass on to each other, as one of them sees them.

use std::{collections::VecDeque, net::SocketAddr};

use fanfare_wire::units::time::{Duration, Time};

use super::{Settings, Way, number_of};
use crate::serve::{
    blame::{Blame, Chunk},
    delays::{self, Delays},
    message::{Message, Roster, Set, Status},
    order::{Arrival, Held, Order},
    passing::Passing,
    peek::{Peek, Symbol, is_to_pass, mark},
};

/// Requests to one that has not answered, at first; then each [`SELDOM`].
const QUICK: Duration = Duration::from_millis(150);
const QUICK_COUNT: u32 = 6;
const SELDOM: Duration = Duration::from_secs(5);
/// One that has answered is asked so often: it serves for [`LEASE`] after the last request.
const AGAIN: Duration = Duration::from_secs(1);
pub(crate) const LEASE: Duration = Duration::from_secs(4);
/// The sender is told so often what it does, and at once when that changes, but for this pause.
const STATUS: Duration = Duration::from_secs(1);
const STATUS_PAUSE: Duration = Duration::from_millis(40);

/// What stands on the ways is known after so many rounds. What is given to the protocol is as late as that, with
/// the sender's probes, so that it takes this for the round trip, and does not go faster than it can see.
const ROUNDS: u32 = 2;

/// Another receiver.
#[derive(Debug)]
struct Host {
    number: u8,
    address: SocketAddr,
    /// Where it speaks from.
    speaks: Option<SocketAddr>,
    /// What it gave for asking.
    cookie: u64,
    asked: u32,
    next_ask: Time,
    /// Where it is served, and since its last request.
    served: Option<(SocketAddr, Time)>,
}

#[derive(Debug)]
pub(super) struct Circle<M> {
    pub(super) sender: SocketAddr,
    pub(super) id: u32,
    pub(super) own: u8,
    pub(super) heard: Time,
    order: Order<M>,
    nonce: u64,
    hosts: Vec<Host>,
    blame: Blame,
    delays: Delays,
    /// How much later than directly all is given to the protocol.
    late: Duration,
    told: Option<Status>,
    next_status: Time,
    status_at: Option<Time>,
}

impl<M: Copy> Circle<M> {
    pub(super) fn new(now: Time, sender: SocketAddr, id: u32, nonce: u64) -> Self {
        Self {
            sender,
            id,
            own: u8::MAX,
            heard: now,
            order: Order::default(),
            nonce,
            hosts: Vec::new(),
            blame: Blame::default(),
            delays: Delays::default(),
            late: Duration::ZERO,
            told: None,
            next_status: now,
            status_at: None,
        }
    }

    pub(super) fn on_roster(&mut self, now: Time, roster: Roster) {
        (self.heard, self.own) = (now, roster.you);
        self.hosts.retain(|host| roster.hosts.contains(&(host.number, host.address)));
        for (number, address) in roster.hosts {
            let known = self.hosts.iter().any(|host| host.number == number);
            if number != roster.you && !known {
                let (speaks, served) = (None, None);
                let (cookie, asked, next_ask) = (0, 0, now);
                self.hosts.push(Host { number, address, speaks, cookie, asked, next_ask, served });
            }
        }
    }

    /// The number of who speaks from there.
    pub(super) fn host_at(&self, from: SocketAddr) -> Option<u8> {
        self.hosts.iter().find(|host| host.speaks == Some(from)).map(|host| host.number)
    }

    /// Whether the host of this number may be at this address.
    pub(super) fn is_host(&self, number: u8, from: SocketAddr) -> bool {
        self.hosts.iter().any(|host| host.number == number && host.address == from)
    }

    /// It has asked, and is where it says.
    pub(super) fn serve(&mut self, now: Time, number: u8, from: SocketAddr) {
        if let Some(host) = self.hosts.iter_mut().find(|host| host.number == number) {
            host.served = Some((from, now));
        }
    }

    pub(super) fn on_cookie(
        &mut self,
        now: Time,
        (number, from): (u8, SocketAddr),
        nonce: u64,
        cookie: u64,
    ) {
        if nonce != self.nonce || !self.is_host(number, from) {
            return;
        }
        if let Some(host) = self.hosts.iter_mut().find(|host| host.number == number) {
            host.speaks = Some(from);
            // Of what it is asked again at once, only when that is news.
            if host.cookie != cookie {
                (host.cookie, host.next_ask) = (cookie, now);
            }
        }
    }

    /// A run from the sender itself.
    pub(super) fn on_direct(
        &mut self,
        now: Time,
        (run, stride): (&[u8], usize),
        mut arrival: Arrival<M>,
        passing: &mut Passing,
        settings: Settings,
    ) -> Way {
        let Some(first) = number_of(run, stride, self.id) else { return Way::Other };
        arrival.due = self.delays.on_stamp(arrival.arrived, None, stamped(first, run, stride));
        if first.symbol.is_none() || !is_to_pass(run) {
            return self.hold(now, (run, stride), arrival);
        }
        let mut run = run.to_vec();
        mark(&mut run, stride, false);
        let taken = self.hold(now, (&run, stride), arrival);
        if settings.selfish {
            return taken;
        }
        if settings.alters {
            for message in run.chunks_mut(stride.max(1)) {
                message.iter_mut().next_back().into_iter().for_each(|byte| *byte ^= 1);
            }
        }
        let lives =
            |(address, since): (SocketAddr, Time)| (now.since(since) < LEASE).then_some(address);
        let to = self.hosts.iter().filter_map(|host| host.served.and_then(lives)).collect();
        passing.push((&run, stride), to);
        taken
    }

    /// A run that a host has passed on.
    pub(super) fn on_passed(
        &mut self,
        now: Time,
        number: u8,
        (run, stride): (&[u8], usize),
        mut arrival: Arrival<M>,
    ) -> Way {
        let first = number_of(run, stride, self.id);
        if first.and_then(|first| first.symbol).is_none() {
            return Way::Other;
        }
        arrival.due = first.and_then(|first| {
            self.delays.on_stamp(arrival.arrived, Some(number), stamped(first, run, stride))
        });
        if self.blame.accused().has(number.into()) {
            return Way::Taken;
        }
        for message in run.chunks(stride.max(1)) {
            let symbol: Option<Symbol> =
                number_of(message, message.len(), self.id).and_then(|peek| peek.symbol);
            if let Some(symbol) = symbol {
                self.blame.on_passed(number.into(), symbol);
            }
        }
        self.hold(now, (run, stride), arrival)
    }

    /// Holds it, in pieces whose numbers follow each other and that were sent at one time: the system may
    /// have joined what the sender sent twice, and the second part of it was on its way for less time.
    fn hold(&mut self, now: Time, (run, stride): (&[u8], usize), arrival: Arrival<M>) -> Way {
        let number = |message: &[u8]| match message {
            [_, _, high, low, ..] => u16::from_be_bytes([*high, *low]),
            _ => 0,
        };
        let sender = self.id;
        let stamp = |message: &[u8]| number_of(message, message.len(), sender)?.stamp;
        let mut messages = run.chunks(stride.max(1));
        let sent = messages.next().and_then(stamp);
        let all_at_once = messages.next_back().is_none_or(|last| stamp(last) == sent);
        let due = |stamp| Some(arrival.due? + delays::between(sent?, stamp?));
        let (mut start, mut at) = (0, 0);
        let mut piece: Option<(u16, Option<u32>)> = None;
        for message in run.chunks(stride.max(1)) {
            let sent = if all_at_once { sent } else { stamp(message) };
            let (sequence, count) = (number(message), (at - start) / stride.max(1));
            let continues =
                |(first, of): (u16, _)| (first.wrapping_add(count as u16), of) == (sequence, sent);
            if let Some((first, of)) = piece.filter(|piece| !continues(*piece)) {
                let arrival = Arrival { due: due(of), ..arrival };
                self.order.insert(now, first, (&run[start..at], stride), arrival);
                (start, piece) = (at, None);
            }
            piece = piece.or(Some((sequence, sent)));
            at += message.len();
        }
        if let Some((first, of)) = piece {
            let arrival = Arrival { due: due(of), ..arrival };
            self.order.insert(now, first, (&run[start..], stride), arrival);
        }
        Way::Taken
    }

    /// The next run for the protocol. To who measures delays all came by one way.
    pub(super) fn poll(&mut self, now: Time) -> Option<Held<M>> {
        let look = self.delays.look(now);
        self.late = look.standing + look.round * ROUNDS;
        let mut held = self.order.poll(now, self.late)?;
        if let Some(due) = held.due {
            held.arrived = self.delays.seen(now, due);
        }
        Some(held)
    }

    pub(super) fn on_wrong(&mut self, object: u16, pieces: &[Vec<Chunk>]) -> Option<SocketAddr> {
        let number = self.blame.on_wrong(object, pieces)?;
        let host = self.hosts.iter().find(|host| usize::from(host.number) == number)?;
        Some(host.address)
    }

    /// What it has to say now.
    pub(super) fn speak(
        &mut self,
        now: Time,
        settings: Settings,
        out: &mut VecDeque<(SocketAddr, Vec<u8>)>,
    ) {
        for host in self.hosts.iter_mut().filter(|host| host.next_ask <= now) {
            let ask = Message::Ask { host: self.own, nonce: self.nonce, cookie: host.cookie };
            out.push_back((host.speaks.unwrap_or(host.address), ask.encode(self.id)));
            host.asked += 1;
            let pause = match (host.speaks.is_some(), host.asked < QUICK_COUNT) {
                (true, _) => AGAIN,
                (false, true) => QUICK,
                (false, false) => SELDOM,
            };
            host.next_ask = now + pause;
        }
        let serves = self.hosts.iter().fold(Set::default(), |set, host| match host.served {
            Some((_, since)) if now.since(since) < LEASE => set.with(host.number.into()),
            _ => set,
        });
        let wrong = self.blame.accused();
        let (host, passes, suspects) = (self.own, !settings.selfish, self.blame.suspects());
        let status = Status { host, passes, suspects, serves, wrong };
        let news = self.told != Some(status);
        let paused = self.status_at.is_some_and(|at| now.since(at) < STATUS_PAUSE);
        if now >= self.next_status || (news && !paused) {
            out.push_back((self.sender, Message::Status(status).encode(self.id)));
            (self.told, self.status_at, self.next_status) = (Some(status), Some(now), now + STATUS);
        } else if news {
            self.next_status = self.next_status.min(self.status_at.unwrap_or(now) + STATUS_PAUSE);
        }
    }

    pub(super) fn next_timeout(&self) -> Option<Time> {
        let asks = self.hosts.iter().map(|host| host.next_ask);
        asks.chain([self.next_status]).chain(self.order.next_timeout(self.late)).min()
    }
}

/// A run's first number, how many messages it has, and its stamp.
fn stamped(first: Peek, run: &[u8], stride: usize) -> (u16, u16, Option<u32>) {
    (first.sequence, run.len().div_ceil(stride.max(1)) as u16, first.stamp)
}

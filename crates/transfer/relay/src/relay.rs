//! The machine: what comes on one side goes out on the others.
//!
//! - `feedback`: what receivers say, on its way to the sender
//! - `routing`: by which way a sender is heard, and to which sides this relay passes it on

mod feedback;
mod routing;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use fanfare_wire::{
    Cmd, GroupSize, InstanceId, Message, NodeId, QuantizedRtt, Report, header::SenderFields,
};

use crate::{
    cache::Cache,
    config::{Config, Counts, Event, Outgoing},
    hello::Hello,
    layers::{self, Layered, Membership},
    ledger::Ledger,
    neighbours::Neighbours,
    outbox::Outbox,
    side::{From, Side, To},
    source::Source,
};

/// A sender that is silent for so long is forgotten, with what is kept of it.
const SILENCE: Duration = Duration::from_secs(300);
/// Senders at once, and addresses that are refused and told of.
const SOURCES_MAX: usize = 256;
const REFUSED_MAX: usize = 256;

/// What a message is that is to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Passed {
    /// Of the sender's count, and new.
    New,
    /// Of the sender's count, and here already: it is left out.
    Known,
    /// Of a count of its own.
    Apart,
}

/// The machine. Times are since its beginning.
#[derive(Debug)]
pub struct Relay {
    config: Config,
    sources: BTreeMap<u32, Source>,
    neighbours: Neighbours,
    layered: Layered,
    cache: Cache,
    ledger: Ledger,
    refused: Vec<IpAddr>,
    /// Addresses from which peers have said hello last, by their own sockets.
    spoken: BTreeMap<IpAddr, SocketAddr>,
    /// Relays that have joined none of the groups of this one, which was told.
    apart: BTreeSet<IpAddr>,
    looped: Vec<u32>,
    next_hello: Duration,
    outbox: Outbox,
    events: VecDeque<Event>,
    counts: Counts,
}

impl Relay {
    /// A relay.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let (cache, ledger) = (Cache::new(config.cache), Ledger::new(config.limit));
        let (outbox, layered) = (Outbox::new(config.limit), Layered::new(config.limit));
        Self {
            config,
            sources: BTreeMap::new(),
            neighbours: Neighbours::default(),
            layered,
            cache,
            ledger,
            refused: Vec::new(),
            spoken: BTreeMap::new(),
            apart: BTreeSet::new(),
            looped: Vec::new(),
            next_hello: Duration::ZERO,
            outbox,
            events: VecDeque::new(),
            counts: Counts::default(),
        }
    }

    /// What was done so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Bytes that are kept.
    #[must_use]
    pub fn cached(&self) -> usize {
        self.cache.bytes()
    }

    /// A datagram came.
    pub fn on_datagram(&mut self, now: Duration, from: From, bytes: &[u8]) {
        if let Some(hello) = Hello::parse(bytes) {
            return self.on_hello(now, from, hello);
        }
        if layers::is_one(bytes) {
            return self.on_layer(now, from, bytes);
        }
        let Ok(message) = Message::parse(bytes) else { return };
        // Said beside NORM, by one to another.
        if message.source_id() == NodeId::NONE {
            return;
        }
        match &message {
            Message::Info(info) => self.on_sender(now, from, &info.sender, &message, bytes),
            Message::Data(data) => self.on_sender(now, from, &data.sender, &message, bytes),
            Message::Cmd(cmd) => self.on_sender(now, from, cmd.sender(), &message, bytes),
            Message::Nack(nack) => self.on_nack(now, from, nack),
            Message::Ack(ack) => {
                let (of, member) = (ack.feedback.server_id, ack.feedback.source_id);
                self.on_feedback(now, from, of, member, bytes);
            }
            Message::Report(report) => self.on_report(now, from, report, bytes),
        }
    }

    fn peer(&self, address: SocketAddr) -> Option<usize> {
        self.config.peers.iter().position(|peer| peer.ip() == address.ip())
    }

    /// True if the one that speaks there may send to this machine alone. One that may not is told of, once.
    pub fn may_send(&mut self, from: From) -> bool {
        self.side_of(from).is_some()
    }

    /// The side that a sender's message came from; `None` where it may not.
    fn side_of(&mut self, from: From) -> Option<Side> {
        if from.multicast {
            return Some(Side::Group(from.group));
        }
        if let Some(peer) = self.peer(from.address) {
            return Some(Side::Peer(peer));
        }
        let ip = from.address.ip();
        if self.config.open || self.config.accept.contains(&ip) {
            return Some(Side::Single);
        }
        if !self.refused.contains(&ip) && self.refused.len() < REFUSED_MAX {
            self.refused.push(ip);
            self.events.push_back(Event::Refused(from.address));
        }
        None
    }

    fn on_sender(
        &mut self,
        now: Duration,
        from: From,
        fields: &SenderFields,
        message: &Message<'_>,
        bytes: &[u8],
    ) {
        let Some(side) = self.side_of(from) else { return };
        if matches!(side, Side::Peer(_)) && self.is_apart(now, from.address.ip()) {
            self.counts.dropped += 1;
            return;
        }
        let sender = fields.source_id.0;
        let mut header = [0; 12];
        header.copy_from_slice(&bytes[..12]);
        if !self.is_known(now, (side, from), (*fields, header)) {
            return;
        }
        let Some(source) = self.sources.get_mut(&sender) else { return };
        if source.instance != fields.instance_id.0 {
            source.instance = fields.instance_id.0;
            self.cache.forget(sender);
        }
        (source.header, source.fields) = (header, *fields);
        source.sequence = fields.sequence.0;
        source.grtt = Duration::from_nanos(fields.grtt.to_nanos());
        self.ledger.on_heard(now, bytes.len());
        let new = match message {
            Message::Data(data) => self.cache.take_data(now, data, &mut self.ledger),
            Message::Info(info) => self.cache.take_info(info, bytes),
            Message::Cmd(Cmd::Application(command)) => {
                let group = self.config.groups.get(from.group).copied();
                if let Some(group) = group {
                    self.layered.on_command(now, (sender, side), group, command.content);
                }
                true
            }
            _ => true,
        };
        let passed = if new { Passed::New } else { Passed::Known };
        self.forward(now, sender, passed, matches!(message, Message::Data(_)), bytes);
    }

    /// What a member of a group of messages says of itself and the others. These messages are numbered for
    /// themselves, and nothing is left out of them.
    fn on_report(&mut self, now: Duration, from: From, report: &Report<'_>, bytes: &[u8]) {
        let Some(side) = self.side_of(from) else { return };
        if matches!(side, Side::Peer(_)) && self.is_apart(now, from.address.ip()) {
            self.counts.dropped += 1;
            return;
        }
        let fields = SenderFields {
            sequence: report.sequence,
            source_id: report.source_id,
            instance_id: InstanceId(0),
            grtt: QuantizedRtt(0),
            backoff: 0,
            gsize: GroupSize(0),
        };
        if self.is_known(now, (side, from), (fields, [0; 12])) {
            self.forward(now, report.source_id.0, Passed::Apart, true, bytes);
        }
    }

    /// A packet of a layer goes to the same layer of other islands, and to relays as it is.
    fn on_layer(&mut self, now: Duration, from: From, bytes: &[u8]) {
        let Some((sender, layer)) = self.layered.channel_of(bytes) else { return };
        let Some(side) = self.side_of(from) else { return };
        if matches!(side, Side::Peer(_)) && self.is_apart(now, from.address.ip()) {
            self.counts.dropped += 1;
            return;
        }
        let heard = self.sources.get_mut(&sender).map(|one| one.accepts(now, side, from));
        if heard != Some(true) {
            self.counts.elsewhere += 1;
            return self.on_elsewhere(now, sender, side, from.address);
        }
        for side in self.served(now, sender, true) {
            let to = match (side, self.to(side)) {
                (Side::Group(number), _) => self.config.groups.get(number).and_then(|group| {
                    layers::follows(*group, layer).then_some(To::Layer(number, layer))
                }),
                (_, to) => to,
            };
            if let Some(to) = to.filter(|_| self.outbox.may_send(now, side, bytes.len())) {
                self.counts.forwarded += 1;
                self.push(Outgoing { to, bytes: bytes.to_vec(), member: None });
            } else {
                self.counts.dropped += 1;
            }
        }
    }

    fn to(&self, side: Side) -> Option<To> {
        match side {
            Side::Group(group) => Some(To::Group(group)),
            Side::Peer(peer) => {
                let named = *self.config.peers.get(peer)?;
                // Another program of that machine may have its port: what a relay speaks from is its own.
                Some(To::Address(0, self.spoken.get(&named.ip()).copied().unwrap_or(named)))
            }
            Side::Single => None,
        }
    }

    fn forward(&mut self, now: Duration, sender: u32, what: Passed, limited: bool, bytes: &[u8]) {
        if what == Passed::Known {
            self.counts.left_out += 1;
        }
        for side in self.served(now, sender, what != Passed::Known) {
            let Some(source) = self.sources.get_mut(&sender) else { return };
            if what == Passed::Known {
                source.leave_out(side);
                continue;
            }
            let mut copy = bytes.to_vec();
            if what == Passed::New {
                let number = source.numbered(side, source.sequence);
                copy[2..4].copy_from_slice(&number.to_be_bytes());
            }
            if limited && !self.outbox.may_send(now, side, copy.len()) {
                self.counts.dropped += 1;
                continue;
            }
            self.counts.forwarded += 1;
            self.send(side, copy);
        }
    }

    fn send(&mut self, side: Side, bytes: Vec<u8>) {
        match self.to(side) {
            Some(to) => self.push(Outgoing { to, bytes, member: None }),
            None => self.counts.dropped += 1,
        }
    }

    fn push(&mut self, outgoing: Outgoing) {
        self.counts.dropped += u64::from(!self.outbox.push(outgoing));
    }

    /// It is this late.
    pub fn handle_timeout(&mut self, now: Duration) {
        if now >= self.next_hello {
            self.say_hello(now);
            let silent = |source: &Source| now.saturating_sub(source.heard) >= SILENCE;
            let gone: Vec<u32> =
                self.sources.iter().filter(|(_, s)| silent(s)).map(|(id, _)| *id).collect();
            for sender in gone {
                self.sources.remove(&sender);
                self.cache.forget(sender);
            }
            for source in self.sources.values_mut() {
                let is_there = |address| self.neighbours.at(now, address).is_some();
                source.turns().for_each(|turn| turn.on_silent(now, is_there));
            }
            self.layered.advance(now);
        }
        while self.outbox.has_room_for_repairs()
            && let Some(repair) = self.ledger.pop(now)
        {
            self.send_repair(repair);
        }
    }

    /// When it has something to do without anything coming.
    #[must_use]
    pub fn next_timeout(&self, now: Duration) -> Duration {
        self.ledger.next_timeout(now).map_or(self.next_hello, |at| at.min(self.next_hello))
    }

    /// What goes out next.
    pub fn poll_transmit(&mut self) -> Option<Outgoing> {
        self.outbox.pop()
    }

    /// A group of layers that is to be joined or left.
    pub fn poll_membership(&mut self) -> Option<Membership> {
        self.layered.poll_change()
    }

    /// What has happened.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }
}

//! The machine: what comes on one side goes out on the others.

use std::{
    collections::{BTreeMap, VecDeque},
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use fanfare_wire::{Data, Info, Message, Nack, NodeId, ObjectFlags, header::SenderFields};

use crate::{
    cache::Cache,
    config::{Config, Counts, Event, Outgoing},
    demand::Demand,
    hello::{HOPS_MAX, Hello},
    ledger::{Ledger, Repair},
    side::{From, Side, To},
    source::{LEASE, Source},
};

/// Between two hellos.
const HELLO: Duration = Duration::from_secs(1);
/// A sender that is silent for so long is forgotten, with what is kept of it.
const SILENCE: Duration = Duration::from_secs(300);
/// Senders, relays that are heard, and members of a sender.
const SOURCES_MAX: usize = 256;
const NEIGHBOURS_MAX: usize = 256;
/// Answers that are passed on in a second.
const FEEDBACK_MAX: u32 = 20_000;
/// The least time in which nothing is sent or asked for twice.
const HOLD: Duration = Duration::from_millis(100);
/// Datagrams that wait for the sockets.
const OUTGOING_MAX: usize = 8192;

/// A relay that is heard.
#[derive(Debug)]
struct Neighbour {
    hello: Hello,
    heard: Duration,
}

/// The machine. Times are since its beginning.
#[derive(Debug)]
pub struct Relay {
    config: Config,
    sources: BTreeMap<u32, Source>,
    neighbours: BTreeMap<IpAddr, Neighbour>,
    cache: Cache,
    ledger: Ledger,
    /// Bytes that each side may have now, and since when.
    tokens: BTreeMap<Side, (f64, Duration)>,
    feedback: (u64, u32),
    refused: Vec<IpAddr>,
    looped: Vec<u32>,
    next_hello: Duration,
    outgoing: VecDeque<Outgoing>,
    events: VecDeque<Event>,
    counts: Counts,
}

impl Relay {
    /// A relay.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let (cache, ledger) = (Cache::new(config.cache), Ledger::new(config.limit));
        Self {
            config,
            sources: BTreeMap::new(),
            neighbours: BTreeMap::new(),
            cache,
            ledger,
            tokens: BTreeMap::new(),
            feedback: (0, 0),
            refused: Vec::new(),
            looped: Vec::new(),
            next_hello: Duration::ZERO,
            outgoing: VecDeque::new(),
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
        let Ok(message) = Message::parse(bytes) else { return };
        match &message {
            Message::Info(info) => self.on_sender(now, from, &info.sender, &message, bytes),
            Message::Data(data) => self.on_sender(now, from, &data.sender, &message, bytes),
            Message::Cmd(cmd) => self.on_sender(now, from, cmd.sender(), &message, bytes),
            Message::Nack(nack) => self.on_nack(now, from, nack),
            Message::Ack(ack) => {
                let (of, member) = (ack.feedback.server_id, ack.feedback.source_id);
                self.on_feedback(now, from, of, member, bytes);
            }
            Message::Report(_) => {}
        }
    }

    fn peer(&self, address: SocketAddr) -> Option<usize> {
        self.config.peers.iter().position(|peer| peer.ip() == address.ip())
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
        if !self.refused.contains(&ip) && self.refused.len() < NEIGHBOURS_MAX {
            self.refused.push(ip);
            self.events.push_back(Event::Refused(from.address));
        }
        None
    }

    fn on_hello(&mut self, now: Duration, from: From, hello: Hello) {
        let (ip, room) = (from.address.ip(), self.neighbours.len() < NEIGHBOURS_MAX);
        if hello.relay != self.config.id && (room || self.neighbours.contains_key(&ip)) {
            self.neighbours.insert(ip, Neighbour { hello, heard: now });
        }
    }

    /// The relays between a sender and this one, by way of the address that it comes from.
    fn way(&self, now: Duration, sender: u32, address: SocketAddr) -> Vec<u32> {
        let neighbour = self.neighbours.get(&address.ip());
        let neighbour = neighbour.filter(|one| now.saturating_sub(one.heard) < LEASE);
        let way = neighbour.map(|one| one.hello.way_of(sender).unwrap_or(&[]).to_vec());
        way.unwrap_or_default()
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
        let sender = fields.source_id.0;
        let mut header = [0; 12];
        header.copy_from_slice(&bytes[..12]);
        let way = self.way(now, sender, from.address);
        if way.contains(&self.config.id) || way.len() >= HOPS_MAX {
            self.counts.elsewhere += 1;
            if !self.looped.contains(&sender) && self.looped.len() < SOURCES_MAX {
                self.looped.push(sender);
                self.events.push_back(Event::Loop { sender, address: from.address });
            }
            return;
        }
        if !self.sources.contains_key(&sender) {
            if self.sources.len() >= SOURCES_MAX {
                self.counts.dropped += 1;
                return;
            }
            let source = Source::new(now, (side, from), (*fields, header));
            self.sources.insert(sender, source);
            self.events.push_back(Event::Source { sender, side, address: from.address });
            // Others are to know the way before the first message comes by it.
            self.say_hello(now);
        }
        let Some(source) = self.sources.get_mut(&sender) else { return };
        if !source.accepts(now, side, from) {
            self.counts.elsewhere += 1;
            return self.on_elsewhere(now, sender, side, from.address);
        }
        if source.instance != fields.instance_id.0 {
            source.instance = fields.instance_id.0;
            self.cache.forget(sender);
        }
        (source.header, source.fields) = (header, *fields);
        source.sequence = fields.sequence.0;
        source.grtt = Duration::from_nanos(fields.grtt.to_nanos());
        self.ledger.on_heard(now, bytes.len());
        let new = match message {
            Message::Data(data) => self.keep(now, sender, data),
            Message::Info(info) => self.keep_info((sender, fields.instance_id.0), info, bytes),
            _ => true,
        };
        self.forward(now, sender, new, matches!(message, Message::Data(_)), bytes);
    }

    /// Keeps a symbol; whether members may need it.
    fn keep(&mut self, now: Duration, sender: u32, data: &Data<'_>) -> bool {
        let instance = data.sender.instance_id.0;
        let key = (sender, instance, data.object_transport_id.0);
        let fec_id = data.payload_id.fec_id;
        let object = self.cache.object(key, fec_id, data.flags);
        object.learn(data.extensions.fti(fec_id));
        let id = data.payload_id.unpack(object.field());
        let (block, symbol) = (id.block.0, id.symbol.0);
        let was_whole = object.is_whole(block);
        let wanted = object.blocks.get(&block).is_some_and(|state| {
            state.asked.contains_key(&symbol) || state.waiting.iter().any(|(_, one)| *one == symbol)
        });
        if was_whole && !wanted {
            return false;
        }
        if !self.cache.insert(key, block, symbol, data.payload) {
            return false;
        }
        let Some(object) = self.cache.get(key) else { return true };
        let is_whole = object.is_whole(block);
        let Some(state) = object.blocks.get_mut(&block) else { return true };
        state.waiting.retain(|(_, one)| *one != symbol);
        if is_whole {
            for (side, symbol) in std::mem::take(&mut state.waiting) {
                state.sent.insert((side, symbol), now);
                self.ledger.push(Repair { side, key, block, symbol });
            }
        }
        true
    }

    fn keep_info(&mut self, (sender, instance): (u32, u16), info: &Info<'_>, bytes: &[u8]) -> bool {
        let key = (sender, instance, info.object_transport_id.0);
        let object = self.cache.object(key, info.fec_id, info.flags);
        object.learn(info.extensions.fti(info.fec_id));
        let new = object.info.is_none() || object.info_asked.take().is_some();
        object.info = Some(bytes.to_vec());
        new
    }

    /// Somebody else has sent what this sender says to a side.
    fn on_elsewhere(&mut self, now: Duration, sender: u32, side: Side, address: SocketAddr) {
        let id = self.config.id;
        let neighbour = self.neighbours.get(&address.ip());
        let relay = neighbour.filter(|one| now.saturating_sub(one.heard) < LEASE);
        // Of two relays on one side the one with the lower number serves it. Who is no relay is the sender
        // itself: it needs none there.
        let yields = relay.is_none_or(|one| one.hello.relay < id);
        let Some(source) = self.sources.get_mut(&sender) else { return };
        if !yields || side == source.side || !matches!(side, Side::Group(_)) {
            return;
        }
        if !source.is_served(now, side) {
            self.events.push_back(Event::StandBy { sender, side, address });
        }
        source.served.insert(side, now);
    }

    /// Sides that this sender's messages go to.
    fn targets(&self, now: Duration, sender: u32) -> Vec<Side> {
        let Some(source) = self.sources.get(&sender) else { return Vec::new() };
        let groups = (0..self.config.groups).map(Side::Group);
        let peers = (0..self.config.peers.len()).map(Side::Peer);
        let may = |side: &Side| *side != source.side && !source.is_served(now, *side);
        groups.chain(peers).filter(may).collect()
    }

    fn to(&self, side: Side) -> Option<To> {
        match side {
            Side::Group(group) => Some(To::Group(group)),
            Side::Peer(peer) => Some(To::Address(0, *self.config.peers.get(peer)?)),
            Side::Single => None,
        }
    }

    fn forward(&mut self, now: Duration, sender: u32, new: bool, limited: bool, bytes: &[u8]) {
        if !new {
            self.counts.left_out += 1;
        }
        for side in self.targets(now, sender) {
            let Some(source) = self.sources.get_mut(&sender) else { return };
            if !new {
                source.leave_out(side);
                continue;
            }
            let number = source.numbered(side, source.sequence);
            let mut copy = bytes.to_vec();
            copy[2..4].copy_from_slice(&number.to_be_bytes());
            if limited && !self.may_send(now, side, copy.len()) {
                self.counts.dropped += 1;
                continue;
            }
            self.counts.forwarded += 1;
            self.send(side, copy);
        }
    }

    /// Whether a side may have so many bytes now.
    fn may_send(&mut self, now: Duration, side: Side, bytes: usize) -> bool {
        let rate = self.config.limit as f64 / 8.0;
        let burst = (rate / 10.0).max(64_000.0);
        let (tokens, filled) = self.tokens.entry(side).or_insert((burst, now));
        *tokens = (*tokens + now.saturating_sub(*filled).as_secs_f64() * rate).min(burst);
        *filled = now;
        let may = *tokens >= bytes as f64;
        if may {
            *tokens -= bytes as f64;
        }
        may
    }

    fn send(&mut self, side: Side, bytes: Vec<u8>) {
        match self.to(side) {
            Some(to) if self.outgoing.len() < OUTGOING_MAX => {
                self.outgoing.push_back(Outgoing { to, bytes, member: None });
            }
            _ => self.counts.dropped += 1,
        }
    }

    /// The side that a member is on, if this relay serves it for this sender.
    fn member_side(&self, now: Duration, from: From, sender: NodeId) -> Option<Side> {
        let source = self.sources.get(&sender.0)?;
        let side = match self.peer(from.address) {
            Some(peer) if !from.multicast => Side::Peer(peer),
            _ => Side::Group(from.group),
        };
        (side != source.side && !source.is_served(now, side)).then_some(side)
    }

    fn on_nack(&mut self, now: Duration, from: From, nack: &Nack<'_>) {
        let sender = nack.feedback.server_id;
        let Some(side) = self.member_side(now, from, sender) else { return };
        let Some(source) = self.sources.get(&sender.0) else { return };
        if source.instance != nack.feedback.instance_id.0 {
            return;
        }
        let instance = source.instance;
        let hold = HOLD.max(source.grtt * 2);
        self.counts.requests.0 += 1;
        let kept = (&mut self.cache, &mut self.ledger);
        let mut demand = Demand::new(kept, (sender.0, instance), side, (now, hold));
        let residue = demand.on_nack(nack);
        for key in std::mem::take(&mut demand.infos) {
            let info = self.cache.get(key).and_then(|object| object.info.clone());
            if let Some(info) = info {
                self.repair(sender.0, side, info);
            }
        }
        if !residue.is_empty() {
            self.counts.requests.1 += 1;
            let mut bytes = Vec::new();
            nack.encode(nack.extensions.cc().as_ref(), &residue, &mut bytes);
            self.answer(sender, nack.feedback.source_id, bytes);
        }
    }

    /// A message of the sender's that is sent again.
    fn repair(&mut self, sender: u32, side: Side, mut bytes: Vec<u8>) {
        let Some(source) = self.sources.get_mut(&sender) else { return };
        let number = source.insert(side);
        bytes[2..4].copy_from_slice(&number.to_be_bytes());
        // Who says so, and the timing, as the sender says it now.
        bytes[4..12].copy_from_slice(&source.header[4..12]);
        self.counts.repaired += 1;
        self.send(side, bytes);
    }

    fn on_feedback(
        &mut self,
        now: Duration,
        from: From,
        sender: NodeId,
        member: NodeId,
        bytes: &[u8],
    ) {
        if self.member_side(now, from, sender).is_none() {
            return;
        }
        if self.feedback.0 != now.as_secs() {
            self.feedback = (now.as_secs(), 0);
        }
        self.feedback.1 += 1;
        if self.feedback.1 > FEEDBACK_MAX {
            self.counts.dropped += 1;
            return;
        }
        self.counts.feedback += 1;
        self.answer(sender, member, bytes.to_vec());
    }

    /// Towards a sender: to its group where that is how it is heard, else to its address.
    fn answer(&mut self, sender: NodeId, member: NodeId, bytes: Vec<u8>) {
        let Some(source) = self.sources.get(&sender.0) else { return };
        let to = match source.from {
            From { multicast: true, group, .. } => To::Group(group),
            From { group, .. } => To::Address(group, source.address()),
        };
        if self.outgoing.len() < OUTGOING_MAX {
            self.outgoing.push_back(Outgoing { to, bytes, member: Some(member.0) });
        } else {
            self.counts.dropped += 1;
        }
    }

    fn say_hello(&mut self, now: Duration) {
        self.next_hello = now + HELLO;
        let id = self.config.id;
        let heard = |source: &&Source| now.saturating_sub(source.heard) < SILENCE;
        let ways =
            self.sources.iter().filter(|(_, source)| heard(source)).map(|(sender, source)| {
                let mut way = self.way(now, *sender, source.address());
                way.push(id);
                (*sender, way)
            });
        let bytes = Hello { relay: id, ways: ways.collect() }.encode();
        let groups = (0..self.config.groups).map(Side::Group);
        let peers = (0..self.config.peers.len()).map(Side::Peer);
        groups.chain(peers).for_each(|side| self.send(side, bytes.clone()));
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
        }
        while self.outgoing.len() < OUTGOING_MAX / 2
            && let Some(repair) = self.ledger.pop(now)
        {
            self.send_repair(repair);
        }
    }

    fn send_repair(&mut self, repair: Repair) {
        let Repair { side, key, block, symbol } = repair;
        let Some(payload) = self.cache.symbol(key, block, symbol) else { return };
        let (Some(object), Some(source)) = (self.cache.get(key), self.sources.get(&key.0)) else {
            return;
        };
        let fec_id = object.fec_id;
        let data = Data {
            sender: source.fields,
            flags: ObjectFlags(object.flags.0 | ObjectFlags::REPAIR),
            object_transport_id: fanfare_wire::ObjectTransportId(key.2),
            payload_id: fanfare_wire::fec::RawPayloadId::pack(
                fec_id,
                object.field(),
                object.name(block, symbol),
            ),
            extensions: fanfare_wire::ext::Extensions::default(),
            payload: &payload,
        };
        let mut bytes = Vec::new();
        data.encode_header(object.fti().as_ref(), &mut bytes);
        bytes.extend_from_slice(&payload);
        self.ledger.on_sent(bytes.len());
        self.repair(key.0, side, bytes);
    }

    /// When it has something to do without anything coming.
    #[must_use]
    pub fn next_timeout(&self, now: Duration) -> Duration {
        self.ledger.next_timeout(now).map_or(self.next_hello, |at| at.min(self.next_hello))
    }

    /// What goes out next.
    pub fn poll_transmit(&mut self) -> Option<Outgoing> {
        self.outgoing.pop_front()
    }

    /// What has happened.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }
}

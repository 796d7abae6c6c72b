//! What a datagram means to which machine.

use super::{GroupNode, timing};
use crate::{
    brief::{self, Brief},
    demand::{Part, Request, Wanted},
    event::Event,
    frame::Frame,
    members::Heard,
    patience::Patience,
    repairer::{OriginTiming, Voice},
    source_log::SourceLog,
    state::{Holding, State},
};
use alloc::{collections::BTreeMap, vec::Vec};
use fanfare_proto::{NodeId, ObjectKey, RecvMeta, Rumour, RunSet, Storage, Time};
use fanfare_wire::{
    Cmd, Data, FecId, FieldSize, Message, Nack, ObjectFlags, ObjectTransportId, RepairForm,
    RepairItem, RepairLevel, header::SenderFields,
};

/// Items heeded in one NACK, as in the session.
const ITEMS_MAX: usize = 64;
/// Objects heeded that one announcement lacks of one publisher.
const LACKING_MAX: usize = 32;
/// Things that one NACK can ask for, when its items name whole objects.
const WANTED_MAX: usize = 4096;

impl GroupNode {
    /// A datagram arrived.
    pub fn handle_datagram(
        &mut self,
        now: Time,
        meta: RecvMeta,
        datagram: &[u8],
        storage: &mut dyn Storage,
    ) {
        self.advance(now);
        let now = self.now;
        let Ok(message) = Message::parse(datagram) else {
            return self.session.handle_datagram(now, meta, datagram, storage);
        };
        let from = message.source_id();
        if from == self.session.node_id() {
            return self.session.handle_datagram(now, meta, datagram, storage);
        }
        let (events, stats) = (&mut self.events, &mut self.stats);
        match self.members.on_heard(now, from, events, stats) {
            Heard::First => self.trickle.on_change(now, &mut self.rng),
            Heard::Again => self.trickle.on_return(now, &mut self.rng),
            Heard::Still => {}
        }
        if let Some(sender) = sender_of(&message) {
            self.members.on_sequence(from, sender.sequence);
        }
        let frame = match &message {
            Message::Cmd(Cmd::Application(command)) => Frame::parse(command.content),
            _ => None,
        };
        match frame {
            None => {
                let key = key_of(&message);
                let had = key.is_some_and(|key| self.is_short(key));
                self.session.handle_datagram(now, meta, datagram, storage);
                self.take_events(storage);
                self.on_message(from, &message);
                self.pass_on_from(from, key, had);
            }
            Some(frame) => {
                // Of a sender in view every message is counted; others are not taken for senders.
                if self.session.receiver().loss(from).is_some() {
                    self.session.handle_datagram(now, meta, datagram, storage);
                }
                let Some(speaker) = sender_of(&message) else { return };
                self.on_frame((from, speaker), frame, storage);
            }
        }
        self.take_events(storage);
    }

    fn on_message(&mut self, from: NodeId, message: &Message<'_>) {
        match message {
            Message::Nack(nack) => self.on_nack(nack),
            Message::Info(info) => {
                let heard = (info.object_transport_id, Part::Info, 0);
                self.on_origin(&info.sender, info.flags, heard);
            }
            Message::Data(data) => {
                let (part, symbol) = symbol_of(data);
                let heard = (data.object_transport_id, part, symbol);
                self.on_origin(&data.sender, data.flags, heard);
            }
            Message::Cmd(cmd) => self.origin_lives(from, cmd.sender()),
            Message::Ack(_) | Message::Report(_) => {}
        }
    }

    fn origin_lives(&mut self, origin: NodeId, sender: &SenderFields) {
        let timing = self.timing_of(sender.grtt, sender.backoff, sender.gsize);
        let patience = Patience::grace(timing.grtt, timing.backoff);
        self.asker.on_heard(self.now, origin, patience);
        let deaf = self.repairer.is_deaf(origin);
        self.session.receiver().ask_by_name(origin, deaf);
    }

    /// An origin's own symbol: an answer, when it was asked for.
    fn on_origin(
        &mut self,
        sender: &SenderFields,
        flags: ObjectFlags,
        (object, part, symbol): (ObjectTransportId, Part, u16),
    ) {
        let origin = sender.source_id;
        self.origin_lives(origin, sender);
        let again = match self.logs.get_mut(&origin) {
            Some(log) if log.instance == sender.instance_id => {
                let before = log.newest();
                log.on_heard(object) < before
            }
            _ => false,
        };
        if again || flags.has(ObjectFlags::REPAIR) {
            self.repairer.on_answer(self.now, origin);
        }
        let key = ObjectKey { sender: origin, instance: sender.instance_id, object };
        let timing = self.timing_of(sender.grtt, sender.backoff, sender.gsize);
        self.on_symbol((key, part), symbol, timing, Voice::Origin);
    }

    fn on_symbol(&mut self, wanted: Wanted, symbol: u16, timing: OriginTiming, voice: Voice) {
        let asked = self.repairer.is_asked(wanted);
        let len = match wanted.1 {
            Part::Block(block) if asked => {
                self.session.receiver().held(wanted.0, block).map_or(u16::MAX, |held| held.len)
            }
            _ => 1,
        };
        let heard = (wanted, symbol, len);
        self.repairer.on_symbol(self.now, heard, voice, timing, &mut self.rng);
    }

    /// Somebody asks an origin. If that is another node, this one may answer.
    fn on_nack(&mut self, nack: &Nack<'_>) {
        let feedback = &nack.feedback;
        let origin = feedback.server_id;
        let life = self.logs.get(&origin).is_some_and(|log| log.instance == feedback.instance_id);
        let own = origin == self.session.node_id();
        if own || !life || !self.config.repairs || self.config.silent {
            return;
        }
        let Some(rumour) = self.rumour(origin) else { return };
        let timing = timing(self.members.len(), rumour.grtt, rumour.backoff, rumour.gsize);
        let unheard = self.members.is_unheard(origin, feedback.source_id);
        for (wanted, request) in self.requests(nack) {
            let request = Request { unheard, ..request };
            let whole = match wanted.1 {
                Part::Info => {
                    self.members.on_missed(self.now, feedback.source_id);
                    true
                }
                Part::Block(block) => match self.session.receiver().held(wanted.0, block) {
                    Some(held) if !held.sources.is_empty() => held.is_whole(),
                    _ => continue,
                },
            };
            self.cache.on_used(self.now, wanted.0);
            let chance = (&mut self.rng, &mut self.stats);
            self.repairer.on_request(self.now, wanted, (&request, whole), timing, chance);
        }
    }

    /// What a NACK asks for, as far as anything of it is here.
    fn requests(&mut self, nack: &Nack<'_>) -> BTreeMap<Wanted, Request> {
        let mut asked = BTreeMap::new();
        let mut items = 0;
        for request in nack.requests.iter() {
            let erasures = request.form == RepairForm::Erasures;
            for (first, last) in request.ranges() {
                items += 1;
                if items > ITEMS_MAX || asked.len() >= WANTED_MAX {
                    return asked;
                }
                self.request(nack, request.level, (&first, &last, erasures), &mut asked);
            }
        }
        asked
    }

    fn request(
        &mut self,
        nack: &Nack<'_>,
        level: RepairLevel,
        (first, last, erasures): (&RepairItem, &RepairItem, bool),
        asked: &mut BTreeMap<Wanted, Request>,
    ) {
        for key in self.objects_between(nack, first, last) {
            let Some(cached) = self.cache.get(key) else { continue };
            let (info_here, has_info) = (cached.info.is_some(), cached.has_info);
            let all = level.has(RepairLevel::OBJECT);
            if (all && has_info || level.has(RepairLevel::INFO)) && info_here {
                let request = Request { unnamed: 1, info: true, ..Request::default() };
                asked.insert((key, Part::Info), request);
            }
            let receiver = self.session.receiver();
            let (Some(blocks), Some(field)) = (receiver.blocks(key), receiver.field(key)) else {
                continue;
            };
            let (a, b) = (first.id(field), last.id(field));
            if level.has(RepairLevel::SEGMENT) {
                let Some(held) = receiver.held(key, a.block.0) else { continue };
                let entry = asked.entry((key, Part::Block(a.block.0))).or_default();
                match erasures {
                    true => entry.unnamed = entry.unnamed.max(a.symbol.0),
                    false => add_symbols(entry, (a.symbol.0, b.symbol.0), held.len),
                }
            } else if all || level.has(RepairLevel::BLOCK) {
                let (low, high) = if all { (0, u32::MAX) } else { (a.block.0, b.block.0) };
                let high = high.min(blocks.saturating_sub(1));
                for block in (low..=high).take(WANTED_MAX) {
                    let Some(held) = receiver.held(key, block) else { continue };
                    let entry = asked.entry((key, Part::Block(block))).or_default();
                    add_symbols(entry, (0, held.len.saturating_sub(1)), held.len);
                }
            }
        }
    }

    /// Objects of the origin within a range that something is known of.
    fn objects_between(
        &self,
        nack: &Nack<'_>,
        first: &RepairItem,
        last: &RepairItem,
    ) -> Vec<ObjectKey> {
        let feedback = &nack.feedback;
        let Some(log) = self.logs.get(&feedback.server_id) else { return Vec::new() };
        let object = first.object_transport_id;
        let key = ObjectKey { sender: feedback.server_id, instance: feedback.instance_id, object };
        if first.object_transport_id == last.object_transport_id {
            return Vec::from([key]);
        }
        let range = log.index(object)..=log.index(last.object_transport_id);
        let all = self.cache.of(key).map(|(key, _)| *key);
        all.filter(|key| range.contains(&log.index(key.object))).collect()
    }

    fn on_frame(
        &mut self,
        (from, speaker): (NodeId, &SenderFields),
        frame: Frame<'_>,
        storage: &mut dyn Storage,
    ) {
        match frame {
            Frame::Repair(message) => {
                let key = key_of(&message);
                let had = key.is_some_and(|key| self.is_short(key));
                self.on_repair(&message, storage);
                self.pass_on_from(from, key, had);
            }
            Frame::Brief(bytes) => match brief::parse(speaker, bytes) {
                Some(briefs) => {
                    briefs.iter().for_each(|brief| self.on_brief(from, brief, storage));
                }
                None => self.stats.frames_refused += 1,
            },
            Frame::State(bytes) => match State::parse(bytes) {
                Some(state) => self.on_state(from, &state, storage),
                None => self.stats.frames_refused += 1,
            },
            Frame::Unknown => self.stats.frames_refused += 1,
        }
    }

    /// Somebody answers for an origin.
    fn on_repair(&mut self, message: &Message<'_>, storage: &mut dyn Storage) {
        self.stats.repairs_heard += 1;
        let (sender, object, part, symbol) = match message {
            Message::Info(info) => (&info.sender, info.object_transport_id, Part::Info, 0),
            Message::Data(data) => {
                let (part, symbol) = symbol_of(data);
                (&data.sender, data.object_transport_id, part, symbol)
            }
            _ => return,
        };
        if sender.source_id == self.session.node_id() {
            return;
        }
        let new = self.session.receiver().accept(self.now, message, storage);
        self.take_events(storage);
        let timing = self.timing_of(sender.grtt, sender.backoff, sender.gsize);
        let key = ObjectKey { sender: sender.source_id, instance: sender.instance_id, object };
        self.on_hearsay(((key, part), symbol), (timing, Voice::Repairer), new);
    }

    /// Somebody tells a short message of an origin.
    fn on_brief(&mut self, from: NodeId, brief: &Brief, storage: &mut dyn Storage) {
        self.stats.repairs_heard += 1;
        let rumour = &brief.rumour;
        if rumour.sender == self.session.node_id() {
            return;
        }
        let key = brief.key();
        let had = self.is_short(key);
        let new = self.session.receiver().accept_info(self.now, rumour, &brief.info, storage);
        self.take_events(storage);
        let timing = self.timing_of(rumour.grtt, rumour.backoff, rumour.gsize);
        let voice = if brief.asked { Voice::Repairer } else { Voice::Relay };
        self.on_hearsay(((key, Part::Info), 0), (timing, voice), new);
        self.pass_on_from(from, Some(key), had);
    }

    /// Something of an origin was heard from somebody else.
    fn on_hearsay(
        &mut self,
        (wanted, symbol): (Wanted, u16),
        (timing, voice): (OriginTiming, Voice),
        new: bool,
    ) {
        let origin = wanted.0.sender;
        self.on_symbol(wanted, symbol, timing, voice);
        let deaf = self.repairer.is_deaf(origin) || self.asker.is_silent(self.now, origin);
        self.session.receiver().ask_by_name(origin, deaf);
        if new {
            self.stats.repairs_useful += 1;
            let patience = Patience::grace(timing.grtt, timing.backoff);
            self.asker.on_progress(self.now, origin, patience);
        }
    }

    /// Somebody says what it holds: what it has and we lack is asked for; what we have and it lacks
    /// is told soon.
    fn on_state(&mut self, from: NodeId, state: &State, storage: &mut dyn Storage) {
        self.stats.states_heard += 1;
        self.members.on_hears(from, (&state.hears, state.hears_all), &mut self.events);
        if state.called.contains(&self.session.node_id()) {
            self.trickle.on_call(self.now, &mut self.rng);
        }
        self.note_standing(from, state);
        let mut differs = false;
        for holding in &state.holdings {
            differs |= self.on_holding(from, holding, state.asks, storage);
        }
        match differs {
            true => self.trickle.on_change(self.now, &mut self.rng),
            false => self.trickle.on_consistent(),
        }
    }

    /// What it says of this node's own messages, or by saying nothing.
    fn note_standing(&mut self, from: NodeId, state: &State) {
        let own = self.session.node_id();
        let Some(log) = self.logs.get(&own) else { return };
        let told = state.holdings.iter().find(|holding| {
            holding.rumour.sender == own && holding.rumour.instance == log.instance
        });
        let sets = told.map(|holding| {
            let newest = log.index(holding.rumour.newest);
            (holding.held(newest), holding.settled(newest))
        });
        let new = self.holders.on_state(from, state.asks, sets.as_ref());
        let events = new.into_iter();
        self.events.extend(events.map(|(key, standing)| Event::Standing {
            key,
            node: from,
            standing,
        }));
    }

    /// `node` announces, and says nothing of holding these objects, which are here. Of short messages
    /// this is as good as a request. Whether there are others.
    fn on_lacking(&mut self, node: NodeId, rumour: &Rumour, lacking: Vec<u64>) -> bool {
        let (origin, instance) = (rumour.sender, rumour.instance);
        let unheard = self.members.is_unheard(origin, node);
        let serves = self.config.repairs && !self.config.silent;
        let timing = self.timing_of(rumour.grtt, rumour.backoff, rumour.gsize);
        let mut others = false;
        for index in lacking {
            let object = ObjectTransportId((index & 0xffff) as u16);
            let key = ObjectKey { sender: origin, instance, object };
            let short = self.cache.get(key).is_some_and(|cached| cached.whole && cached.size == 0);
            if !short || !serves {
                others = true;
                continue;
            }
            self.members.on_missed(self.now, node);
            let request = Request { unnamed: 1, info: true, unheard, ..Request::default() };
            let chance = (&mut self.rng, &mut self.stats);
            let wanted = (key, Part::Info);
            self.repairer.on_request(self.now, wanted, (&request, true), timing, chance);
        }
        others
    }

    /// Whether it differs from what is here.
    fn on_holding(
        &mut self,
        from: NodeId,
        holding: &Holding,
        asks: bool,
        storage: &mut dyn Storage,
    ) -> bool {
        let rumour = &holding.rumour;
        let origin = rumour.sender;
        let ours = self.delivery.asks() && !self.config.silent;
        let Some(log) = self.logs.get(&origin) else {
            if ours && origin != self.session.node_id() {
                self.session.receiver().hear_of(self.now, rumour, storage);
                return true;
            }
            return false;
        };
        if log.instance != rumour.instance {
            return false;
        }
        let newest = log.index(rumour.newest);
        let theirs = holding.held(newest);
        let has_more = ours && theirs.iter().any(|(first, end)| lacks(log, first, end));
        let told = newest.saturating_sub(holding.reach.saturating_sub(1));
        let lacking = if asks { beyond(log, told, &holding.settled(newest)) } else { Vec::new() };
        let has_less = self.on_lacking(from, rumour, lacking);
        let Some(log) = self.logs.get(&origin) else { return has_less };
        if has_more && origin != self.session.node_id() {
            if newest > log.newest() {
                self.session.receiver().hear_of(self.now, rumour, storage);
            }
            if self.asker.is_silent(self.now, origin) || self.repairer.is_deaf(origin) {
                let timing = self.timing_of(rumour.grtt, rumour.backoff, rumour.gsize);
                let patience = Patience::grace(timing.grtt, timing.backoff);
                self.asker.on_promise(self.now, origin, patience);
            }
        }
        has_more || has_less
    }
}

/// Whose NORM_INFO it is.
fn key_of(message: &Message<'_>) -> Option<ObjectKey> {
    let Message::Info(info) = message else { return None };
    let (sender, instance) = (info.sender.source_id, info.sender.instance_id);
    Some(ObjectKey { sender, instance, object: info.object_transport_id })
}

/// What a message says of its sender, if it comes from one as such.
fn sender_of<'a>(message: &'a Message<'_>) -> Option<&'a SenderFields> {
    match message {
        Message::Info(info) => Some(&info.sender),
        Message::Data(data) => Some(&data.sender),
        Message::Cmd(cmd) => Some(cmd.sender()),
        Message::Nack(_) | Message::Ack(_) | Message::Report(_) => None,
    }
}

/// Whether something in `first..end` is not settled here.
fn lacks(log: &SourceLog, first: u64, end: u64) -> bool {
    (first.max(log.floor())..end).any(|index| !log.is_settled(index))
}

/// What is here, not below `told`, that is not among `theirs`: the newest of it.
fn beyond(log: &SourceLog, told: u64, theirs: &RunSet) -> Vec<u64> {
    let runs = log.whole().iter().flat_map(|(first, end)| theirs.gaps(first.max(told), end));
    let mut runs: Vec<(u64, u64)> = runs.collect();
    runs.reverse();
    runs.into_iter().flat_map(|(first, end)| (first..end).rev()).take(LACKING_MAX).collect()
}

/// Which symbol a NORM_DATA has. Encoding id 2 cannot be read without its field: NRL's receivers take
/// GF(2^16) where nothing says so.
fn symbol_of(data: &Data<'_>) -> (Part, u16) {
    let fec_id = data.payload_id.fec_id;
    let unknown = match fec_id {
        FecId::ReedSolomonM => FieldSize::M16,
        FecId::ReedSolomon8 | FecId::SmallBlockSystematic => FieldSize::M8,
    };
    let field = data.extensions.fti(fec_id).map_or(unknown, |fti| fti.field);
    let id = data.payload_id.unpack(field);
    (Part::Block(id.block.0), id.symbol.0)
}

/// Symbols `first..=last` of a block of `len`: source symbols by name, parity by number.
fn add_symbols(request: &mut Request, (first, last): (u16, u16), len: u16) {
    let end = u32::from(last) + 1;
    let named_end = end.min(u32::from(len));
    if u32::from(first) < named_end {
        request.names.insert(u64::from(first), u64::from(named_end));
        request.named = request.named.saturating_add((named_end - u32::from(first)) as u16);
    }
    let parity = end.saturating_sub(u32::from(first.max(len)));
    request.unnamed = request.unnamed.saturating_add(parity.min(u32::from(u16::MAX)) as u16);
}

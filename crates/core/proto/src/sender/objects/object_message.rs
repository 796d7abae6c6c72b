//! Sends parts of objects: chooses the next one, makes a message of it, and notes that it was sent.

use crate::{
    config::FtiMode,
    congestion::Mode,
    context::Context,
    event::Event,
    peer_repair::age_extension,
    rate::Bitrate,
    sender::{
        Sender,
        parity::ParityWanted,
        piece::{Part, Piece, Purpose},
    },
    stats::{DropReason, Stats},
    storage::{ObjectKind, Storage, StorageError},
};
use alloc::vec::Vec;
use fanfare_wire::{
    Data, FecId, Info, ObjectFlags, SourceBlockNumber,
    ext::{ExtTime, ExtTurn, Extensions},
};

/// Symbols of an object that all carry EXT_FTI: at 30 % loss one receiver in 15,000 misses all.
const FTI_FIRST: u16 = 8;
/// Then one in so many does, for who comes late. Messages of one size travel together: a longer one
/// among them ends the batch, and a batch has 45 at most.
const FTI_EVERY: u16 = 32;
/// At this rate and above, one in so many: it ends a super-packet, and at 100 Mbit/s they are still 60 ms apart.
const FTI_EVERY_FAST: u32 = 512;
const FAST: Bitrate = Bitrate::mbps(100);
/// Bytes of an extension of our own.
const WORD: usize = 4;

impl Sender {
    /// Repairs before new data, as far as their share goes; an object that cannot be read leaves.
    pub(in crate::sender) fn write_object(
        &mut self,
        ctx: &mut Context<'_>,
        out: &mut Vec<u8>,
    ) -> bool {
        self.begin_cover();
        let rate = self.controller.rate();
        let new_first = self.share.new_first() && self.cache.has_new() || self.cache.is_prompt();
        let repair = self.cache.first_repair().filter(|_| !new_first);
        let Some(ordinal) = repair.or_else(|| self.cache.first_new()) else { return false };
        let Some(object) = self.cache.get_mut(ordinal) else { return false };
        let popped = match repair {
            Some(_) => object.pop_repair(&self.coding),
            None => object.pop_new(&self.coding),
        };
        let start = out.len();
        let Some(piece) = popped else {
            self.cache.refresh(ordinal);
            return false;
        };
        if self.encode_piece(ctx.storage, ordinal, piece, out).is_err() {
            ctx.stats.drop(DropReason::Storage);
            self.withdraw(ordinal, ctx.events);
            return false;
        }
        match repair {
            Some(_) => self.share.on_repair(out.len() - start),
            None => {
                self.share.on_new(rate, out.len() - start);
                self.cache.on_new_sent(ordinal, out.len() - start);
            }
        }
        self.on_piece_sent(ctx, ordinal, piece);
        true
    }

    fn encode_piece(
        &mut self,
        storage: &mut dyn Storage,
        ordinal: u64,
        piece: Piece,
        out: &mut Vec<u8>,
    ) -> Result<(), StorageError> {
        let (block, number) = match piece.part {
            Part::Info => return self.encode_info(ordinal, out),
            Part::Source { block, symbol } => (block, Err(symbol)),
            Part::Parity { block, number, ahead } => (block, Ok((number, ahead))),
        };
        let sender = self.fields();
        let object = self.cache.get(ordinal).ok_or(StorageError::Failed)?;
        let block_len = object.block_len(block);
        let symbol = number.map_or_else(|symbol| symbol, |(number, _)| block_len + number);
        let fti = self.coding.fti(object);
        let streams = object.stream.is_some();
        let repairs = matches!(piece.purpose, Purpose::Parity | Purpose::Explicit);
        let turns = self.cache.turns(ordinal).filter(|_| !repairs);
        let own = OwnExtensions::new([self.time_extension(), None], turns);
        let message = Data {
            sender,
            flags: flags(object, piece.purpose),
            object_transport_id: object.key.object,
            payload_id: self.coding.payload_id(block, block_len, symbol),
            extensions: own.area(),
            payload: &[],
        };
        let has_fti = self.has_fti(block, symbol, streams);
        message.encode_header(has_fti.then_some(&fti), out);
        match number {
            Err(symbol) => read_source(object, block, symbol, storage, out),
            Ok((number, ahead)) => {
                let wanted = ParityWanted { ordinal, block, number, ahead };
                self.parity.append(wanted, object, &self.coding, storage, out)
            }
        }
    }

    /// Time at which the message goes, for who measures the path. Small messages of a group go as INFO alone: with no stamps
    /// on them nothing would be known of the path.
    fn time_extension(&self) -> Option<[u8; WORD]> {
        let stamped = self.controller.mode() == Some(Mode::Path);
        stamped.then(|| ExtTime::of_micros(self.now.as_nanos() / 1_000).to_bytes())
    }

    /// Whether EXT_FTI travels with a symbol.
    pub(in crate::sender) fn has_fti(&self, block: u32, symbol: u16, streams: bool) -> bool {
        match self.config.fti {
            FtiMode::Always => true,
            FtiMode::InfoOnly => false,
            FtiMode::Sparse => {
                let first = block == 0 && symbol < FTI_FIRST;
                // Who measures the path reckons with messages of one size.
                let alike = self.controller.mode() == Some(Mode::Path);
                let unnamed = self.coding.fec_id == FecId::ReedSolomonM;
                // Who joins a stream late shall know it within a block, for ever.
                let again = self.has_fti_again(block, symbol) || streams && symbol == 0;
                first || again || unnamed || alike
            }
        }
    }

    fn has_fti_again(&self, block: u32, symbol: u16) -> bool {
        let length = u32::from(self.config.fec.source.max(1));
        let every = (FTI_EVERY_FAST / length).max(1);
        match self.controller.rate() >= FAST {
            true => symbol == 0 && block.is_multiple_of(every),
            false => symbol.is_multiple_of(FTI_EVERY),
        }
    }

    fn encode_info(&self, ordinal: u64, out: &mut Vec<u8>) -> Result<(), StorageError> {
        let object = self.cache.get(ordinal).ok_or(StorageError::Failed)?;
        let age = Some(object.age(self.now)).filter(|_| self.config.tells_age);
        let others = [self.time_extension(), age.and_then(age_extension)];
        let own = OwnExtensions::new(others, self.cache.turns(ordinal));
        let message = Info {
            sender: self.fields(),
            flags: flags(object, Purpose::First),
            fec_id: self.coding.fec_id,
            object_transport_id: object.key.object,
            extensions: own.area(),
            payload: object.info.as_deref().unwrap_or_default(),
        };
        message.encode(Some(&self.coding.fti(object)), out);
        Ok(())
    }

    fn on_piece_sent(&mut self, ctx: &mut Context<'_>, ordinal: u64, piece: Piece) {
        let empty = |object: &crate::sender::TransmitObject| object.partition.object_size == 0;
        self.on_object_message_sent(
            self.flushes_infos || !self.cache.get(ordinal).is_some_and(empty),
        );
        let unhurried = self.grtt() * 2;
        let Some(object) = self.cache.get_mut(ordinal) else { return };
        if object.stream.as_ref().is_some_and(|stream| !stream.hurried) {
            self.flush.delay(self.now + unhurried);
        }
        let block = match piece.part {
            Part::Info => 0,
            Part::Source { block, .. } | Part::Parity { block, .. } => block,
        };
        self.last = Some((ordinal, piece));
        self.position = Some((ordinal, block));
        object.touch(self.now, block);
        if let (Part::Source { block, symbol }, Purpose::First) = (piece.part, piece.purpose) {
            let span = object.partition.span(SourceBlockNumber(block), symbol);
            self.progress += span.map_or(0, |(_, bytes)| bytes as u64);
        }
        let in_pass = object.has_new() && !object.has_repair();
        let passed = object.on_sent(self.now);
        if passed {
            ctx.events.push(Event::ObjectSent { key: object.key });
            self.stream.on_passed(self.now);
        }
        count(ctx.stats, piece);
        // In the middle of a pass nothing has changed.
        if !in_pass || !matches!(piece.purpose, Purpose::First | Purpose::Again) {
            self.cache.refresh(ordinal);
        }
        if matches!(piece.purpose, Purpose::Parity | Purpose::Explicit) && piece.part != Part::Info
        {
            let source = match piece.part {
                Part::Source { symbol, .. } => Some(symbol),
                Part::Info | Part::Parity { .. } => None,
            };
            self.in_flight.on_sent(self.now, ordinal, block, source);
        }
        if passed {
            self.on_passed(ordinal);
        }
    }
}

/// Extensions of our own, as what an encoder takes.
struct OwnExtensions {
    bytes: [u8; OTHERS * WORD + ExtTurn::MAX * ExtTurn::LEN],
    len: usize,
}

/// Extensions beside those that tell of turns: time and age.
const OTHERS: usize = 2;

impl OwnExtensions {
    fn new(others: [Option<[u8; WORD]>; OTHERS], turns: impl Iterator<Item = ExtTurn>) -> Self {
        let mut own = Self { bytes: [0; OTHERS * WORD + ExtTurn::MAX * ExtTurn::LEN], len: 0 };
        let words = others.into_iter().flatten().chain(turns.map(ExtTurn::to_bytes));
        for (place, word) in own.bytes.chunks_exact_mut(WORD).zip(words) {
            place.copy_from_slice(&word);
            own.len += WORD;
        }
        own
    }

    fn area(&self) -> Extensions<'_> {
        Extensions::parse(&self.bytes[..self.len]).unwrap_or_default()
    }
}

fn count(stats: &mut Stats, piece: Piece) {
    if piece.part != Part::Info {
        *counter(stats, piece.purpose) += 1;
    }
}

/// What counts symbols sent for a purpose.
pub(in crate::sender) fn counter(stats: &mut Stats, purpose: Purpose) -> &mut u64 {
    match purpose {
        Purpose::First => &mut stats.source_sent,
        Purpose::Proactive => &mut stats.proactive_sent,
        Purpose::Parity => &mut stats.parity_repair_sent,
        Purpose::Again | Purpose::Explicit => &mut stats.explicit_repair_sent,
    }
}

/// RFC 5740 5.4.2 flags repairs; a carousel's later rounds are as good to begin with as the first.
fn flags(object: &crate::sender::TransmitObject, purpose: Purpose) -> ObjectFlags {
    let kind = match object.kind {
        ObjectKind::Data => 0,
        ObjectKind::File => ObjectFlags::FILE,
        ObjectKind::Stream => ObjectFlags::STREAM,
    };
    let info = if object.info.is_some() { ObjectFlags::INFO } else { 0 };
    let repair = match purpose {
        Purpose::First | Purpose::Again | Purpose::Proactive => 0,
        Purpose::Parity => ObjectFlags::REPAIR,
        Purpose::Explicit => ObjectFlags::REPAIR | ObjectFlags::EXPLICIT,
    };
    ObjectFlags(kind | info | repair)
}

/// Straight from storage into the datagram: the only copy.
fn read_source(
    object: &crate::sender::TransmitObject,
    block: u32,
    symbol: u16,
    storage: &mut dyn Storage,
    out: &mut Vec<u8>,
) -> Result<(), StorageError> {
    let (offset, bytes) = object.symbol_len(block, symbol).ok_or(StorageError::Failed)?;
    storage.append(object.key, offset, bytes, out)
}

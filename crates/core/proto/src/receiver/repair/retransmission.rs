//! Retransmits parts of remote senders' objects, in the messages that their sender would send.

use crate::receiver::{
    RemoteSenders, decode::Decoder, format::Format, objects::Entry, remote_sender::RemoteSender,
};
use crate::{
    fti,
    peer_repair::{HeldBlock, Retransmission, age_extension},
    storage::{ObjectKey, ObjectKind, Storage},
    time::Duration,
};
use alloc::vec::Vec;
use core::ops::Range;
use fanfare_fec::Matrix;
use fanfare_wire::{
    Data, FieldSize, Info, ObjectFlags, Sequence, SourceBlockNumber, ext::Extensions,
    fec::RawPayloadId, header::SenderFields,
};

impl RemoteSender {
    /// As it would begin a message.
    fn own_fields(&self) -> SenderFields {
        let (grtt, backoff, gsize) = self.timing.advertised();
        SenderFields {
            sequence: Sequence(0),
            source_id: self.id,
            instance_id: self.identity.pinned().instance,
            grtt,
            backoff,
            gsize,
        }
    }
}

impl RemoteSenders {
    fn format_of(&self, key: ObjectKey) -> Option<&Format> {
        let format = match self.entry(key)? {
            Entry::Open(open) => Some(open.format()),
            Entry::Complete { format, .. } => Some(format),
            Entry::Pending { .. } | Entry::GivenUp | Entry::Skipped => None,
        };
        // Of a stream nobody keeps enough to repair it for others.
        format.filter(|format| format.kind != ObjectKind::Stream)
    }

    pub(crate) fn symbols_of(
        &self,
        key: ObjectKey,
        offset: u64,
        len: u64,
    ) -> Vec<(u32, Range<u16>)> {
        let Some(format) = self.format_of(key) else { return Vec::new() };
        let partition = &format.partition;
        let cover = partition.cover(partition.symbols_touching(offset, len));
        let whole =
            cover.whole.map(|block| (block, 0..partition.block_len(SourceBlockNumber(block))));
        whole.chain(cover.parts.into_iter().flatten()).collect()
    }

    pub(crate) fn blocks(&self, key: ObjectKey) -> Option<u32> {
        self.format_of(key).map(|format| format.partition.blocks)
    }

    pub(crate) fn field(&self, key: ObjectKey) -> Option<FieldSize> {
        self.format_of(key).map(|format| format.fti.field)
    }

    pub(crate) fn held(&self, key: ObjectKey, block: u32) -> Option<HeldBlock> {
        let format = self.format_of(key)?;
        let number = SourceBlockNumber(block);
        let len = format.partition.block_len(number);
        let whole = match self.entry(key)? {
            Entry::Open(open) => open.blocks().is_complete(block),
            _ => block < format.partition.blocks,
        };
        let sources = match self.entry(key)? {
            _ if whole => (0..len).collect(),
            Entry::Open(open) => {
                let state = open.blocks().partial(block);
                let has = |symbol: &u16| state.is_some_and(|state| state.has_source(*symbol));
                (0..len).filter(has).collect()
            }
            _ => Vec::new(),
        };
        let kept = match self.entry(key)? {
            Entry::Open(open) if !whole => {
                let state = open.blocks().partial(block);
                state.into_iter().flat_map(|state| state.parity()).map(|(n, _)| n).collect()
            }
            _ => Vec::new(),
        };
        (len > 0).then_some(HeldBlock { len, parity: format.parity, sources, kept })
    }

    /// Parity that waits for its block to be decoded.
    fn kept_parity(&self, key: ObjectKey, block: u32, number: u16) -> Option<&[u8]> {
        let Entry::Open(open) = self.entry(key)? else { return None };
        let mut parity = open.blocks().partial(block)?.parity();
        parity.find(|(kept, _)| *kept == number).map(|(_, bytes)| bytes)
    }

    pub(crate) fn retransmit(
        &mut self,
        key: ObjectKey,
        retransmission: Retransmission<'_>,
        storage: &mut dyn Storage,
        out: &mut Vec<u8>,
    ) -> bool {
        let Some(format) = self.format_of(key).copied() else { return false };
        let matrix = self.local.config.matrix;
        let held = match retransmission {
            Retransmission::Info { .. } | Retransmission::Deduced { .. } => None,
            Retransmission::Symbol { block, .. } | Retransmission::Sum { block, .. } => {
                self.held(key, block)
            }
        };
        let kept = match (retransmission, &held) {
            (Retransmission::Symbol { block, symbol, .. }, Some(held)) if symbol >= held.len => {
                self.kept_parity(key, block, symbol - held.len).map(<[u8]>::to_vec)
            }
            _ => None,
        };
        if let Retransmission::Sum { block, seed, has_info } = retransmission {
            return self.retransmit_sum(key, (block, seed, has_info), storage, out);
        }
        let Some(sender) = self.senders.at_mut((key.sender, key.instance)) else { return false };
        let fields = sender.own_fields();
        match retransmission {
            Retransmission::Sum { .. } => false,
            Retransmission::Deduced { block, symbol, has_info, bytes } => {
                let span = format.partition.span(SourceBlockNumber(block), symbol);
                let bytes = span.and_then(|(_, length)| bytes.get(..length));
                let Some(bytes) = bytes else { return false };
                encode_header(fields, key, (&format, matrix), (block, symbol, has_info), out);
                out.extend_from_slice(bytes);
                true
            }
            Retransmission::Info { content, age } => {
                encode_info(fields, key, (&format, matrix), (content, age), out);
                true
            }
            Retransmission::Symbol { block, symbol, has_info } => {
                let Some(held) = held else { return false };
                let start = out.len();
                encode_header(fields, key, (&format, matrix), (block, symbol, has_info), out);
                if let Some(kept) = kept {
                    out.extend_from_slice(&kept);
                    return true;
                }
                let given = symbol_bytes(
                    &mut sender.decoder,
                    storage,
                    key,
                    &format,
                    (block, symbol),
                    &held,
                    out,
                );
                if given.is_none() {
                    out.truncate(start);
                }
                given.is_some()
            }
        }
    }
}

impl RemoteSenders {
    /// In the form of the block's first parity symbol.
    fn retransmit_sum(
        &mut self,
        key: ObjectKey,
        (block, seed, has_info): (u32, u8, bool),
        storage: &mut dyn Storage,
        out: &mut Vec<u8>,
    ) -> bool {
        let Some(sender) = self.senders.at_mut((key.sender, key.instance)) else { return false };
        let fields = sender.own_fields();
        let RemoteSender { objects: Some(objects), decoder, .. } = sender else { return false };
        let open = objects.find(key).and_then(|object| objects.open(object));
        let Some(open) = open else { return false };
        let (format, Some(state)) = (open.format(), open.blocks().partial(block)) else {
            return false;
        };
        let start = out.len();
        let matrix = self.local.config.matrix;
        encode_header(fields, key, (format, matrix), (block, state.len(), has_info), out);
        let given = decoder.combine(storage, key, format, (block, state, seed), out);
        if given.is_none() {
            out.truncate(start);
        }
        given.is_some()
    }
}

fn flags(format: &Format, has_info: bool) -> ObjectFlags {
    let kind = match format.kind {
        ObjectKind::Data => 0,
        ObjectKind::File => ObjectFlags::FILE,
        ObjectKind::Stream => ObjectFlags::STREAM,
    };
    ObjectFlags(kind | if has_info { ObjectFlags::INFO } else { 0 })
}

fn encode_info(
    sender: SenderFields,
    key: ObjectKey,
    (format, matrix): (&Format, Matrix),
    (payload, age): (&[u8], Duration),
    out: &mut Vec<u8>,
) {
    let age = age_extension(age);
    let area = age.as_ref().map_or(&[][..], |bytes| &bytes[..]);
    let message = Info {
        sender,
        flags: flags(format, true),
        fec_id: format.fec_id,
        object_transport_id: key.object,
        extensions: Extensions::parse(area).unwrap_or_default(),
        payload,
    };
    message.encode(Some(&fti::to_wire(format.fec_id, matrix, format.fti)), out);
}

/// Always with EXT_FTI: whoever hears it may never have heard the sender.
fn encode_header(
    sender: SenderFields,
    key: ObjectKey,
    (format, matrix): (&Format, Matrix),
    (block, symbol, has_info): (u32, u16, bool),
    out: &mut Vec<u8>,
) {
    let ObjectFlags(of_object) = flags(format, has_info);
    let id = format.name(block, symbol);
    let message = Data {
        sender,
        flags: ObjectFlags(of_object | ObjectFlags::REPAIR),
        object_transport_id: key.object,
        payload_id: RawPayloadId::pack(format.fec_id, format.fti.field, id),
        extensions: Extensions::default(),
        payload: &[],
    };
    message.encode_header(Some(&fti::to_wire(format.fec_id, matrix, format.fti)), out);
}

/// A source symbol that is here, or parity of a block that is whole.
fn symbol_bytes(
    decoder: &mut Decoder,
    storage: &mut dyn Storage,
    key: ObjectKey,
    format: &Format,
    (block, symbol): (u32, u16),
    held: &HeldBlock,
    out: &mut Vec<u8>,
) -> Option<()> {
    let start = out.len();
    if symbol < held.len {
        held.sources.binary_search(&symbol).ok()?;
        let (offset, bytes) = format.partition.span(SourceBlockNumber(block), symbol)?;
        out.resize(start + bytes, 0);
        return storage.read(key, offset, &mut out[start..]).ok();
    }
    let number = symbol - held.len;
    if !held.is_whole() || number >= held.parity {
        return None;
    }
    decoder.parity(storage, key, format, block, number, out)
}

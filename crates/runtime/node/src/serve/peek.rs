//! What is read of a NORM message on its way.

use fanfare_wire::{FieldSize, Message, ObjectFlags};

/// A message of a sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peek {
    /// The sender's node id.
    pub sender: u32,
    /// The number of the message.
    pub sequence: u16,
    /// It is NORM_CMD.
    pub is_command: bool,
    /// Which symbol it has; `None` for anything but NORM_DATA.
    pub symbol: Option<Symbol>,
    /// When it was sent, by the sender's clock, in microseconds that wrap.
    pub stamp: Option<u32>,
}

/// Which symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Symbol {
    /// The object.
    pub object: u16,
    /// The block. With FEC encoding id 2 it is read as with GF(2^8).
    pub block: u32,
    /// Its number in the block.
    pub number: u16,
    /// It was sent before, or is parity that was asked for.
    pub repair: bool,
    /// The size of the object, where the message tells it.
    pub size: Option<u64>,
}

/// Where NORM_DATA has its flags, and one that NORM leaves free: whoever is given the message is to pass
/// it on. It is set on the way from the sender to that receiver, and nowhere else.
const FLAGS: usize = 12;
const PASS_ON: u8 = 0x80;

/// Whether a message is to be passed on by whoever is given it.
#[must_use]
pub(crate) fn is_to_pass(message: &[u8]) -> bool {
    message.get(FLAGS).is_some_and(|flags| flags & PASS_ON > 0)
}

/// Says of messages of NORM_DATA whether they are to be passed on.
pub fn mark(messages: &mut [u8], stride: usize, pass: bool) {
    for message in messages.chunks_mut(stride.max(1)) {
        if let Some(flags) = message.get_mut(FLAGS) {
            *flags = if pass { *flags | PASS_ON } else { *flags & !PASS_ON };
        }
    }
}

/// `None` for what no sender sends.
#[must_use]
pub fn peek(datagram: &[u8]) -> Option<Peek> {
    let mut stamp = None;
    let message = Message::parse(datagram).ok()?;
    let is_command = matches!(message, Message::Cmd(_));
    let (fields, symbol) = match message {
        Message::Info(info) => (info.sender, None),
        Message::Cmd(cmd) => (*cmd.sender(), None),
        Message::Data(data) => {
            let id = data.payload_id.unpack(FieldSize::M8);
            let (block, number) = (id.block.0, id.symbol.0);
            let repair = data.flags.has(ObjectFlags::REPAIR);
            let object = data.object_transport_id.0;
            stamp = data.extensions.time().map(|time| time.micros());
            let size = data.extensions.fti(data.payload_id.fec_id).map(|fti| fti.object_size);
            (data.sender, Some(Symbol { object, block, number, repair, size }))
        }
        Message::Nack(_) | Message::Ack(_) | Message::Report(_) => return None,
    };
    let (sender, sequence) = (fields.source_id.0, fields.sequence.0);
    Some(Peek { sender, sequence, is_command, symbol, stamp })
}

/// Ends of pieces of a batch: in a piece are messages of the same `kind`.
pub(crate) fn pieces<K: PartialEq>(
    batch: &[u8],
    stride: usize,
    kind: impl Fn(Option<Peek>) -> K,
) -> Vec<usize> {
    let mut ends = Vec::new();
    let (mut at, mut last) = (0, None);
    for datagram in batch.chunks(stride.max(1)) {
        let now = kind(peek(datagram));
        if last.as_ref().is_some_and(|last| *last != now) {
            ends.push(at);
        }
        last = Some(now);
        at += datagram.len();
    }
    if at > 0 {
        ends.push(at);
    }
    ends
}

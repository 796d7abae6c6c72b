//! Reads a stream in order: bytes, gaps between them, the end.

use super::window::ReceiveStream;
use crate::receiver::{blocks::BlockSet, format::Format, object::ReceiveObject};
use crate::{
    context::Context,
    stats::DropReason,
    storage::{ObjectKey, StorageError},
    stream::StreamRead,
};
use alloc::vec::Vec;
use fanfare_wire::SourceBlockNumber;

impl ReceiveStream {
    /// Passes what is lost.
    fn pass_lost(&mut self) {
        let next = self.lost.first_gap(self.next);
        if next > self.next {
            self.lost.remove(0, next);
            self.next = next;
            self.gap = true;
        }
    }

    /// Whether reading gives something.
    pub(super) fn is_readable(&self, blocks: &BlockSet) -> bool {
        !self.done && self.is_settled(blocks, self.lost.first_gap(self.next))
    }

    /// The position that `wire` stands for, seen from what was read.
    fn position(&self, wire: u32) -> u64 {
        let ahead = wire.wrapping_sub(self.offset as u32);
        // After a gap it lies ahead; otherwise a sender that goes back is taken at its word.
        self.offset + u64::from(ahead)
    }
}

/// What a symbol says of itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Header {
    /// Where its bytes are in the store.
    pub(super) place: u64,
    pub(super) len: u16,
    msg_start: u16,
    /// Position of its first byte in the stream.
    pub(super) offset: u64,
}

impl Header {
    pub(super) fn read(
        ctx: &mut Context<'_>,
        key: ObjectKey,
        format: &Format,
        stream: &ReceiveStream,
        index: u64,
    ) -> Result<Self, StorageError> {
        let (block, symbol) = (stream.block_of(index), stream.symbol_of(index));
        let span = format.partition.span(SourceBlockNumber(block), symbol);
        let (at, _) = span.ok_or(StorageError::Failed)?;
        let mut header = [0; ReceiveStream::HEADER];
        ctx.storage.read(key, at, &mut header)?;
        let [l0, l1, s0, s1, position @ ..] = header;
        Ok(Self {
            place: at + header.len() as u64,
            len: u16::from_be_bytes([l0, l1]),
            msg_start: u16::from_be_bytes([s0, s1]),
            offset: stream.position(u32::from_be_bytes(position)),
        })
    }

    /// Where the first message that it marks begins, behind so many bytes.
    pub(super) fn message_at(self, bytes: usize) -> Option<usize> {
        (self.msg_start > 0).then(|| bytes + usize::from(self.msg_start) - 1)
    }
}

impl ReceiveObject {
    /// Appends bytes in order to `out`, until there are `most` of them or a symbol more, or until a
    /// gap or the end.
    pub(in crate::receiver) fn read_stream(
        &mut self,
        ctx: &mut Context<'_>,
        most: usize,
        out: &mut Vec<u8>,
    ) -> Result<StreamRead, StorageError> {
        let Self { stream, blocks, format, key, .. } = self;
        let Some(stream) = stream else { return Ok(StreamRead::Gone) };
        let start = out.len();
        let mut read = (stream.offset, None);
        loop {
            let bytes = out.len() - start;
            let data = StreamRead::Data { bytes, offset: read.0, msg_start: read.1 };
            stream.pass_lost();
            if stream.done {
                stream.told = true;
                return Ok(StreamRead::End { offset: stream.offset });
            }
            if !stream.is_settled(blocks, stream.next) {
                stream.waits |= bytes == 0;
                return Ok(if bytes > 0 { data } else { StreamRead::Empty });
            }
            if bytes >= most || bytes > 0 && stream.gap {
                return Ok(data);
            }
            let header = Header::read(ctx, *key, format, stream, stream.next)?;
            let Header { place, len, msg_start, offset: position } = header;
            if !stream.read {
                (stream.offset, stream.read, stream.gap) = (position, true, false);
                read.0 = position;
            }
            if core::mem::take(&mut stream.gap) {
                let from = core::mem::replace(&mut stream.offset, position);
                return Ok(StreamRead::Gap { from, to: position });
            }
            if position != stream.offset {
                // The order of symbols counts, not what they say of themselves.
                ctx.stats.drop(DropReason::StreamOffset);
                if bytes > 0 {
                    return Ok(data);
                }
                (stream.offset, read.0) = (position, position);
            }
            stream.next += 1;
            if len == 0 {
                if msg_start == 0 {
                    stream.end = Some(stream.next - 1);
                    stream.done = true;
                    if bytes > 0 {
                        return Ok(data);
                    }
                } else {
                    ctx.stats.drop(DropReason::Symbol);
                }
                continue;
            }
            read.1 = read.1.or(header.message_at(bytes));
            ctx.storage.append(*key, place, usize::from(len), out)?;
            stream.offset += u64::from(len);
        }
    }

    /// What is missing before the next symbol that is here counts as lost.
    pub(in crate::receiver) fn skip_gap(&mut self) -> bool {
        let Self { stream, blocks, .. } = self;
        let Some(stream) = stream else { return false };
        let next = stream.lost.first_gap(stream.next);
        let Some(here) = (next..stream.heard).find(|at| stream.is_settled(blocks, *at)) else {
            return false;
        };
        stream.lost.insert(next, here);
        here > next
    }

    /// Position of the next byte to be read, and slots of its ring.
    /// Symbols that it is behind what was heard of.
    pub(in crate::receiver) fn stream_state(&self) -> Option<(u64, u64, u64)> {
        let stream = self.stream.as_ref()?;
        Some((stream.offset, stream.slots(), stream.heard.saturating_sub(stream.next)))
    }

    /// All of it was read, and its end told.
    pub(in crate::receiver) fn is_stream_done(&self) -> bool {
        self.stream.as_ref().is_some_and(|stream| stream.told)
    }
}

//! Reads what is here of a stream behind what is missing, in any order and each symbol once. Reading in
//! order goes on as ever, and gives the same bytes again when it comes to them.

use super::{reader::Header, window::ReceiveStream};
use crate::receiver::{blocks::BlockSet, object::ReceiveObject};
use crate::{context::Context, storage::StorageError, stream::StreamRead};
use alloc::vec::Vec;

impl ReceiveStream {
    /// The first symbol that is here and was not read, neither in order nor early.
    fn next_early(&self, blocks: &BlockSet) -> Option<u64> {
        let mut at = self.next;
        while at < self.heard {
            let known = self.lost.first_gap(self.early.first_gap(at));
            if known > at {
                at = known;
            } else if self.is_settled(blocks, at) {
                return Some(at);
            } else {
                let block = self.block_of(at);
                let whole = blocks.partial(block).is_none();
                at = if whole { self.index(block + 1, 0) } else { at + 1 };
            }
        }
        None
    }

    /// Whether a symbol is here and was not read.
    fn is_new(&self, blocks: &BlockSet, at: u64) -> bool {
        at < self.heard
            && !self.early.contains(at)
            && !self.lost.contains(at)
            && self.is_settled(blocks, at)
    }
}

impl ReceiveObject {
    /// Appends a run of bytes behind a gap to `out`, until there are `most` of them or a symbol more.
    pub(in crate::receiver) fn read_early(
        &mut self,
        ctx: &mut Context<'_>,
        most: usize,
        out: &mut Vec<u8>,
    ) -> Result<StreamRead, StorageError> {
        let Self { stream, blocks, format, key, .. } = self;
        let Some(stream) = stream else { return Ok(StreamRead::Gone) };
        stream.early.remove(0, stream.next);
        let start = out.len();
        let mut run: Option<(u64, Option<usize>)> = None;
        while run.is_none() {
            let Some(first) = stream.next_early(blocks) else { return Ok(StreamRead::Empty) };
            let mut at = first;
            while at == first || stream.is_new(blocks, at) {
                let header = Header::read(ctx, *key, format, stream, at)?;
                let bytes = out.len() - start;
                // What says that it is elsewhere is a run of its own.
                if bytes >= most
                    || run.is_some_and(|(from, _)| from + bytes as u64 != header.offset)
                {
                    break;
                }
                stream.early.insert(at, at + 1);
                at += 1;
                if header.len == 0 {
                    break;
                }
                let (_, mark) = run.get_or_insert((header.offset, None));
                *mark = mark.or(header.message_at(bytes));
                ctx.storage.append(*key, header.place, usize::from(header.len), out)?;
            }
        }
        let (offset, msg_start) = run.unwrap_or_default();
        Ok(StreamRead::Data { bytes: out.len() - start, offset, msg_start })
    }
}

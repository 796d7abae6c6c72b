//! What proved wrong, in pieces that were checked by a hash of their own each: who knows by whom each
//! symbol came can tell from it who has passed on wrong bytes.

use fanfare_node::{engine::Wrong, serve::Chunk};
use fanfare_proto::{ObjectKey, Session};

use super::ReceiveJob;
use crate::file_storage::FileStorage;

/// Pieces of one object that are told of, at most: they are enough to find somebody.
const PIECES_MAX: usize = 4096;
/// Objects of which this is told at most, before somebody asks.
const TOLD_MAX: usize = 16;

impl ReceiveJob {
    /// These bytes of an object were received, and are wrong.
    pub(super) fn blame(
        &mut self,
        (session, storage): (&mut Session, &FileStorage),
        key: ObjectKey,
        root: Option<[u8; 32]>,
        runs: &[(u64, u64)],
    ) {
        let manifest = root.and_then(|root| storage.manifest(&root));
        let checked = manifest.map_or(u64::MAX, |manifest| manifest.group(0).1.max(1));
        let receiver = session.receiver();
        let mut pieces = Vec::new();
        for (offset, len) in runs {
            let end = offset.saturating_add(*len);
            let mut at = *offset;
            while at < end && pieces.len() < PIECES_MAX {
                let size = checked.min(end - at);
                let symbols = receiver.symbols_of(key, at, size).into_iter();
                let chunk = |(block, range): (u32, std::ops::Range<u16>)| Chunk {
                    block,
                    from: range.start,
                    to: range.end,
                };
                pieces.push(symbols.map(chunk).collect());
                at += size;
            }
        }
        if self.wrong.len() < TOLD_MAX {
            self.wrong.push_back(Wrong { key, pieces });
        }
    }

    /// What proved wrong, once.
    pub(crate) fn take_wrong(&mut self) -> Option<Wrong> {
        self.wrong.pop_front()
    }
}

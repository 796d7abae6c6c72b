//! What of a stream can be written, sent and repaired: the blocks in its ring.

use super::packer::Packer;
use crate::{
    storage::{ObjectKey, Storage, StorageError},
    stream::{NewStream, StreamFlush, StreamPolicy, layout},
    time::{Duration, Time},
};
use alloc::collections::{BTreeMap, VecDeque};
use fanfare_wire::{STREAM_HEADER, StreamSymbol};

/// Nobody is waited for longer because of late requests.
const LATE_MAX: Duration = Duration::from_millis(250);
/// Without a later request, half of it is forgotten after so long.
const LATE_FORGOTTEN: Duration = Duration::from_secs(2);

/// A stream that is being sent.
#[derive(Debug)]
pub(in crate::sender) struct SendStream {
    key: ObjectKey,
    /// Source symbols of a block, and bytes of a slot.
    pub(in crate::sender) block_len: u16,
    slot: u16,
    /// Blocks that the ring has: twice what is promised to be repairable, as in NRL's code.
    blocks: u32,
    /// Bytes of content that EXT_FTI promises to be repairable.
    pub(in crate::sender) promised: u64,
    pub(in crate::sender) policy: StreamPolicy,
    pub(in crate::sender) packer: Packer,
    /// Symbols that may be sent.
    pub(in crate::sender) written: u64,
    /// The lowest block that is kept.
    pub(in crate::sender) low: u32,
    /// When each block from `low` on was last sent or asked for.
    touched: VecDeque<Time>,
    /// Symbols shorter than a slot, and their lengths.
    short: BTreeMap<u64, u16>,
    /// All receivers that count have the symbols below, and the bytes in them.
    released: (u64, u64),
    /// Watermarks: symbols and bytes before them.
    marks: VecDeque<(u64, u64)>,
    /// How late requests come after a block was sent or requested last, and since when.
    late: (Duration, Time),
    /// A write found no room.
    pub(in crate::sender) refused: bool,
    /// What was flushed last is to be told at once.
    pub(in crate::sender) hurried: bool,
    /// It has its end.
    pub(in crate::sender) ended: bool,
}

/// What an object knows of itself that decides what may give way.
#[derive(Debug, Clone, Copy)]
pub(in crate::sender) struct Standing {
    /// The block that is sent next.
    pub(in crate::sender) cursor: u32,
    /// The lowest block with repairs to be sent.
    pub(in crate::sender) repair: Option<u32>,
}

impl SendStream {
    /// Makes room in the store.
    ///
    /// # Errors
    /// What the store says.
    pub(in crate::sender) fn open(
        storage: &mut dyn Storage,
        key: ObjectKey,
        stream: &NewStream,
        (segment, block_len, space): (u16, u16, u64),
    ) -> Result<Self, StorageError> {
        let slot = segment.checked_add(STREAM_HEADER as u16).ok_or(StorageError::Refused)?;
        // Numbers are compared within half of their space.
        let window = layout::window(stream.buffer, segment, block_len).min(space / 2 - 1);
        let blocks = u32::try_from(window * 2).map_err(|_| StorageError::Refused)?;
        storage.open_ring(key, usize::from(slot), u64::from(blocks) * u64::from(block_len))?;
        Ok(Self {
            key,
            block_len,
            slot,
            blocks,
            promised: window * u64::from(segment) * u64::from(block_len),
            policy: stream.policy,
            packer: Packer::new(segment),
            written: 0,
            low: 0,
            touched: VecDeque::new(),
            short: BTreeMap::new(),
            released: (0, 0),
            marks: VecDeque::new(),
            late: (Duration::ZERO, Time::ZERO),
            refused: false,
            hurried: false,
            ended: false,
        })
    }

    pub(in crate::sender) fn index(&self, block: u32, symbol: u16) -> u64 {
        u64::from(block) * u64::from(self.block_len) + u64::from(symbol.min(self.block_len))
    }

    /// Bytes of a source symbol on the wire.
    pub(in crate::sender) fn len_of(&self, index: u64) -> usize {
        usize::from(self.short.get(&index).copied().unwrap_or(self.slot))
    }

    /// How many symbols from `index` on are full, of `most`.
    pub(in crate::sender) fn full_from(&self, index: u64, most: u16) -> u16 {
        let end = self.written.min(index + u64::from(most));
        let short = self.short.range(index..end).next().map_or(end, |(at, _)| *at);
        short.saturating_sub(index) as u16
    }

    /// Whether the symbol under way has a place, as far as is known.
    fn has_place(&self) -> bool {
        self.written / u64::from(self.block_len) < u64::from(self.low) + u64::from(self.blocks)
    }

    /// Symbols that have a place, the one under way among them.
    pub(in crate::sender) fn vacancy(&self) -> u64 {
        let end = (u64::from(self.low) + u64::from(self.blocks)) * u64::from(self.block_len);
        end.saturating_sub(self.written)
    }

    /// How long the lowest block is left alone: as long as `quiet`, and twice as long as requests have
    /// taken lately. A receiver on a busy machine asks late however short the round trip is.
    fn patience(&self, quiet: Duration) -> Duration {
        quiet.max(self.late.0.saturating_mul(2))
    }

    /// Something of `block` is requested.
    pub(in crate::sender) fn on_request(&mut self, now: Time, block: u32) {
        let at = block.checked_sub(self.low).and_then(|at| self.touched.get(at as usize));
        if let Some(age) = at.map(|at| now.since(*at)) {
            self.be_late(now, age);
        }
    }

    /// Something is requested that is gone: whoever asks took longer than `quiet`.
    pub(in crate::sender) fn on_late_request(&mut self, now: Time, quiet: Duration) {
        self.be_late(now, self.patience(quiet));
    }

    fn be_late(&mut self, now: Time, age: Duration) {
        if age >= self.late.0 {
            self.late = (age.min(LATE_MAX), now);
        }
    }

    /// When the lowest block may give way, if time alone stands against it.
    fn free_from(&self, standing: Standing, quiet: Duration) -> Option<Time> {
        let busy = standing.repair == Some(self.low) || standing.cursor <= self.low;
        let end = (u64::from(self.low) + 1) * u64::from(self.block_len);
        match self.policy {
            StreamPolicy::Live => Some(Time::ZERO),
            _ if self.released.0 >= end => Some(Time::ZERO),
            StreamPolicy::Lossless => None,
            StreamPolicy::Repaired if busy => None,
            StreamPolicy::Repaired => {
                let patience = self.patience(quiet);
                Some(self.touched.front().map_or(Time::ZERO, |at| *at + patience))
            }
        }
    }

    /// When a refused write may be tried again.
    pub(in crate::sender) fn writable_at(
        &self,
        standing: Standing,
        quiet: Duration,
    ) -> Option<Time> {
        match (self.refused, self.has_place()) {
            (false, _) => None,
            (true, true) => Some(Time::ZERO),
            (true, false) => self.free_from(standing, quiet),
        }
    }

    /// Makes a place for the symbol under way if one may be made. `quiet`: how long the lowest block
    /// must have been left alone. True when there is one; the lowest block may have gone for it.
    pub(in crate::sender) fn make_place(
        &mut self,
        now: Time,
        standing: Standing,
        quiet: Duration,
    ) -> bool {
        if self.late.0 > Duration::ZERO && now.since(self.late.1) > LATE_FORGOTTEN {
            self.late = (self.late.0 / 2, now);
        }
        while !self.has_place() {
            if self.free_from(standing, quiet).is_none_or(|at| now < at) {
                return false;
            }
            self.drop_lowest();
        }
        true
    }

    fn drop_lowest(&mut self) {
        self.low += 1;
        self.touched.pop_front();
        let below = u64::from(self.low) * u64::from(self.block_len);
        self.short = self.short.split_off(&below);
    }

    /// Blocks before the last `keep` symbols go.
    pub(in crate::sender) fn expire(&mut self, keep: u64) {
        let first = self.written.saturating_sub(keep) / u64::from(self.block_len);
        while u64::from(self.low) < first {
            self.drop_lowest();
        }
    }

    /// Something of `block` was sent, or asked for.
    pub(in crate::sender) fn touch(&mut self, now: Time, block: u32) {
        let Some(at) = block.checked_sub(self.low).map(|at| at as usize) else { return };
        if at >= self.blocks as usize {
            return;
        }
        if self.touched.len() <= at {
            self.touched.resize(at + 1, now);
        }
        self.touched[at] = now;
    }

    /// Takes bytes as far as the symbol under way goes, which has a place.
    ///
    /// # Errors
    /// What the store says.
    pub(in crate::sender) fn take(
        &mut self,
        storage: &mut dyn Storage,
        bytes: &[u8],
    ) -> Result<usize, StorageError> {
        let segment = usize::from(self.slot) - STREAM_HEADER;
        if let Some(header) = self.packer.pass(bytes) {
            let at = self.written * u64::from(self.slot);
            storage.write(self.key, at, &header)?;
            storage.write(self.key, at + STREAM_HEADER as u64, &bytes[..segment])?;
            self.written += 1;
            return Ok(segment);
        }
        let count = self.packer.take(bytes);
        if self.packer.is_full() {
            self.store(storage)?;
        }
        Ok(count)
    }

    /// The symbol under way may be sent.
    fn store(&mut self, storage: &mut dyn Storage) -> Result<(), StorageError> {
        let at = self.written * u64::from(self.slot);
        let (symbol, len) = self.packer.end();
        storage.write(self.key, at, symbol)?;
        self.packer.begin();
        if len < usize::from(self.slot) {
            self.short.insert(self.written, len as u16);
        }
        self.written += 1;
        Ok(())
    }

    /// The symbol under way may be sent, though it is short.
    ///
    /// # Errors
    /// What the store says.
    pub(in crate::sender) fn flush(
        &mut self,
        storage: &mut dyn Storage,
        how: StreamFlush,
    ) -> Result<(), StorageError> {
        self.hurried = how == StreamFlush::Active;
        if self.packer.is_empty() { Ok(()) } else { self.store(storage) }
    }

    /// Ends it, where there is a place for the end.
    ///
    /// # Errors
    /// What the store says.
    pub(in crate::sender) fn end(&mut self, storage: &mut dyn Storage) -> Result<(), StorageError> {
        let mut symbol = alloc::vec![0; usize::from(self.slot)];
        let end = StreamSymbol::end(self.packer.written() as u32);
        symbol[..STREAM_HEADER].copy_from_slice(&end);
        storage.write(self.key, self.written * u64::from(self.slot), &symbol)?;
        self.short.insert(self.written, STREAM_HEADER as u16);
        self.written += 1;
        (self.ended, self.hurried) = (true, true);
        Ok(())
    }

    /// A watermark is set at the last symbol that may be sent.
    pub(in crate::sender) fn mark(&mut self) {
        self.marks.push_back((self.written, self.packer.packed()));
    }

    /// All that count have the symbols below `until`.
    pub(in crate::sender) fn release(&mut self, until: u64) {
        while let Some(mark) = self.marks.front().copied().filter(|mark| mark.0 <= until) {
            self.released = self.released.max(mark);
            self.marks.pop_front();
        }
    }

    /// Bytes that all that count are known to have.
    pub(in crate::sender) fn released(&self) -> u64 {
        self.released.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::MemoryStorage;
    use fanfare_wire::{InstanceId, NodeId, ObjectTransportId};

    const KEY: ObjectKey =
        ObjectKey { sender: NodeId(1), instance: InstanceId(1), object: ObjectTransportId(0) };
    const QUIET: Duration = Duration::from_millis(20);

    fn stream(policy: StreamPolicy) -> (SendStream, MemoryStorage) {
        let mut storage = MemoryStorage::new(1 << 20);
        let new = NewStream { buffer: 160, policy, ..NewStream::default() };
        let stream = SendStream::open(&mut storage, KEY, &new, (10, 4, 1 << 24)).unwrap();
        (stream, storage)
    }

    /// Writes until nothing more is taken; returns how much was.
    fn fill(
        stream: &mut SendStream,
        storage: &mut MemoryStorage,
        now: Time,
        standing: Standing,
    ) -> usize {
        let mut taken = 0;
        while taken < 5000 && stream.make_place(now, standing, QUIET) {
            taken += stream.take(storage, &[7; 1000]).unwrap();
        }
        taken
    }

    const NOT_SENT: Standing = Standing { cursor: 0, repair: None };

    #[test]
    fn a_stream_that_is_not_sent_takes_twice_what_it_promises_to_repair() {
        for policy in [StreamPolicy::Lossless, StreamPolicy::Repaired] {
            let (mut stream, mut storage) = stream(policy);
            assert_eq!(stream.vacancy(), 8 * 4);
            assert_eq!(fill(&mut stream, &mut storage, Time::ZERO, NOT_SENT), 320);
            assert_eq!((stream.written, stream.vacancy(), stream.promised), (32, 0, 160));
        }
    }

    #[test]
    fn what_was_sent_gives_way_when_it_has_been_left_alone_for_long_enough() {
        let (mut stream, mut storage) = stream(StreamPolicy::Repaired);
        fill(&mut stream, &mut storage, Time::ZERO, NOT_SENT);
        (0..8).for_each(|block| stream.touch(Time::ZERO, block));
        let sent = Standing { cursor: 3, repair: None };
        assert_eq!(fill(&mut stream, &mut storage, Time::ZERO, sent), 0);
        stream.refused = true;
        assert_eq!(stream.writable_at(sent, QUIET), Some(Time::ZERO + QUIET));
        let asked = Standing { cursor: 3, repair: Some(0) };
        assert_eq!(stream.writable_at(asked, QUIET), None);
        stream.touch(Time::ZERO + QUIET, 1);
        assert_eq!(fill(&mut stream, &mut storage, Time::ZERO + QUIET, sent), 40);
        assert_eq!((stream.low, stream.len_of(33)), (1, 18));
    }

    #[test]
    fn lossless_bytes_give_way_only_to_word_of_their_delivery() {
        let (mut stream, mut storage) = stream(StreamPolicy::Lossless);
        fill(&mut stream, &mut storage, Time::ZERO, NOT_SENT);
        stream.mark();
        let sent = Standing { cursor: 8, repair: None };
        let late = Time::ZERO + Duration::from_secs(100);
        assert_eq!(fill(&mut stream, &mut storage, late, sent), 0);
        stream.release(31);
        assert_eq!((stream.released(), fill(&mut stream, &mut storage, late, sent)), (0, 0));
        stream.release(32);
        assert_eq!((stream.released(), fill(&mut stream, &mut storage, late, sent)), (320, 320));
    }

    #[test]
    fn where_requests_come_late_blocks_are_left_alone_for_longer() {
        let (mut stream, mut storage) = stream(StreamPolicy::Repaired);
        fill(&mut stream, &mut storage, Time::ZERO, NOT_SENT);
        (0..8).for_each(|block| stream.touch(Time::ZERO, block));
        let (sent, late) = (Standing { cursor: 8, repair: None }, Duration::from_millis(50));
        stream.on_request(Time::ZERO + late, 3);
        stream.refused = true;
        assert_eq!(stream.writable_at(sent, QUIET), Some(Time::ZERO + late * 2));
        stream.on_late_request(Time::ZERO + late, QUIET);
        assert_eq!(stream.writable_at(sent, QUIET), Some(Time::ZERO + late * 4));
        let long_after = Time::ZERO + Duration::from_secs(60);
        stream.make_place(long_after, NOT_SENT, QUIET);
        assert_eq!(stream.writable_at(sent, QUIET), Some(Time::ZERO + late * 2));
    }

    #[test]
    fn a_live_stream_takes_everything() {
        let (mut stream, mut storage) = stream(StreamPolicy::Live);
        assert_eq!(fill(&mut stream, &mut storage, Time::ZERO, NOT_SENT), 5000);
        assert_eq!(stream.low, 125 - 8);
    }

    #[test]
    fn a_flushed_symbol_is_short_and_the_one_behind_it_is_full() {
        let (mut stream, mut storage) = stream(StreamPolicy::Repaired);
        stream.take(&mut storage, b"abc").unwrap();
        stream.flush(&mut storage, StreamFlush::Passive).unwrap();
        stream.take(&mut storage, &[1; 10]).unwrap();
        stream.end(&mut storage).unwrap();
        assert_eq!((0..3).map(|n| stream.len_of(n)).collect::<alloc::vec::Vec<_>>(), [11, 18, 8]);
        assert_eq!((stream.full_from(1, 9), stream.full_from(2, 9)), (1, 0));
    }
}

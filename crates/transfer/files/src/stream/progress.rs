//! One stream at a receiver: pieces put in order, checked and written.

use std::collections::BTreeMap;

use crate::content::{
    placed::Placed,
    receipt::Reason,
    stream::piece::{End, Piece},
};
use fanfare_node::disk::placement::Conflict;
use fanfare_proto::ObjectKey;

use super::target::{Sink, Unfinished, Whole};

/// Pieces that may wait for an earlier one. A sender has no more under way: what lacks then was sent
/// before this receiver was there.
const WAITING_MAX: usize = 256;
/// Zeros hashed at once.
const ZEROS: [u8; 16 << 10] = [0; 16 << 10];

/// A piece as it has come.
#[derive(Debug)]
pub(crate) struct Arrived {
    pub(crate) key: ObjectKey,
    pub(crate) piece: Piece,
    pub(crate) root: [u8; 32],
    pub(crate) bytes: Vec<u8>,
    /// They were found in their place, and did not travel.
    pub(crate) there: bool,
    pub(crate) conflict: Conflict,
}

/// What became of a piece.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) key: ObjectKey,
    /// With the last piece comes what the stream has become.
    pub(crate) result: Result<Option<Placed>, Reason>,
    /// Bytes needed and bytes free, where the target is too small.
    pub(crate) shortage: Option<SpaceShortage>,
}

impl Written {
    pub(crate) fn failed(key: ObjectKey, reason: Reason) -> Self {
        Self { key, result: Err(reason), shortage: None }
    }
}

/// A stream that does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SpaceShortage {
    /// Bytes of the stream.
    pub(crate) needed: u64,
    /// Bytes that the target takes.
    pub(crate) room: u64,
}

/// A stream that is coming.
#[derive(Debug)]
pub(crate) struct Progress {
    sink: Sink,
    /// The number of the piece that is written next, and where what was written ends.
    next: u64,
    at: u64,
    hasher: blake3::Hasher,
    waiting: BTreeMap<u64, Arrived>,
    name: String,
    failed: Option<Reason>,
    is_whole: bool,
    /// Something was looked for in its place: what is there stays.
    is_examined: bool,
}

impl Progress {
    pub(crate) fn new(sink: Sink) -> Self {
        Self {
            sink,
            next: 0,
            at: 0,
            hasher: blake3::Hasher::new(),
            waiting: BTreeMap::new(),
            name: String::new(),
            failed: None,
            is_whole: false,
            is_examined: false,
        }
    }

    /// The bytes of a piece that travel, if they are in their place already.
    pub(crate) fn find(&mut self, piece: &Piece, root: &[u8; 32]) -> Option<Vec<u8>> {
        self.is_examined = true;
        if self.failed.is_some() || !self.sink.may_hold() {
            return None;
        }
        let mut bytes = Vec::new();
        for run in piece.runs().filter(|run| !run.zeros) {
            let start = bytes.len();
            bytes.resize(start + run.len as usize, 0);
            if !self.sink.read(run.offset, &mut bytes[start..]) {
                return None;
            }
        }
        (*blake3::hash(&bytes).as_bytes() == *root).then_some(bytes)
    }

    /// A piece has come. Tells what became of it, and of those that have waited for it.
    pub(crate) fn accept(&mut self, arrived: Arrived, tell: &mut dyn FnMut(Written)) {
        let Arrived { key, .. } = arrived;
        if arrived.piece.number < self.next {
            return tell(Written::failed(key, Reason::Refused));
        }
        if let Some(twice) = self.waiting.insert(arrived.piece.number, arrived) {
            tell(Written::failed(twice.key, Reason::Refused));
        }
        while self.failed.is_none()
            && let Some(arrived) = self.waiting.remove(&self.next)
        {
            let shortage = self.shortage(&arrived.piece);
            let result = match shortage {
                Some(_) => Err(Reason::DiskFull),
                None => self.write(&arrived),
            };
            self.next += 1;
            if let Err(reason) = result {
                self.fail(reason);
            }
            tell(Written { key: arrived.key, result, shortage });
        }
        if self.waiting.len() >= WAITING_MAX {
            self.fail(Reason::Aborted);
        }
        self.refuse_waiting(tell);
    }

    /// No more of it comes. Tells those that have waited for an earlier piece.
    pub(crate) fn give_up(mut self, tell: &mut dyn FnMut(Written)) {
        if !self.is_whole {
            self.fail(Reason::Aborted);
            self.refuse_waiting(tell);
        }
    }

    fn refuse_waiting(&mut self, tell: &mut dyn FnMut(Written)) {
        if let Some(reason) = self.failed {
            for (_, arrived) in std::mem::take(&mut self.waiting) {
                tell(Written::failed(arrived.key, reason));
            }
        }
    }

    fn fail(&mut self, reason: Reason) {
        self.failed.get_or_insert(reason);
        self.sink.abandon();
    }

    /// The sender has said how much comes, or this piece itself lies beyond the end: nothing that does not
    /// fit is begun, and what was there before stays.
    fn shortage(&self, piece: &Piece) -> Option<SpaceShortage> {
        if self.next > 0 {
            return None;
        }
        let ends = piece.end.map_or(piece.offset.saturating_add(piece.len), |end| end.total);
        let needed = piece.size.unwrap_or(0).max(ends);
        let room = self.sink.room().filter(|room| needed > *room)?;
        Some(SpaceShortage { needed, room })
    }

    fn write(&mut self, arrived: &Arrived) -> Result<Option<Placed>, Reason> {
        let Arrived { piece, root, bytes, there, conflict, .. } = arrived;
        let io = |error: &std::io::Error| Reason::of_disk(error);
        if *blake3::hash(bytes).as_bytes() != *root || piece.offset < self.at {
            return Err(Reason::HashMismatch);
        }
        if let Some(name) = &piece.name {
            self.name.clone_from(name);
        }
        if self.next == 0 {
            self.sink.begin(self.is_examined).map_err(|error| io(&error))?;
        }
        self.fill_to(piece.offset)?;
        let mut rest = &bytes[..];
        for run in piece.runs() {
            if run.zeros {
                self.fill_to(run.offset + run.len)?;
                continue;
            }
            let (now, later) =
                rest.split_at_checked(run.len as usize).ok_or(Reason::HashMismatch)?;
            if !there {
                self.sink.write(run.offset, now).map_err(|error| io(&error))?;
            }
            self.hasher.update(now);
            self.at += run.len;
            rest = later;
        }
        match &piece.end {
            Some(end) => self.end(*end, *conflict).map(Some),
            None => Ok(None),
        }
    }

    /// Zeros up to there.
    fn fill_to(&mut self, offset: u64) -> Result<(), Reason> {
        let len = offset - self.at;
        if len == 0 {
            return Ok(());
        }
        self.sink.write_zeros(self.at, len).map_err(|error| Reason::of_disk(&error))?;
        let mut left = len;
        while left > 0 {
            let now = left.min(ZEROS.len() as u64);
            self.hasher.update(&ZEROS[..now as usize]);
            left -= now;
        }
        self.at = offset;
        Ok(())
    }

    fn end(&mut self, end: End, conflict: Conflict) -> Result<Placed, Reason> {
        self.fill_to(end.total.max(self.at))?;
        let hash = *self.hasher.finalize().as_bytes();
        if (self.at, hash) != (end.total, end.hash) {
            return Err(Reason::HashMismatch);
        }
        let whole = Whole { name: &self.name, size: end.total, hash, conflict };
        let placed = self.sink.finish(&whole).map_err(|why| match why {
            Unfinished::Io(error) => Reason::of_disk(&error),
            Unfinished::Differs => Reason::HashMismatch,
            Unfinished::Taken => Reason::Conflict,
        })?;
        self.is_whole = true;
        Ok(placed)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if !self.is_whole {
            self.sink.abandon();
        }
    }
}

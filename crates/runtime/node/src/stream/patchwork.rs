//! Finds messages in pieces of a stream that arrive in any order. Each is given as soon as all of it is
//! here; what comes before it is not waited for.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::framing::{Found, Framing, FramingError};

/// The pieces.
#[derive(Debug)]
pub(super) struct Patchwork {
    framing: Framing,
    /// Longest message.
    max: u64,
    /// Most bytes kept. What a stream's ring holds is less; a sender that says impossible positions
    /// must not take more.
    room: usize,
    /// Bytes that belong to no message given yet, by position; none touch or overlap.
    pieces: BTreeMap<u64, Vec<u8>>,
    held: usize,
    /// Positions where a message begins.
    heads: BTreeSet<u64>,
    /// Bytes taken before their turn, by position, that reading in order has yet to come to: from and to.
    seen: BTreeMap<u64, u64>,
    /// Reading in order has come so far.
    base: u64,
    begun: bool,
    /// Something was lost since the last message.
    gap: bool,
    /// Whole messages that were found and not given yet.
    found: VecDeque<Result<Found, FramingError>>,
}

impl Patchwork {
    pub(super) fn new(framing: Framing, max: usize, room: usize) -> Self {
        Self {
            framing,
            max: max as u64,
            room,
            pieces: BTreeMap::new(),
            held: 0,
            heads: BTreeSet::new(),
            seen: BTreeMap::new(),
            base: 0,
            begun: false,
            gap: false,
            found: VecDeque::new(),
        }
    }

    pub(super) fn set_framing(&mut self, framing: Framing) {
        self.framing = framing;
        let starts: Vec<u64> = self.pieces.keys().copied().collect();
        starts.into_iter().for_each(|start| self.find(start));
    }

    pub(super) fn framing(&self) -> Framing {
        self.framing
    }

    /// Bytes in order.
    pub(super) fn take(&mut self, bytes: &[u8], offset: u64, msg_start: Option<usize>) {
        if !std::mem::replace(&mut self.begun, true) && offset > 0 {
            self.gap = true;
        }
        let end = offset + bytes.len() as u64;
        self.mark(offset, msg_start);
        self.base = self.base.max(end);
        let mut at = offset;
        while at < end {
            let next = self.seen.range(..=at).next_back().filter(|(_, to)| **to > at);
            if let Some((_, to)) = next {
                at = *to;
                continue;
            }
            let until = self.seen.range(at..).next().map_or(end, |(from, _)| end.min(*from));
            self.put(at, &bytes[(at - offset) as usize..(until - offset) as usize]);
            at = until;
        }
        self.pass(end);
    }

    /// Bytes before their turn.
    pub(super) fn take_early(&mut self, bytes: &[u8], offset: u64, msg_start: Option<usize>) {
        let end = offset + bytes.len() as u64;
        // A position that was taken already is a lie of the sender's.
        let taken = |(from, to): (&u64, &u64)| *from < end && *to > offset;
        if offset < self.base
            || self.held + bytes.len() > self.room
            || self.seen.range(..end).next_back().is_some_and(taken)
        {
            return;
        }
        self.mark(offset, msg_start);
        self.seen.insert(offset, end);
        self.put(offset, bytes);
    }

    /// What is missing up to here will not come.
    pub(super) fn lose(&mut self, to: u64) {
        self.gap = true;
        self.pass(to);
    }

    /// The next whole message.
    pub(super) fn next(&mut self) -> Result<Option<Found>, FramingError> {
        self.found.pop_front().transpose()
    }

    fn mark(&mut self, offset: u64, msg_start: Option<usize>) {
        if offset == 0 && self.base == 0 {
            self.heads.insert(0);
        }
        self.heads.extend(msg_start.map(|at| offset + at as u64));
    }

    /// Joins bytes to what they touch, and looks for messages there.
    fn put(&mut self, offset: u64, bytes: &[u8]) {
        let before = self.pieces.range(..offset).next_back();
        let before = before.filter(|(start, piece)| *start + piece.len() as u64 == offset);
        let start = before.map_or(offset, |(start, _)| *start);
        let piece = self.pieces.entry(start).or_default();
        piece.extend_from_slice(bytes);
        self.held += bytes.len();
        let end = start + piece.len() as u64;
        if let Some(behind) = self.pieces.remove(&end)
            && let Some(piece) = self.pieces.get_mut(&start)
        {
            piece.extend_from_slice(&behind);
        }
        self.find(start);
    }

    /// Takes the whole messages out of a piece.
    fn find(&mut self, start: u64) {
        if self.framing == Framing::Raw {
            return;
        }
        let Some(mut piece) = self.pieces.remove(&start) else { return };
        self.held -= piece.len();
        let end = start + piece.len() as u64;
        // What lies before `from` is kept, and what lies behind it is looked at.
        let (mut from, mut search) = (start, start);
        while let Some(head) = self.heads.range(search..end).next().copied() {
            search = head + 1;
            match self.read(&piece[(head - from) as usize..]) {
                Ok(None) => {}
                Ok(Some((skip, length, whole))) => {
                    let rest = piece.split_off((head - from) as usize);
                    self.keep(from, piece);
                    let bytes = rest[skip..skip + length].to_vec();
                    let (gap_before, early) = (std::mem::take(&mut self.gap), head > self.base);
                    self.found.push_back(Ok(Found { bytes, offset: head, gap_before, early }));
                    self.heads.remove(&head);
                    from = head + whole as u64;
                    self.heads.insert(from);
                    (search, piece) = (from, rest[whole..].to_vec());
                }
                Err(error) => {
                    self.heads.remove(&head);
                    self.gap = true;
                    self.found.push_back(Err(error));
                }
            }
        }
        self.keep(from, piece);
    }

    fn keep(&mut self, start: u64, piece: Vec<u8>) {
        if !piece.is_empty() {
            self.held += piece.len();
            self.pieces.insert(start, piece);
        }
    }

    /// The message at the front: what is before it, its length, the length of all.
    fn read(&self, bytes: &[u8]) -> Result<Option<(usize, usize, usize)>, FramingError> {
        let Some(read) = self.framing.read(bytes, self.max)? else { return Ok(None) };
        let whole = read.head + read.length + read.tail;
        Ok((bytes.len() >= whole).then_some((read.head, read.length, whole)))
    }

    /// Reading in order has come so far: what cannot become whole any more goes.
    fn pass(&mut self, to: u64) {
        self.base = self.base.max(to);
        let base = self.base;
        while let Some(entry) = self.seen.first_entry().filter(|seen| *seen.get() <= base) {
            entry.remove();
        }
        let old: Vec<u64> = self.pieces.range(..base).map(|(start, _)| *start).collect();
        for start in old {
            let Some(mut piece) = self.pieces.remove(&start) else { continue };
            self.held -= piece.len();
            let end = start + piece.len() as u64;
            if end < base {
                continue;
            }
            let head = self.heads.range(start..end).next().map_or(base, |head| base.min(*head));
            self.keep(head, piece.split_off((head - start) as usize));
        }
        let first = self.pieces.keys().next().map_or(base, |start| base.min(*start));
        self.heads = self.heads.split_off(&first);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::framing::tests::framed;
    use fanfare_proto::rng::Rng;

    fn all(patchwork: &mut Patchwork) -> Vec<Vec<u8>> {
        std::iter::from_fn(|| patchwork.next().unwrap().map(|found| found.bytes)).collect()
    }

    #[test]
    fn a_message_behind_a_hole_is_given_before_the_one_in_it_and_each_once() {
        let framing = Framing::Varint;
        let bytes = framed(framing, &[b"one", b"two", b"three"]);
        let mut patchwork = Patchwork::new(framing, 100, 1000);
        patchwork.take(&bytes[..4], 0, Some(0));
        assert_eq!(all(&mut patchwork), [b"one"]);
        patchwork.take_early(&bytes[6..], 6, Some(2));
        let early = patchwork.next().unwrap().unwrap();
        assert_eq!((&early.bytes[..], early.early, early.offset), (&b"three"[..], true, 8));
        patchwork.take(&bytes[4..], 4, Some(0));
        assert_eq!(all(&mut patchwork), [b"two"]);
        assert_eq!((patchwork.held, patchwork.pieces.len()), (0, 0));
    }

    #[test]
    fn what_is_lost_is_told_with_the_next_message_and_leaves_nothing_behind() {
        let framing = Framing::Varint;
        let bytes = framed(framing, &[b"one", b"two", b"three"]);
        let mut patchwork = Patchwork::new(framing, 100, 1000);
        patchwork.take(&bytes[..6], 0, Some(0));
        assert_eq!(all(&mut patchwork), [b"one"]);
        patchwork.lose(8);
        patchwork.take(&bytes[8..], 8, Some(0));
        let found = patchwork.next().unwrap().unwrap();
        assert_eq!((&found.bytes[..], found.gap_before), (&b"three"[..], true));
        assert_eq!((patchwork.held, patchwork.pieces.len()), (0, 0));
    }

    /// Cuts a stream of messages into symbols, delivers them in a wild order and then all in order, as
    /// a session does, with some of them lost.
    fn run(seed: u64, framing: Framing, lossy: bool) {
        let mut rng = Rng::new(seed);
        let mut below = |limit: u64| rng.next_u64() % limit;
        let messages: Vec<Vec<u8>> = (0..60)
            .map(|n| vec![b'a' + n as u8 % 26; below([4, 30, 200][n % 3]) as usize])
            .collect();
        let (mut bytes, mut starts) = (Vec::new(), Vec::new());
        for message in &messages {
            starts.push(bytes.len());
            bytes.extend(framed(framing, &[message]));
        }
        let mut symbols = Vec::new();
        let mut at = 0;
        while at < bytes.len() {
            let end = bytes.len().min(at + 1 + below(40) as usize);
            let mark = starts.iter().find(|start| (at..end).contains(*start)).map(|s| s - at);
            symbols.push((at, end, mark, lossy && below(8) == 0));
            at = end;
        }
        let mut patchwork = Patchwork::new(framing, 1 << 20, 1 << 20);
        let (mut got, mut early) = (Vec::new(), vec![false; symbols.len()]);
        let mut next = 0;
        while next < symbols.len() {
            let window = (symbols.len() - next).min(20);
            let ahead = next + below(window as u64) as usize;
            let (from, to, mark, lost) = symbols[ahead];
            if below(3) > 0 && ahead > next && !early[ahead] && !lost {
                early[ahead] = true;
                patchwork.take_early(&bytes[from..to], from as u64, mark);
            } else {
                let (from, to, mark, lost) = symbols[next];
                match lost {
                    true => patchwork.lose(to as u64),
                    false => patchwork.take(&bytes[from..to], from as u64, mark),
                }
                next += 1;
            }
            while let Some(found) = patchwork.next().unwrap() {
                got.push(found.offset as usize);
                let number = starts.iter().position(|start| *start == found.offset as usize);
                assert!(found.bytes == messages[number.unwrap()], "seed {seed}");
            }
        }
        let all = got.len();
        got.sort_unstable();
        got.dedup();
        assert_eq!(all, got.len(), "seed {seed}: one came twice");
        assert!(patchwork.held == 0 || lossy, "seed {seed}: {} bytes are left", patchwork.held);
        let whole = |start: &usize| {
            let end = starts.iter().find(|other| *other > start).copied().unwrap_or(bytes.len());
            symbols.iter().all(|(from, to, _, lost)| !lost || *to <= *start || *from >= end)
        };
        if lossy {
            // Those whose symbols are here, but for those whose beginning nobody can know.
            assert!(got.iter().all(whole), "seed {seed}");
            assert!(got.len() * 2 > starts.iter().filter(|start| whole(start)).count(), "{seed}");
        } else {
            assert_eq!(got, starts, "seed {seed}");
        }
    }

    #[test]
    fn every_message_comes_once_whatever_the_order_of_its_pieces() {
        for seed in 0..300 {
            for framing in [Framing::U16, Framing::Varint, Framing::Line] {
                run(seed, framing, false);
                run(seed, framing, true);
            }
        }
    }

    #[test]
    fn positions_that_cannot_be_take_no_memory() {
        let mut patchwork = Patchwork::new(Framing::Varint, 100, 1000);
        for n in 0..1000 {
            patchwork.take_early(&[9; 9], 1 << (20 + n % 12), Some(0));
            patchwork.take_early(&[9; 10], (n + 1) * 1_000_000, None);
        }
        assert!(patchwork.held <= 1000);
        patchwork.take(&[3, 1, 2, 3], 0, Some(0));
        assert_eq!(all(&mut patchwork), [[1, 2, 3]]);
    }
}

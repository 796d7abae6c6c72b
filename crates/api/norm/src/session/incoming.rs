//! Streams that a program reads.

use fanfare_proto::{Nacking, ObjectKey, StreamRead, Time};

use super::in_stream::InStream;
use crate::{
    handle::Handle,
    instance::desk::{Desk, Event},
    kinds::{EventType, SyncPolicy},
};

use super::{Half, Session, settings::STREAM_WINDOWS};

/// What the next symbol of a stream is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Symbol,
    Gap,
    Nothing,
}

impl Session {
    /// Reads on: how many bytes, or `None` for a break.
    pub(crate) fn read_stream(
        &mut self,
        now: Time,
        desk: &mut Desk,
        handle: Handle,
        into: &mut [u8],
    ) -> Option<usize> {
        let object = desk.objects.get_mut(handle)?;
        let (key, mut stream) = (object.key, object.incoming.take()?);
        let read = self.fill(now, key, &mut stream, into);
        self.give_back(now, desk, handle, stream);
        read
    }

    fn fill(
        &mut self,
        now: Time,
        key: ObjectKey,
        stream: &mut InStream,
        into: &mut [u8],
    ) -> Option<usize> {
        let mut count = 0;
        loop {
            if std::mem::take(&mut stream.gap) {
                return None;
            }
            if stream.rest().is_empty() {
                match self.next_symbol(now, key, stream) {
                    Next::Nothing => return Some(count),
                    Next::Gap if count == 0 => return None,
                    Next::Gap => {
                        stream.gap = true;
                        return Some(count);
                    }
                    Next::Symbol => {}
                }
                if std::mem::take(&mut stream.missed) {
                    return None;
                }
            }
            let part = stream.rest().len().min(into.len() - count);
            into[count..count + part].copy_from_slice(&stream.rest()[..part]);
            stream.pass(part);
            count += part;
            if count == into.len() {
                return Some(count);
            }
        }
    }

    /// Skips to the beginning of a message. False when none is here yet.
    pub(crate) fn seek_stream(&mut self, now: Time, desk: &mut Desk, handle: Handle) -> bool {
        let Some(object) = desk.objects.get_mut(handle) else { return false };
        let (key, Some(mut stream)) = (object.key, object.incoming.take()) else { return false };
        let found = loop {
            if let Some(start) = stream.start {
                stream.pass(start - stream.read);
                break true;
            }
            let rest = stream.rest().len();
            stream.pass(rest);
            match self.next_symbol(now, key, &mut stream) {
                Next::Nothing => break false,
                Next::Symbol | Next::Gap => {}
            }
        };
        if found {
            // Whoever has found a message does not care for what was before it.
            (stream.gap, stream.missed) = (false, false);
        }
        self.give_back(now, desk, handle, stream);
        found
    }

    /// Takes one symbol, where the one before was read.
    fn next_symbol(&mut self, now: Time, key: ObjectKey, stream: &mut InStream) -> Next {
        loop {
            stream.symbol.clear();
            (stream.read, stream.start) = (0, None);
            let Half { proto, store, .. } = &mut self.receiving;
            match proto.receiver().read_stream(now, key, 1, store, &mut stream.symbol) {
                StreamRead::Data { offset, msg_start, .. } => {
                    (stream.offset, stream.start) = (offset, msg_start);
                    let first = !std::mem::replace(&mut stream.begun, true);
                    stream.missed |=
                        first && offset > 0 && self.settings.sync != SyncPolicy::Current;
                    return Next::Symbol;
                }
                StreamRead::Gap { to, .. } => {
                    stream.offset = to;
                    return Next::Gap;
                }
                StreamRead::Empty if self.skip_if_late(key) => {}
                StreamRead::End { offset } => {
                    (stream.offset, stream.ended) = (offset, true);
                    return Next::Nothing;
                }
                StreamRead::Empty | StreamRead::Gone => return Next::Nothing,
            }
        }
    }

    /// Of what is missing and is not requested, something has come that is far enough behind it.
    fn skip_if_late(&mut self, key: ObjectKey) -> bool {
        let requests = !self.settings.silent && self.nacking_of(key) == Nacking::Normal;
        let Some(view) = self.receiving.proto.receiver().stream_view(key).filter(|_| !requests)
        else {
            return false;
        };
        // Half of what NRL keeps.
        let half = view.slots / u64::from(STREAM_WINDOWS);
        let patience = match self.settings.silent_delay.filter(|_| self.settings.silent) {
            Some(blocks) => (u64::from(blocks) * u64::from(view.block_len)).min(half),
            None => half,
        };
        view.ahead > patience && self.receiving.proto.receiver().skip_stream_gap(key)
    }

    /// Streams that nobody repairs go on by themselves; the program is told when one has.
    pub(super) fn pass_gaps(&mut self, desk: &mut Desk) {
        let requests = !self.settings.silent
            && self.settings.nacking == Nacking::Normal
            && self.own_nacking.is_empty();
        if requests {
            return;
        }
        let all: Vec<(ObjectKey, Handle)> =
            self.receiving.by_key.iter().map(|(k, h)| (*k, *h)).collect();
        for (key, handle) in all {
            let Some(object) = desk.objects.get(handle) else { continue };
            let (sender, waits) = (object.sender, object.incoming.is_some() && object.live);
            if waits && self.skip_if_late(key) {
                self.tell(desk, EventType::RxObjectUpdated, sender, handle);
            }
        }
    }

    fn give_back(&mut self, now: Time, desk: &mut Desk, handle: Handle, mut stream: Box<InStream>) {
        let Some(object) = desk.objects.get_mut(handle) else { return };
        let (key, sender) = (object.key, object.sender);
        let ended = std::mem::take(&mut stream.ended);
        object.size = object.size.max(stream.offset);
        object.incoming = Some(stream);
        if !ended || object.whole {
            return;
        }
        object.whole = true;
        let Half { proto, store, .. } = &mut self.receiving;
        proto.receiver().finish_stream(now, key, store);
        let kind = EventType::RxObjectCompleted;
        desk.post(Event { kind, session: self.handle, node: sender, object: handle });
        self.completed = self.completed.wrapping_add(1);
        desk.end_object(handle);
    }
}

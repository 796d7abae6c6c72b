//! Pieces of a stream: each is handed to the thread that writes, and confirmed when it is written.

use crate::content::{
    announcement::Piece, placed::Placed, receipt::Reason, stream::piece::PIECE_MAX,
};
use fanfare_node::Waker;
use fanfare_proto::{InstanceId, NodeId, ObjectKey, ObjectTransportId, Session, Time};

use super::{ReceiveJob, record::StreamState};
use crate::{
    event::{Outbox, ReceiveEvent, TransferEvent},
    file_storage::FileStorage,
    stream::writer::{Arrived, Destination, SpaceShortage, StreamWriter, Told, Written},
    verify::Origin,
};

impl ReceiveJob {
    /// Streams go there, and whoever writes them wakes the driver.
    pub(crate) fn write_streams(&mut self, destination: Destination, waker: Waker) {
        self.streams.may_hold = destination.may_hold();
        self.streams.destination = Some(destination);
        self.streams.waker = Some(waker);
    }

    /// Whether an object of so many bytes may be a piece of a stream that is in its place already.
    pub(super) fn may_find_piece(&self, size: u64) -> bool {
        self.streams.may_hold && (1..=PIECE_MAX as u64).contains(&size)
    }

    /// A piece is announced.
    pub(super) fn on_piece(
        &mut self,
        now: Time,
        session: &mut Session,
        storage: &mut FileStorage,
        key: ObjectKey,
        out: &mut Outbox,
    ) {
        let may_hold = self.streams.may_hold;
        let record = self.record_of(key);
        let Some(object) = record.open.get(&key) else { return };
        let Some((piece, root)) = object.as_piece() else { return };
        let on_demand = object.details().is_some_and(|details| details.on_demand == Some(true));
        let find = may_hold && on_demand && object.size > 0 && !object.verifying;
        let wanted = find.then(|| (piece.clone(), root));
        if wanted.is_none() {
            self.stop_examining(now, session, key);
        }
        let record = self.record_of(key);
        let Some(object) = record.open.get(&key) else { return };
        let Some((piece, _)) = object.as_piece() else { return };
        if !piece.is_sound(object.size) {
            session.receiver().cancel(key, storage);
            return self.fail(now, session, storage, key, Reason::Refused, out);
        }
        let name = piece.name.clone();
        match record.stream {
            None => {
                record.stream = Some(StreamState::Coming);
                let name = name.map(|name| name.replace(char::is_control, "?"));
                out.push(TransferEvent::Receive(ReceiveEvent::Object { key, name, size: 0 }));
                self.update_status(session, key, false);
            }
            Some(StreamState::Failed) => return self.drop_piece(session, storage, key, true),
            Some(StreamState::Coming | StreamState::Whole) => {}
        }
        if let Some((piece, root)) = wanted {
            self.find_piece(now, session, key, (piece, root));
        }
    }

    /// Nothing of a piece is asked for until it is known whether it is there.
    fn find_piece(
        &mut self,
        now: Time,
        session: &mut Session,
        key: ObjectKey,
        (piece, root): (Piece, [u8; 32]),
    ) {
        let Some(object) = self.record_of(key).open.get_mut(&key) else { return };
        let is_held_back = object.origin != Origin::Received;
        object.origin = Origin::Elsewhere;
        match self.streams.writer() {
            Some(writer) => {
                writer.find(key, piece, root);
                if !is_held_back {
                    session.receiver().examine(now, key, true);
                }
            }
            None => self.stop_examining(now, session, key),
        }
    }

    /// It is known whether a piece is in its place.
    fn on_piece_found(
        &mut self,
        now: Time,
        session: &mut Session,
        storage: &mut FileStorage,
        (key, bytes): (ObjectKey, Option<Vec<u8>>),
        out: &mut Outbox,
    ) {
        let Some(object) = self.record_of(key).open.get_mut(&key) else { return };
        if object.verifying || object.origin == Origin::Received {
            // All of it came meanwhile.
            return;
        }
        object.origin = Origin::Received;
        let size = object.size;
        let is_there = bytes.is_some();
        object.piece_there = bytes;
        if is_there {
            session.receiver().have(key, 0, size, storage);
        }
        if !session.receiver().examine(now, key, false) && !is_there {
            // Its sender has gone.
            self.on_stream_failed(now, session, storage, key, Reason::Aborted, out);
        }
    }

    /// All of a piece has come.
    pub(super) fn on_piece_whole(
        &mut self,
        now: Time,
        session: &mut Session,
        storage: &mut FileStorage,
        key: ObjectKey,
        out: &mut Outbox,
    ) {
        let conflict = self.options.conflict;
        let failed = self.record_of(key).stream == Some(StreamState::Failed);
        let bytes = storage.take_small(key);
        let Some(object) = self.record_of(key).open.get_mut(&key).filter(|_| !failed) else {
            return self.drop_piece(session, storage, key, false);
        };
        object.verifying = true;
        let found = object.piece_there.take();
        let there = found.is_some();
        let arrived = object.as_piece().zip(found.or(bytes)).map(|((piece, root), bytes)| {
            Arrived { key, piece: piece.clone(), root, bytes, there, conflict }
        });
        match (arrived, self.streams.writer()) {
            (Some(arrived), Some(writer)) => writer.write(arrived),
            _ => self.on_stream_failed(now, session, storage, key, Reason::DiskError, out),
        }
    }

    /// The thread may have written something.
    pub(super) fn on_written(
        &mut self,
        now: Time,
        session: &mut Session,
        storage: &mut FileStorage,
        out: &mut Outbox,
    ) {
        while let Some(told) = self.streams.writer.as_ref().and_then(StreamWriter::poll) {
            self.last_news = now;
            match told {
                Told::Found(key, bytes) => {
                    self.on_piece_found(now, session, storage, (key, bytes), out);
                }
                Told::Written(Written { key, result: Ok(placed), .. }) => {
                    self.on_piece_written(now, session, storage, key, placed, out);
                }
                Told::Written(Written { key, result: Err(reason), shortage }) => {
                    if let Some(SpaceShortage { needed, room }) = shortage {
                        out.push(TransferEvent::Receive(ReceiveEvent::TooSmall { needed, room }));
                    }
                    self.on_stream_failed(now, session, storage, key, reason, out);
                }
            }
        }
    }

    fn on_piece_written(
        &mut self,
        now: Time,
        session: &mut Session,
        storage: &mut FileStorage,
        key: ObjectKey,
        placed: Option<Placed>,
        out: &mut Outbox,
    ) {
        storage.settle(key, false);
        let record = self.record_of(key);
        let object = record.open.remove(&key);
        record.settled_bytes += object.as_ref().map_or(0, |object| object.size);
        if let Some(placed) = placed {
            record.stream = Some(StreamState::Whole);
            let root = object.as_ref().and_then(|object| object.as_piece()).map(|(_, root)| root);
            record.hold(key, None, root.unwrap_or_default());
            let misplaced = placed.misplaced();
            if let Some(reason) = misplaced {
                record.fail(key, None, reason);
            }
            let elapsed = object.map_or(now, |object| object.begun);
            self.report.unnamed += u64::from(placed.name_rejected.is_some());
            self.report.files += 1;
            self.report.bytes += placed.size;
            let elapsed = now.since(elapsed);
            out.push(TransferEvent::Receive(ReceiveEvent::File { key, placed, elapsed }));
            self.update_status(session, key, misplaced.is_some());
        } else if record.gone {
            // These were the last that came of it.
            self.on_stream_gone(key.sender, out);
        }
        session.receiver().confirm(key);
    }

    /// A piece cannot be had, and so the stream cannot.
    pub(super) fn on_stream_failed(
        &mut self,
        now: Time,
        session: &mut Session,
        storage: &mut FileStorage,
        key: ObjectKey,
        reason: Reason,
        out: &mut Outbox,
    ) {
        let record = self.record_of(key);
        if record.stream == Some(StreamState::Failed) {
            return self.drop_piece(session, storage, key, true);
        }
        record.stream = Some(StreamState::Failed);
        session.receiver().cancel(key, storage);
        self.forget_stream(key.sender, key.instance);
        self.fail(now, session, storage, key, reason, out);
    }

    /// Of a stream that has failed.
    pub(super) fn drop_piece(
        &mut self,
        session: &mut Session,
        storage: &mut FileStorage,
        key: ObjectKey,
        cancel: bool,
    ) {
        if cancel {
            session.receiver().cancel(key, storage);
        }
        storage.settle(key, false);
        self.record_of(key).open.remove(&key);
    }

    fn forget_stream(&self, sender: NodeId, instance: InstanceId) {
        if let Some(writer) = &self.streams.writer {
            writer.forget((sender, instance));
        }
    }

    /// The sender has said good-bye before the end of its stream.
    pub(super) fn on_stream_gone(&mut self, sender: NodeId, out: &mut Outbox) {
        let lives = (sender, InstanceId(0))..=(sender, InstanceId(u16::MAX));
        let coming = |record: &super::Record| record.stream == Some(StreamState::Coming);
        let lives = self.records.range_mut(lives).filter(|(_, record)| coming(record));
        let mut gone = Vec::new();
        for ((_, instance), record) in lives {
            // What is with the thread that writes may be all of it.
            if record.open.is_empty() {
                let object = ObjectTransportId(0);
                let key = ObjectKey { sender, instance: *instance, object };
                record.stream = Some(StreamState::Failed);
                record.fail(key, None, Reason::Aborted);
                gone.push(key);
            }
        }
        for key in gone {
            self.forget_stream(sender, key.instance);
            self.report.failures.push((key, Reason::Aborted));
            let (name, reason) = (None, Reason::Aborted);
            out.push(TransferEvent::Receive(ReceiveEvent::Failed { key, name, reason }));
        }
    }
}

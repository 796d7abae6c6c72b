//! Objects that come by layers: begun, gone on with and ended as others are, but nothing of them is
//! asked for.

use std::net::SocketAddr;

use crate::content::{announcement::Announcement, receipt::Reason};
use fanfare_proto::{Bitrate, NodeId, ObjectKey, Session, StorageError, Time};

use super::{LayeredProgress, ReceiveJob, record::OpenObject};
use crate::event::Outbox;

use crate::{
    event::{ReceiveEvent, TransferEvent},
    file_storage::FileStorage,
    ledger,
    verify::Held,
};

impl ReceiveJob {
    /// An object begins. False when the file is here already, and nothing of it is needed.
    pub(crate) fn on_layered(
        &mut self,
        now: Time,
        (session, storage): (&mut Session, &mut FileStorage),
        (key, source): (ObjectKey, SocketAddr),
        (info, size): (&[u8], u64),
        out: &mut Outbox,
    ) -> bool {
        self.binding.on_sender(key.sender, source);
        let permitted = self.is_from_whom(info) && self.permit(key, info, (size, 1)).is_ok();
        if !permitted {
            self.binding.refused += 1;
            return false;
        }
        self.last_news = now;
        out.push(TransferEvent::Receive(ReceiveEvent::Sender { id: key.sender, source }));
        let announcement = Announcement::parse(info);
        let name = announcement.shown_name();
        let details = announcement.details.clone().filter(|d| d.size == size && !d.asks_to_read());
        let listed = details
            .as_ref()
            .and_then(|details| ledger::find(&self.ledger, &details.root, &announcement.name));
        let mut object = OpenObject::new(size, now);
        object.announcement = Some(announcement);
        let (bytes, loss, overhead, level, rate) = (0, 0.0, 0.0, 0, Bitrate::bps(0));
        object.layered = Some(LayeredProgress { bytes, loss, overhead, level, rate });
        let record = self.record_of(key);
        record.is_back();
        record.open.insert(key, object);
        out.push(TransferEvent::Receive(ReceiveEvent::Object { key, name, size }));
        let (Some(files), Some(details)) = (listed, details) else { return true };
        let held = Held { hash: details.root, size, files, failures: Vec::new() };
        self.on_held(now, session, storage, key, held, out);
        self.on_gone(key.sender, true, out);
        false
    }

    /// More of it has come.
    pub(crate) fn on_layered_progress(
        &mut self,
        now: Time,
        key: ObjectKey,
        progress: LayeredProgress,
    ) {
        let Some(object) = self.record_of(key).open.get_mut(&key) else { return };
        let before = object.layered.replace(progress);
        if before.is_none_or(|before| before.bytes != progress.bytes) {
            self.last_news = now;
        }
    }

    /// Tells by how many layers objects come, where that has changed.
    pub(super) fn tell_levels(&mut self, out: &mut Outbox) {
        for (key, object) in self.records.values_mut().flat_map(|record| &mut record.open) {
            let Some(progress) = object.layered.filter(|p| p.level != object.told_level) else {
                continue;
            };
            object.told_level = progress.level;
            out.push(TransferEvent::Receive(level(key.sender, &progress)));
        }
    }

    /// Sessions that were refused so far.
    pub(crate) fn set_refused(&mut self, refused: u64) {
        self.report.refused = refused;
    }

    /// All of it is in storage. Its sender is no longer needed.
    pub(crate) fn on_layered_whole(
        &mut self,
        now: Time,
        (session, storage): (&mut Session, &mut FileStorage),
        (key, size): (ObjectKey, u64),
        out: &mut Outbox,
    ) {
        fanfare_proto::Storage::close(storage, key, true);
        self.last_news = now;
        let progress =
            self.record_of(key).open.get_mut(&key).and_then(|object| object.layered.take());
        if let Some(progress) = progress {
            // Its groups are left.
            let left = LayeredProgress { level: 0, rate: Bitrate::bps(0), ..progress };
            out.push(TransferEvent::Receive(level(key.sender, &left)));
        }
        self.on_completed(now, session, storage, key, size, out);
        self.on_gone(key.sender, true, out);
    }

    /// It will not be had: storage failed, or its sender has gone.
    pub(crate) fn on_layered_failed(
        &mut self,
        now: Time,
        (session, storage): (&mut Session, &mut FileStorage),
        (key, error): (ObjectKey, Option<StorageError>),
        out: &mut Outbox,
    ) {
        let reason = error.map_or(Reason::Aborted, Reason::of_storage);
        self.fail(now, session, storage, key, reason, out);
        self.on_gone(key.sender, error.is_some(), out);
    }
}

fn level(id: NodeId, progress: &LayeredProgress) -> ReceiveEvent {
    let LayeredProgress { loss, overhead, level, rate, .. } = *progress;
    ReceiveEvent::Level { id, level, rate, loss, overhead }
}

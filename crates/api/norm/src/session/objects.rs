//! Data and files to send, and what is done with objects.

use std::{fs::File, path::PathBuf};

use fanfare_proto::{FirstPass, NewObject, ObjectKind, Time};

use crate::{handle::Handle, instance::desk::Desk, kinds::ObjectType};

use super::{Half, Session, object::Object, store::Body};

impl Session {
    /// Takes bytes for sending; they are copied. `address`: where the program has them. Null when that
    /// is not possible now.
    pub(crate) fn enqueue_data(
        &mut self,
        now: Time,
        desk: &mut Desk,
        (bytes, address): (&[u8], usize),
        info: Option<Vec<u8>>,
    ) -> Handle {
        let size = bytes.len() as u64;
        let sent = || Body::Sent(bytes.to_vec());
        let handle = self.enqueue(now, desk, (ObjectKind::Data, size), info, sent);
        if let Some(object) = desk.objects.get_mut(handle) {
            object.given = address;
        }
        handle
    }

    /// The same of a file, which has to stay as it is.
    pub(crate) fn enqueue_file(
        &mut self,
        now: Time,
        desk: &mut Desk,
        path: PathBuf,
        info: Option<Vec<u8>>,
    ) -> Handle {
        let opened = File::open(&path);
        let length = opened.as_ref().ok().and_then(|file| file.metadata().ok());
        let (Ok(file), Some(length)) = (opened, length.filter(|told| told.is_file())) else {
            return Handle::NULL;
        };
        let sent = || Body::SentFile(file);
        let handle = self.enqueue(now, desk, (ObjectKind::File, length.len()), info, sent);
        if let Some(object) = desk.objects.get_mut(handle) {
            object.path = Some(path);
        }
        handle
    }

    fn enqueue(
        &mut self,
        now: Time,
        desk: &mut Desk,
        (kind, size): (ObjectKind, u64),
        info: Option<Vec<u8>>,
        body: impl FnOnce() -> Body,
    ) -> Handle {
        let new = NewObject { kind, size, info: info.clone(), pass: FirstPass::Whole };
        let key = match self.sending.proto.sender().enqueue(now, new) {
            Ok(key) => key,
            Err(error) => {
                self.tx.refused |= matches!(error, fanfare_proto::EnqueueError::CacheFull { .. });
                return Handle::NULL;
            }
        };
        self.sending.store.put(key, body());
        let kind = if kind == ObjectKind::File { ObjectType::File } else { ObjectType::Data };
        let mut object = Object::new(self.handle, key, kind, size);
        (object.has_info, object.info) = (info.is_some(), info);
        let handle = self.sending.enter(desk, object);
        if handle.is_null() {
            self.sending.proto.sender().cancel(key.object);
        } else {
            (self.tx.armed, self.tx.flushing) = (handle, handle);
        }
        handle
    }

    /// Sends it once more from its start.
    pub(crate) fn requeue(&mut self, handle: Handle, object: &Object) -> bool {
        let done = object.kind != ObjectType::Stream
            && !object.is_incoming()
            && self.sending.proto.sender().requeue(object.key.object);
        if done {
            (self.tx.armed, self.tx.flushing) = (handle, handle);
            if !self.tx.requeued.contains(&handle) {
                self.tx.requeued.push(handle);
            }
        }
        done
    }

    /// Gives an object up. Nothing more is told of it.
    pub(crate) fn cancel_object(&mut self, desk: &mut Desk, handle: Handle) {
        let Some(object) = desk.objects.get(handle) else { return };
        let (key, incoming) = (object.key, object.is_incoming());
        let half = if incoming { &mut self.receiving } else { &mut self.sending };
        match incoming {
            true => half.proto.receiver().cancel(key, &mut half.store),
            false => drop(half.proto.sender().cancel(key.object)),
        }
        half.by_key.retain(|_, known| *known != handle);
        let body = half.store.remove(key);
        if let Some(object) = desk.objects.get_mut(handle) {
            object.body = body.or(object.body.take());
        }
        desk.purge(|event| event.object == handle);
        desk.end_object(handle);
    }

    /// Gives the bytes of an object under way to its handle: nobody writes there any more.
    pub(crate) fn detach(&mut self, desk: &mut Desk, handle: Handle) {
        let Some(object) = desk.objects.get_mut(handle) else { return };
        let Half { proto, store, by_key } = &mut self.receiving;
        let body = store.remove(object.key);
        proto.receiver().cancel(object.key, store);
        by_key.retain(|_, known| *known != handle);
        (object.body, object.live) = (body, false);
        desk.purge(|event| event.object == handle);
        desk.reap_object(handle);
    }

    /// Bytes of it that are still to come.
    pub(crate) fn bytes_pending(&mut self, object: &Object) -> u64 {
        let received = match object.is_incoming() {
            true if object.whole => Some(object.size),
            true => self.receiving.proto.receiver().progress(object.key),
            false => Some(object.size),
        };
        match object.kind {
            ObjectType::Stream => 0,
            _ => object.size.saturating_sub(received.unwrap_or(0)),
        }
    }

    /// Forgets a sender with everything of it. Nothing is told of it.
    pub(crate) fn delete_node(&mut self, desk: &mut Desk, handle: Handle) {
        let Some(id) = desk.nodes.get_mut(handle).map(|node| node.forget()) else { return };
        let of = |object: &Object| object.sender == handle;
        let objects: Vec<Handle> =
            desk.objects.iter().filter(|(_, object)| of(object)).map(|(found, _)| found).collect();
        for object in objects {
            self.cancel_object(desk, object);
        }
        let Half { proto, store, .. } = &mut self.receiving;
        proto.receiver().forget(id, store);
        desk.purge(|event| event.node == handle);
        if !self.acking.names(handle) {
            self.by_node.remove(&id);
            desk.end_node(handle);
        }
    }
}

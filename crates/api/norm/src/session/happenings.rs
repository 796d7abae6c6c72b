//! What has happened becomes events.

use std::time::Duration;

use fanfare_proto::{CongestionControl, Event as Told, NodeId, ObjectKey, ObjectKind, Time};

use crate::{
    handle::Handle,
    instance::desk::Desk,
    kinds::{EventType, ObjectType},
};

use super::in_stream::InStream;
use super::{Half, Session, node::COMMANDS_MAX, object::Object};

/// A rate that differs by less is not told.
const RATE_STEP: f64 = 0.01;
/// Nodes of a session that are known without being in view: beyond it they are forgotten.
const NODES_MAX: usize = 1024;

impl Session {
    /// Makes events of everything since the last time.
    pub(crate) fn react(&mut self, now: Time, desk: &mut Desk) {
        let sending = std::iter::from_fn(|| self.sending.proto.poll_event());
        let mut all: Vec<Told> = sending.collect();
        all.extend(std::iter::from_fn(|| self.receiving.proto.poll_event()));
        for told in all {
            match told {
                Told::SenderNew { .. }
                | Told::SenderReset { .. }
                | Told::SenderInactive { .. }
                | Told::SenderEnded { .. }
                | Told::Command { .. }
                | Told::WatermarkRequest { .. } => self.on_sender(now, desk, told),
                Told::ReceiverNew { .. }
                | Told::WatermarkAck { .. }
                | Told::WatermarkDone { .. }
                | Told::ObjectSent { .. }
                | Told::StreamWritable { .. }
                | Told::ObjectPurged { .. }
                | Told::FlushDone => self.on_own(desk, told),
                _ => self.on_object(desk, told),
            }
        }
        if std::mem::take(&mut self.news) {
            self.tell_progress(desk);
            self.tell_back(desk);
        }
        self.receiving.store.drop_ended();
        self.pass_gaps(desk);
        if self.sending.proto.is_sender() {
            self.tell_sending(now, desk);
            self.end_streams(now, desk);
            self.end_command(desk);
        }
        if self.timer.take_if(|at| *at <= now).is_some() {
            self.tell(desk, EventType::UserTimeout, Handle::NULL, Handle::NULL);
        }
    }

    fn on_sender(&mut self, now: Time, desk: &mut Desk, told: Told) {
        match told {
            Told::SenderNew { sender, source, .. } => {
                let Some(node) = self.node(desk, sender, Some(source)) else { return };
                let known = desk.nodes.get_mut(node);
                if !known.is_some_and(|node| std::mem::take(&mut node.commanded)) {
                    self.greet(desk, node);
                }
                if self.settings.tracking.senders && self.add_acking_node(desk, sender) {
                    self.tell(desk, EventType::AckingNodeNew, node, Handle::NULL);
                }
                self.forget_strangers(desk);
            }
            Told::SenderReset { sender, .. } => self.of(desk, EventType::RemoteSenderReset, sender),
            Told::SenderInactive { sender } | Told::SenderEnded { sender } => {
                if let Some(node) =
                    self.by_node.get(&sender).and_then(|node| desk.nodes.get_mut(*node))
                    && node.inactive.is_none()
                {
                    node.inactive = Some(now);
                    self.of(desk, EventType::RemoteSenderInactive, sender);
                }
            }
            Told::Command { sender, content } => {
                let Some(handle) = self.node(desk, sender, None) else { return };
                if let Some(node) = desk.nodes.get_mut(handle).filter(|node| !node.greeted) {
                    // It is a sender from its first word on, also where it has sent no object.
                    node.commanded = true;
                    self.greet(desk, handle);
                }
                let node = desk.nodes.get_mut(handle);
                let Some(node) = node.filter(|node| node.commands.len() < COMMANDS_MAX) else {
                    return;
                };
                node.commands.push_back(content);
                self.tell(desk, EventType::RxCmdNew, handle, Handle::NULL);
            }
            Told::WatermarkRequest { sender, content } => {
                let Some(handle) = self.node(desk, sender, None) else { return };
                if let Some(node) = desk.nodes.get_mut(handle) {
                    node.question = Some(content);
                }
                self.tell(desk, EventType::RxAckRequest, handle, Handle::NULL);
            }
            _ => {}
        }
    }

    /// Tells of a sender that is new, or is heard again.
    fn greet(&self, desk: &mut Desk, handle: Handle) {
        let again = desk.nodes.get_mut(handle).is_some_and(|node| {
            node.greeted = true;
            node.inactive.is_some()
        });
        if !again {
            self.tell(desk, EventType::RemoteSenderNew, handle, Handle::NULL);
        }
        self.on_active(desk, handle);
        self.tell_grtt(desk, handle);
    }

    fn of(&self, desk: &mut Desk, kind: EventType, sender: NodeId) {
        if let Some(node) = self.by_node.get(&sender) {
            self.tell(desk, kind, *node, Handle::NULL);
        }
    }

    fn on_active(&self, desk: &mut Desk, handle: Handle) {
        if let Some(node) = desk.nodes.get_mut(handle) {
            node.inactive = None;
        }
        self.tell(desk, EventType::RemoteSenderActive, handle, Handle::NULL);
    }

    fn tell_grtt(&self, desk: &mut Desk, handle: Handle) {
        if let Some(node) = desk.nodes.get_mut(handle)
            && !std::mem::replace(&mut node.grtt_told, true)
        {
            self.tell(desk, EventType::GrttUpdated, handle, Handle::NULL);
        }
    }

    /// Senders that were silent, and are heard again.
    fn tell_back(&mut self, desk: &mut Desk) {
        let back = |(id, handle): (&NodeId, &Handle)| {
            Some((*id, *handle, desk.nodes.get(*handle)?.inactive?))
        };
        let silent: Vec<_> = self.by_node.iter().filter_map(back).collect();
        for (id, handle, since) in silent {
            if self.receiving.proto.receiver().heard(id).is_some_and(|at| at > since) {
                self.on_active(desk, handle);
            }
        }
    }

    /// Whoever sends under ever new names does not fill memory.
    fn forget_strangers(&mut self, desk: &mut Desk) {
        if self.by_node.len() <= NODES_MAX {
            return;
        }
        let all: Vec<(NodeId, Handle)> =
            self.by_node.iter().map(|(id, node)| (*id, *node)).collect();
        for (id, handle) in all {
            if self.receiving.proto.receiver().heard(id).is_none() && !self.acking.names(handle) {
                self.tell(desk, EventType::RemoteSenderPurged, handle, Handle::NULL);
                self.by_node.remove(&id);
                desk.end_node(handle);
            }
        }
    }

    fn on_object(&mut self, desk: &mut Desk, told: Told) {
        match told {
            Told::ObjectNew { key, kind, size, has_info } => {
                self.on_new(desk, key, kind, (size, has_info));
            }
            Told::ObjectInfo { key, info } => {
                let Some((handle, object)) = self.known(desk, key) else { return };
                let sender = object.sender;
                (object.info, object.has_info) = (Some(info), true);
                self.tell(desk, EventType::RxObjectInfo, sender, handle);
            }
            Told::StreamReadable { key } => {
                let Some((handle, object)) = self.known(desk, key) else { return };
                let sender = object.sender;
                self.tell(desk, EventType::RxObjectUpdated, sender, handle);
            }
            Told::ObjectCompleted { key, size } => {
                let Some((handle, object)) = self.known(desk, key) else { return };
                if object.whole {
                    return;
                }
                (object.whole, object.size) = (true, size);
                let sender = object.sender;
                object.body = self.receiving.store.take_ended(key);
                self.completed = self.completed.wrapping_add(1);
                self.tell(desk, EventType::RxObjectCompleted, sender, handle);
                desk.end_object(handle);
            }
            Told::ObjectAborted { key, .. } => {
                let Some((handle, object)) = self.known(desk, key) else { return };
                let sender = object.sender;
                object.body = self.receiving.store.take_ended(key);
                self.tell(desk, EventType::RxObjectAborted, sender, handle);
                desk.end_object(handle);
            }
            _ => {}
        }
    }

    fn known<'d>(&self, desk: &'d mut Desk, key: ObjectKey) -> Option<(Handle, &'d mut Object)> {
        let handle = *self.receiving.by_key.get(&key)?;
        desk.objects.get_mut(handle).map(|object| (handle, object))
    }

    fn on_new(&mut self, desk: &mut Desk, key: ObjectKey, kind: ObjectKind, of: (u64, bool)) {
        let Some(sender) = self.node(desk, key.sender, None) else { return };
        let kind = match kind {
            ObjectKind::Data => ObjectType::Data,
            ObjectKind::File => ObjectType::File,
            ObjectKind::Stream => ObjectType::Stream,
        };
        let mut object = Object::new(self.handle, key, kind, of.0);
        (object.sender, object.has_info) = (sender, of.1);
        object.path = self.receiving.store.path(key).cloned();
        object.incoming = (kind == ObjectType::Stream).then(Box::<InStream>::default);
        let handle = self.receiving.enter(desk, object);
        if handle.is_null() {
            let Half { proto, store, .. } = &mut self.receiving;
            return proto.receiver().cancel(key, store);
        }
        self.tell(desk, EventType::RxObjectNew, sender, handle);
    }

    /// Objects of which more is here than was told.
    fn tell_progress(&mut self, desk: &mut Desk) {
        let mut told = Vec::new();
        let Half { by_key, proto, .. } = &mut self.receiving;
        for (key, handle) in &*by_key {
            let Some(object) = desk.objects.get_mut(*handle) else { continue };
            let open = object.live && object.is_incoming() && object.kind != ObjectType::Stream;
            if !open || object.whole {
                continue;
            }
            let received = proto.receiver().progress(*key).unwrap_or(0);
            if std::mem::replace(&mut object.told, received) != received {
                told.push((object.sender, *handle));
            }
        }
        for (sender, handle) in told {
            self.tell(desk, EventType::RxObjectUpdated, sender, handle);
        }
    }

    fn on_own(&mut self, desk: &mut Desk, told: Told) {
        let none = Handle::NULL;
        match told {
            Told::ReceiverNew { node, source } => {
                if self.settings.tracking.receivers
                    && self.acking.node(node).is_none()
                    && self.add_acking_node(desk, node)
                    && let Some(handle) = self.node(desk, node, Some(source))
                {
                    self.tell(desk, EventType::AckingNodeNew, handle, none);
                }
                let adapts = self.settings.control != CongestionControl::Fixed;
                if adapts && !std::mem::replace(&mut self.tx.answered, true) {
                    self.tell(desk, EventType::CcActive, none, none);
                }
            }
            Told::WatermarkAck { node, app, .. } => self.on_acknowledged(node, app),
            Told::WatermarkDone { outcomes } => self.on_watermark_done(desk, &outcomes),
            Told::ObjectSent { key } => {
                let handle = self.sending.by_key.get(&key).copied().unwrap_or_default();
                // Of a stream it is never told.
                let is_stream = |object: &Object| object.kind == ObjectType::Stream;
                if desk.objects.get(handle).is_some_and(|object| !is_stream(object)) {
                    self.tell(desk, EventType::TxObjectSent, none, handle);
                }
            }
            Told::StreamWritable { key } => {
                if let Some(handle) = self.sending.by_key.get(&key).copied() {
                    self.tell(desk, EventType::TxQueueVacancy, none, handle);
                }
            }
            Told::ObjectPurged { key } => {
                let Some(handle) = self.sending.by_key.get(&key).copied() else { return };
                self.tell(desk, EventType::TxObjectPurged, none, handle);
                desk.end_object(handle);
            }
            Told::FlushDone => {
                let flushed = std::mem::take(&mut self.tx.flushing);
                if desk.objects.get(flushed).is_some() {
                    self.tell(desk, EventType::TxFlushCompleted, none, flushed);
                }
                self.on_flushed(desk);
            }
            _ => {}
        }
    }

    /// What was written has gone; there is room; the rate or the round trip has changed.
    fn tell_sending(&mut self, now: Time, desk: &mut Desk) {
        let none = Handle::NULL;
        let sender = self.sending.proto.sender();
        let (rate, grtt) = (sender.rate().as_bps() as f64, sender.grtt());
        let (busy, room) = (sender.has_new(), sender.has_room(now));
        if !self.tx.armed.is_null() && !busy {
            for object in std::mem::take(&mut self.tx.requeued) {
                self.tell(desk, EventType::TxObjectSent, none, object);
            }
            let object = std::mem::take(&mut self.tx.armed);
            self.tell(desk, EventType::TxQueueEmpty, none, object);
        }
        if !busy {
            self.end_unasked_watermark();
        }
        if self.tx.refused && room {
            self.tx.refused = false;
            self.tell(desk, EventType::TxQueueVacancy, none, none);
        }
        let grtt = Duration::as_secs_f64(&grtt);
        if grtt != self.tx.grtt {
            let first = std::mem::replace(&mut self.tx.grtt, grtt) == 0.0;
            if !first {
                self.tell(desk, EventType::GrttUpdated, none, none);
            }
        }
        let adapts = self.settings.control != CongestionControl::Fixed;
        if adapts && (rate - self.tx.rate).abs() > self.tx.rate * RATE_STEP {
            self.tx.rate = rate;
            self.tell(desk, EventType::TxRateChanged, none, none);
        }
    }
}

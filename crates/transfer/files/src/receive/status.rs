//! What senders are told of this receiver: what it holds, lacks and has received so far.

use crate::content::{
    receipt::{About, Status},
    root_set,
};
use fanfare_proto::{InstanceId, NodeId, ObjectKey, ObjectTransportId, Session, Time};

use super::{ReceiveJob, TOLD_PROGRESS};
use crate::{file_storage::FileStorage, ledger};

impl ReceiveJob {
    /// Tells the core what to say to this object's sender; at once when `announce`. Other senders
    /// are told nothing of it.
    pub(super) fn update_status(&mut self, session: &mut Session, key: ObjectKey, announce: bool) {
        let about = About::new(key.sender, key.instance);
        let ready = self.ready();
        let own = session.node_id();
        let identity = self.options.identity.clone();
        let record = self.record_of(key);
        let mut receiver = session.receiver();
        record.count_received(|key| receiver.progress(key));
        let mut status = record.status(ready, about, own);
        record.sign(&mut status, own, identity.as_deref());
        let status = status.encode();
        receiver.set_ack_content((key.sender, key.instance), status.clone());
        receiver.set_status_to((key.sender, key.instance), status, announce);
    }

    /// This node has another id: what it says of itself is bound to that.
    pub(crate) fn on_renamed(&mut self, session: &mut Session) {
        let lives: Vec<(NodeId, InstanceId)> = self.records.keys().copied().collect();
        for (sender, instance) in lives {
            let object = ObjectTransportId(0);
            self.update_status(session, ObjectKey { sender, instance, object }, false);
        }
    }

    /// What senders of open objects are told when they ask how far this receiver is.
    pub(super) fn renew_status(&mut self, now: Time, session: &mut Session) {
        if now < self.next_told {
            return;
        }
        self.next_told = now + TOLD_PROGRESS;
        let (ready, own) = (self.ready(), session.node_id());
        for ((sender, instance), record) in &mut self.records {
            if record.is_settled() {
                continue;
            }
            let mut receiver = session.receiver();
            record.count_received(|key| receiver.progress(key));
            let about = About::new(*sender, *instance);
            let status = record.status(ready.clone(), about, own).encode();
            receiver.set_status_to((*sender, *instance), status, false);
        }
    }

    /// What whoever calls the roll is told before it has sent anything.
    pub(super) fn update_ready(&self, session: &mut Session) {
        session.receiver().set_status(self.ready().encode(), false);
    }

    pub(super) fn ready(&self) -> Status {
        let mut status = Status::ready(&self.options.name, self.directory.free());
        status.parts = Some(self.parts.clone());
        status.set_tops(&self.tops);
        status.whole = Some(root_set::encode(&ledger::lock(&self.ledger).roots()));
        status
    }

    /// What is here has changed.
    pub(super) fn refresh_parts(&mut self, session: &mut Session, storage: &FileStorage) {
        self.parts = storage.part_roots();
        self.update_ready(session);
    }
}

//! Another host was taken for a sender. What it announced counts no more, once the true one is heard:
//! what is under way begins anew, and what has failed is asked for again.

use fanfare_proto::{InstanceId, NodeId, ObjectKey, ObjectTransportId, Session, Time};

use super::{ReceiveJob, record::Record};
use crate::file_storage::FileStorage;

impl ReceiveJob {
    /// True if this life of a sender is none: it has announced nothing that is right, and one of ours is at its
    /// address. A message of that one, in which bits were turned on the way, has told of it.
    pub(super) fn is_shadow(&self, sender: NodeId, instance: InstanceId) -> bool {
        let life = (sender, instance);
        let has_shown = |record: &Record| {
            record.nonce.is_some()
                || record.announced > 0
                || record.has_anything()
                || record.stream.is_some()
        };
        let address = self.binding.address(sender);
        let is_there =
            |other| address.is_none_or(|address| self.binding.address(other) == Some(address));
        !self.records.get(&life).is_some_and(has_shown)
            && self.records.iter().any(|(other, record)| {
                *other != life && record.nonce.is_some() && is_there(other.0)
            })
    }

    /// The sender of this life is another host than it seemed.
    pub(super) fn on_disowned(
        &mut self,
        session: &mut Session,
        storage: &mut FileStorage,
        (sender, instance): (NodeId, InstanceId),
    ) {
        let record = self.record(sender, instance);
        // What is whole is with the verifier, whose word counts.
        let open: Vec<ObjectKey> = record.take_unproved();
        let failed = record.take_failed();
        (record.gone, record.evicted) = (false, false);
        self.reminders.remove(&(sender, instance));
        for key in open {
            // The core has closed what was under way. What it holds was opened anew since: the message that
            // proved the true sender is taken in before this event is.
            if session.receiver().progress(key).is_none() {
                storage.settle(key, false);
            }
        }
        for object in failed {
            let key = ObjectKey { sender, instance, object: ObjectTransportId(object) };
            self.report.failures.retain(|(failed, _)| *failed != key);
            session.receiver().forget_object(key, storage);
        }
        self.refresh_parts(session, storage);
        let about = ObjectKey { sender, instance, object: ObjectTransportId(0) };
        self.update_status(session, about, true);
    }

    /// The sender has never sent this object.
    pub(super) fn on_unsent(
        &mut self,
        now: Time,
        session: &mut Session,
        storage: &mut FileStorage,
        key: ObjectKey,
    ) {
        self.let_go(session, storage, key);
        self.remind(now, session, key);
    }
}

//! Trees that have come: links, directories, owners and attributes.

use std::time::Duration;

use crate::content::{
    announcement::Details,
    receipt::Reason,
    tree::{Restoration, Restored, Rules},
};
use fanfare_node::disk::placement::Conflict;
use fanfare_proto::{ObjectKey, Session, Time};

use super::{ReceiveJob, due::Due, follow_up::PATIENCE, record::Record};
use crate::{
    event::{Outbox, ReceiveEvent, TransferEvent},
    file_storage::FileStorage,
    verify::Held,
};

/// What is to be done about a tree now.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Wait,
    /// Everything else is here, or will not come.
    Go {
        complete: bool,
    },
}

/// `news`: how long nothing new has come.
fn judge(record: &Record, details: &Details, news: Duration) -> Verdict {
    if record.open.values().any(|object| !object.is_waiting_tree()) {
        return Verdict::Wait;
    }
    let objects = details.follows.map_or(0, |follows| follows.objects);
    let complete = record.holdings.len() >= objects;
    let settled = record.holdings.len() + record.failed_count() >= objects;
    if settled || record.gone || news >= PATIENCE {
        Verdict::Go { complete }
    } else {
        Verdict::Wait
    }
}

impl ReceiveJob {
    /// A tree is whole.
    pub(super) fn on_tree(&mut self, session: &mut Session, key: ObjectKey) {
        self.trees.wait(key);
        self.update_status(session, key, false);
    }

    /// Acts on trees for which it is time, and takes what came of them.
    pub(super) fn advance_trees(
        &mut self,
        now: Time,
        session: &mut Session,
        storage: &mut FileStorage,
        out: &mut Outbox,
    ) {
        for key in self.trees.take_waiting() {
            self.settle_tree(now, session, storage, key, out);
        }
        if let Some((key, restored)) = self.trees.poll() {
            self.trees.finish();
            let restored = restored.unwrap_or_else(|()| Restored::refused(Reason::DiskError));
            self.on_restored(now, session, storage, key, restored, out);
        }
        while let Some((key, restoration)) = self.trees.next() {
            let wanted = self.record_of(key).open.contains_key(&key);
            if wanted && !self.trees.start(key, restoration) {
                self.fail(now, session, storage, key, Reason::DiskError, out);
            }
        }
    }

    fn settle_tree(
        &mut self,
        now: Time,
        session: &mut Session,
        storage: &mut FileStorage,
        key: ObjectKey,
        out: &mut Outbox,
    ) {
        let news = now.since(self.last_news);
        let Some(Due { size, turn, details }) = self.due(session, storage, key) else { return };
        let record = self.record_of(key);
        match judge(record, &details, news) {
            Verdict::Wait => self.trees.wait(key),
            Verdict::Go { complete: false } if record.can_spare(turn) => {
                self.spare(session, storage, key);
            }
            Verdict::Go { .. } => match storage.finished(key) {
                Some(part) => {
                    let part = part.into_received();
                    let rules = self.rules(key, details.files.unwrap_or(0));
                    let (directory, root) = (self.directory.clone(), details.root);
                    self.trees.push(key, Restoration { directory, part, size, root, rules });
                }
                None => self.fail(now, session, storage, key, Reason::DiskError, out),
            },
        }
    }

    fn rules(&mut self, key: ObjectKey, links_max: u64) -> Rules {
        let mirrored = self.record_of(key).mirrored;
        let may_clear = self.options.allow_delete && self.options.conflict == Conflict::Overwrite;
        let max = self.options.max_delete.unwrap_or(u64::MAX);
        let clears = mirrored.filter(|_| may_clear).map(|deleted| max.saturating_sub(deleted));
        Rules {
            carried: self.options.carried,
            outside_links: self.options.outside_links,
            conflict: self.options.conflict,
            links_max,
            clears,
            directories_max: self.options.max_files.unwrap_or(u64::MAX),
        }
    }

    fn on_restored(
        &mut self,
        now: Time,
        session: &mut Session,
        storage: &mut FileStorage,
        key: ObjectKey,
        restored: Restored,
        out: &mut Outbox,
    ) {
        self.last_news = now;
        let Some((hash, size)) = self.followed(key) else { return };
        if let Some(reason) = restored.refused {
            return self.fail(now, session, storage, key, reason, out);
        }
        let Restored { directories, links, hard_links, failures, deleted, .. } = restored;
        self.report.deleted += deleted.len() as u64;
        let gone = |name| TransferEvent::Receive(ReceiveEvent::Deleted { key, name });
        out.push_all(deleted.into_iter().map(gone));
        let event = ReceiveEvent::Tree { key, directories, links, hard_links };
        out.push(TransferEvent::Receive(event));
        let held = Held { hash, size, files: Vec::new(), failures };
        self.on_held(now, session, storage, key, held, out);
    }
}

#[cfg(test)]
mod tests {
    use crate::content::announcement::{Announcement, Follows};
    use fanfare_proto::{InstanceId, NodeId, ObjectTransportId};

    use super::{super::record::OpenObject, *};

    const SOON: Duration = Duration::ZERO;

    fn key(object: u16) -> ObjectKey {
        ObjectKey { sender: NodeId(1), instance: InstanceId(1), object: ObjectTransportId(object) }
    }

    /// A tree that follows two objects, of which so many are held.
    fn waiting(held: u16) -> (Record, Details) {
        let follows = Some(Follows { objects: 2, digest: [0; 32] });
        let details = Details::of_tree(100, [9; 32], 0, follows);
        let mut record = Record::default();
        (0..held).for_each(|n| record.holdings.insert(ObjectTransportId(n), [n as u8; 32]));
        let announcement = Announcement { name: Vec::new(), details: Some(details.clone()) };
        let announcement = Some(announcement);
        let tree = OpenObject { verifying: true, announcement, ..OpenObject::new(100, Time::ZERO) };
        record.open.insert(key(2), tree);
        (record, details)
    }

    #[test]
    fn a_tree_is_acted_on_once_everything_before_it_is_held_or_will_not_come() {
        let (mut record, details) = waiting(2);
        assert_eq!(judge(&record, &details, SOON), Verdict::Go { complete: true });
        record.open.insert(key(1), OpenObject::new(1, Time::ZERO));
        assert_eq!(judge(&record, &details, SOON), Verdict::Wait);
        let (mut record, details) = waiting(1);
        assert_eq!(judge(&record, &details, SOON), Verdict::Wait);
        assert_eq!(judge(&record, &details, PATIENCE), Verdict::Go { complete: false });
        record.fail(key(1), None, Reason::DiskFull);
        assert_eq!(judge(&record, &details, SOON), Verdict::Go { complete: false });
    }
}

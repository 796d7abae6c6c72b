//! Listings that have come, and the removal of what their sender no longer has.

use std::time::Duration;

use crate::content::{
    announcement::Details,
    listing::{DisplacedFiles, Limits, Outcome, Removal, Step},
    receipt::Reason,
};
use fanfare_node::disk::placement::Conflict;
use fanfare_proto::{ObjectKey, Session, Time};

use super::{
    ReceiveJob,
    due::Due,
    follow_up::PATIENCE,
    record::{OpenObject, Record},
};
use crate::{
    event::{Outbox, ReceiveEvent, TransferEvent},
    file_storage::FileStorage,
    verify::Held,
};

/// What is to be done about a listing now.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Wait,
    Go,
    /// Not everything that was sent before it is held.
    Incomplete,
}

/// `news`: how long nothing new has come.
fn judge(record: &Record, details: &Details, news: Duration) -> Verdict {
    let Some(follows) = details.follows else { return Verdict::Incomplete };
    // Others under way, apart from listings that wait as well, and from the tree, which waits for them.
    let waits = |object: &OpenObject| object.is_waiting_listing() || object.is_waiting_tree();
    if record.open.values().any(|object| !waits(object)) {
        return Verdict::Wait;
    }
    if record.holdings.len() >= follows.objects && record.holdings.digest() == follows.digest {
        return Verdict::Go;
    }
    let settled = record.holdings.len() + record.failed_count() >= follows.objects;
    if settled || record.has_failed() || record.gone || news >= PATIENCE {
        Verdict::Incomplete
    } else {
        Verdict::Wait
    }
}

impl ReceiveJob {
    /// A listing is whole.
    pub(super) fn on_listing(&mut self, session: &mut Session, key: ObjectKey) {
        self.deletions.wait(key);
        self.update_status(session, key, false);
    }

    /// Acts on listings for which it is time, and takes what came of them.
    pub(super) fn advance_deletions(
        &mut self,
        now: Time,
        session: &mut Session,
        storage: &mut FileStorage,
        out: &mut Outbox,
    ) {
        self.settle_abandoned(session, out);
        for key in self.deletions.take_waiting() {
            self.settle_listing(now, session, storage, key, out);
        }
        self.take_steps(now, session, storage, out);
        while let Some((key, removal)) = self.deletions.next() {
            let wanted = self.record_of(key).open.contains_key(&key);
            if wanted && !self.deletions.start(key, removal) {
                self.fail(now, session, storage, key, Reason::DiskError, out);
            }
        }
    }

    fn settle_listing(
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
            Verdict::Wait => self.deletions.wait(key),
            Verdict::Incomplete if record.can_spare(turn) => self.spare(session, storage, key),
            Verdict::Incomplete => {
                let why = "not everything else that was sent is here".to_owned();
                let outcome = Outcome::refused(Reason::DeleteIncomplete, why);
                self.on_deletion(now, session, storage, key, outcome, out);
            }
            Verdict::Go => match storage.finished(key) {
                Some(part) => {
                    let part = part.into_received();
                    let replaces = self.options.conflict == Conflict::Overwrite;
                    let instead = DisplacedFiles::new(self.record_of(key).displaced(), replaces);
                    let (directory, root) = (self.directory.clone(), details.root);
                    let limits = Limits {
                        allowed: self.options.allow_delete,
                        max: self.options.max_delete,
                        keep_numbered: self.options.conflict != Conflict::Overwrite,
                    };
                    let removal = Removal { directory, part, size, root, limits, instead };
                    self.deletions.push(key, removal);
                }
                None => self.fail(now, session, storage, key, Reason::DiskError, out),
            },
        }
    }

    fn take_steps(
        &mut self,
        now: Time,
        session: &mut Session,
        storage: &mut FileStorage,
        out: &mut Outbox,
    ) {
        while out.has_room() {
            let Some((key, step)) = self.deletions.poll() else { return };
            let outcome = match step {
                Ok(Step::Deleted(names)) => {
                    self.last_news = now;
                    let event = |name| TransferEvent::Receive(ReceiveEvent::Deleted { key, name });
                    out.push_all(names.into_iter().map(event));
                    continue;
                }
                Ok(Step::Done(outcome)) => outcome,
                Err(()) => Outcome::refused(Reason::DiskError, "its thread has ended".to_owned()),
            };
            self.deletions.finish();
            self.on_deletion(now, session, storage, key, outcome, out);
        }
    }

    fn on_deletion(
        &mut self,
        now: Time,
        session: &mut Session,
        storage: &mut FileStorage,
        key: ObjectKey,
        outcome: Outcome,
        out: &mut Outbox,
    ) {
        self.last_news = now;
        let reason = outcome.refused.as_ref().map(|(reason, _)| *reason);
        self.report.deleted += outcome.deleted;
        let Outcome { roots, extra, deleted, replaced, refused } = outcome;
        self.settle_displaced(session, key, replaced, out);
        let deletion = ReceiveEvent::Deletion { key, roots, extra, deleted, refused };
        out.push(TransferEvent::Receive(deletion));
        let Some((hash, size)) = self.followed(key) else { return };
        match reason {
            None => {
                self.record_of(key).mirrored = Some(deleted);
                let held = Held { hash, size, files: Vec::new(), failures: Vec::new() };
                self.on_held(now, session, storage, key, held, out);
            }
            Some(reason) => self.fail(now, session, storage, key, reason, out),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::content::announcement::{Announcement, Follows};
    use fanfare_proto::{InstanceId, NodeId, ObjectTransportId};

    use super::*;

    const SOON: Duration = Duration::ZERO;

    fn key(object: u16) -> ObjectKey {
        ObjectKey { sender: NodeId(1), instance: InstanceId(1), object: ObjectTransportId(object) }
    }

    /// A listing that follows two objects, of which so many are held.
    fn waiting(held: u16) -> (Record, Details) {
        let mut all = crate::content::receipt::Holdings::default();
        (0..2).for_each(|n| all.insert(ObjectTransportId(n), [n as u8; 32]));
        let follows = Follows { objects: all.len(), digest: all.digest() };
        let details = Details::of_listing(100, [9; 32], Some(follows));
        let mut record = Record::default();
        (0..held).for_each(|n| record.holdings.insert(ObjectTransportId(n), [n as u8; 32]));
        let announcement = Announcement { name: Vec::new(), details: Some(details.clone()) };
        let listing = OpenObject {
            verifying: true,
            announcement: Some(announcement),
            ..OpenObject::new(100, Time::ZERO)
        };
        record.open.insert(key(2), listing);
        (record, details)
    }

    #[test]
    fn a_listing_is_acted_on_once_everything_before_it_is_held() {
        let (mut record, details) = waiting(2);
        assert_eq!(judge(&record, &details, SOON), Verdict::Go);
        record.open.insert(key(1), OpenObject::new(1, Time::ZERO));
        assert_eq!(judge(&record, &details, SOON), Verdict::Wait);
    }

    #[test]
    fn objects_of_which_nothing_has_been_heard_are_waited_for_and_not_for_ever() {
        let (mut record, details) = waiting(1);
        assert_eq!(judge(&record, &details, SOON), Verdict::Wait);
        assert_eq!(judge(&record, &details, PATIENCE), Verdict::Incomplete);
        record.gone = true;
        assert_eq!(judge(&record, &details, SOON), Verdict::Incomplete);
    }

    #[test]
    fn where_an_object_failed_or_is_another_than_was_sent_the_listing_is_refused() {
        let (mut record, details) = waiting(1);
        record.fail(key(1), None, Reason::Conflict);
        assert_eq!(judge(&record, &details, SOON), Verdict::Incomplete);
        let (mut record, details) = waiting(2);
        record.holdings.insert(ObjectTransportId(1), [7; 32]);
        assert_eq!(judge(&record, &details, SOON), Verdict::Incomplete);
        let (record, mut details) = waiting(2);
        details.follows = None;
        assert_eq!(judge(&record, &details, SOON), Verdict::Incomplete);
    }
}

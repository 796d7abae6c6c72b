//! What is held, and what could not be had, of one life of a sender.

use std::collections::{BTreeMap, BTreeSet};

use fanfare_proto::{ObjectKey, Time};

use crate::{
    announcement::Announcement,
    manifest::Head,
    receipt::{About, Failure, Holdings, Reason, State, Status},
    verify::{Held, Origin},
};

/// Failures kept for the status; older ones give way, the sender has heard of them.
const FAILURES_MAX: usize = 100;

/// An object that is not yet in its place.
#[derive(Debug)]
pub(super) struct OpenObject {
    pub(super) size: u64,
    pub(super) begun: Time,
    pub(super) announcement: Option<Announcement>,
    /// Whole, and with the verifier.
    pub(super) verifying: bool,
    /// It announces the hashes of a file's groups.
    pub(super) manifest: Option<Head>,
    /// Where its content may be already: nothing is asked for until that is known.
    pub(super) origin: Origin,
    /// With the verifier for that.
    pub(super) examined: bool,
    /// Times that what came from the network proved wrong.
    pub(super) mended: u8,
    /// What is in its place already: found there, or what another object with the same content
    /// became.
    pub(super) held: Option<Held>,
}

impl OpenObject {
    pub(super) fn new(size: u64, begun: Time) -> Self {
        Self {
            size,
            begun,
            announcement: None,
            verifying: false,
            manifest: None,
            origin: Origin::Received,
            examined: false,
            mended: 0,
            held: None,
        }
    }

    pub(super) fn name(&self) -> Option<String> {
        self.announcement.as_ref().and_then(Announcement::shown_name)
    }
}

/// One life of a sender.
#[derive(Debug, Default)]
pub(super) struct Record {
    pub(super) open: BTreeMap<ObjectKey, OpenObject>,
    pub(super) holdings: Holdings,
    failures: Vec<Failure>,
    /// Objects that failed, each counted once.
    failed: BTreeSet<u16>,
    /// Bytes of objects that are no longer open.
    pub(super) settled_bytes: u64,
    /// It said good-bye, or was not heard for long.
    pub(super) gone: bool,
    /// It goes on without us.
    pub(super) evicted: bool,
}

impl Record {
    pub(super) fn fail(&mut self, key: ObjectKey, reason: Reason) {
        if self.failures.len() >= FAILURES_MAX {
            self.failures.remove(0);
        }
        self.failures.push(Failure { object: key.object.0, reason });
        if reason.is_failure() {
            self.failed.insert(key.object.0);
        }
    }

    /// Nothing of it is under way any more.
    pub(super) fn is_settled(&self) -> bool {
        self.open.is_empty()
    }

    pub(super) fn has_anything(&self) -> bool {
        !self.holdings.is_empty() || !self.failed.is_empty()
    }

    pub(super) fn has_failed(&self) -> bool {
        !self.failed.is_empty()
    }

    fn state(&self) -> State {
        if self.open.values().any(|object| !object.verifying) {
            State::Receiving
        } else if !self.open.is_empty() {
            State::Verifying
        } else if !self.failed.is_empty() {
            State::Failed
        } else if !self.holdings.is_empty() {
            State::Done
        } else {
            State::Ready
        }
    }

    /// What to tell its sender; `ready` is what any sender is told.
    pub(super) fn status(&mut self, ready: Status, about: About) -> Status {
        let mut status = ready;
        status.state = self.state();
        status.about = Some(about);
        status.held = self.holdings.len();
        status.digest = self.holdings.digest();
        status.failures.clone_from(&self.failures);
        status
    }
}

#[cfg(test)]
mod tests {
    use fanfare_proto::{InstanceId, NodeId, ObjectTransportId};

    use super::*;

    fn key(object: u16) -> ObjectKey {
        ObjectKey { sender: NodeId(1), instance: InstanceId(1), object: ObjectTransportId(object) }
    }

    fn open(verifying: bool) -> OpenObject {
        OpenObject { verifying, ..OpenObject::new(1, Time::ZERO) }
    }

    fn state(record: &mut Record) -> State {
        record.status(Status::ready("a", 0), About::new(NodeId(1), InstanceId(1))).state
    }

    #[test]
    fn the_state_says_what_is_being_done() {
        let mut record = Record::default();
        assert_eq!(state(&mut record), State::Ready);
        record.open.insert(key(1), open(false));
        record.open.insert(key(2), open(true));
        assert_eq!(state(&mut record), State::Receiving);
        record.open.remove(&key(1));
        assert_eq!(state(&mut record), State::Verifying);
        record.open.clear();
        record.holdings.insert(key(2).object, [0; 32]);
        assert_eq!(state(&mut record), State::Done);
        record.fail(key(1), Reason::NameRejected);
        assert_eq!(state(&mut record), State::Done);
        record.fail(key(1), Reason::DiskFull);
        assert_eq!(state(&mut record), State::Failed);
    }
}

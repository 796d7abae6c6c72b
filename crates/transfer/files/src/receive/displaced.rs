//! Files in whose place something of another kind is: a mirror's listing says what becomes of that, and
//! their sender hears of them only then.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use crate::content::{placed::Placed, receipt::Reason};
use fanfare_node::disk::name::SafeName;
use fanfare_proto::{ObjectKey, Session};

use super::{
    ReceiveJob,
    record::{DisplacedFile, OpenObject, Record},
};
use crate::{
    event::{Outbox, ReceiveEvent, TransferEvent},
    verify::Held,
};

impl ReceiveJob {
    /// Takes those files of an object that wait for a listing.
    pub(super) fn keep_displaced(&mut self, key: ObjectKey, elapsed: Duration, held: &mut Held) {
        let record = self.record_of(key);
        let Some(object) = record.open.get(&key) else { return };
        if object.details().and_then(|details| details.listed) != Some(true) {
            return;
        }
        let turn = object.turn;
        let displaced = held.files.extract_if(.., |placed| placed.displaced.is_some());
        let displaced = displaced.map(|placed| DisplacedFile { key, placed, turn, elapsed });
        record.displaced.extend(displaced);
    }

    /// Tells of the files that were kept aside: `replaced` are those that have their names now.
    pub(super) fn settle_displaced(
        &mut self,
        session: &mut Session,
        listing: ObjectKey,
        replaced: Vec<Placed>,
        out: &mut Outbox,
    ) {
        let record = self.record_of(listing);
        let displaced = std::mem::take(&mut record.displaced);
        let named = |file: Placed| (file.name.clone(), file);
        let replaced: BTreeMap<SafeName, Placed> = replaced.into_iter().map(named).collect();
        let mut failed = BTreeSet::new();
        let mut told = Vec::new();
        for DisplacedFile { key, placed, turn, elapsed } in displaced {
            let in_place = placed.displaced.as_ref().and_then(|wanted| replaced.get(wanted));
            if in_place.is_none() && failed.insert(key.object.0) {
                record.fail(key, turn, Reason::NameRejected);
            }
            told.push((key, in_place.cloned().unwrap_or(placed), elapsed));
        }
        for (key, placed, elapsed) in told {
            self.report.files += 1;
            self.report.bytes += placed.size;
            out.push(TransferEvent::Receive(ReceiveEvent::File { key, placed, elapsed }));
        }
        if !failed.is_empty() {
            self.update_status(session, listing, true);
        }
    }

    /// Tells of files of senders that have gone, and whose listing did not come.
    pub(super) fn settle_abandoned(&mut self, session: &mut Session, out: &mut Outbox) {
        let is_over = |record: &Record| {
            let listing = record.open.values().any(OpenObject::is_listing);
            !record.displaced.is_empty() && !listing && (record.gone || record.has_ended())
        };
        let over = self.records.values().filter(|record| is_over(record));
        let keys: Vec<ObjectKey> = over.map(|record| record.displaced[0].key).collect();
        for key in keys {
            self.settle_displaced(session, key, Vec::new(), out);
        }
    }
}

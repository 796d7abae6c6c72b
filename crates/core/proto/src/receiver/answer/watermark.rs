//! Tracks how far a watermark is reached (RFC 5740 5.5.3).

use crate::receiver::{
    Local, ack::Watermark, objects::Entry, position::ObjectIndex, remote_sender::RemoteSender,
    stream::StreamReached,
};
use crate::{config::AckPolicy, time::Time};

/// How far a watermark is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::receiver) enum Reached {
    No,
    /// Nothing is to be requested, but not all of it is confirmed by the driver, or examined.
    Unconfirmed,
    Yes,
}

impl RemoteSender {
    /// How far a watermark is reached.
    pub(in crate::receiver) fn reached(&self, local: &Local, watermark: Watermark) -> Reached {
        let Some(objects) = &self.objects else { return Reached::No };
        let object = watermark.object;
        if object < objects.floor() {
            return Reached::No;
        }
        if objects.low() < object {
            let asks = objects.first_need().object <= object;
            return if asks { Reached::No } else { Reached::Unconfirmed };
        }
        let confirm = local.config.ack == AckPolicy::Confirmed;
        let mut reached = Reached::Yes;
        for (_, entry) in objects.range(objects.floor(), object.next()) {
            match entry {
                Entry::Skipped | Entry::Complete { confirmed: true, .. } => {}
                Entry::Complete { .. } if confirm => reached = Reached::Unconfirmed,
                Entry::Complete { .. } => {}
                Entry::Open(open) if open.stream.is_some() => {
                    let id = watermark.payload_id.unpack(open.format().fti.field);
                    match open.stream_reached(id) {
                        StreamReached::Yes => {}
                        StreamReached::Unread => reached = Reached::Unconfirmed,
                        StreamReached::No => return Reached::No,
                    }
                }
                Entry::Open(open) if open.is_examined() && !open.wants_info() => {
                    reached = Reached::Unconfirmed;
                }
                Entry::Open(open) if !confirm => {
                    let id = watermark.payload_id.unpack(open.format().fti.field);
                    if !open.complete_to(id.block.0, id.symbol.0) {
                        return Reached::No;
                    }
                }
                Entry::Open(_) | Entry::Pending { .. } | Entry::GivenUp => return Reached::No,
            }
        }
        if objects.entry(object).is_some() { reached } else { Reached::No }
    }

    /// Answers a watermark that is reached only now.
    pub(in crate::receiver) fn watermark_progress(&mut self, now: Time, local: &Local) {
        let Some(watermark) = self.ack.waiting() else { return };
        match self.reached(local, watermark) {
            Reached::No => {}
            Reached::Unconfirmed => self.status.at_work(now),
            Reached::Yes => self.ack.on_progress(now, true),
        }
    }

    pub(in crate::receiver) fn excuse(&mut self, local: &Local, object: ObjectIndex) {
        if let Some(objects) = &mut self.objects {
            objects.excuse(object);
        }
        self.watermark_progress(self.heard, local);
    }

    pub(in crate::receiver) fn confirm(&mut self, local: &Local, object: ObjectIndex) {
        if let Some(objects) = &mut self.objects {
            objects.confirm(object);
        }
        // The command carries no time: the last message's will do, the acknowledgement is due then.
        self.watermark_progress(self.heard, local);
    }
}

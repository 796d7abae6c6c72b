//! Whose objects are taken: those of the sender that the user named, or of the first one of which
//! something is taken; and for how long that sender may be silent.

use std::{net::SocketAddr, time::Duration};

use crate::content::invitation::Invitation;
use fanfare_proto::{InstanceId, NodeId, ObjectKey, OnlyFrom, Session, Time};

use super::{ReceiveJob, SenderFilter, Until, record::Record, screening::ScreeningResult};
use crate::event::{Outbox, ReceiveEvent, TransferEvent};

/// With [`Until::SenderEnded`], a sender whose transfer has begun may be silent for so long. A laptop
/// that sleeps and an address that is renewed take seconds; a sender that was killed never comes back.
pub(super) const SILENCE: Duration = Duration::from_secs(60);

/// Whether this life of a sender has yet to begin something, by what it said when it called the roll.
pub(super) fn awaits(
    session: &mut Session,
    (sender, _): &(NodeId, InstanceId),
    record: &Record,
) -> bool {
    if record.has_ended() || !record.has_anything() {
        return false;
    }
    let receiver = session.receiver();
    let invitation = receiver.called(*sender).and_then(Invitation::parse);
    invitation.is_some_and(|invitation| record.begun() < invitation.objects)
}

impl ReceiveJob {
    /// Hears only whom the user named.
    pub(super) fn begin_binding(&self, session: &mut Session) {
        if self.options.screens() {
            return session.receiver().hear_only(Some(OnlyFrom::default()));
        }
        let only = match &self.options.from {
            SenderFilter::Any | SenderFilter::Key(_) => return,
            SenderFilter::Node(node) => OnlyFrom { node: Some(*node), address: None },
            SenderFilter::Address(address) => OnlyFrom { node: None, address: Some(*address) },
            SenderFilter::Name(_) => OnlyFrom::default(),
        };
        session.receiver().hear_only(Some(only));
    }

    /// An object of this sender is taken: with [`Until::SenderEnded`], no others are heard any more. A
    /// sender that is started again has another id, but the same address.
    pub(super) fn bind(&mut self, session: &mut Session, key: ObjectKey, out: &mut Outbox) {
        if self.options.until != Until::SenderEnded || self.binding.bound {
            return;
        }
        self.binding.bound = true;
        if matches!(self.options.from, SenderFilter::Any | SenderFilter::Key(_)) {
            // At its address another stream may be next.
            let address = self.binding.address(key.sender);
            let address = address.filter(|_| !self.options.screens_streams());
            session.receiver().hear_only(Some(OnlyFrom { node: Some(key.sender), address }));
        }
        let source = self.binding.source(key.sender);
        let bound = ReceiveEvent::Bound { id: key.sender, source };
        out.push(TransferEvent::Receive(bound));
    }

    /// Whether an object may be taken by what is announced of it; one that is not is refused.
    pub(super) fn is_from_whom(&self, info: &[u8]) -> bool {
        match &self.options.from {
            SenderFilter::Key(key) => self.signer_of(info) == Some(*key),
            _ => true,
        }
    }

    /// Whether it is known whose an object is only when its announcement has come.
    pub(super) fn binds_late(&self, key: ObjectKey) -> bool {
        self.needs_signer() || self.policy_asks_signer(key)
    }

    /// Whether the user has named a key.
    pub(super) fn needs_signer(&self) -> bool {
        matches!(self.options.from, SenderFilter::Key(_))
    }

    /// A sender was refused; it may be the one of the name that is waited for.
    pub(super) fn on_refused(
        &mut self,
        session: &mut Session,
        (sender, source): (NodeId, SocketAddr),
        invitation: Option<&[u8]>,
        out: &mut Outbox,
    ) {
        if self.options.screens() {
            let Some(invitation) = invitation.and_then(Invitation::parse) else { return };
            let address = source.ip().to_canonical();
            match self.options.screen(sender, address, &invitation) {
                ScreeningResult::Taken => {
                    self.note_place(&invitation);
                    // Others at its address have other names, or other streams. Who is started again has
                    // another id, is refused once, and is known by its name again.
                    let by_address = matches!(self.options.from, SenderFilter::Address(_));
                    let address =
                        Some(address).filter(|_| by_address && !self.options.screens_streams());
                    let only = OnlyFrom { node: Some(sender), address };
                    return session.receiver().hear_only(Some(only));
                }
                ScreeningResult::TooLate => {
                    self.note_place(&invitation);
                    self.end_out_of_place();
                }
                ScreeningResult::Passed => {}
            }
            if self.binding.source(sender).is_none() {
                self.binding.on_sender(sender, source);
            } else {
                return;
            }
        }
        self.binding.refused += 1;
        out.push(TransferEvent::Receive(ReceiveEvent::SenderRefused { id: sender, source }));
    }

    /// Whether the transfer would be too long, or have too many files, with these.
    pub(super) fn is_beyond_limits(&self, key: ObjectKey, files: u64) -> bool {
        let record = self.records.get(&(key.sender, key.instance));
        let (mut bytes, mut count) =
            record.map_or((0, 0), |record| (record.settled_bytes, record.taken_files));
        bytes += record.map_or(0, |record| record.open.values().map(|open| open.size).sum());
        count += files;
        self.options.max_size.is_some_and(|max| bytes > max)
            || self.options.max_files.is_some_and(|max| count > max)
    }

    /// When a transfer that has begun is given up, because its sender is silent.
    pub(super) fn silent_at(&self, session: &mut Session) -> Option<Time> {
        if self.options.until != Until::SenderEnded || self.options.timeout.is_some() {
            return None;
        }
        let is_open = |record: &Record| {
            // Its source may pause, and then no piece is open.
            record.has_stream_coming()
                || record.open.values().any(|object| !object.verifying && !object.examined)
        };
        let waits_for: Vec<_> = self
            .records
            .iter()
            .filter(|(life, record)| is_open(record) || awaits(session, life, record))
            .collect();
        let (receiver, open) = (session.receiver(), waits_for.into_iter());
        let heard = open.map(|((sender, _), _)| receiver.heard(*sender).unwrap_or(self.last_news));
        heard.max().map(|heard| heard.max(self.last_news) + self.silence())
    }
}

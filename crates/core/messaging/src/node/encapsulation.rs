//! Which NORM message carries a frame. Where all nodes heard are group nodes, all frames but long
//! announcements travel in NORM_REPORT: eight bytes less of about 190. Long announcements stay
//! commands, because others take the sender's instance and timing from them.

use super::GroupNode;
use crate::{
    description::PREFIX,
    frames::compact_info::{Envelope, Reference},
    frames::frame::{Frame, HEADER, Kind},
    membership::member::Count,
};
use alloc::vec::Vec;
use fanfare_proto::{NodeId, SenderSummary};
use fanfare_wire::{
    Message, Report, Sequence, cmd::Application, ext::Extensions, header::SenderFields,
};

/// What every NORM_CMD(APPLICATION) begins with, bytes.
pub(super) const COMMAND: usize = 16;
/// What every NORM_REPORT does.
const REPORT: usize = 8;

impl GroupNode {
    /// Whether frames go in reports: who is not known to be a group node does not read them, and NRL's receivers complain.
    pub(super) fn reports(&self) -> bool {
        self.members.are_in_group()
    }

    /// Bytes before a frame's content but for extensions.
    pub(super) fn frame_headers(&self) -> usize {
        if self.reports() { REPORT + HEADER - 1 } else { COMMAND + HEADER }
    }

    /// Writes a frame; `content` is given what carries it.
    pub(super) fn write_frame(
        &mut self,
        (kind, extensions): (Kind, Extensions<'_>),
        content: impl FnOnce(Envelope, &mut Vec<u8>),
        buf: &mut Vec<u8>,
    ) {
        if !self.reports() {
            return self.write_command((kind, extensions), content, buf);
        }
        let mut payload = kind.report_header().to_vec();
        content(Envelope::Report, &mut payload);
        let (sequence, source_id) = (self.next_report(), self.session.node_id());
        Report { sequence, source_id, extensions, payload: &payload }.encode(buf);
    }

    /// The same, whoever reads it.
    pub(super) fn write_command(
        &mut self,
        (kind, extensions): (Kind, Extensions<'_>),
        content: impl FnOnce(Envelope, &mut Vec<u8>),
        buf: &mut Vec<u8>,
    ) {
        let sender = self.next_fields();
        let mut bytes = kind.header().to_vec();
        content(Envelope::command(&sender), &mut bytes);
        Application { sender, extensions, content: &bytes }.encode(buf);
    }

    fn next_report(&mut self) -> Sequence {
        let sequence = self.reported;
        self.reported = sequence.next();
        sequence
    }

    /// What a message of this node's own begins with.
    fn next_fields(&mut self) -> SenderFields {
        self.session.sender().next_fields().unwrap_or_else(|| {
            let fields = self.fields;
            self.fields.sequence = fields.sequence.next();
            fields
        })
    }

    /// The origin that is meant, if one is here, and not two.
    pub(super) fn referred(&mut self, reference: Reference) -> Option<SenderSummary> {
        let mut meant = self
            .logs
            .keys()
            .filter(|incarnation| Reference::of(incarnation.0, incarnation.1) == reference);
        let incarnation = *meant.next().filter(|_| meant.next().is_none())?;
        self.summary(incarnation)
    }
}

/// How a message is numbered, and by whom; a NACK or an ACK is not.
pub(super) fn numbered(message: &Message<'_>) -> Option<(NodeId, (Count, Sequence))> {
    let (count, sequence) = match message {
        Message::Info(info) => (Count::Sender, info.sender.sequence),
        Message::Data(data) => (Count::Sender, data.sender.sequence),
        Message::Cmd(cmd) => (Count::Sender, cmd.sender().sequence),
        Message::Report(report) => (Count::Reporter, report.sequence),
        Message::Nack(_) | Message::Ack(_) => return None,
    };
    Some((message.source_id(), (count, sequence)))
}

/// Whether none but a group node says it.
pub(super) fn is_of_group(message: &Message<'_>) -> bool {
    match message {
        Message::Info(info) => info.payload.starts_with(&PREFIX),
        message => Frame::of(message).is_some(),
    }
}

/// What is said of who speaks by what carries a frame.
pub(super) fn envelope(message: &Message<'_>) -> Envelope {
    match message {
        Message::Cmd(cmd) => Envelope::command(cmd.sender()),
        _ => Envelope::Report,
    }
}

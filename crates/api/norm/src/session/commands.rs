//! Commands of a program to the programs at its receivers (NORM_CMD(APPLICATION)).

use super::{Session, command::Command};
use crate::{handle::Handle, instance::desk::Desk, kinds::EventType};
use fanfare_proto::{Destination, Time, Transmit};
use fanfare_wire::{cmd::Application, ext::Extensions};

impl Session {
    /// Sends a command, once or as often as flushes. False: one is under way, or it is too long.
    pub(crate) fn send_command(&mut self, now: Time, content: Vec<u8>, robust: bool) -> bool {
        let fits = content.len() <= usize::from(self.block.0);
        if !self.sending.proto.is_sender() || self.command.is_some() || !fits {
            return false;
        }
        let left = if robust { self.settings.tx_robust } else { 1 };
        self.command = Some(Command { content, left, next: now });
        true
    }

    pub(crate) fn stop_command(&mut self) {
        self.command = None;
    }

    /// When it is sent next.
    pub(super) fn command_due(&self) -> Option<Time> {
        let command = self.command.as_ref()?;
        Some(command.next.max(self.sending.proto.next_turn()))
    }

    /// Writes it where it is due.
    pub(super) fn poll_command(&mut self, now: Time, buffer: &mut Vec<u8>) -> Option<Transmit> {
        if self.command_due().is_none_or(|at| at > now) {
            return None;
        }
        let interval = self.sending.proto.sender().grtt() * 2;
        let sender = self.sending.proto.sender().next_fields()?;
        let command = self.command.as_mut().filter(|command| command.left > 0)?;
        buffer.clear();
        let extensions = Extensions::default();
        Application { sender, extensions, content: &command.content }.encode(buffer);
        // As often as can be, where it is without end.
        command.left = if command.left == u32::MAX { command.left } else { command.left - 1 };
        command.next = now + interval;
        self.sending.proto.sender().on_spoken(buffer.len());
        Some(Transmit { destination: Destination::Group, segment_size: buffer.len(), ecn: None })
    }

    /// Tells when it was sent as often as it should.
    pub(super) fn end_command(&mut self, desk: &mut Desk) {
        if self.command.take_if(|command| command.left == 0).is_some() {
            self.tell(desk, EventType::TxCmdSent, Handle::NULL, Handle::NULL);
        }
    }
}

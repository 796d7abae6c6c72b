//! Clients who want to know who comes and goes in a group.

use std::sync::{MutexGuard, PoisonError};

use crate::json::{Line, Member};
use fanfare_node::group::GroupEvent;

use super::{Mailbox, Server};
use crate::Failure;

impl Server {
    fn watchers(&self) -> MutexGuard<'_, Vec<(usize, Mailbox)>> {
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells a client who is in a group, and from now on who comes and goes.
    pub(super) fn watch(&self, place: usize, mailbox: &Mailbox) -> Result<(), Failure> {
        // Held until it is told: what changes meanwhile comes after it.
        let mut watchers = self.watchers();
        let status = self.taken(place, self.groups[place].group.status())?;
        mailbox.answer(self.text(place, &Line::members(&status)));
        let is_there =
            |(other, watcher): &(usize, Mailbox)| *other == place && watcher.is_of(mailbox);
        if !watchers.iter().any(is_there) {
            watchers.push((place, mailbox.clone()));
        }
        Ok(())
    }

    /// What an event says of another member of a group, for who wants to know.
    pub fn tell_members(&self, place: usize, event: &GroupEvent) {
        let Some(member) = Member::of(event) else { return };
        let is_presence = matches!(event, GroupEvent::Joined { .. } | GroupEvent::Left { .. });
        let (id, line) = (member.id, self.text(place, &Line::Member(member)));
        let watchers = self.watchers();
        let watchers = watchers.iter().filter(|(watched, _)| *watched == place);
        watchers.for_each(|(_, mailbox)| {
            mailbox.tell_member((place, id), is_presence, line.clone());
        });
    }

    /// A client has gone.
    pub(super) fn stop_watching(&self, mailbox: &Mailbox) {
        self.watchers().retain(|(_, watcher)| !watcher.is_of(mailbox));
    }
}

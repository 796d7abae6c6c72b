//! Clients who want to know who comes and goes in a group.

use std::sync::{Arc, MutexGuard, PoisonError};

use fanfare_node::group::GroupEvent;

use super::{Client, Server};
use crate::{exit::Failure, group_args, json::Line};

impl Server {
    fn watchers(&self) -> MutexGuard<'_, Vec<(usize, Arc<Client>)>> {
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells a client who is in a group, and from now on who comes and goes.
    pub(super) fn watch(&self, place: usize, client: &Arc<Client>) -> Result<(), Failure> {
        // Held until it is told: what changes meanwhile comes after it.
        let mut watchers = self.watchers();
        let status = self.taken(place, self.groups[place].group.status())?;
        client.tell(self.text(place, &Line::members(&status)));
        let is_there = |(other, watcher): &(usize, Arc<Client>)| {
            *other == place && Arc::ptr_eq(watcher, client)
        };
        if !watchers.iter().any(is_there) {
            watchers.push((place, client.clone()));
        }
        Ok(())
    }

    /// What an event says of another member of a group, for who wants to know.
    pub(crate) fn tell_members(&self, place: usize, event: &GroupEvent) {
        let Some(line) = group_args::member_line(event) else { return };
        let line = self.text(place, &line);
        let watchers = self.watchers();
        let watchers = watchers.iter().filter(|(watched, _)| *watched == place);
        watchers.for_each(|(_, client)| client.tell(line.clone()));
    }

    /// A client has gone.
    pub(super) fn stop_watching(&self, client: &Arc<Client>) {
        self.watchers().retain(|(_, watcher)| !Arc::ptr_eq(watcher, client));
    }
}

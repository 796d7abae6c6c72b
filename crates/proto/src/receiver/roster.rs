//! The remote senders in view, and which of them want to be woken when. Of many senders few have
//! something to do at a time: the others are not looked at.

use super::remote_sender::RemoteSender;
use crate::{time::Time, timer::Timer, timetable::Timetable};
use alloc::{collections::BTreeMap, vec::Vec};
use fanfare_wire::NodeId;

/// Remote senders by their ids.
#[derive(Debug, Default)]
pub(super) struct Roster {
    senders: BTreeMap<NodeId, RemoteSender>,
    /// Of all but those touched since.
    timetable: Timetable<NodeId, (Time, Timer)>,
    /// Those that may want to be woken at another time than the timetable says.
    touched: Vec<NodeId>,
}

impl Roster {
    pub(super) fn len(&self) -> usize {
        self.senders.len()
    }
    pub(super) fn get(&self, id: NodeId) -> Option<&RemoteSender> {
        self.senders.get(&id)
    }
    pub(super) fn contains(&self, id: NodeId) -> bool {
        self.senders.contains_key(&id)
    }
    pub(super) fn values(&self) -> impl Iterator<Item = &RemoteSender> {
        self.senders.values()
    }

    pub(super) fn get_mut(&mut self, id: NodeId) -> Option<&mut RemoteSender> {
        let sender = self.senders.get_mut(&id)?;
        touch(&mut self.touched, id);
        Some(sender)
    }
    pub(super) fn get_or_insert(
        &mut self,
        id: NodeId,
        new: impl FnOnce() -> RemoteSender,
    ) -> &mut RemoteSender {
        touch(&mut self.touched, id);
        self.senders.entry(id).or_insert_with(new)
    }
    pub(super) fn remove(&mut self, id: NodeId) -> Option<RemoteSender> {
        touch(&mut self.touched, id);
        self.senders.remove(&id)
    }
    /// All of them, in the order of their ids.
    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut RemoteSender> {
        self.touch_all();
        self.senders.values_mut()
    }
    /// What all of them want may have changed.
    pub(super) fn touch_all(&mut self) {
        self.touched.extend(self.senders.keys().copied());
        self.touched.sort_unstable();
        self.touched.dedup();
    }

    /// Those that want to be woken by `now`, in the order of their ids.
    pub(super) fn due(&mut self, now: Time, silent: bool) -> Vec<NodeId> {
        for id in self.touched.drain(..) {
            let time = self.senders.get(&id).and_then(|sender| sender.next_timeout(silent));
            self.timetable.set(id, time);
        }
        let due = self.timetable.iter().take_while(|((at, _), _)| *at <= now);
        let mut due: Vec<NodeId> = due.map(|(_, id)| id).collect();
        due.sort_unstable();
        due
    }

    /// When the first of them wants to be woken, and why.
    pub(super) fn next_timeout(&self, silent: bool) -> Option<(Time, Timer)> {
        let known = self.timetable.iter().find(|(_, id)| !self.touched.contains(id));
        let known = known.map(|(next, _)| next);
        let touched = self.touched.iter().filter_map(|id| self.senders.get(id));
        touched.filter_map(|sender| sender.next_timeout(silent)).chain(known).min()
    }
}

/// Each once.
fn touch(touched: &mut Vec<NodeId>, id: NodeId) {
    if !touched.contains(&id) {
        touched.push(id);
    }
}

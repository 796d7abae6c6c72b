//! All remote senders in view, by node and instance, with their timers. Few of many senders have
//! something to do at a time, so the others are not looked at.

use super::remote_sender::RemoteSender;
use crate::{peer_repair::Incarnation, time::Time, timer::Timer, timer_queue::TimerQueue};
use alloc::{collections::BTreeMap, vec::Vec};
use core::cmp::Reverse;
use fanfare_wire::{InstanceId, NodeId};

/// Lives of one node in view: who forges one after the other fills no more.
const INCARNATIONS_MAX: usize = 4;

/// Remote senders by node and instance. Where others may have what a sender no longer gives, its earlier instances stay.
#[derive(Debug, Default)]
pub(super) struct SenderTable {
    senders: BTreeMap<Incarnation, RemoteSender>,
    /// In which instance each was heard last.
    current: BTreeMap<NodeId, InstanceId>,
    /// Of all but those touched since.
    timer_queue: TimerQueue<Incarnation, (Time, Timer)>,
    /// Those that may want to be woken at another time than the timetable says.
    touched: Vec<Incarnation>,
}

impl SenderTable {
    pub(super) fn len(&self) -> usize {
        self.senders.len()
    }
    pub(super) fn values(&self) -> impl Iterator<Item = &RemoteSender> {
        self.senders.values()
    }
    /// The instance in which it was heard last.
    pub(super) fn current(&self, node: NodeId) -> Option<Incarnation> {
        self.current.get(&node).map(|instance| (node, *instance))
    }
    /// In the instance in which it was heard last.
    pub(super) fn get(&self, node: NodeId) -> Option<&RemoteSender> {
        self.at(self.current(node)?)
    }
    pub(super) fn at(&self, incarnation: Incarnation) -> Option<&RemoteSender> {
        self.senders.get(&incarnation)
    }
    pub(super) fn at_mut(&mut self, incarnation: Incarnation) -> Option<&mut RemoteSender> {
        let sender = self.senders.get_mut(&incarnation)?;
        touch(&mut self.touched, incarnation);
        Some(sender)
    }
    pub(super) fn contains(&self, incarnation: Incarnation) -> bool {
        self.senders.contains_key(&incarnation)
    }
    /// It was heard in this instance.
    pub(super) fn set_current(&mut self, (node, instance): Incarnation) {
        self.current.insert(node, instance);
    }
    pub(super) fn insert(&mut self, incarnation: Incarnation, sender: RemoteSender) {
        touch(&mut self.touched, incarnation);
        self.senders.insert(incarnation, sender);
        self.current.entry(incarnation.0).or_insert(incarnation.1);
    }
    pub(super) fn remove(&mut self, incarnation: Incarnation) -> Option<RemoteSender> {
        touch(&mut self.touched, incarnation);
        let gone = self.senders.remove(&incarnation)?;
        if self.current(incarnation.0) == Some(incarnation) {
            let other = self.incarnations(incarnation.0).next().map(|(_, instance)| instance);
            match other {
                Some(instance) => self.current.insert(incarnation.0, instance),
                None => self.current.remove(&incarnation.0),
            };
        }
        Some(gone)
    }

    fn incarnations(&self, node: NodeId) -> impl Iterator<Item = Incarnation> + '_ {
        let all = (node, InstanceId(0))..=(node, InstanceId(u16::MAX));
        self.senders.range(all).map(|(incarnation, _)| *incarnation)
    }

    /// Of a node with as many instances as may be, but the one heard last, that which has least, of equals the latest: it is dropped
    /// to another. Who forges instances has to give more than the true one did.
    pub(super) fn least_incarnation(&self, node: NodeId) -> Option<Incarnation> {
        let full = self.incarnations(node).count() >= INCARNATIONS_MAX;
        let others = self
            .incarnations(node)
            .filter(|incarnation| full && self.current(node) != Some(*incarnation));
        let least = |known: &RemoteSender| (known.whole_objects(), Reverse(known.heard));
        others.min_by_key(|incarnation| self.at(*incarnation).map(least))
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
    pub(super) fn due(&mut self, now: Time, silent: bool) -> Vec<Incarnation> {
        for incarnation in self.touched.drain(..) {
            let time =
                self.senders.get(&incarnation).and_then(|sender| sender.next_timeout(silent));
            self.timer_queue.set(incarnation, time);
        }
        let due = self.timer_queue.iter().take_while(|((at, _), _)| *at <= now);
        let mut due: Vec<Incarnation> = due.map(|(_, incarnation)| incarnation).collect();
        due.sort_unstable();
        due
    }

    /// When the first of them wants to be woken, and why.
    pub(super) fn next_timeout(&self, silent: bool) -> Option<(Time, Timer)> {
        let known =
            self.timer_queue.iter().find(|(_, incarnation)| !self.touched.contains(incarnation));
        let known = known.map(|(next, _)| next);
        let touched = self.touched.iter().filter_map(|incarnation| self.senders.get(incarnation));
        touched.filter_map(|sender| sender.next_timeout(silent)).chain(known).min()
    }
}

/// Each once.
fn touch(touched: &mut Vec<Incarnation>, incarnation: Incarnation) {
    if !touched.contains(&incarnation) {
        touched.push(incarnation);
    }
}

//! The remote senders in view, in which of their lives, and which of them want to be woken when. Of many few have
//! something to do at a time: the others are not looked at.

use super::remote_sender::RemoteSender;
use crate::{peer_repair::Life, time::Time, timer::Timer, timer_queue::Timetable};
use alloc::{collections::BTreeMap, vec::Vec};
use core::cmp::Reverse;
use fanfare_wire::{InstanceId, NodeId};

/// Lives of one node in view: who forges one after the other fills no more.
const LIVES_MAX: usize = 4;

/// Remote senders by node and life. Where others may have what a sender no longer gives, its earlier lives stay.
#[derive(Debug, Default)]
pub(super) struct Roster {
    senders: BTreeMap<Life, RemoteSender>,
    /// In which life each was heard last.
    current: BTreeMap<NodeId, InstanceId>,
    /// Of all but those touched since.
    timetable: Timetable<Life, (Time, Timer)>,
    /// Those that may want to be woken at another time than the timetable says.
    touched: Vec<Life>,
}

impl Roster {
    pub(super) fn len(&self) -> usize {
        self.senders.len()
    }
    pub(super) fn values(&self) -> impl Iterator<Item = &RemoteSender> {
        self.senders.values()
    }
    /// The life in which it was heard last.
    pub(super) fn current(&self, node: NodeId) -> Option<Life> {
        self.current.get(&node).map(|instance| (node, *instance))
    }
    /// In the life in which it was heard last.
    pub(super) fn get(&self, node: NodeId) -> Option<&RemoteSender> {
        self.at(self.current(node)?)
    }
    pub(super) fn get_mut(&mut self, node: NodeId) -> Option<&mut RemoteSender> {
        self.at_mut(self.current(node)?)
    }
    pub(super) fn at(&self, life: Life) -> Option<&RemoteSender> {
        self.senders.get(&life)
    }
    pub(super) fn at_mut(&mut self, life: Life) -> Option<&mut RemoteSender> {
        let sender = self.senders.get_mut(&life)?;
        touch(&mut self.touched, life);
        Some(sender)
    }
    pub(super) fn contains(&self, life: Life) -> bool {
        self.senders.contains_key(&life)
    }
    /// It was heard in this life.
    pub(super) fn set_current(&mut self, (node, instance): Life) {
        self.current.insert(node, instance);
    }
    pub(super) fn insert(&mut self, life: Life, sender: RemoteSender) {
        touch(&mut self.touched, life);
        self.senders.insert(life, sender);
        self.current.entry(life.0).or_insert(life.1);
    }
    pub(super) fn remove(&mut self, life: Life) -> Option<RemoteSender> {
        touch(&mut self.touched, life);
        let gone = self.senders.remove(&life)?;
        if self.current(life.0) == Some(life) {
            let other = self.lives(life.0).next().map(|(_, instance)| instance);
            match other {
                Some(instance) => self.current.insert(life.0, instance),
                None => self.current.remove(&life.0),
            };
        }
        Some(gone)
    }

    fn lives(&self, node: NodeId) -> impl Iterator<Item = Life> + '_ {
        let all = (node, InstanceId(0))..=(node, InstanceId(u16::MAX));
        self.senders.range(all).map(|(life, _)| *life)
    }

    /// Of a node with as many lives as may be, but the one heard last, that which has least, of equals the latest: it gives way
    /// to another. Who forges lives has to give more than the true one did.
    pub(super) fn least_life(&self, node: NodeId) -> Option<Life> {
        let full = self.lives(node).count() >= LIVES_MAX;
        let others = self.lives(node).filter(|life| full && self.current(node) != Some(*life));
        let least = |known: &RemoteSender| (known.whole_objects(), Reverse(known.heard));
        others.min_by_key(|life| self.at(*life).map(least))
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
    pub(super) fn due(&mut self, now: Time, silent: bool) -> Vec<Life> {
        for life in self.touched.drain(..) {
            let time = self.senders.get(&life).and_then(|sender| sender.next_timeout(silent));
            self.timetable.set(life, time);
        }
        let due = self.timetable.iter().take_while(|((at, _), _)| *at <= now);
        let mut due: Vec<Life> = due.map(|(_, life)| life).collect();
        due.sort_unstable();
        due
    }

    /// When the first of them wants to be woken, and why.
    pub(super) fn next_timeout(&self, silent: bool) -> Option<(Time, Timer)> {
        let known = self.timetable.iter().find(|(_, life)| !self.touched.contains(life));
        let known = known.map(|(next, _)| next);
        let touched = self.touched.iter().filter_map(|life| self.senders.get(life));
        touched.filter_map(|sender| sender.next_timeout(silent)).chain(known).min()
    }
}

/// Each once.
fn touch(touched: &mut Vec<Life>, life: Life) {
    if !touched.contains(&life) {
        touched.push(life);
    }
}

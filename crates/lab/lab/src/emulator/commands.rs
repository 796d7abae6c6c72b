//! Commands of other threads to the emulator.

use crate::{emulator::capture::Captured, emulator::clock::Clock, emulator::snapshot::Snapshot};
use fanfare_sim::Change;
use rustix::{
    event::{EventfdFlags, eventfd},
    fd::OwnedFd,
    io::Errno,
};
use std::{
    sync::{
        Arc,
        mpsc::{Receiver, Sender, SyncSender, channel, sync_channel},
    },
    time::Duration,
};

/// Frames that wait for whoever writes a capture; more are dropped and counted.
const CAPTURED_MAX: usize = 8192;
/// Longer than an emulator that lives takes for an answer.
const ANSWER: Duration = Duration::from_secs(5);

/// An order.
#[derive(Debug)]
pub(crate) enum Order {
    /// Say what has been counted.
    Snapshot(Sender<Snapshot>),
    /// From now on give the frames of this host's cable.
    Capture(usize, SyncSender<Captured>),
    /// Let this happen to the network.
    Change(Change),
    /// The end.
    Stop,
}

/// Where orders are given.
#[derive(Debug, Clone)]
pub(crate) struct Handle {
    orders: Sender<Order>,
    wake: Arc<OwnedFd>,
    clock: Clock,
}

impl Handle {
    /// A handle, and what wakes the emulator when it has been used.
    pub(super) fn new(orders: Sender<Order>, clock: Clock) -> Result<(Self, OwnedFd), Errno> {
        let wake = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        let theirs = wake.try_clone().map_err(|_| Errno::MFILE)?;
        Ok((Self { orders, wake: Arc::new(wake), clock }, theirs))
    }
    fn give(&self, order: Order) {
        // An emulator that has ended answers nothing, which callers see.
        let _ = self.orders.send(order);
        let _ = rustix::io::write(&*self.wake, &1_u64.to_ne_bytes());
    }
    /// What has been counted; `None` when the emulator has ended.
    pub(crate) fn snapshot(&self) -> Option<Snapshot> {
        let (to, answer) = channel();
        self.give(Order::Snapshot(to));
        answer.recv_timeout(ANSWER).ok()
    }
    /// Frames of a host's cable from now on.
    pub(crate) fn capture(&self, host: usize) -> Receiver<Captured> {
        let (to, frames) = sync_channel(CAPTURED_MAX);
        self.give(Order::Capture(host, to));
        frames
    }
    /// Lets something happen to the network at once.
    pub(crate) fn change(&self, change: Change) {
        self.give(Order::Change(change));
    }
    pub(crate) fn stop(&self) {
        self.give(Order::Stop);
    }
    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }
}

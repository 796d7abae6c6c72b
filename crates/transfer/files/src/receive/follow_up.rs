//! Objects that are about all others: listings and trees. Each waits until everything else that its
//! sender sent is settled. It is then acted on by a thread of its own, since a disk takes as long as it
//! likes, and one after the other: they may be about the same directories.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, TryRecvError, sync_channel},
    },
    thread::JoinHandle,
    time::Duration,
};

use crate::content::{
    listing::{Removal, Step},
    tree::{Restoration, Restored},
};
use fanfare_node::Waker;
use fanfare_proto::ObjectKey;

/// Objects that came before this receiver did, and that it will not get, show by nothing new coming
/// for so long: many round trips, even by satellite.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);
/// Steps told and not yet taken: an application that does not read holds up the work, and nothing
/// else.
const STEPS: usize = 16;

/// What is done about an object, by a thread.
pub(super) trait Work: Send + 'static {
    /// What is told of it, the outcome last.
    type Step: Send + 'static;
    /// What its thread is called.
    const THREAD: &'static str;

    /// Does it, and tells each step. `tell` says whether anybody listens.
    fn run(self, stop: &AtomicBool, tell: &mut dyn FnMut(Self::Step) -> bool);
}

/// Listings of all senders.
pub(super) type Deletions = FollowUps<Removal>;

impl Work for Removal {
    type Step = Step;
    const THREAD: &'static str = "fanfare-delete";

    fn run(self, stop: &AtomicBool, tell: &mut dyn FnMut(Step) -> bool) {
        Self::run(self, stop, tell);
    }
}

/// Trees of all senders.
pub(super) type Trees = FollowUps<Restoration>;

impl Work for Restoration {
    type Step = Restored;
    const THREAD: &'static str = "fanfare-tree";

    fn run(self, stop: &AtomicBool, tell: &mut dyn FnMut(Restored) -> bool) {
        tell(Self::run(self, stop));
    }
}

/// Objects of one kind, of all senders.
#[derive(Debug)]
pub(super) struct FollowUps<W: Work> {
    waker: Option<Waker>,
    /// Whole, and waiting for what was sent before them.
    waiting: Vec<ObjectKey>,
    ready: VecDeque<(ObjectKey, W)>,
    running: Option<Running<W::Step>>,
}

#[derive(Debug)]
struct Running<S> {
    key: ObjectKey,
    steps: Option<Receiver<S>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl<S> Drop for Running<S> {
    /// It stops after the name that it is at; what is left is for another time.
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Whoever waits for its steps to be taken is told that nobody will.
        self.steps = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl<W: Work> Default for FollowUps<W> {
    fn default() -> Self {
        let (waiting, ready) = (Vec::new(), VecDeque::new());
        Self { waker: None, waiting, ready, running: None }
    }
}

impl<W: Work> FollowUps<W> {
    /// Who is woken when a thread has done something.
    pub(super) fn wake_by(&mut self, waker: Waker) {
        self.waker = Some(waker);
    }

    /// An object is whole. It waits for what was sent before it.
    pub(super) fn wait(&mut self, key: ObjectKey) {
        self.waiting.push(key);
    }

    /// Those that wait. Whoever takes them puts back those that go on waiting.
    pub(super) fn take_waiting(&mut self) -> Vec<ObjectKey> {
        std::mem::take(&mut self.waiting)
    }

    /// It is time for this one.
    pub(super) fn push(&mut self, key: ObjectKey, work: W) {
        self.ready.push_back((key, work));
    }

    /// Whether one is acted on now.
    pub(super) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// The next one for which it is time, if none is acted on.
    pub(super) fn next(&mut self) -> Option<(ObjectKey, W)> {
        if self.is_running() { None } else { self.ready.pop_front() }
    }

    /// Acts on one. False when the system gives no thread.
    pub(super) fn start(&mut self, key: ObjectKey, work: W) -> bool {
        let (steps, taken) = sync_channel(STEPS);
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, waker) = (stop.clone(), self.waker.clone());
        let thread = std::thread::Builder::new().name(W::THREAD.into());
        let thread = thread.spawn(move || {
            work.run(&stopped, &mut |step| {
                let sent = steps.send(step).is_ok();
                waker.iter().for_each(Waker::wake);
                sent
            });
        });
        let Ok(thread) = thread else { return false };
        self.running = Some(Running { key, steps: Some(taken), stop, thread: Some(thread) });
        true
    }

    /// The next step of the one that is acted on; `Err` when its thread has ended without an outcome.
    pub(super) fn poll(&mut self) -> Option<(ObjectKey, Result<W::Step, ()>)> {
        let Running { key, steps, .. } = self.running.as_ref()?;
        match steps.as_ref()?.try_recv() {
            Ok(step) => Some((*key, Ok(step))),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some((*key, Err(()))),
        }
    }

    /// The outcome was taken.
    pub(super) fn finish(&mut self) {
        self.running = None;
    }

    /// Nothing more is to be done.
    pub(super) fn stop(&mut self) {
        self.ready.clear();
        if let Some(running) = &self.running {
            running.stop.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use fanfare_proto::{InstanceId, NodeId, ObjectTransportId};

    use super::*;

    #[derive(Debug)]
    struct Counting(u32);

    impl Work for Counting {
        type Step = u32;
        const THREAD: &'static str = "test";

        fn run(self, stop: &AtomicBool, tell: &mut dyn FnMut(u32) -> bool) {
            for step in 0..self.0 {
                if stop.load(Ordering::Relaxed) || !tell(step) {
                    return;
                }
            }
        }
    }

    fn key(object: u16) -> ObjectKey {
        ObjectKey { sender: NodeId(1), instance: InstanceId(1), object: ObjectTransportId(object) }
    }

    /// The steps of the one that is acted on, to its end.
    fn steps(all: &mut FollowUps<Counting>) -> (ObjectKey, Vec<u32>) {
        let mut told = Vec::new();
        loop {
            match all.poll() {
                Some((_, Ok(step))) => told.push(step),
                Some((key, Err(()))) => return (key, told),
                None => std::thread::yield_now(),
            }
        }
    }

    #[test]
    fn one_is_acted_on_after_the_other_and_each_step_is_told() {
        let mut all = FollowUps::default();
        all.push(key(1), Counting(40));
        all.push(key(2), Counting(2));
        let (first, work) = all.next().unwrap();
        assert!(all.start(first, work) && all.next().is_none());
        assert_eq!(steps(&mut all), (key(1), (0..40).collect()));
        all.finish();
        let (second, work) = all.next().unwrap();
        assert!(all.start(second, work));
        assert_eq!(steps(&mut all), (key(2), vec![0, 1]));
    }

    #[test]
    fn what_nobody_listens_to_any_more_ends_with_its_thread() {
        let mut all = FollowUps::default();
        assert!(all.start(key(1), Counting(u32::MAX)));
        all.finish();
        assert!(!all.is_running());
    }
}

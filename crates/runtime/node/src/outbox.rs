//! Events on their way to an application that may be slow.

use std::{
    collections::VecDeque,
    sync::mpsc::{SyncSender, TrySendError},
};

use crate::engine::Trouble;

/// Events that wait when the channel is full. Beyond it they are lost, and counted.
const WAITING_MAX: usize = 16_384;

/// The driver's end of the event channel. Never blocks while the node runs.
#[derive(Debug)]
pub struct Outbox<E> {
    channel: SyncSender<E>,
    waiting: VecDeque<E>,
    max: usize,
    lost: u64,
    lost_before: u64,
}

impl<E: From<Trouble>> Outbox<E> {
    /// For events that hold little.
    pub fn new(channel: SyncSender<E>) -> Self {
        Self::with_room(channel, WAITING_MAX)
    }

    /// As [`Self::new`], for so many events that wait: where each holds much.
    pub fn with_room(channel: SyncSender<E>, max: usize) -> Self {
        Self { channel, waiting: VecDeque::new(), max, lost: 0, lost_before: 0 }
    }

    /// Sends `event` as soon as there is room.
    pub fn push(&mut self, event: E) {
        if self.waiting.len() < self.max {
            self.waiting.push_back(event);
        } else {
            self.lost += 1;
        }
    }

    /// Sends all of `events`.
    pub fn push_all(&mut self, events: impl IntoIterator<Item = E>) {
        events.into_iter().for_each(|event| self.push(event));
    }

    /// Hands over what fits.
    pub fn flush(&mut self) {
        while let Some(event) = self.waiting.pop_front() {
            match self.channel.try_send(event) {
                Ok(()) => {}
                Err(TrySendError::Full(event)) => return self.waiting.push_front(event),
                // Nobody listens any more.
                Err(TrySendError::Disconnected(_)) => self.waiting.clear(),
            }
        }
        if self.lost > 0 {
            let lost = std::mem::take(&mut self.lost);
            self.lost_before += lost;
            self.waiting.push_back(Trouble::Overrun(lost).into());
        }
    }

    /// Whether more can wait without getting near what is lost.
    pub fn has_room(&self) -> bool {
        self.waiting.len() < self.max / 2
    }

    /// Events lost so far.
    pub fn lost(&self) -> u64 {
        self.lost_before + self.lost
    }

    /// Whether events wait for room.
    pub fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Hands everything over, waiting as long as the application listens.
    pub fn close(mut self) {
        if self.lost > 0 {
            self.waiting.push_back(Trouble::Overrun(self.lost).into());
        }
        for event in self.waiting {
            if self.channel.send(event).is_err() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use super::*;

    /// What an application is told.
    #[derive(Debug)]
    enum Told {
        Something,
        Lost(u64),
    }

    impl From<Trouble> for Told {
        fn from(trouble: Trouble) -> Self {
            match trouble {
                Trouble::Overrun(lost) => Self::Lost(lost),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn an_application_that_reads_nothing_costs_bounded_memory_and_is_told_what_it_lost() {
        let (sender, receiver) = sync_channel(10);
        let mut outbox = Outbox::new(sender);
        for _ in 0..WAITING_MAX + 100 {
            outbox.push(Told::Something);
            outbox.flush();
        }
        assert!(outbox.is_waiting());
        let reader = std::thread::spawn(move || receiver.iter().collect::<Vec<_>>());
        outbox.close();
        let events = reader.join().unwrap();
        let lost: u64 =
            events.iter().map(|e| if let Told::Lost(lost) = e { *lost } else { 0 }).sum();
        assert_eq!((lost, events.len()), (90, WAITING_MAX + 11));
    }
}

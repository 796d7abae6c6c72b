//! Objects that were sent and are not acknowledged yet.

use std::collections::VecDeque;

use fanfare_proto::{ObjectKey, Time};

use super::fit::Unacknowledged;

/// Oldest first, each with the size of its segments.
#[derive(Debug)]
pub(crate) struct Kept {
    objects: VecDeque<(ObjectKey, u16)>,
    /// How many of them the watermark under way covers.
    marked: Option<usize>,
    /// Nothing has been acknowledged since.
    since: Time,
}

impl Kept {
    pub(crate) const fn new() -> Self {
        Self { objects: VecDeque::new(), marked: None, since: Time::ZERO }
    }

    pub(crate) fn len(&self) -> usize {
        self.objects.len()
    }

    pub(crate) fn push(&mut self, now: Time, key: ObjectKey, segment: u16) {
        if self.objects.is_empty() {
            self.since = now;
        }
        self.objects.push_back((key, segment));
    }

    pub(crate) fn has(&self, key: ObjectKey) -> bool {
        self.objects.iter().any(|(kept, _)| *kept == key)
    }

    /// All of them are asked for from now on. False when there are none, or some are asked for already.
    pub(crate) fn mark(&mut self) -> bool {
        let may = self.marked.is_none() && !self.objects.is_empty();
        if may {
            self.marked = Some(self.objects.len());
        }
        may
    }

    /// The answer has come: what is to be let go.
    pub(crate) fn on_answer(&mut self, now: Time, all: bool) -> Vec<ObjectKey> {
        let count = self.marked.take().filter(|_| all).unwrap_or(0);
        if count > 0 {
            self.since = now;
        }
        self.objects.drain(..count.min(self.objects.len())).map(|(key, _)| key).collect()
    }

    /// All of them, oldest first: nothing is kept any more.
    pub(crate) fn take_all(&mut self) -> Vec<ObjectKey> {
        self.marked = None;
        self.objects.drain(..).map(|(key, _)| key).collect()
    }

    /// They have another chance from now on: the path is another one.
    pub(crate) fn on_new_path(&mut self, now: Time) {
        self.since = now;
    }

    pub(crate) fn unacknowledged(&self) -> Option<Unacknowledged> {
        let longest = self.objects.iter().map(|(_, segment)| *segment).max()?;
        Some(Unacknowledged { since: self.since, longest })
    }
}

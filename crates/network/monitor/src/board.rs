//! The document that is shown now, what led to it, and who waits for news of it.

use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::{history::History, past::Past};

/// Points of the charts that are kept: ten minutes, one a second.
const HISTORY_MAX: usize = 600;

/// A document for many readers, replaced as a whole.
#[derive(Debug)]
pub struct Board {
    shown: Mutex<Shown>,
    news: Condvar,
    past: Past,
}

#[derive(Debug)]
struct Shown {
    document: Arc<Value>,
    /// Grows with each document.
    number: u64,
    history: VecDeque<Vec<f64>>,
    /// Nothing more will come.
    ended: bool,
    /// Streams that are open, and those that have sent the last document.
    readers: usize,
    informed: usize,
}

/// What a reader finds.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) document: Arc<Value>,
    pub(crate) number: u64,
    pub(crate) ended: bool,
}

impl Board {
    /// Shows this first.
    #[must_use]
    pub fn new(document: Value) -> Self {
        let shown = Shown {
            document: Arc::new(document),
            number: 1,
            history: VecDeque::new(),
            ended: false,
            readers: 0,
            informed: 0,
        };
        Self { shown: Mutex::new(shown), news: Condvar::new(), past: Past::default() }
    }

    /// Shows `document` from now on. Nobody is woken when it is what was there.
    pub fn publish(&self, document: Value) {
        let mut shown = self.lock();
        if *shown.document != document {
            shown.document = Arc::new(document);
            shown.number += 1;
            self.news.notify_all();
        }
    }

    /// A point of the charts: the time in seconds first.
    pub fn add_point(&self, point: Vec<f64>) {
        let mut shown = self.lock();
        let (at, document) = (point.first().copied().unwrap_or(0.0), Arc::clone(&shown.document));
        if shown.history.len() == HISTORY_MAX {
            shown.history.pop_front();
        }
        shown.history.push_back(point);
        drop(shown);
        self.past.keep(at, &document);
    }

    /// Keeps numbers in this history, too.
    pub fn set_history(&self, history: History) {
        self.past.set_history(history);
    }

    /// What was shown before.
    pub(crate) fn past(&self) -> &Past {
        &self.past
    }

    /// The points so far.
    pub(crate) fn history(&self) -> Vec<Vec<f64>> {
        self.lock().history.iter().cloned().collect()
    }

    /// What is shown now.
    pub(crate) fn now(&self) -> Seen {
        seen(&self.lock())
    }

    /// What is shown once it is newer than `number`, or when `patience` is over.
    pub(crate) fn wait(&self, number: u64, patience: Duration) -> Seen {
        let shown = self.lock();
        let waited = self
            .news
            .wait_timeout_while(shown, patience, |shown| shown.number <= number && !shown.ended);
        seen(&waited.unwrap_or_else(PoisonError::into_inner).0)
    }

    /// Nothing more comes. Waits until all open streams have sent the last document, `patience` long.
    pub fn end(&self, patience: Duration) {
        self.past.flush();
        let until = Instant::now() + patience;
        let mut shown = self.lock();
        shown.ended = true;
        self.news.notify_all();
        while shown.informed < shown.readers {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            shown = self.news.wait_timeout(shown, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    pub(crate) fn on_reader(&self) {
        self.lock().readers += 1;
    }

    /// A reader has gone, with the last document or without it.
    pub(crate) fn on_reader_gone(&self) {
        let mut shown = self.lock();
        shown.informed += 1;
        self.news.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn seen(shown: &Shown) -> Seen {
    Seen { document: Arc::clone(&shown.document), number: shown.number, ended: shown.ended }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_document_that_is_alike_is_no_news() {
        let board = Board::new(json!({"a": 1}));
        board.publish(json!({"a": 1}));
        assert_eq!(board.now().number, 1);
        board.publish(json!({"a": 2}));
        assert_eq!(board.now().number, 2);
    }

    #[test]
    fn the_history_has_the_last_ten_minutes() {
        let board = Board::new(json!({}));
        (0..HISTORY_MAX + 5).for_each(|second| board.add_point(vec![second as f64]));
        let history = board.history();
        assert_eq!((history.len(), history[0][0]), (HISTORY_MAX, 5.0));
    }

    #[test]
    fn the_end_waits_for_open_streams_and_for_no_others() {
        let board = Arc::new(Board::new(json!({})));
        board.end(Duration::from_secs(3600));
        board.on_reader();
        let other = Arc::clone(&board);
        let reader = std::thread::spawn(move || {
            assert!(other.wait(1, Duration::from_secs(3600)).ended);
            other.on_reader_gone();
        });
        board.end(Duration::from_secs(3600));
        reader.join().unwrap();
    }
}

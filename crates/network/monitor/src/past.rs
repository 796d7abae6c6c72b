//! What was shown before: documents of the last minutes, for replay, and the history behind them.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};

use serde_json::{Value, json};

use crate::history::{History, Point, series};

/// A document is kept so often, seconds.
const EACH: f64 = 5.0;
/// All that are kept have no more bytes: a quarter of an hour of a large group.
const BYTES_MAX: usize = 16 << 20;
const COUNT_MAX: usize = 360;

/// Documents, and numbers of longer ago.
#[derive(Debug, Default)]
pub(crate) struct Past {
    kept: Mutex<Kept>,
    history: Mutex<Option<History>>,
}

#[derive(Debug, Default)]
struct Kept {
    documents: VecDeque<(f64, String)>,
    bytes: usize,
}

impl Past {
    /// Keeps numbers in this history, too.
    pub(crate) fn set_history(&self, history: History) {
        *lock(&self.history) = Some(history);
    }

    /// What is shown now, `at` seconds after the start.
    pub(crate) fn keep(&self, at: f64, document: &Value) {
        if let Some(history) = &mut *lock(&self.history) {
            history.add(now(), &series(document));
        }
        let mut kept = lock(&self.kept);
        if kept.documents.back().is_some_and(|(last, _)| at - last < EACH) {
            return;
        }
        let text = document.to_string();
        kept.bytes += text.len();
        kept.documents.push_back((at, text));
        while kept.bytes > BYTES_MAX || kept.documents.len() > COUNT_MAX {
            let Some((_, oldest)) = kept.documents.pop_front() else { break };
            kept.bytes -= oldest.len();
        }
    }

    /// The times of which there are documents, seconds after the start.
    pub(crate) fn times(&self) -> String {
        let kept = lock(&self.kept);
        let times: Vec<f64> = kept.documents.iter().map(|(at, _)| *at).collect();
        json!(times).to_string()
    }

    /// The document that was shown then: the last one before.
    pub(crate) fn at(&self, time: f64) -> Option<String> {
        let kept = lock(&self.kept);
        let before = kept.documents.iter().rev().find(|(at, _)| *at <= time);
        before.or(kept.documents.front()).map(|(_, document)| document.clone())
    }

    /// Numbers between two times, seconds since 1970; `None` where there is no history.
    pub(crate) fn history(&self, from: u64, to: u64, prefix: &str) -> Option<String> {
        let history = lock(&self.history);
        let points = history.as_ref()?.read(from, to, prefix);
        let point =
            |point: &Point| json!({"at": point.at, "span": point.span, "values": point.values});
        Some(
            json!({"now": now(), "points": points.iter().map(point).collect::<Vec<_>>()})
                .to_string(),
        )
    }

    /// Writes what is not in the file yet.
    pub(crate) fn flush(&self) {
        lock(&self.history).iter_mut().for_each(History::flush);
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_of_a_time_is_the_last_one_before_it() {
        let past = Past::default();
        for second in 0..20 {
            past.keep(f64::from(second), &json!({"second": second}));
        }
        assert_eq!(past.times(), "[0.0,5.0,10.0,15.0]");
        assert_eq!(past.at(12.0).unwrap(), "{\"second\":10}");
        assert_eq!(past.at(-1.0).unwrap(), "{\"second\":0}");
        assert!(past.history(0, 1, "").is_none());
    }

    #[test]
    fn large_documents_are_kept_for_a_shorter_time() {
        let past = Past::default();
        let large = json!("x".repeat(4 << 20));
        (0..10).for_each(|at| past.keep(f64::from(at) * EACH, &large));
        assert_eq!(past.times(), "[35.0,40.0,45.0]");
    }
}

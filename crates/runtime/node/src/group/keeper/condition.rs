//! Whether what is kept outlives the process, and what of that has been said: each state once.

use super::fault::Fault;
use std::sync::Arc;
use std::sync::Mutex;

/// What the application should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum News {
    /// What comes from now on would not outlive the process, and why.
    NotDurable(String),
    /// It does again; so many messages that came meanwhile do not.
    Durable { unkept: u64 },
}

/// How the cache stands, between the thread that writes and who tells the application.
#[derive(Debug, Default)]
pub(super) struct Condition {
    fault: Option<Fault>,
    is_slow: bool,
    /// What of both was told.
    told: (Option<Fault>, bool),
    unkept: u64,
}

impl Condition {
    /// The disk refuses.
    pub(super) fn on_fault(&mut self, fault: Fault) {
        self.fault = Some(fault);
    }

    /// It takes everything again.
    pub(super) fn on_mended(&mut self) {
        self.fault = None;
    }

    /// The disk takes less than comes.
    pub(super) fn on_slow(&mut self) {
        self.is_slow = true;
    }

    /// It has caught up.
    pub(super) fn on_caught_up(&mut self) {
        self.is_slow = false;
    }

    /// So many messages will not be written.
    pub(super) fn on_unkept(&mut self, messages: u64) {
        self.unkept += messages;
    }

    pub(super) fn is_slow(&self) -> bool {
        self.is_slow
    }

    /// The next thing to be told.
    pub(super) fn poll_news(&mut self) -> Option<News> {
        if let Some(fault) = self.fault.clone().filter(|_| self.fault != self.told.0) {
            self.told.0 = Some(fault.clone());
            return Some(News::NotDurable(fault.to_string()));
        }
        if self.is_slow && !self.told.1 {
            self.told.1 = true;
            return Some(News::NotDurable("the disk is slower than what comes".into()));
        }
        let was_told = self.told.0.is_some() || self.told.1;
        if !was_told || self.fault.is_some() || self.is_slow {
            return None;
        }
        self.told = (None, false);
        Some(News::Durable { unkept: std::mem::take(&mut self.unkept) })
    }
}

pub(super) type SharedCondition = Arc<Mutex<Condition>>;

#[cfg(test)]
mod tests {
    use super::*;

    fn full() -> News {
        News::NotDurable("the disk is full".into())
    }

    #[test]
    fn each_state_is_told_once_however_often_it_is_met() {
        let mut condition = Condition::default();
        assert_eq!(condition.poll_news(), None);
        for told in [Some(full()), None, None] {
            condition.on_fault(Fault::Full);
            condition.on_unkept(1);
            assert_eq!(condition.poll_news(), told);
        }
        condition.on_slow();
        assert!(
            matches!(condition.poll_news(), Some(News::NotDurable(why)) if why.contains("slower"))
        );
        condition.on_slow();
        condition.on_mended();
        assert_eq!(condition.poll_news(), None, "it is slow still");
        condition.on_caught_up();
        assert_eq!(condition.poll_news(), Some(News::Durable { unkept: 3 }));
        assert_eq!(condition.poll_news(), None);
        condition.on_fault(Fault::Full);
        assert_eq!(condition.poll_news(), Some(full()));
    }

    #[test]
    fn what_ended_before_anybody_asked_is_not_told() {
        let mut condition = Condition::default();
        condition.on_fault(Fault::Full);
        condition.on_mended();
        assert_eq!(condition.poll_news(), None);
    }
}

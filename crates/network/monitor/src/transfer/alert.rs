//! What a person should know, with its cause and what to do about it.

use std::{collections::BTreeMap, time::Duration};

use serde::Serialize;

/// So long an alert is shown after its cause was seen last: what flickers cannot be read.
const HOLD: Duration = Duration::from_secs(5);

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Severity {
    /// It goes on, slower or later.
    Warning,
    /// Somebody will not have everything.
    Critical,
}

/// What was found about one receiver, or about all.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Alert {
    /// Stable name of the cause.
    pub(crate) cause: &'static str,
    pub(crate) severity: Severity,
    /// Its receiver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<u64>,
    /// Its receiver for people; empty when it is about all.
    pub(crate) subject: String,
    /// The sentence.
    pub(crate) text: String,
    /// What to do.
    pub(crate) advice: String,
    /// When it was seen first, seconds since the start.
    pub(crate) since: f64,
    /// It does not go away by itself.
    #[serde(skip)]
    pub(crate) lasting: bool,
}

/// Those that are shown.
#[derive(Debug, Default)]
pub(crate) struct Alerts {
    shown: BTreeMap<String, (Alert, Duration)>,
    /// How many there were, by cause.
    pub(crate) raised: BTreeMap<&'static str, u64>,
}

impl Alerts {
    /// What is the case now.
    pub(crate) fn on_found(&mut self, now: Duration, found: Vec<Alert>) {
        for mut alert in found {
            let key = match alert.id {
                Some(id) => format!("{}:{id}", alert.cause),
                None => format!("{}:{}", alert.cause, alert.subject),
            };
            match self.shown.get(&key) {
                Some((before, _)) => alert.since = before.since,
                None => *self.raised.entry(alert.cause).or_default() += 1,
            }
            self.shown.insert(key, (alert, now));
        }
        self.shown.retain(|_, (alert, seen)| alert.lasting || now < *seen + HOLD);
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&String, &Alert)> {
        self.shown.iter().map(|(key, (alert, _))| (key, alert))
    }

    /// The worst about a receiver.
    pub(crate) fn of(&self, id: u64) -> Option<&Alert> {
        let own = self.shown.values().map(|(alert, _)| alert).filter(|alert| alert.id == Some(id));
        own.max_by_key(|alert| alert.severity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alert(since: f64, lasting: bool) -> Alert {
        Alert {
            cause: "lossy-path",
            severity: Severity::Warning,
            id: Some(7),
            subject: "lab-7".to_owned(),
            text: String::new(),
            advice: String::new(),
            since,
            lasting,
        }
    }

    #[test]
    fn an_alert_keeps_its_beginning_and_goes_five_seconds_after_its_cause() {
        let mut alerts = Alerts::default();
        let at = Duration::from_secs;
        alerts.on_found(at(1), vec![alert(1.0, false)]);
        alerts.on_found(at(3), vec![alert(3.0, false)]);
        alerts.on_found(at(7), vec![]);
        assert_eq!(alerts.of(7).map(|alert| alert.since), Some(1.0));
        alerts.on_found(at(8), vec![]);
        assert_eq!(alerts.of(7), None);
        assert_eq!(alerts.raised["lossy-path"], 1);
    }

    #[test]
    fn what_does_not_mend_itself_stays() {
        let mut alerts = Alerts::default();
        alerts.on_found(Duration::ZERO, vec![alert(0.0, true)]);
        alerts.on_found(Duration::from_secs(3600), vec![]);
        assert!(alerts.of(7).is_some());
    }
}

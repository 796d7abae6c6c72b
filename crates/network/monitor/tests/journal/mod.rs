//! Thirty machines that get an image, recorded in the laboratory with real programs: what the sender said, and
//! when each trouble showed. Of the lines of `--json` those that no page needs are left out.

use std::time::Duration;

use serde_json::Value;

/// So soon after it shows each trouble is to be named.
pub(crate) const SOON: f64 = 2.0;

/// A trouble: whose it is, what, and when it showed.
#[derive(Debug, Clone)]
pub(crate) struct Trouble {
    pub(crate) machine: String,
    pub(crate) cause: String,
    pub(crate) at: f64,
}

/// All of it. Times are seconds after data began to flow.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    pub(crate) troubles: Vec<Trouble>,
    pub(crate) lines: Vec<(f64, Value)>,
}

pub(crate) fn read() -> Journal {
    let mut journal = Journal::default();
    for line in include_str!("imaging.jsonl").lines() {
        let mut line: Value = serde_json::from_str(line).unwrap();
        let at = line["at"].as_f64().unwrap();
        let text = |field: &str| line[field].as_str().unwrap_or_default().to_owned();
        match line["cause"].is_string() {
            true => journal.troubles.push(Trouble {
                machine: text("machine"),
                cause: text("cause"),
                at,
            }),
            false => journal.lines.push((at, line["line"].take())),
        }
    }
    assert!(journal.troubles.len() == 3 && journal.lines.len() > 100);
    journal
}

impl Journal {
    /// The first line comes at nothing: times of a page that was opened then.
    pub(crate) fn since_start(&self, at: f64) -> Duration {
        let first = self.lines.first().map_or(0.0, |(at, _)| *at);
        Duration::from_secs_f64((at - first).max(0.0))
    }
}

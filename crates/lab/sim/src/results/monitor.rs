//! Figures of monitors: what their notes cost, and what they know.

use fanfare_messaging::monitor::Stats;
use fanfare_proto::Time;

use crate::{
    monitor_report::MonitorReport,
    results::{metrics::Metric, report::Report},
};

impl Report {
    /// Figures of a run with monitors; none of any other. What is sent is of the whole run, ages are those at
    /// its end.
    pub(crate) fn monitor_metrics(&self) -> Vec<Metric> {
        let all: Vec<&MonitorReport> =
            self.hosts.iter().filter_map(|host| host.monitor.as_ref()).collect();
        let seconds = self.ended.since(Time::ZERO).as_secs_f64();
        if all.is_empty() || seconds <= 0.0 {
            return Vec::new();
        }
        let count = all.len() as f64;
        let sum = |of: fn(&Stats) -> u64| all.iter().map(|one| of(&one.stats)).sum::<u64>() as f64;
        let (bytes, notes) = (sum(|stats| stats.bytes_sent), sum(|stats| stats.notes_sent));
        let mut ages: Vec<f64> =
            all.iter().flat_map(|one| &one.ages).map(|(age, _)| age.as_secs_f64()).collect();
        ages.sort_by(f64::total_cmp);
        let rank = |share: f64| {
            let at = (ages.len() as f64 * share).ceil() as usize;
            ages.get(at.saturating_sub(1)).copied().unwrap_or(0.0)
        };
        let hops = all.iter().flat_map(|one| &one.ages).map(|(_, hop)| *hop).max().unwrap_or(0);
        let named = |name: &str, value| (name.to_owned(), value);
        vec![
            named("monitor_bps", bytes * 8.0 / seconds),
            named("monitor_bps_per_node", bytes * 8.0 / seconds / count),
            named("monitor_note_bytes", bytes / notes.max(1.0)),
            named("monitor_relayed_per_note", sum(|stats| stats.relayed) / notes.max(1.0)),
            named("monitor_known_share", ages.len() as f64 / (count * (count - 1.0)).max(1.0)),
            named("monitor_age_p50_s", rank(0.5)),
            named("monitor_age_p95_s", rank(0.95)),
            named("monitor_hops_most", f64::from(hops)),
        ]
    }
}

//! Bounds of what may wait in a bridge, and the words for what does not fit.

use clap::Args;
use fanfare_command::config::gateway_options;
use fanfare_command::json::{CrossingLine, CrossingWay, Line};
use fanfare_command::{Failure, Output};
use fanfare_node::QueueLimit;

use super::metrics::CrossingMetrics;
use crate::group::{counter_pace::CounterPace, drop_notice::DropNotice};

/// Options of the queue.
#[derive(Debug, Args)]
#[command(next_help_heading = "Queue")]
pub(super) struct QueueArgs {
    /// Number of messages that may wait, each way
    ///
    /// A message that does not fit stays at its source, if the source can keep it. Otherwise it is dropped and counted,
    /// and a warning says so.
    #[arg(long, default_value = gateway_options::QUEUE, value_name = "N", hide_short_help = true)]
    queue: String,
    /// Number of bytes that may wait, each way
    #[arg(
        long,
        default_value = gateway_options::QUEUE_BYTES,
        value_name = "SIZE",
        hide_short_help = true
    )]
    queue_bytes: String,
}

impl QueueArgs {
    /// The options, understood.
    pub(super) fn limit(&self) -> Result<QueueLimit, Failure> {
        gateway_options::queue(&self.queue, &self.queue_bytes)
    }
}

/// Tells what a bridge drops, and how far it is.
pub(super) struct CrossingReporter {
    pace: CounterPace,
    notices: [DropNotice; 2],
    last: Vec<CrossingWay>,
    metrics: CrossingMetrics,
}

impl CrossingReporter {
    pub(super) fn new(metrics: CrossingMetrics) -> Self {
        let (notices, last) = ([DropNotice::default(); 2], Vec::new());
        Self { pace: CounterPace::new(), notices, last, metrics }
    }

    /// Looks at the counters, if they were not looked at just now.
    pub(super) fn look(&mut self, ways: impl FnOnce() -> [CrossingWay; 2], output: &Output) {
        let Some(now) = self.pace.look() else { return };
        let ways = ways();
        self.metrics.show(&ways);
        for (notice, way) in self.notices.iter_mut().zip(&ways) {
            if let Some(new) = notice.on_count(now, way.dropped) {
                output.warn("messages.dropped", dropped(new, way));
            }
        }
        if ways != *self.last && self.pace.tells() {
            self.last = ways.to_vec();
            if output.is_json() {
                output.event(&Line::Crossing(CrossingLine { ways: ways.into() }));
            }
        }
    }
}

fn dropped(new: u64, way: &CrossingWay) -> String {
    let CrossingWay { from, to, heard, dropped, waiting, .. } = way;
    format!(
        "{new} messages from {from} were dropped on their way to {to} ({dropped} of {heard} so far; \
         {waiting} wait). Raise --queue and --queue-bytes, or let {to} take them faster"
    )
}

/// Counters of one way, for people.
pub(super) fn shown(way: &CrossingWay) -> String {
    let CrossingWay { from, to, heard, carried, duplicates, expired, .. } = way;
    let CrossingWay { dropped, refused, waiting, .. } = way;
    format!(
        "from {from} to {to}: {heard} messages heard, {carried} carried, {duplicates} duplicates, \
         {expired} expired, {dropped} dropped, {refused} refused, {waiting} waited at the end"
    )
}

#[cfg(test)]
mod tests {
    use fanfare_node::WayCounts;

    use super::*;

    #[test]
    fn people_are_told_how_many_were_dropped_and_what_helps() {
        let counts =
            WayCounts { heard: 9, carried: 2, dropped: 4, waiting: 3, ..Default::default() };
        let way = CrossingWay::of("NATS", "the group", counts);
        let text = dropped(1, &way);
        assert!(
            text.starts_with("1 messages from NATS were dropped on their way to the group (4 of 9")
        );
        assert!(
            shown(&way).ends_with("4 dropped, 0 refused, 3 waited at the end"),
            "{}",
            shown(&way)
        );
    }
}

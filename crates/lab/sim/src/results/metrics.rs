//! The figures of a run, by name, as they are compared over seeds. docs/reference/simulation.md
//! explains each.

use core::ops::Range;

use fanfare_proto::{Duration, Time};

use crate::{
    flow::{FlowKind, FlowReport, layered::LayeredReport},
    results::{fairness::jain_index, hop_report::HopReport, report::Report, traffic::Kind},
};

/// Receivers and hops that get rows of their own; of more, only sums are told.
const ROWS_MAX: usize = 24;

/// A figure and its name: `goodput_bps`, or `goodput_bps:r1` of one of many.
pub type Metric = (String, f64);

impl Report {
    /// All figures. Rates and delays are of `window`, or of what of it was run.
    #[must_use]
    pub fn metrics(&self, window: &Range<Duration>) -> Vec<Metric> {
        let window = window.start..window.end.min(self.ended.since(Time::ZERO));
        let mut metrics = self.transfer_metrics();
        metrics.extend(self.group_metrics(&window));
        metrics.extend(self.monitor_metrics());
        metrics.extend(self.dissemination_metrics());
        metrics.extend(self.joined_metrics());
        metrics.extend(self.goodput_metrics(&window));
        metrics.extend(self.layered_metrics(&window));
        let busy = self.busiest_hops(&window).into_iter();
        metrics.extend(busy.flat_map(|hop| self.hop_metrics(hop, &window)));
        metrics
    }

    /// Hops with a rate that carried anything; when they are many, those that were used most: lines
    /// to hundreds of hosts must not hide the one that they share.
    fn busiest_hops(&self, window: &Range<Duration>) -> Vec<&HopReport> {
        let mut hops: Vec<&HopReport> =
            self.hops.iter().filter(|hop| hop.rate.is_some() && hop.carried > 0).collect();
        if hops.len() > ROWS_MAX {
            hops.sort_by(|a, b| b.utilisation(window).total_cmp(&a.utilisation(window)));
            hops.truncate(ROWS_MAX);
        }
        hops
    }

    fn transfer_metrics(&self) -> Vec<Metric> {
        if self.offers.is_empty() {
            return Vec::new();
        }
        let named = |name: &str, value| (name.to_owned(), value);
        vec![
            named("complete", f64::from(u8::from(self.complete))),
            named("completion_s", self.last_completion().as_secs_f64()),
            named("data_ratio", self.data_ratio()),
            named("nacks", self.traffic.of(Kind::Nack).messages as f64),
            named("nacks_per_loss_event", self.nacks_per_loss_event()),
        ]
    }

    fn goodput_metrics(&self, window: &Range<Duration>) -> Vec<Metric> {
        let shares = self.goodput_series();
        let bps: Vec<f64> = shares.iter().map(|(_, series)| series.bps(window)).collect();
        let mut metrics = vec![
            (String::from("goodput_sum_bps"), bps.iter().sum()),
            (String::from("goodput_mean_bps"), mean(&bps)),
            (
                String::from("goodput_least_bps"),
                bps.iter().copied().reduce(f64::min).unwrap_or(0.0),
            ),
            (String::from("jain"), jain_index(&bps)),
        ];
        if shares.len() <= ROWS_MAX {
            let names = shares.iter().map(|(name, _)| format!("goodput_bps:{name}"));
            metrics.extend(names.zip(bps));
        }
        metrics
    }

    fn layered_metrics(&self, window: &Range<Duration>) -> Vec<Metric> {
        if self.layered.is_empty() {
            return Vec::new();
        }
        let of = |value: &dyn Fn(&LayeredReport) -> f64| -> Vec<f64> {
            self.layered.iter().map(value).collect()
        };
        let bps = of(&|receiver| receiver.received.bps(window));
        let (loss, levels) = (of(&LayeredReport::loss_ratio), of(&|r| r.mean_level(window)));
        let least = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
        let named = |name: &str, value| (name.to_owned(), value);
        let mut metrics = vec![
            named("layered_sum_bps", bps.iter().sum()),
            named("layered_mean_bps", mean(&bps)),
            named("layered_jain", jain_index(&bps)),
            named("layered_least_to_most", least(&bps) / most(&bps).max(f64::MIN_POSITIVE)),
            named("layered_loss", mean(&loss)),
            named("layered_loss_most", most(&loss)),
            named("layered_loss_worst", most(&of(&LayeredReport::worst_loss))),
            named("layered_layers", mean(&levels)),
        ];
        let tcp: Vec<f64> = self.flows.iter().filter_map(|flow| wire_bps(flow, window)).collect();
        if !tcp.is_empty() {
            metrics.push(named("layered_to_tcp", mean(&bps) / mean(&tcp).max(1.0)));
        }
        if self.layered.len() <= ROWS_MAX {
            for (receiver, (loss, level)) in self.layered.iter().zip(loss.iter().zip(levels)) {
                let name = self.label(receiver.place);
                metrics.push((format!("loss:{name}"), *loss));
                metrics.push((format!("layers:{name}"), level));
            }
        }
        metrics
    }

    fn hop_metrics(&self, hop: &HopReport, window: &Range<Duration>) -> Vec<Metric> {
        let name = self.hop_name(hop);
        let ms = |share| hop.delay.percentile(share).as_secs_f64() * 1e3;
        vec![
            (format!("utilisation:{name}"), hop.utilisation(window)),
            (format!("queue_p50_ms:{name}"), ms(0.5)),
            (format!("queue_p95_ms:{name}"), ms(0.95)),
            (format!("queue_p99_ms:{name}"), ms(0.99)),
            (format!("drop_share:{name}"), hop.drop_share(window)),
            (format!("marks:{name}"), hop.marks.sum(window) as f64),
            (format!("packets_per_s:{name}"), hop.packets.sum(window) as f64 / seconds(window)),
        ]
    }
}

/// What a TCP flow got, with headers, as layers are counted.
fn wire_bps(flow: &FlowReport, window: &Range<Duration>) -> Option<f64> {
    let FlowKind::Tcp { config, .. } = flow.kind else { return None };
    let headers = f64::from(config.header_bytes) / f64::from(config.segment_size);
    Some(flow.received.bps(window) * (1.0 + headers))
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}
/// Of a window; an empty one has had nothing in it.
fn seconds(window: &Range<Duration>) -> f64 {
    window.end.saturating_sub(window.start).as_secs_f64().max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use fanfare_proto::{Bitrate, SenderConfig};

    use super::*;
    use crate::{Flow, FlowKind, Link, Object, Plan, Router, Until};

    #[test]
    fn a_transfer_tells_its_completion_and_a_shared_road_its_queues() {
        let window = Duration::ZERO..Duration::from_secs(60);
        let plan = Plan::new(1).sender(SenderConfig::default()).receivers(2);
        let metrics = plan.send(Object::data(10_000)).run().metrics(&window);
        let names: Vec<&str> = metrics.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(metrics[0], (String::from("complete"), 1.0));
        assert!(names.contains(&"goodput_bps:host2") && !names.iter().any(|n| n.contains("queue")));

        let cbr = FlowKind::Cbr { rate: Bitrate::kbps(500), bytes: 1000 };
        let line = Link::default().rate(Bitrate::mbps(1), 64 << 10);
        let report = Plan::new(1)
            .wire(Router(0), Router(1), line)
            .flow(Flow::new(Router(0), Router(1), cbr))
            .until(Until::Limit, Duration::from_secs(10))
            .run();
        let metrics = report.metrics(&window);
        let used = metrics.iter().find(|(name, _)| name == "utilisation:router0-router1");
        assert!(used.is_some_and(|(_, used)| (used - 0.5).abs() < 0.01), "{metrics:?}");
        assert!(!metrics.iter().any(|(name, _)| name == "complete"), "{metrics:?}");
    }

    #[test]
    fn the_line_that_all_share_has_its_figures_however_many_lines_lead_to_it() {
        let line = |rate| Link::default().rate(rate, 64 << 10);
        let mut plan = Plan::new(1).until(Until::Limit, Duration::from_secs(2));
        for source in 2..32 {
            let cbr = FlowKind::Cbr { rate: Bitrate::kbps(20), bytes: 500 };
            plan = plan.wire(Router(source), Router(0), line(Bitrate::mbps(10)));
            plan = plan.flow(Flow::new(Router(source), Router(1), cbr));
        }
        let report = plan.wire(Router(0), Router(1), line(Bitrate::mbps(1))).run();
        let metrics = report.metrics(&(Duration::ZERO..Duration::from_secs(2)));
        let used = metrics.iter().filter(|(name, _)| name.starts_with("utilisation:"));
        assert_eq!(used.clone().count(), ROWS_MAX);
        assert!(used.clone().any(|(name, _)| name == "utilisation:router0-router1"), "{metrics:?}");
    }
}

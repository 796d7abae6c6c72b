//! Counters of a bridge, for Prometheus.

use clap::Args;
use fanfare_command::{Failure, Output};
use fanfare_monitor::CrossingPage;
use serde::Serialize;

use crate::{
    args::watch::page_at,
    watching::{WatchPlan, open_page},
};

/// Option of the metrics.
#[derive(Debug, Args)]
#[command(next_help_heading = "Queue")]
pub(super) struct MetricsArgs {
    /// Serve the counters to Prometheus, at this address [default: 127.0.0.1:7979]
    ///
    /// They are at /metrics, and as JSON at /api/state. The address is one of this machine. Write --metrics=ADDR for
    /// another one.
    #[arg(
        long,
        value_name = "ADDR",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "",
        hide_short_help = true
    )]
    metrics: Option<String>,
}

/// Page with the counters, if there is one.
pub(crate) struct CrossingMetrics(Option<CrossingPage>);

impl MetricsArgs {
    /// Begins to serve them, where they are wanted.
    pub(super) fn open(&self, output: &Output) -> Result<CrossingMetrics, Failure> {
        let Some(text) = &self.metrics else { return Ok(CrossingMetrics(None)) };
        let (address, is_given) = page_at("metrics", text)?;
        let plan = WatchPlan { address, is_given, token: None, proxy: None };
        let page = open_page(&plan, CrossingPage::start)?;
        output.text(&format!("metrics: {}", page.url()));
        Ok(CrossingMetrics(Some(page)))
    }
}

impl CrossingMetrics {
    /// Shows these from now on.
    pub(crate) fn show(&self, ways: &[impl Serialize]) {
        if let Some(page) = &self.0 {
            // Plain data with string keys: it always can be written.
            page.show(&serde_json::to_value(ways).unwrap_or_default());
        }
    }

    /// For what has none.
    pub(crate) fn none() -> Self {
        Self(None)
    }
}

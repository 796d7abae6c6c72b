//! What came of a run: counted, measured, compared, printed.
//!
//! - [`report`], [`hop_report`]: a run as a whole, its hosts and its hops; [`traffic`]: what went where
//! - [`series`], `time_series`, [`histogram`], `trace`: over time
//! - [`metrics`], `group_metrics`, `dissemination`, [`monitor`], [`reaction`], [`fairness`]: figures made of it
//! - [`statistics`], [`table`]: over many seeds

pub(crate) mod dissemination;
pub mod fairness;
pub(crate) mod group_metrics;
pub mod histogram;
pub mod hop_report;
pub mod metrics;
pub mod monitor;
pub mod reaction;
pub mod report;
pub mod series;
pub mod statistics;
pub mod table;
pub(crate) mod time_series;
pub(crate) mod trace;
pub mod traffic;

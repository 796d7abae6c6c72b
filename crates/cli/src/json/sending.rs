//! What a sender of files tells.

use serde::{Deserialize, Serialize};

/// Receivers are waited for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Waiting {
    pub(crate) receivers: u64,
    pub(crate) expected: u64,
    pub(crate) missing: Vec<String>,
}

/// A file that would be sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlannedLine {
    pub(crate) name: String,
    pub(crate) size: u64,
}

/// Data begins to flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sending {
    pub(crate) receivers: u64,
}

/// What limits the rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LimitLine {
    pub(crate) code: String,
    pub(crate) receiver: Option<String>,
    pub(crate) id: Option<u32>,
    pub(crate) text: String,
}

/// Every receiver has a part of this file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Resuming {
    pub(crate) object: u16,
    pub(crate) file: String,
}

/// A receiver is new, or in another state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Receiver {
    pub(crate) id: u32,
    pub(crate) name: Option<String>,
    pub(crate) state: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) source: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) free: Option<u64>,
}

/// How far each receiver is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Receivers {
    pub(crate) total_bytes: u64,
    pub(crate) receivers: Vec<ReceiverProgressLine>,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReceiverProgressLine {
    pub(crate) id: u32,
    pub(crate) name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) source: Option<String>,
    pub(crate) state: String,
    pub(crate) bytes: Option<u64>,
    pub(crate) rate_bps: Option<u64>,
    pub(crate) loss: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rtt: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) overruns: Option<u32>,
}

/// A receiver gets less than it should, or enough again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SlowLine {
    pub(crate) id: u32,
    pub(crate) name: Option<String>,
    pub(crate) verdict: String,
    pub(crate) rate_bps: u64,
}

/// A receiver holds a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReceiptLine {
    pub(crate) id: u32,
    pub(crate) name: Option<String>,
    pub(crate) object: u16,
    pub(crate) file: String,
    pub(crate) hash: String,
    pub(crate) bytes: u64,
    pub(crate) seconds: f64,
}

/// A receiver reports something about an object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reported {
    pub(crate) id: u32,
    pub(crate) name: Option<String>,
    pub(crate) file: String,
    pub(crate) reason: String,
}

/// How it ended for one receiver.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OutcomeLine {
    pub(crate) id: u32,
    pub(crate) name: Option<String>,
    pub(crate) outcome: String,
    pub(crate) loss: f64,
    pub(crate) nacks: u64,
    pub(crate) seconds: f64,
}

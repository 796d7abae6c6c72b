//! What a sender of files tells.

use serde::{Deserialize, Serialize};

/// Receivers are waited for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Waiting {
    pub receivers: u64,
    pub expected: u64,
    pub missing: Vec<String>,
}

/// A file that would be sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedLine {
    pub name: String,
    pub size: u64,
}

/// Data begins to flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sending {
    pub receivers: u64,
}

/// What limits the rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitLine {
    pub code: String,
    pub receiver: Option<String>,
    pub id: Option<u32>,
    pub text: String,
}

/// Every receiver has a part of this file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resuming {
    pub object: u16,
    pub file: String,
}

/// A receiver is new, or in another state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receiver {
    pub id: u32,
    pub name: Option<String>,
    pub state: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free: Option<u64>,
}

/// How far each receiver is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receivers {
    pub total_bytes: u64,
    pub receivers: Vec<ReceiverProgressLine>,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceiverProgressLine {
    pub id: u32,
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    pub state: String,
    pub bytes: Option<u64>,
    pub rate_bps: Option<u64>,
    pub loss: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overruns: Option<u32>,
}

/// A receiver gets less than it should, or enough again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlowLine {
    pub id: u32,
    pub name: Option<String>,
    pub verdict: String,
    pub rate_bps: u64,
}

/// A receiver holds a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceiptLine {
    pub id: u32,
    pub name: Option<String>,
    pub object: u16,
    pub file: String,
    pub hash: String,
    pub bytes: u64,
    pub seconds: f64,
}

/// A receiver reports something about an object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reported {
    pub id: u32,
    pub name: Option<String>,
    pub file: String,
    pub reason: String,
}

/// How it ended for one receiver.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutcomeLine {
    pub id: u32,
    pub name: Option<String>,
    pub outcome: String,
    pub loss: f64,
    pub nacks: u64,
    pub seconds: f64,
}

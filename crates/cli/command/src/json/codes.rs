//! What a transfer by code tells.

use serde::{Deserialize, Serialize};

/// A code is there to be told to others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CodeLine {
    pub code: String,
    pub receivers: u64,
    pub seconds: f64,
    pub guesses: u8,
}

/// Somebody who knows the code: a receiver of a sender, or the sender of a receiver.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MetLine {
    pub address: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

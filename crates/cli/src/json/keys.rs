//! What commands about keys tell.

use fanfare_node::seal::Key;
use serde::{Deserialize, Serialize};

/// A key that a group shares; never its secret.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeyLine {
    pub(crate) id: String,
    pub(crate) epoch: u32,
    pub(crate) fingerprint: String,
}

impl KeyLine {
    pub(crate) fn of(key: &Key) -> Self {
        Self { id: key.id().to_string(), epoch: key.epoch(), fingerprint: key.fingerprint() }
    }
}

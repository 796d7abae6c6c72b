//! What commands about keys tell.

use fanfare_files::event::Signed;
use fanfare_node::seal::{Key, trust::Entry};
use serde::{Deserialize, Serialize};

use super::hex::hex;

/// A key that a group shares; never its secret.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyLine {
    pub id: String,
    pub epoch: u32,
    pub fingerprint: String,
}

impl KeyLine {
    pub fn of(key: &Key) -> Self {
        Self { id: key.id().to_string(), epoch: key.epoch(), fingerprint: key.fingerprint() }
    }
}

/// This node's public key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdLine {
    pub key: String,
}

/// A line of the list of those who are believed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrustLine {
    pub name: String,
    pub key: String,
    pub revoked: bool,
}

impl TrustLine {
    pub fn of(entry: &Entry) -> Self {
        Self { name: entry.name.clone(), key: entry.key.to_string(), revoked: entry.revoked }
    }
}

/// A receiver has signed that it holds everything.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedLine {
    pub id: u32,
    pub name: Option<String>,
    pub key: String,
    pub signature: String,
    pub nonce: String,
    pub sender: u32,
    pub instance: u16,
    /// Object ids and hashes.
    pub objects: Vec<(u16, String)>,
}

impl SignedLine {
    pub fn of(signed: &Signed) -> Self {
        let (sender, instance) = signed.about.parts();
        Self {
            id: signed.receiver.id.0,
            name: signed.receiver.name.clone(),
            key: signed.key.to_string(),
            signature: hex(&signed.signature),
            nonce: hex(&signed.nonce),
            sender: sender.0,
            instance: instance.0,
            objects: signed.objects.iter().map(|(id, hash)| (*id, hex(hash))).collect(),
        }
    }
}

/// Result for a receipt that was verified: what its signature covers, and nothing else of its line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerifiedLine {
    /// Line in the file of receipts.
    pub line: u64,
    pub result: String,
    pub id: u32,
    pub object: u16,
    pub hash: String,
    /// Life in which it is, and whose; `None` where nothing is signed.
    pub sender: Option<u32>,
    pub instance: Option<u16>,
    pub key: Option<String>,
    /// Owner of the key, by the list of those that are believed.
    pub name: Option<String>,
}

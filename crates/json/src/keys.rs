//! What commands about keys tell.

use fanfare_files::event::Signed;
use fanfare_node::seal::{Key, trust::Entry};
use serde::{Deserialize, Serialize};

use super::filling::hex;

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

/// This node's public key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct IdLine {
    pub(crate) key: String,
}

/// A line of the list of those who are believed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TrustLine {
    pub(crate) name: String,
    pub(crate) key: String,
    pub(crate) revoked: bool,
}

impl TrustLine {
    pub(crate) fn of(entry: &Entry) -> Self {
        Self { name: entry.name.clone(), key: entry.key.to_string(), revoked: entry.revoked }
    }
}

/// A receiver has signed that it holds everything.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SignedLine {
    pub(crate) id: u32,
    pub(crate) name: Option<String>,
    pub(crate) key: String,
    pub(crate) signature: String,
    pub(crate) nonce: String,
    pub(crate) sender: u32,
    pub(crate) instance: u16,
    /// Object ids and hashes.
    pub(crate) objects: Vec<(u16, String)>,
}

impl SignedLine {
    pub(crate) fn of(signed: &Signed) -> Self {
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

/// What became of a receipt that was verified.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct VerifiedLine {
    pub(crate) id: u32,
    pub(crate) name: Option<String>,
    pub(crate) key: Option<String>,
    pub(crate) file: String,
    pub(crate) result: String,
}

/// Bytes from hexadecimal digits, if there are just so many.
pub(crate) fn bytes_of_hex<const N: usize>(digits: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    if digits.len() != 2 * N {
        return None;
    }
    for (n, digit) in digits.chars().enumerate() {
        bytes[n / 2] = bytes[n / 2] << 4 | digit.to_digit(16)? as u8;
    }
    Some(bytes)
}

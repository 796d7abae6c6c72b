//! What a receiver of files tells.

use serde::{Deserialize, Serialize};

/// What an interrupted transfer has left.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PartLine {
    pub(crate) name: String,
    pub(crate) hash: Option<String>,
    pub(crate) pack: bool,
    pub(crate) size: Option<u64>,
    pub(crate) taken: u64,
    pub(crate) changed: u64,
    pub(crate) in_use: bool,
    pub(crate) deleted: bool,
}

/// A sender was heard.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sender {
    pub(crate) id: u32,
    pub(crate) source: String,
}

/// Only this sender, and others at its address, are heard from now on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bound {
    pub(crate) id: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) source: Option<String>,
}

/// An object begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Object {
    pub(crate) id: u16,
    pub(crate) sender: u32,
    pub(crate) name: Option<String>,
    pub(crate) size: u64,
}

/// An object comes by so many layers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LayersLine {
    pub(crate) sender: u32,
    pub(crate) level: u64,
    pub(crate) rate_bps: u64,
    pub(crate) loss: f64,
    pub(crate) overhead: f64,
}

/// A part of a file was here before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Resumed {
    pub(crate) id: u16,
    pub(crate) sender: u32,
    pub(crate) name: Option<String>,
    pub(crate) bytes: u64,
    pub(crate) size: u64,
}

/// Wrong bytes are asked for again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mending {
    pub(crate) id: u16,
    pub(crate) sender: u32,
    pub(crate) name: Option<String>,
    pub(crate) bytes: u64,
}

/// A file is in its place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) size: u64,
    pub(crate) hash: String,
    pub(crate) verified: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) already: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) replaced: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) beside: bool,
    pub(crate) seconds: f64,
    pub(crate) id: u16,
    pub(crate) sender: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name_rejected: Option<String>,
}

/// An object could not be had.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Failed {
    pub(crate) id: u16,
    pub(crate) sender: u32,
    pub(crate) name: Option<String>,
    pub(crate) reason: String,
}

/// Something that is not at the sender has been removed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Deleted {
    pub(crate) path: String,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) directory: bool,
    pub(crate) id: u16,
    pub(crate) sender: u32,
}

/// What a listing came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Deletion {
    pub(crate) id: u16,
    pub(crate) sender: u32,
    pub(crate) roots: Vec<String>,
    pub(crate) extra: Option<u64>,
    pub(crate) deleted: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) why: Option<String>,
}

/// Directories have their permissions and times, and links are made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tree {
    pub(crate) id: u16,
    pub(crate) sender: u32,
    pub(crate) directories: u64,
    pub(crate) links: u64,
    pub(crate) hard_links: u64,
}

/// A sender goes on without this receiver.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Evicted {
    pub(crate) sender: u32,
}

/// A sender said good-bye (`said`), or was not heard for long.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Gone {
    pub(crate) id: u32,
    pub(crate) said: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_false(value: &bool) -> bool {
    !*value
}

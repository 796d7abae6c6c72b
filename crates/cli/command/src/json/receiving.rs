//! What a receiver of files tells.

use serde::{Deserialize, Serialize};

/// What an interrupted transfer has left.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartLine {
    pub name: String,
    pub hash: Option<String>,
    pub pack: bool,
    pub size: Option<u64>,
    pub taken: u64,
    pub changed: u64,
    pub in_use: bool,
    pub deleted: bool,
}

/// A sender was heard.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sender {
    pub id: u32,
    pub source: String,
}

/// Only this sender, and others at its address, are heard from now on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bound {
    pub id: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// An object begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Object {
    pub id: u16,
    pub sender: u32,
    pub name: Option<String>,
    pub size: u64,
}

/// An object comes by so many layers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LayersLine {
    pub sender: u32,
    pub level: u64,
    pub rate_bps: u64,
    pub loss: f64,
    pub overhead: f64,
}

/// A part of a file was here before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resumed {
    pub id: u16,
    pub sender: u32,
    pub name: Option<String>,
    pub bytes: u64,
    pub size: u64,
}

/// Wrong bytes are asked for again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mending {
    pub id: u16,
    pub sender: u32,
    pub name: Option<String>,
    pub bytes: u64,
}

/// A file is in its place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    pub path: String,
    pub size: u64,
    pub hash: String,
    pub verified: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub already: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub replaced: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub beside: bool,
    pub seconds: f64,
    pub id: u16,
    pub sender: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name_rejected: Option<String>,
}

/// An object could not be had.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failed {
    pub id: u16,
    pub sender: u32,
    pub name: Option<String>,
    pub reason: String,
}

/// Something that is not at the sender has been removed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deleted {
    pub path: String,
    #[serde(default, skip_serializing_if = "is_false")]
    pub directory: bool,
    pub id: u16,
    pub sender: u32,
}

/// What a listing came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deletion {
    pub id: u16,
    pub sender: u32,
    pub roots: Vec<String>,
    pub extra: Option<u64>,
    pub deleted: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Directories have their permissions and times, and links are made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tree {
    pub id: u16,
    pub sender: u32,
    pub directories: u64,
    pub links: u64,
    pub hard_links: u64,
}

/// A sender goes on without this receiver.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evicted {
    pub sender: u32,
}

/// A sender said good-bye (`said`), or was not heard for long.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gone {
    pub id: u32,
    pub said: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_false(value: &bool) -> bool {
    !*value
}

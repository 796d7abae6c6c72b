//! What of the paths is sent, and how it is called.

use super::Links;
use crate::content::{selection::Selection, tree::Carried};

/// Whether small files travel together. Plain NORM receivers cannot unpack them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Packing {
    /// Files below 64 KiB in packs, where there are at least 16 of them.
    #[default]
    Small,
    /// Every file is an object. Empty directories are not sent then.
    Never,
}

/// What of the paths is sent, and how it is called.
#[derive(Debug, Clone, Default)]
pub struct GatherOptions {
    /// What standard input is called. Default empty.
    pub stdin_name: String,
    /// Stands before every name, with a slash. Default none.
    pub prefix: Option<String>,
    /// Whether small files travel together. Default they do.
    pub packing: Packing,
    /// Whether a listing of the directories goes last, by which receivers remove what else they have.
    /// Default none does.
    pub listed: bool,
    /// What becomes of symbolic links that lead out of their directory. Default they are refused.
    pub links: Links,
    /// What travels beyond names, content, permissions and times. Default nothing.
    pub carried: Carried,
    /// What of the directories is sent. Default all.
    pub selection: Selection,
}

impl GatherOptions {
    /// The defaults, with this name of standard input.
    #[must_use]
    pub fn called(stdin_name: &str) -> Self {
        Self { stdin_name: stdin_name.to_owned(), ..Self::default() }
    }
}

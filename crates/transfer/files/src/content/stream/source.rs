//! A stream as it is named by the user, and a piece of it as it is sent.

use std::{fs::File, path::PathBuf, sync::Arc};

use super::piece::Piece;

/// What is to be read and sent as it comes.
#[derive(Debug, Clone)]
pub struct StreamSource {
    /// For messages.
    pub path: PathBuf,
    /// Its name for receivers.
    pub name: String,
    /// What it is read from.
    pub input: Arc<File>,
    /// Bytes that it has, as far as they are known: of files and devices, from where they are read on.
    pub size: Option<u64>,
}

/// A piece and its bytes, as they travel.
#[derive(Debug, Clone)]
pub struct Fed {
    /// What is said of it.
    pub piece: Piece,
    /// Those that travel.
    pub bytes: Arc<Vec<u8>>,
    /// BLAKE3 hash of those.
    pub root: [u8; 32],
}

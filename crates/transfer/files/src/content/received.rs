//! An object that has come as a whole, whose content nobody has looked at.

use std::sync::Arc;

use fanfare_node::disk::OwnFile;
use fanfare_proto::StorageError;

/// A listing or a tree, in a file under a name of our own.
#[derive(Debug)]
pub struct Received {
    /// The file.
    pub file: Arc<OwnFile>,
    /// Its name in the directory.
    pub name: String,
    /// Some bytes could not be written.
    pub failed: Option<StorageError>,
}

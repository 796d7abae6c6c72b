//! How commands end that read or write files of keys.

use crate::Exit;

/// Their exit codes, for their help.
pub(crate) const EXITS: &[(Exit, &str)] =
    &[(Exit::Done, "done"), (Exit::Permission, "the file cannot be read, written or used")];

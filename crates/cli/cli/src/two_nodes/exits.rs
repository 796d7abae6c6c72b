//! Exit codes of link and proxy.

use fanfare_command::Exit;

/// Exit codes, each with its cause, for help.
pub(super) const EXITS: &[(Exit, &str)] = &[
    (Exit::Done, "done"),
    (Exit::Failed, "failed"),
    (Exit::Permission, "permission denied, or the wrong key"),
    (Exit::Resource, "port, memory or file descriptors missing on this machine"),
    (Exit::Nobody, "the other end did not answer"),
    (Exit::Interrupted, "stopped by Ctrl-C or SIGTERM"),
];

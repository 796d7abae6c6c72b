//! Exit codes of the commands of video.

use fanfare_command::Exit;

/// Exit codes, each with its cause, for help.
pub(super) const EXITS: &[(Exit, &str)] = &[
    (Exit::Done, "the source has ended, and all was sent"),
    (Exit::Failed, "ffmpeg failed, or the source cannot be read"),
    (Exit::Permission, "permission denied"),
    (Exit::Resource, "ffmpeg, a port, memory or disk is missing on this machine"),
    (Exit::Interrupted, "stopped by Ctrl-C or SIGTERM"),
];

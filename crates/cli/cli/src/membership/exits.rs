//! Exit codes of the commands of group.

use fanfare_command::{Exit, Failure};
use fanfare_mls::Fault;

/// Exit codes, each with its cause, for help.
pub(super) const EXITS: &[(Exit, &str)] = &[
    (Exit::Done, "done"),
    (Exit::Failed, "failed"),
    (
        Exit::Permission,
        "a file or code is refused, this node may not do that, or nobody lets it in",
    ),
    (Exit::Resource, "disk, memory or port missing on this machine"),
    (Exit::Interrupted, "stopped by Ctrl-C or SIGTERM"),
];

/// What the group's keys refuse.
pub(super) fn refused(what: &str, fault: &Fault) -> Failure {
    let advice = match fault {
        Fault::NoController => "Do it where 'fanfare group members' shows the controller",
        Fault::NoMember => "Join the group first",
        Fault::Unknown => "'fanfare group members' shows who is in",
        Fault::Member => "Choose another name for the new group",
        Fault::OldTerm
        | Fault::OtherEpoch { .. }
        | Fault::Malformed(_)
        | Fault::NoRandom
        | Fault::Mls(_) => "Join the group again with a new code if it does not go away",
    };
    Failure::new(Exit::Permission, "group.refused", format!("{what}: {fault}. {advice}"))
}

//! What a proxy needs of this machine, and lets through.

use fanfare_command::Failure;
use fanfare_link::proxy::Rule;

/// A rule, as an option gives it.
pub(super) fn rule(option: &str, text: &str) -> Result<Rule, Failure> {
    text.parse().map_err(|why| Failure::usage("rule.invalid", format!("{option} ({text}): {why}")))
}

/// File descriptors that connections do not get: listeners, the link, names that are looked up.
const KEPT: u64 = 32;

/// Ten thousand connections need as many descriptors: the soft limit becomes the hard one. How many
/// connections may have one.
pub(super) fn raise_descriptors() -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // With what it has it works, too, with fewer connections.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    let most = getrlimit(Resource::Nofile).current;
    most.map_or(usize::MAX, |most| most.saturating_sub(KEPT).max(1) as usize)
}

//! What a proxy needs of this machine, and lets through.

use fanfare_command::Failure;
use fanfare_proxy::Rule;

/// A rule, as an option gives it.
pub(super) fn rule(option: &str, text: &str) -> Result<Rule, Failure> {
    text.parse().map_err(|why| Failure::usage("rule.invalid", format!("{option} ({text}): {why}")))
}

/// Ten thousand connections need as many descriptors: the soft limit becomes the hard one.
pub(super) fn raise_descriptors() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // With what it has it works, too, with fewer connections.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

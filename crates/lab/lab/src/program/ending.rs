//! How commands of the laboratory end, and how Ctrl-C ends them.

use fanfare_command::{Exit, Failure, Notice, Output, interrupt};
use fanfare_lab::{LabError, Refusal, Stop};

/// How commands of the laboratory exit.
pub(crate) const EXITS: &[(Exit, &str)] = &[
    (Exit::Done, "done"),
    (Exit::Failed, "failed"),
    (Exit::Permission, "root is needed"),
    (Exit::Resource, "a program or device is missing"),
    (Exit::Interrupted, "interrupted by Ctrl-C"),
];

/// An error of the laboratory as a failure of a command.
pub(crate) fn failure(error: &LabError) -> Failure {
    let exit = match error.refusal {
        Refusal::Permission => Exit::Permission,
        Refusal::Missing => Exit::Resource,
        Refusal::Usage => Exit::Usage,
        Refusal::System => Exit::Failed,
    };
    Failure::new(exit, error.code, error.to_string())
}

/// Shows why trials ended early.
pub(crate) fn ended_early(output: &Output, error: &LabError, stop: &Stop) -> Exit {
    if stop.is_set() { interrupted(output) } else { give_up(output, error) }
}

/// Shows that the user stopped it. Whoever did that need not be told why it ends.
pub(crate) fn interrupted(output: &Output) -> Exit {
    output.text("interrupted");
    output.json(&Notice::result(Exit::Interrupted as u8));
    Exit::Interrupted
}

/// Shows why nothing came of it.
pub(crate) fn give_up(output: &Output, error: &LabError) -> Exit {
    fanfare_command::give_up(output, &failure(error))
}

/// Set when the user wants to stop: for what has to be taken down in its own time.
pub(crate) fn stop() -> Result<Stop, LabError> {
    let stop = Stop::new()?;
    let told = stop.clone();
    interrupt::call_on_interrupt(Some(Box::new(move || told.set())));
    // Whoever does not wait for that leaves nothing either.
    interrupt::call_at_once(fanfare_lab::clear_own);
    Ok(stop)
}

//! `fanfare lab reproduce s002-scale`: what monitors cost with more and more nodes, beside seed 002. The
//! simulator makes it: the program calls itself with `sim table`.

use std::{path::Path, process::Command};

use fanfare_command::{Exit, Failure, Output, give_up};

use super::options::ReproduceArgs;

/// What it is called among experiments.
pub(super) const NAME: &str = "s002-scale";
const EXPERIMENT: &str = "scenarios/experiments/monitor/monitor-scale.toml";
/// The cell of a quick look.
const QUICK: &str = "nodes=12,every=10s";

pub(super) fn run(args: &ReproduceArgs, output: &Output) -> Exit {
    made(args).unwrap_or_else(|failure| give_up(output, &failure))
}

fn made(args: &ReproduceArgs) -> Result<Exit, Failure> {
    if !Path::new(EXPERIMENT).exists() {
        let text = format!("{NAME} ({EXPERIMENT}): is not here. Run it in Fanfare's source tree");
        return Err(Failure::usage("experiment.missing", text));
    }
    let failed = |error: std::io::Error| {
        let text = format!("{NAME} ({error}): this program cannot be started again");
        Failure::new(Exit::Failed, "experiment.failed", text)
    };
    let mut command = Command::new(std::env::current_exe().map_err(failed)?);
    command.args(["sim", "table", EXPERIMENT]);
    if let Some(out) = &args.out {
        command.arg("--out").arg(out);
    }
    if args.quick {
        command.args(["--where", QUICK, "--seeds", "1"]);
    }
    let ended = command.status().map_err(failed)?;
    Ok(if ended.success() { Exit::Done } else { Exit::Failed })
}

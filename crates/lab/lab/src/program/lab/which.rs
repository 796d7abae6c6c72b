//! Which scenario, or which lab that is up.

use std::path::PathBuf;

use clap::Args;
use fanfare_command::Failure;
use fanfare_sim::Scenario;

use crate::scenario_files::{load_with, variable};

/// Which scenario.
#[derive(Debug, Args)]
pub(super) struct FileArgs {
    /// Scenario file (TOML)
    pub(super) file: PathBuf,
    /// Set a variable of the file; repeatable
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    pub(super) set: Vec<(String, String)>,
    /// Seed of random losses and delays [default: the file's]
    #[arg(long)]
    pub(super) seed: Option<u64>,
}

/// Which lab of those that are up.
#[derive(Debug, Args)]
pub(super) struct WhichArgs {
    /// Name of the lab or its scenario, if several are up
    #[arg(long, value_name = "NAME")]
    pub(super) lab: Option<String>,
}

pub(super) fn load(args: &FileArgs) -> Result<Scenario, Vec<Failure>> {
    let values = args.set.iter().cloned().collect();
    load_with(&args.file, |text, read| Scenario::parse_for_laboratory_with(text, &values, read))
}

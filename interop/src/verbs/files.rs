//! The commands about directories and devices.

use std::path::{Path, PathBuf};

use clap::Args;
use fanfare_interop::devices::{self, Plan};
use fanfare_interop::fanfare::Fanfare;
use fanfare_interop::tool::{self, ToolError};
use fanfare_interop::trees::{self, Row, Tree};

#[derive(Args)]
pub(crate) struct TreesArguments {
    /// Only small directories that are made here.
    #[arg(long)]
    short: bool,
    /// Send this directory, and no other that is not named; can be given several times.
    #[arg(long = "tree", value_name = "PATH")]
    trees: Vec<PathBuf>,
    /// Only those whose name contains this.
    #[arg(long, default_value = "")]
    filter: String,
    /// The fanfare to run.
    #[arg(long, default_value = "target/release/fanfare")]
    binary: PathBuf,
    /// Upper limit of the rate in bit/s [default: none].
    #[arg(long)]
    rate: Option<String>,
    /// Where the page goes [default: results/trees.md for a full run, else nowhere].
    #[arg(long)]
    out: Option<PathBuf>,
}

pub(crate) fn run_trees(arguments: &TreesArguments) -> Result<bool, ToolError> {
    let fanfare = program(&arguments.binary)?;
    let named = arguments.trees.iter().cloned().map(Tree::There);
    let chosen: Vec<Tree> = match (arguments.short, arguments.trees.is_empty()) {
        (true, _) => Tree::short().into_iter().chain(named).collect(),
        (false, true) => Tree::all(),
        (false, false) => named.collect(),
    };
    let chosen = chosen.into_iter().filter(|tree| tree.name().contains(&arguments.filter));
    let rate = arguments.rate.as_ref().map(|rate| format!("--rate={rate}"));
    let options: Vec<String> = rate.into_iter().collect();
    let mut rows: Vec<Row> = Vec::new();
    for tree in chosen {
        let row = trees::run(&tree, &fanfare, &options)?;
        println!("{}", trees::line(&row).trim_end());
        rows.push(row);
    }
    let full = !arguments.short && arguments.trees.is_empty() && arguments.filter.is_empty();
    let default = (full && options.is_empty()).then(|| PathBuf::from("results/trees.md"));
    if let Some(path) = arguments.out.clone().or(default)
        && !tool::interrupted()
    {
        crate::write(&path, &trees::page(&command("trees"), &crate::today()?, &rows))?;
    }
    Ok(!rows.is_empty() && rows.iter().all(Row::is_right))
}

#[derive(Args)]
pub(crate) struct DevicesArguments {
    /// Smaller devices, and fewer of them.
    #[arg(long)]
    short: bool,
    /// How often it is killed and begun again [default: 20, or 2 with --short].
    #[arg(long)]
    kills: Option<u64>,
    /// Another seed gives other moments.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The fanfare to run.
    #[arg(long, default_value = "target/release/fanfare")]
    binary: PathBuf,
    /// Where the page goes [default: results/devices.md for a full run, else nowhere].
    #[arg(long)]
    out: Option<PathBuf>,
}

pub(crate) fn run_devices(arguments: &DevicesArguments) -> Result<bool, ToolError> {
    const MIB: u64 = 1 << 20;
    let fanfare = program(&arguments.binary)?;
    let plan = |size, used, receivers| Plan { size: size * MIB, used: used * MIB, receivers };
    let (all, killed, kills) = match arguments.short {
        true => (plan(64, 16, 3), plan(64, 16, 2), 2),
        false => (plan(4096, 1024, 10), plan(512, 128, 3), 20),
    };
    let killed = (killed, arguments.kills.unwrap_or(kills), arguments.seed);
    let outcome = devices::run(&fanfare, all, killed, |line| println!("{line}"))?;
    let default = (!arguments.short).then(|| PathBuf::from("results/devices.md"));
    if let Some(path) = arguments.out.clone().or(default) {
        crate::write(&path, &devices::page(&command("devices"), &crate::today()?, &outcome))?;
    }
    Ok(outcome.is_right())
}

/// As somebody runs it who has read of it.
fn command(task: &str) -> String {
    let words: Vec<String> = std::env::args().skip(2).collect();
    format!("cargo xtask {task} {}", words.join(" ")).trim_end().to_owned()
}

fn program(path: &Path) -> Result<Fanfare, ToolError> {
    let name = format!("{} (build it, or name another with --binary)", path.display());
    Fanfare::at(path).ok_or(ToolError::Missing { program: name })
}

//! Real directories, sent twice to three receivers, and what `rsync` finds left to do.
//!
//! - `made`: directories that are made here, with every kind of entry; `cache`: as a cache of models is
//! - `real`: directories of this machine, and the source of the kernel
//! - `size`: how much there is, and how much room
//! - `passes`: sending one twice; `page`: the table

mod cache;
mod made;
mod page;
mod passes;
mod real;
mod size;

use std::path::{Path, PathBuf};

pub use page::{line, page};
pub use passes::{Passes, Sending};
pub use size::Size;
pub(crate) use size::room;

use crate::fanfare::Fanfare;
use crate::scratch::Scratch;
use crate::tool::{self, ToolError};

/// Receivers of each directory.
pub const RECEIVERS: usize = 3;

/// A directory to send, and where it comes from.
#[derive(Clone, Debug)]
pub enum Tree {
    /// Made: some entries of every kind.
    EveryKind,
    /// Made: a cache of models, with so many bytes of weights in each.
    Cache(u64),
    /// Made: so many files of 1 KiB.
    SmallFiles(u32),
    /// The source of Linux, as Debian has it.
    Kernel,
    /// A directory that is there, or the largest part of it for which there is room.
    There(PathBuf),
}

impl Tree {
    /// All that are sent when nothing else is asked for.
    pub fn all() -> Vec<Self> {
        let usr = Self::There("/usr".into());
        vec![Self::EveryKind, Self::Cache(200 << 20), Self::SmallFiles(100_000), Self::Kernel, usr]
    }

    /// What CI has time for.
    pub fn short() -> Vec<Self> {
        vec![Self::EveryKind, Self::Cache(3 << 20), Self::SmallFiles(2000)]
    }

    /// What the table calls it.
    pub fn name(&self) -> String {
        match self {
            Self::EveryKind => "every kind of entry".into(),
            Self::Cache(_) => "cache of models".into(),
            Self::SmallFiles(count) => format!("{count} files of 1 KiB"),
            Self::Kernel => "kernel source".into(),
            Self::There(path) => path.display().to_string(),
        }
    }

    /// Makes it in `scratch`, if it has to be made. Where it is.
    fn place(&self, scratch: &Path) -> Result<PathBuf, ToolError> {
        match self {
            Self::EveryKind => made::every_kind(scratch),
            Self::Cache(bytes) => cache::make(scratch, *bytes),
            Self::SmallFiles(count) => made::small_files(scratch, *count),
            Self::Kernel => real::kernel(scratch),
            Self::There(path) => real::fitting(path, scratch),
        }
    }
}

/// What became of a directory.
#[derive(Debug)]
pub struct Row {
    /// What was asked for.
    pub name: String,
    /// What was sent: less, where there was no room.
    pub path: PathBuf,
    /// How much that is.
    pub size: Size,
    /// How it went.
    pub passes: Passes,
}

impl Row {
    /// Whether everything is as it must be.
    pub fn is_right(&self) -> bool {
        self.passes.failure().is_none()
    }
}

/// Sends a directory twice to three receivers, and compares.
///
/// # Errors
/// When a tool is missing, the system refuses, or the user interrupts.
pub fn run(tree: &Tree, fanfare: &Fanfare, options: &[String]) -> Result<Row, ToolError> {
    for program in ["ip", "rsync"] {
        tool::require(program)?;
    }
    let scratch = Scratch::new()?;
    let path = tree.place(scratch.path())?;
    let size = Size::of(&path)?;
    let passes = passes::run(&path, fanfare, scratch.path(), options)?;
    Ok(Row { name: tree.name(), path, size, passes })
}

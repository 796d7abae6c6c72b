//! A block device over a sparse file; the file itself where the system has no loop devices.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use super::Plan;
use crate::tool::{self, ToolError};

/// Bytes that are used, and not, come in runs of this length: longer than what is left out as zeros,
/// and no multiple of what travels at a time.
const RUN: u64 = 1 << 20;
/// What is compared at a time: what is left out as zeros.
const BLOCK: usize = 4096;
const READ: usize = 1 << 20;

/// A device; it goes with this.
#[derive(Debug)]
pub(super) struct Disk {
    path: PathBuf,
    is_device: bool,
}

impl Disk {
    /// One of which as much as planned is used, spread over all of it.
    pub(super) fn filled(scratch: &Path, plan: Plan) -> Result<Self, ToolError> {
        let path = scratch.join("source");
        let file = File::create(&path).map_err(tool::at(path.display()))?;
        file.set_len(plan.size).map_err(tool::at(path.display()))?;
        let runs = plan.used / RUN;
        let between = plan.size / runs.max(1);
        let mut content = vec![0; RUN as usize];
        for run in 0..runs {
            blake3::Hasher::new().update(&run.to_le_bytes()).finalize_xof().fill(&mut content);
            // Not at the beginning of what travels at a time.
            let offset = (run * between + 3 * BLOCK as u64).min(plan.size - RUN);
            file.write_all_at(&content, offset).map_err(tool::at(path.display()))?;
        }
        Ok(Self::over(path))
    }

    /// One for each receiver, with nothing but zeros.
    pub(super) fn blank(scratch: &Path, plan: Plan) -> Result<Vec<Self>, ToolError> {
        let make = |number: usize| {
            let path = scratch.join(format!("target-{number}"));
            let file = File::create(&path).map_err(tool::at(path.display()))?;
            file.set_len(plan.size).map_err(tool::at(path.display()))?;
            Ok(Self::over(path))
        };
        (0..plan.receivers).map(make).collect()
    }

    fn over(file: PathBuf) -> Self {
        let text = file.display().to_string();
        match tool::output("losetup", &["--find", "--show", &text]) {
            Ok(device) => Self { path: device.trim().into(), is_device: true },
            Err(_) => Self { path: file, is_device: false },
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn is_device(&self) -> bool {
        self.is_device
    }

    /// Whether both hold the same.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let path = |disk: &Self| disk.path.display().to_string();
        tool::output("cmp", &[&path(self), &path(other)]).is_ok()
    }

    /// Bytes, by blocks, of which one of the others has something else.
    pub(super) fn lacking(&self, others: &[Self]) -> Result<u64, ToolError> {
        let open = |disk: &Self| File::open(&disk.path).map_err(tool::at(disk.path.display()));
        let source = open(self)?;
        let others = others.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        let (mut here, mut there) = (vec![0; READ], vec![0; READ]);
        let (mut offset, mut lacking) = (0, 0);
        loop {
            let count = source.read_at(&mut here, offset).map_err(tool::at(self.path.display()))?;
            if count == 0 {
                return Ok(lacking);
            }
            let mut wrong = vec![false; count.div_ceil(BLOCK)];
            for other in &others {
                other.read_exact_at(&mut there[..count], offset).map_err(tool::at("a device"))?;
                let blocks = here[..count].chunks(BLOCK).zip(there[..count].chunks(BLOCK));
                for (wrong, (one, other)) in wrong.iter_mut().zip(blocks) {
                    *wrong |= one != other;
                }
            }
            lacking += (wrong.iter().filter(|wrong| **wrong).count() * BLOCK) as u64;
            offset += count as u64;
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        if self.is_device {
            // Nothing can be done about a device that will not go.
            let _ = tool::output("losetup", &["--detach", &self.path.display().to_string()]);
        }
    }
}

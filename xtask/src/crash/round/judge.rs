//! Whether a round ended well: what is in receivers' directories, and what the sender was told.

use std::{collections::BTreeSet, fs, io, path::Path};

use super::{Played, Round};
use crate::crash::{side::Side, tree};

impl Round<'_> {
    pub(super) fn check(&mut self, played: &mut Played) -> Result<(), String> {
        for number in 0..self.receivers.len() {
            // Who waits for more keeps what a killed sender had begun, and marks of what is whole.
            let waits = self.receivers[number].as_mut().is_none_or(|side| side.ended().is_none());
            let into = self.dir.join(format!("in-{number}"));
            for (name, _) in &self.scene.files {
                if !is_same(&self.dir.join("out").join(name), &into.join(name)) {
                    played.wrong = into.join(name).exists();
                    return Err(format!("receiver {number}: {name} is not the same file"));
                }
            }
            if self.scene.kind.is_adorned()
                && let Some(why) = tree::differs(&self.dir.join("out/tree"), &into)
            {
                return Err(format!("receiver {number}: {why}"));
            }
            let left = left_over(&into).map_err(|e| e.to_string())?;
            let expected = |name: &String| {
                self.scene.sources.contains(name)
                    || name == ".fanfare-ledger"
                    || name == "filler"
                    || (waits && name.starts_with(".fanfare-"))
            };
            let left: Vec<String> = left.into_iter().filter(|name| !expected(name)).collect();
            if !left.is_empty() {
                return Err(format!("receiver {number}: left over: {left:?}"));
            }
        }
        Ok(())
    }

    /// At a receiver that has had one, each file is of one version or the other.
    pub(super) fn expect_a_version(
        &self,
        number: usize,
        played: &mut Played,
    ) -> Result<(), String> {
        let (old, new) = (self.dir.join("old"), self.dir.join("out/tree"));
        if !old.exists() {
            return Ok(());
        }
        let lost = tree::lost(&old, &new, &self.dir.join(format!("in-{number}/tree")));
        match lost.map_err(|e| e.to_string())? {
            None => Ok(()),
            Some(name) => {
                played.wrong = true;
                Err(format!("receiver {number}: {name} is neither version"))
            }
        }
    }

    /// Whether some life of each receiver has given the sender its receipt.
    pub(super) fn has_receipts(&self) -> bool {
        let said = self.sender.as_ref().map(Side::lines).unwrap_or_default();
        receipts(&said) >= self.receivers.len()
    }
}

/// Receivers, by name, of which a sender has receipts.
pub(super) fn receipts(lines: &[String]) -> usize {
    let receiver = |line: &String| {
        let rest = line.strip_prefix("{\"event\":\"receipt\",")?.split_once("\"name\":\"")?.1;
        rest.split('"').next().map(ToOwned::to_owned)
    };
    lines.iter().filter_map(receiver).collect::<BTreeSet<String>>().len()
}

fn is_same(one: &Path, other: &Path) -> bool {
    matches!((fs::read(one), fs::read(other)), (Ok(one), Ok(other)) if one == other)
}

fn left_over(dir: &Path) -> io::Result<Vec<String>> {
    let entries: io::Result<Vec<fs::DirEntry>> = fs::read_dir(dir)?.collect();
    Ok(entries?.into_iter().map(|e| e.file_name().to_string_lossy().into_owned()).collect())
}

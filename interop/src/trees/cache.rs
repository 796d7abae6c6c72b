//! A cache of models as Hugging Face's programs lay it out: blobs named after their hash, snapshots of
//! relative links to them, and references.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::made::content;
use crate::tool::{self, ToolError};

const MODELS: [&str; 3] = ["models--small--one", "models--org--two", "datasets--org--three"];

/// Makes one in `scratch`, with so many bytes of weights in each model.
pub(super) fn make(scratch: &Path, weights: u64) -> Result<PathBuf, ToolError> {
    let root = scratch.join("hub");
    for (number, model) in MODELS.iter().enumerate() {
        let path = root.join(model);
        model_at(&path, 100 * number, weights).map_err(tool::at(path.display()))?;
    }
    let version = root.join("version.txt");
    fs::write(&version, "1").map_err(tool::at(version.display()))?;
    Ok(root)
}

fn model_at(model: &Path, seed: usize, weights: u64) -> io::Result<()> {
    let weights = usize::try_from(weights).unwrap_or(usize::MAX);
    for directory in ["blobs", "refs"] {
        fs::create_dir_all(model.join(directory))?;
    }
    let commits = [seed, seed + 1].map(|seed| name_of(&content(seed, 32))[..40].to_owned());
    let of_both = blob(model, &content(seed + 2, weights))?;
    for (number, commit) in commits.iter().enumerate() {
        let snapshot = model.join("snapshots").join(commit);
        fs::create_dir_all(snapshot.join("onnx"))?;
        let config = blob(model, &content(seed + 10 + number, 700))?;
        symlink(format!("../../blobs/{config}"), snapshot.join("config.json"))?;
        symlink(format!("../../blobs/{of_both}"), snapshot.join("model.safetensors"))?;
        symlink(format!("../../../blobs/{of_both}"), snapshot.join("onnx/model.onnx"))?;
    }
    fs::write(model.join("refs/main"), &commits[1])?;
    let absent = model.join(".no_exist").join(&commits[1]);
    fs::create_dir_all(&absent)?;
    fs::write(absent.join("adapter_config.json"), "")
}

/// A blob under its name.
fn blob(model: &Path, content: &[u8]) -> io::Result<String> {
    let name = name_of(content);
    fs::write(model.join("blobs").join(&name), content)?;
    Ok(name)
}

fn name_of(content: &[u8]) -> String {
    blake3::hash(content).to_hex().to_string()
}

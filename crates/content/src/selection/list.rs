//! Names of files in a list.

use std::path::{Component, Path, PathBuf};

/// The paths of a list: one in each line, or with a NUL after each. Each is relative, and leads
/// nowhere above where it begins.
///
/// # Errors
/// A path is absolute, leads upwards, or is not UTF-8; it is given back.
pub fn parse_list(list: &[u8]) -> Result<Vec<PathBuf>, String> {
    let end = if list.contains(&0) { 0 } else { b'\n' };
    let parts = list.split(|byte| *byte == end).filter(|part| !part.is_empty());
    let path = |part: &[u8]| {
        let text =
            std::str::from_utf8(part).map_err(|_| String::from_utf8_lossy(part).into_owned())?;
        let path: PathBuf =
            Path::new(text).components().filter(|part| *part != Component::CurDir).collect();
        let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
        if plain && path != Path::new("") { Ok(path) } else { Err(text.to_owned()) }
    };
    parts.map(path).collect()
}

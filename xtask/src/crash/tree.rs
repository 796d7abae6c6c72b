//! What a directory has beside files, a new version of it, and whether it has arrived.

use std::{
    fs,
    io::{self, Read},
    os::unix::fs::{PermissionsExt, chown, symlink},
    path::Path,
    process::Command,
    time::{Duration, SystemTime},
};

/// Of the directories below the tree, one in so many has new files in the second version.
const CHANGED: usize = 3;

/// Adds links, hard links, empty directories, modes and times; and owners, setuid bits and links that
/// lead out, where all of that is sent.
pub(crate) fn adorn(tree: &Path, archive: bool) -> io::Result<()> {
    symlink("0", tree.join("to a directory"))?;
    symlink("nowhere", tree.join("dangling"))?;
    for number in (0..3000).step_by(100) {
        let file = tree.join(format!("{}/{number}", number % 30));
        fs::hard_link(&file, tree.join(format!("other name of {number}")))?;
        symlink(format!("../{}/{number}", number % 30), tree.join(format!("1/to {number}")))?;
        let empty = tree.join(format!("empty/{number}"));
        fs::create_dir_all(&empty)?;
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640 + number % 8))?;
        if archive {
            chown(&file, Some(1000 + number), Some(2000 + number))?;
            fs::set_permissions(&file, fs::Permissions::from_mode(0o4711))?;
            symlink("/etc/hostname", tree.join(format!("out {number}")))?;
        }
    }
    let time = SystemTime::UNIX_EPOCH + Duration::new(1_000_000_000, 5);
    for path in [tree.join("empty"), tree.join("2"), tree.join("3/3")] {
        fs::File::open(path)?.set_times(fs::FileTimes::new().set_modified(time))?;
    }
    Ok(())
}

/// Writes some of the files anew. What they were stays in `old`. How many bytes are new.
pub(crate) fn change(tree: &Path, old: &Path) -> io::Result<u64> {
    let copied = Command::new("cp").arg("-a").arg(tree).arg(old).status()?;
    if !copied.success() {
        return Err(io::Error::other("the old version cannot be kept"));
    }
    let mut random = fs::File::open("/dev/urandom")?;
    let mut bytes = 0;
    for directory in (0..30).step_by(CHANGED) {
        for entry in fs::read_dir(tree.join(directory.to_string()))? {
            let path = entry?.path();
            let size = fs::symlink_metadata(&path)?.len();
            let mut content = Vec::new();
            random.by_ref().take(size).read_to_end(&mut content)?;
            fs::write(path, content)?;
            bytes += size;
        }
    }
    Ok(bytes)
}

/// What rsync finds left to do, if anything.
pub(crate) fn differs(tree: &Path, into: &Path) -> Option<String> {
    let compared = ["-aH", "--checksum", "--dry-run", "--itemize-changes", "--delete"];
    match Command::new("rsync").args(compared).arg(tree).arg(into).output() {
        Err(error) => Some(format!("rsync: {error}")),
        Ok(done) => {
            let said = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
            let lines: Vec<&str> = said.lines().filter(|line| !line.is_empty()).collect();
            let first = lines.first().copied().unwrap_or_default();
            (!lines.is_empty()).then(|| format!("{} things are left to do: {first}", lines.len()))
        }
    }
}

/// A file that is neither version of it, or is gone.
pub(crate) fn lost(old: &Path, new: &Path, into: &Path) -> io::Result<Option<String>> {
    for directory in 0..30 {
        for entry in fs::read_dir(old.join(directory.to_string()))? {
            let entry = entry?;
            if !entry.file_type()?.is_file() {
                continue;
            }
            let name = Path::new(&directory.to_string()).join(entry.file_name());
            let there = fs::read(into.join(&name)).ok();
            let is = |version: &Path| fs::read(version.join(&name)).ok() == there;
            if there.is_none() || !(is(old) || is(new)) {
                return Ok(Some(name.display().to_string()));
            }
        }
    }
    Ok(None)
}

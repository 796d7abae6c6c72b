//! What is at a path of any length. The system takes paths of 4096 bytes at most in one call; what is
//! deeper is reached directory by directory.

use fanfare_udp::os::{
    fd::{AsFd, BorrowedFd, OwnedFd},
    text::{OsStrExt, OsStringExt},
};
use std::{
    ffi::OsStr,
    fs::{File, Metadata},
    io,
    path::{Path, PathBuf},
};

use fanfare_node::disk::name::text_of;
use fanfare_udp::os::{
    fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, PATH, PATH_MAX, PATH_OF_LINK, kind_of},
    io::Errno,
};

/// Opens what is there for reading.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    Ok(File::from(open_with(path, OFlags::RDONLY)?))
}

/// What is there; of a link what it leads to.
pub(crate) fn metadata(path: &Path) -> io::Result<Metadata> {
    if is_short(path) {
        return std::fs::metadata(path);
    }
    File::from(open_with(path, PATH)?).metadata()
}

/// What is there, itself.
pub(crate) fn symlink_metadata(path: &Path) -> io::Result<Metadata> {
    if is_short(path) {
        return std::fs::symlink_metadata(path);
    }
    File::from(open_with(path, PATH_OF_LINK)?).metadata()
}

/// What a link points to.
pub(crate) fn read_link(path: &Path) -> io::Result<PathBuf> {
    if is_short(path) {
        return std::fs::read_link(path);
    }
    let target =
        at(path, |directory, rest| fanfare_udp::os::fs::readlinkat(directory, rest, Vec::new()))?;
    Ok(PathBuf::from(std::ffi::OsString::from_vec(target.into_bytes())))
}

/// The names in a directory as text, and what has them.
pub(crate) fn entries(directory: &File) -> io::Result<Vec<(Box<str>, FileType)>> {
    let mut entries = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let kind = match entry.file_type() {
            // Some file systems do not say it along with the name.
            FileType::Unknown => {
                let stat = fanfare_udp::os::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
                kind_of(&stat)
            }
            known => known,
        };
        entries.push((text_of(name.to_bytes()).into(), kind));
    }
    Ok(entries)
}

fn is_short(path: &Path) -> bool {
    path.as_os_str().len() <= PATH_MAX
}

fn open_with(path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::CLOEXEC;
    at(path, |directory, rest| fanfare_udp::os::fs::openat(directory, rest, flags, Mode::empty()))
}

/// Calls with a directory, and a rest of the path that is short enough.
fn at<T>(
    path: &Path,
    call: impl FnOnce(BorrowedFd<'_>, &OsStr) -> Result<T, Errno>,
) -> Result<T, Errno> {
    let mut reached: Option<OwnedFd> = None;
    let mut rest = path.as_os_str().as_bytes();
    while rest.len() > PATH_MAX {
        // A part of a name is shorter by far: there is a slash.
        let cut = rest[..PATH_MAX].iter().rposition(|byte| *byte == b'/');
        let cut = cut.filter(|cut| *cut > 0).ok_or(Errno::NAMETOOLONG)?;
        let flags = PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let from = reached.as_ref().map_or(CWD, AsFd::as_fd);
        let part = OsStr::from_bytes(&rest[..cut]);
        reached = Some(fanfare_udp::os::fs::openat(from, part, flags, Mode::empty())?);
        rest = &rest[cut + 1..];
    }
    call(reached.as_ref().map_or(CWD, AsFd::as_fd), OsStr::from_bytes(rest))
}

#[cfg(test)]
mod tests {
    use fanfare_node::disk::scratch::Scratch;

    use super::*;

    #[test]
    fn what_is_deeper_than_a_path_may_be_long_is_reached() {
        let scratch = Scratch::new();
        let part = "d".repeat(200);
        let mut path = scratch.path().to_owned();
        let mut directory = File::open(&path).unwrap();
        for _ in 0..40 {
            fanfare_udp::os::fs::mkdirat(&directory, part.as_str(), Mode::RWXU).unwrap();
            path.push(&part);
            directory = open(&path).unwrap();
        }
        fanfare_udp::os::fs::symlinkat("f", &directory, "link").unwrap();
        let flags = OFlags::CREATE | OFlags::WRONLY;
        drop(fanfare_udp::os::fs::openat(&directory, "f", flags, Mode::RUSR).unwrap());
        assert!(open(&path.join("f")).is_ok() && metadata(&path.join("f")).unwrap().is_file());
        assert!(metadata(&path.join("link")).unwrap().is_file());
        assert!(symlink_metadata(&path.join("link")).unwrap().is_symlink());
        assert_eq!(read_link(&path.join("link")).unwrap(), Path::new("f"));
        let mut names = entries(&directory).unwrap();
        names.sort_by(|a, b| a.0.cmp(&b.0));
        let expected = [("f".into(), FileType::RegularFile), ("link".into(), FileType::Symlink)];
        assert_eq!(names, expected);
        assert!(std::fs::metadata(path.join("f")).is_err(), "in one call it is too long");
    }
}

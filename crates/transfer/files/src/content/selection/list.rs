//! Names of files in a list.

use std::{
    ffi::OsString,
    path::{Component, Path, PathBuf},
};

use fanfare_udp::os::text::OsStringExt;

use super::BYTE_ORDER_MARK;

/// The paths of a list: one in each line, or with a NUL after each. Each is relative to where it begins,
/// and leads nowhere above that; an empty one is that directory itself. Their bytes are as they are.
/// Lines may end as in Windows, if all do, and a byte order mark may stand before them.
///
/// # Errors
/// A path is absolute and not beneath `base`, or leads upwards; it is given back.
pub fn parse_list(list: &[u8], base: &Path) -> Result<Vec<PathBuf>, String> {
    let has_nul = list.contains(&0);
    let list = if has_nul { list } else { list.strip_prefix(BYTE_ORDER_MARK).unwrap_or(list) };
    let end = if has_nul { 0 } else { b'\n' };
    let parts = list.split(|byte| *byte == end).filter(|part| !part.is_empty());
    // A name may end with a carriage return; not all names of a list do.
    let is_of_windows = !has_nul && parts.clone().all(|part| part.ends_with(b"\r"));
    let parts = parts.map(|part| &part[..part.len() - usize::from(is_of_windows)]);
    let base = std::path::absolute(base).unwrap_or_default();
    parts.filter(|part| !part.is_empty()).map(|part| relative(part, &base)).collect()
}

/// A path below `base`, without what says nothing.
fn relative(path: &[u8], base: &Path) -> Result<PathBuf, String> {
    let path = PathBuf::from(OsString::from_vec(path.to_vec()));
    // What find prints of an absolute path.
    let below = if path.is_absolute() { path.strip_prefix(base).ok() } else { Some(&*path) };
    let wrong = || path.to_string_lossy().into_owned();
    let below = below.ok_or_else(wrong)?;
    let below: PathBuf = below.components().filter(|part| *part != Component::CurDir).collect();
    let is_plain = below.components().all(|part| matches!(part, Component::Normal(_)));
    if is_plain { Ok(below) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(list: &[u8]) -> Result<Vec<PathBuf>, String> {
        parse_list(list, Path::new("/data"))
    }

    #[test]
    fn a_list_has_lines_or_nul_and_leads_nowhere_else() {
        let count = |list: &[u8]| paths(list).map(|all| all.len());
        assert_eq!(count(b"a\nb c/d\n\n./e\n"), Ok(3));
        assert_eq!(count(b"a\nb\0c\0"), Ok(2));
        assert_eq!(count(b"ok\n../x\n"), Err("../x".to_owned()));
        assert_eq!(count(b"/etc/passwd"), Err("/etc/passwd".to_owned()));
        assert_eq!(count(b"/data/../x"), Err("/data/../x".to_owned()));
    }

    #[test]
    fn what_find_prints_is_taken() {
        let list = |list: &[u8]| paths(list).unwrap();
        assert_eq!(list(b".\n./a\n"), [Path::new(""), Path::new("a")]);
        assert_eq!(list(b"/data\0/data/a/b\0"), [Path::new(""), Path::new("a/b")]);
        let latin: PathBuf = OsString::from_vec(b"caf\xe9".to_vec()).into();
        assert_eq!(list(b"./caf\xe9\0"), [&*latin]);
        assert_eq!(list(b"caf\xe9\n"), [&*latin]);
        assert_eq!(list(b"a\nb\0"), [Path::new("a\nb")]);
    }

    #[test]
    fn a_list_of_windows_has_other_ends_of_lines_and_a_mark() {
        let list = |list: &[u8]| paths(list).unwrap();
        assert_eq!(list(b"\xef\xbb\xbfa\r\nb\r\n"), [Path::new("a"), Path::new("b")]);
        assert_eq!(list(b"a\r\n\r\nb\r\n"), [Path::new("a"), Path::new("b")]);
        assert_eq!(list(b"a\r\nb\n"), [Path::new("a\r"), Path::new("b")]);
    }
}

//! Which names from the network may become files, and why the others may not.
//!
//! A name is refused, never repaired: two different names must not become one file. The object
//! itself is kept under a name made from its hash.

use std::fmt;

/// Longest part of a name, bytes: what Linux file systems hold.
const PART_MAX: usize = 255;
/// Deepest path. More is somebody's mistake, or somebody's attack.
const DEPTH_MAX: usize = 16;
/// Begins the names of files that are still being received; no sender may choose it.
pub const PART_PREFIX: &str = ".fanfare-";

/// A relative path whose parts are safe to create below a directory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SafeName {
    parts: Vec<String>,
}

/// Why a name from the network was not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameError {
    /// No name at all.
    Empty,
    /// Not UTF-8.
    NotUtf8,
    /// Begins with a slash.
    Absolute,
    /// A part is empty, `.` or `..`.
    Relative,
    /// A part has more than 255 bytes.
    TooLong,
    /// More than 16 parts.
    TooDeep,
    /// NUL, a control character, a backslash or a colon.
    Character,
    /// A part ends with a dot or a space, which some systems drop.
    Ending,
    /// A device on some systems, such as CON.
    Device,
    /// A mark that changes the direction of text, so that the name reads as another.
    Direction,
    /// A name that files under way use here.
    Reserved,
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "it is empty",
            Self::NotUtf8 => "it is not UTF-8",
            Self::Absolute => "it is absolute",
            Self::Relative => "a part is empty, '.' or '..'",
            Self::TooLong => "a part has more than 255 bytes",
            Self::TooDeep => "it has more than 16 parts",
            Self::Character => "it has a control character, a backslash or a colon",
            Self::Ending => "a part ends with a dot or a space",
            Self::Device => "a part names a device",
            Self::Direction => "it has a mark that turns the direction of text",
            Self::Reserved => "a part begins with .fanfare-",
        })
    }
}

impl std::error::Error for NameError {}

impl SafeName {
    /// Takes a name as it came from the network.
    ///
    /// ```
    /// use fanfare_disk::name::{NameError, SafeName};
    /// assert_eq!(SafeName::parse(b"photos/cat.jpg").unwrap().to_string(), "photos/cat.jpg");
    /// assert_eq!(SafeName::parse(b"../../etc/passwd"), Err(NameError::Relative));
    /// ```
    pub fn parse(raw: &[u8]) -> Result<Self, NameError> {
        let text = std::str::from_utf8(raw).map_err(|_| NameError::NotUtf8)?;
        Self::check(text)?;
        Ok(Self { parts: text.split('/').map(str::to_owned).collect() })
    }

    /// Whether it would be taken.
    pub fn check(text: &str) -> Result<(), NameError> {
        if text.is_empty() {
            return Err(NameError::Empty);
        }
        if text.starts_with('/') {
            return Err(NameError::Absolute);
        }
        if text.split('/').nth(DEPTH_MAX).is_some() {
            return Err(NameError::TooDeep);
        }
        text.split('/').try_for_each(check_part)
    }

    /// A name of one part that this program made itself.
    pub fn own(part: String) -> Self {
        Self { parts: vec![part] }
    }

    /// A name of one part that this program made itself, below this one.
    pub fn join(mut self, part: String) -> Self {
        self.parts.push(part);
        self
    }

    /// The directories, outermost first, and the file's own name.
    #[must_use]
    pub fn split(&self) -> (&[String], &str) {
        match self.parts.split_last() {
            Some((file, directories)) => (directories, file),
            None => (&[], ""),
        }
    }

    /// The same place with another file name.
    pub fn with_file(&self, file: String) -> Self {
        let (directories, _) = self.split();
        Self { parts: directories.iter().cloned().chain([file]).collect() }
    }
}

impl fmt::Display for SafeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.parts.join("/"))
    }
}

/// Whether it can be the name of something in a directory, however unwelcome.
pub fn is_one_part(part: &str) -> bool {
    !part.is_empty()
        && part.len() <= PART_MAX
        && part != "."
        && part != ".."
        && !part.contains(['/', '\0'])
}

/// Bytes at the beginning of both, up to the end of a character: what front coding leaves out.
pub fn shared_bytes(a: &str, b: &str) -> usize {
    let equal = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    (0..=equal).rev().find(|at| b.is_char_boundary(*at)).unwrap_or(0)
}

fn check_part(part: &str) -> Result<(), NameError> {
    if part.is_empty() || part == "." || part == ".." {
        return Err(NameError::Relative);
    }
    if part.len() > PART_MAX {
        return Err(NameError::TooLong);
    }
    if part.chars().any(|c| c.is_control() || c == '\\' || c == ':') {
        return Err(NameError::Character);
    }
    if part.chars().any(turns_text) {
        return Err(NameError::Direction);
    }
    if part.ends_with(['.', ' ']) {
        return Err(NameError::Ending);
    }
    if is_device(part) {
        return Err(NameError::Device);
    }
    if part.starts_with(PART_PREFIX) {
        return Err(NameError::Reserved);
    }
    Ok(())
}

/// Bidirectional controls of Unicode: marks, embeddings, overrides and isolates.
fn turns_text(c: char) -> bool {
    matches!(c, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Reserved on Windows with any extension and in any case; a file may travel on from here.
fn is_device(part: &str) -> bool {
    let stem = part.split('.').next().unwrap_or(part).trim_end().to_ascii_uppercase();
    if ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"].contains(&stem.as_str()) {
        return true;
    }
    let number = stem.strip_prefix("COM").or_else(|| stem.strip_prefix("LPT"));
    number.is_some_and(|n| {
        let mut digits = n.chars();
        let digit = digits.next();
        digits.next().is_none()
            && digit.is_some_and(|d| d.is_ascii_digit() || matches!(d, '¹' | '²' | '³'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(raw: &[u8]) -> NameError {
        SafeName::parse(raw).expect_err(&String::from_utf8_lossy(raw))
    }

    #[test]
    fn ordinary_names_in_any_script_are_kept_as_they_are() {
        for name in ["a", "a/b/c.txt", "übung.txt", "猫/写真.jpg", ".hidden", "..a", "a b", "con1"]
        {
            assert_eq!(SafeName::parse(name.as_bytes()).unwrap().to_string(), name);
        }
    }

    #[test]
    fn names_that_leave_the_directory_are_refused() {
        assert_eq!(refused(b"../../etc/passwd"), NameError::Relative);
        assert_eq!(refused(b"a/../b"), NameError::Relative);
        assert_eq!(refused(b"/abs"), NameError::Absolute);
        assert_eq!(refused(b"a//b"), NameError::Relative);
        assert_eq!(refused(b"a/"), NameError::Relative);
        assert_eq!(refused(b"."), NameError::Relative);
        assert_eq!(refused(b""), NameError::Empty);
    }

    #[test]
    fn names_that_other_systems_read_differently_are_refused() {
        for device in ["CON", "con.txt", "nul", "a/COM1.log", "LPT9", "com\u{b9}", "AUX .x"] {
            assert_eq!(refused(device.as_bytes()), NameError::Device, "{device}");
        }
        assert_eq!(refused(b"c:evil"), NameError::Character);
        assert_eq!(refused(b"a\\b"), NameError::Character);
        assert_eq!(refused(b"a\0b"), NameError::Character);
        assert_eq!(refused(b"a\nb"), NameError::Character);
        assert_eq!(refused("a\u{85}b".as_bytes()), NameError::Character);
        assert_eq!(refused(b"a."), NameError::Ending);
        assert_eq!(refused(b"a /b"), NameError::Ending);
        assert_eq!(refused("photo\u{202e}gpj.exe".as_bytes()), NameError::Direction);
        assert_eq!(refused(&[0xff, 0xfe]), NameError::NotUtf8);
    }

    #[test]
    fn names_are_bounded_in_length_and_depth() {
        assert!(SafeName::parse(&[b'a'; 255]).is_ok());
        assert_eq!(refused(&[b'a'; 300]), NameError::TooLong);
        assert!(SafeName::parse(["a"; 16].join("/").as_bytes()).is_ok());
        assert_eq!(refused(["a"; 17].join("/").as_bytes()), NameError::TooDeep);
        assert_eq!(refused(&b"/".repeat(100_000)), NameError::Absolute);
    }

    #[test]
    fn a_sender_cannot_choose_the_name_of_a_file_under_way() {
        assert_eq!(refused(b".fanfare-00000001-0001-1.part"), NameError::Reserved);
    }
}

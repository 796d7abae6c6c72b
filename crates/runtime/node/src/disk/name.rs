//! Which names from the network may become files, and why the others may not.
//!
//! A name is a string of bytes: whatever Linux can hold is kept byte for byte. Refused is only what
//! is a danger: what is absolute, a part that is empty, `.` or `..`, a NUL, and a name that this
//! program uses for unfinished files. A refused object is kept under a name made from its hash.
//!
//! Inside the program a name is text. Bytes that are not UTF-8 stand in it as the characters U+10FF80
//! to U+10FFFF, one for each byte; those characters themselves, should a name have one, stand as
//! their four bytes. So every name has one text, and every text gives the name back:
//! [`text_of`], [`bytes_of`]. For people there are [`escaped`] and [`shown`].

use fanfare_udp::os::text::OsStrExt;
use std::{
    borrow::Cow,
    ffi::OsStr,
    fmt::{self, Write as _},
    path::PathBuf,
};

/// Longest part of a name, bytes: what Linux file systems hold.
const PART_MAX: usize = 255;
/// Longest name that is believed, bytes. Linux takes paths of 4096 in one call, but a tree may be
/// deeper: it is entered directory by directory.
pub const NAME_MAX: usize = 64 << 10;
/// Deepest path. More is somebody's mistake, or somebody's attack: each level is opened once for a
/// file.
const DEPTH_MAX: usize = 4096;
/// Begins the names of files that are still being received; no sender may choose it.
pub const PART_PREFIX: &str = ".fanfare-";
/// Stands for a byte 0 in text, were there one: bytes from 0x80 on are counted from here.
const BYTE_BASE: u32 = 0x10_ff00;
/// A name longer than this is shown without its middle, characters.
const SHOWN_MAX: usize = 300;

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
    /// Begins with a slash.
    Absolute,
    /// A part is empty, `.` or `..`.
    Relative,
    /// A part has more than 255 bytes, or all of it more than 64 KiB.
    TooLong,
    /// More than 4096 parts.
    TooDeep,
    /// A NUL, which ends a name for the system.
    Nul,
    /// A name that files under way use here.
    Reserved,
    /// This system has no such names: Windows takes `\\`, `:`, `con` and others for something else.
    Foreign,
    /// A link, a file or a directory is where it, or one of its directories, should be.
    InTheWay,
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "it is empty",
            Self::Absolute => "it is absolute",
            Self::Relative => "a part is empty, '.' or '..'",
            Self::TooLong => "a part has more than 255 bytes, or the name more than 64 KiB",
            Self::TooDeep => "it has more than 4096 parts",
            Self::Nul => "it has a NUL",
            Self::Reserved => "a part begins with .fanfare-",
            Self::Foreign => "this system has no such names",
            Self::InTheWay => "something else is where it should be",
        })
    }
}

impl std::error::Error for NameError {}

/// The text of a name.
///
/// ```
/// use fanfare_node::disk::name::{bytes_of, text_of};
/// assert_eq!(text_of("übung.txt".as_bytes()), "übung.txt");
/// assert_eq!(*bytes_of(&text_of(b"caf\xe9")), *b"caf\xe9");
/// ```
#[must_use]
pub fn text_of(name: &[u8]) -> String {
    if let Ok(text) = std::str::from_utf8(name)
        && !text.chars().any(|c| byte_of(c).is_some())
    {
        return text.to_owned();
    }
    let mut text = String::with_capacity(name.len() + 16);
    let raw = |text: &mut String, bytes: &[u8]| {
        text.extend(bytes.iter().filter_map(|byte| char::from_u32(BYTE_BASE + u32::from(*byte))));
    };
    for chunk in name.utf8_chunks() {
        for c in chunk.valid().chars() {
            match byte_of(c) {
                None => text.push(c),
                Some(_) => raw(&mut text, c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        raw(&mut text, chunk.invalid());
    }
    text
}

/// The name of a text.
#[must_use]
pub fn bytes_of(text: &str) -> Cow<'_, [u8]> {
    if !text.chars().any(|c| byte_of(c).is_some()) {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut name = Vec::with_capacity(text.len());
    for c in text.chars() {
        match byte_of(c) {
            Some(byte) => name.push(byte),
            None => name.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    Cow::Owned(name)
}

/// The byte that a character of a text stands for.
fn byte_of(c: char) -> Option<u8> {
    let number = u32::from(c).checked_sub(BYTE_BASE)?;
    u8::try_from(number).ok().filter(|byte| *byte >= 0x80)
}

/// The path of a text, for the system.
#[must_use]
pub fn path_of(text: &str) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(&bytes_of(text)))
}

/// A text for people: what steers a terminal, turns the direction of text or is no UTF-8 is escaped.
#[must_use]
pub fn escaped(text: &str) -> String {
    let mut all = String::with_capacity(text.len());
    for c in text.chars() {
        // Writing into memory cannot fail.
        let _ = match byte_of(c) {
            Some(byte) => write!(all, "\\x{byte:02x}"),
            None if c.is_control() || turns_text(c) => write!(all, "{}", c.escape_default()),
            None => write!(all, "{c}"),
        };
    }
    all
}

/// The same, and of a very long name the middle is left out, visibly.
///
/// ```
/// use fanfare_node::disk::name::{shown, text_of};
/// assert_eq!(shown(&text_of(b"a\nb\xff")), "a\\nb\\xff");
/// ```
#[must_use]
pub fn shown(text: &str) -> String {
    let all = escaped(text);
    let count = all.chars().count();
    if count <= SHOWN_MAX {
        return all;
    }
    let side = SHOWN_MAX / 2;
    let first: String = all.chars().take(side).collect();
    let last: String = all.chars().skip(count - side).collect();
    format!("{first}[… {} characters …]{last}", count - 2 * side)
}

impl SafeName {
    /// Takes a name as it came from the network.
    ///
    /// ```
    /// use fanfare_node::disk::name::{NameError, SafeName};
    /// assert_eq!(SafeName::parse(b"photos/cat.jpg").unwrap().to_string(), "photos/cat.jpg");
    /// assert_eq!(SafeName::parse(b"../../etc/passwd"), Err(NameError::Relative));
    /// ```
    pub fn parse(raw: &[u8]) -> Result<Self, NameError> {
        Self::check_bytes(raw)?;
        Ok(Self { parts: raw.split(|byte| *byte == b'/').map(text_of).collect() })
    }

    /// The same of a name's text.
    pub fn of_text(text: &str) -> Result<Self, NameError> {
        Self::parse(&bytes_of(text))
    }

    /// Whether a text would be taken.
    pub fn check(text: &str) -> Result<(), NameError> {
        Self::check_bytes(&bytes_of(text))
    }

    fn check_bytes(raw: &[u8]) -> Result<(), NameError> {
        if raw.is_empty() {
            return Err(NameError::Empty);
        }
        if raw.first() == Some(&b'/') {
            return Err(NameError::Absolute);
        }
        if raw.len() > NAME_MAX {
            return Err(NameError::TooLong);
        }
        let parts = || raw.split(|byte| *byte == b'/');
        if parts().nth(DEPTH_MAX).is_some() {
            return Err(NameError::TooDeep);
        }
        parts().try_for_each(check_part)
    }

    /// Where it is below `directory`.
    #[must_use]
    pub fn below(&self, directory: &std::path::Path) -> PathBuf {
        directory.join(path_of(&self.parts.join("/")))
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
        && bytes_of(part).len() <= PART_MAX
        && part != "."
        && part != ".."
        && !part.contains(['/', '\0'])
}

/// Bytes at the beginning of both, up to the end of a character: what front coding leaves out.
pub fn shared_bytes(a: &str, b: &str) -> usize {
    let equal = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    (0..=equal).rev().find(|at| b.is_char_boundary(*at)).unwrap_or(0)
}

fn check_part(part: &[u8]) -> Result<(), NameError> {
    if matches!(part, b"" | b"." | b"..") {
        return Err(NameError::Relative);
    }
    if part.len() > PART_MAX {
        return Err(NameError::TooLong);
    }
    if part.contains(&0) {
        return Err(NameError::Nul);
    }
    if part.starts_with(PART_PREFIX.as_bytes()) {
        return Err(NameError::Reserved);
    }
    if !fanfare_udp::os::text::can_be_a_name(part) {
        return Err(NameError::Foreign);
    }
    Ok(())
}

/// Bidirectional controls of Unicode: marks, embeddings, overrides and isolates.
fn turns_text(c: char) -> bool {
    matches!(c, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(raw: &[u8]) -> NameError {
        SafeName::parse(raw).expect_err(&String::from_utf8_lossy(raw))
    }

    #[test]
    fn a_name_that_linux_can_hold_is_kept_byte_for_byte() {
        let names: [&[u8]; 16] = [
            b"a",
            "übung.txt".as_bytes(),
            "猫/写真.jpg".as_bytes(),
            b".hidden",
            b"..a",
            b"a b",
            b"aux.c",
            b"con",
            b"sha256:abc",
            b"dot.",
            b"space ",
            b"line\nbreak",
            b"back\\slash",
            b"\xff\xfe/caf\xe9",
            "photo\u{202e}gpj.exe".as_bytes(),
            "\u{10ffff}\u{10ff80}".as_bytes(),
        ];
        for name in names {
            let safe = SafeName::parse(name).unwrap();
            assert_eq!(*bytes_of(&safe.to_string()), *name);
            assert_eq!(SafeName::of_text(&safe.to_string()), Ok(safe));
        }
    }

    #[test]
    fn any_bytes_have_one_text_and_come_back_from_it() {
        let mut rng = fanfare_proto::rng::Rng::new(1);
        let pieces: [&[u8]; 6] =
            [b"a", b"\xc3", b"\xa9", "é".as_bytes(), b"\xf4\x8f\xbf", b"\xf4\x8f\xbe\x80"];
        for _ in 0..5_000 {
            let name: Vec<u8> = (0..rng.below(8))
                .flat_map(|_| match rng.below(7) {
                    6 => vec![rng.next_u64() as u8],
                    at => pieces[at as usize].to_vec(),
                })
                .collect();
            assert_eq!(*bytes_of(&text_of(&name)), *name);
        }
    }

    #[test]
    fn what_people_see_of_a_name_steers_no_terminal_and_says_what_it_leaves_out() {
        assert_eq!(shown("a\u{1b}[2Jb\u{202e}"), "a\\u{1b}[2Jb\\u{202e}");
        let long = shown(&"x/".repeat(5000));
        assert!(long.chars().count() < 350 && long.contains("[… 9700 characters …]"), "{long}");
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
        assert_eq!(refused(b"a\0b"), NameError::Nul);
    }

    #[test]
    fn names_are_bounded_in_length_and_depth() {
        assert!(SafeName::parse(&[b'a'; 255]).is_ok());
        assert_eq!(refused(&[b'a'; 300]), NameError::TooLong);
        assert!(SafeName::parse(["a"; 4096].join("/").as_bytes()).is_ok());
        assert_eq!(refused(["a"; 4097].join("/").as_bytes()), NameError::TooDeep);
        assert_eq!(refused(&b"a/".repeat(40_000)), NameError::TooLong);
        assert_eq!(refused(&b"/".repeat(100_000)), NameError::Absolute);
    }

    #[test]
    fn a_sender_cannot_choose_the_name_of_a_file_under_way() {
        assert_eq!(refused(b".fanfare-00000001-0001-1.part"), NameError::Reserved);
    }
}

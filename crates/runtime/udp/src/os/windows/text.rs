//! Names as bytes: UTF-8. What is no Unicode in a name of this system has bytes that are no UTF-8.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

/// What no name can have: it parts names, begins a stream of a file, or stands for other names.
const FORBIDDEN: &[u8] = b"<>:\"/\\|?*";
/// Names that programs take for devices, whatever follows a dot (Naming Files, Paths, and Namespaces).
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];
const NUMBERED_DEVICES: [&str; 2] = ["com", "lpt"];

/// Bytes of names, as `std` has it for other systems.
pub trait OsStrExt {
    /// A name of these bytes. What is no UTF-8 becomes a name that nothing can have.
    fn from_bytes(bytes: &[u8]) -> &Self;
    /// Its bytes.
    fn as_bytes(&self) -> &[u8];
}

impl OsStrExt for OsStr {
    fn from_bytes(bytes: &[u8]) -> &Self {
        Self::new(std::str::from_utf8(bytes).unwrap_or("?"))
    }

    fn as_bytes(&self) -> &[u8] {
        self.as_encoded_bytes()
    }
}

/// The same for owned names.
pub trait OsStringExt {
    /// A name of these bytes.
    fn from_vec(bytes: Vec<u8>) -> Self;
    /// Its bytes.
    fn into_vec(self) -> Vec<u8>;
}

impl OsStringExt for OsString {
    fn from_vec(bytes: Vec<u8>) -> Self {
        OsStr::from_bytes(&bytes).to_owned()
    }

    fn into_vec(self) -> Vec<u8> {
        self.into_encoded_bytes()
    }
}

/// What this system takes as the name of a file beyond what all do. Refused is what leads elsewhere
/// (`a\..\b`, `c:x`, `f:stream`), what programs take for a device, and what they do not find again.
#[must_use]
pub fn can_be_a_name(part: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(part) else { return false };
    let stem = text.split('.').next().unwrap_or_default().trim_end().to_ascii_lowercase();
    let is_numbered = NUMBERED_DEVICES.iter().any(|device| {
        let number = stem.strip_prefix(device).and_then(|rest| rest.chars().next());
        stem.chars().count() == 4 && number.is_some_and(|c| c.is_ascii_digit() || "¹²³".contains(c))
    });
    !text.bytes().any(|byte| byte < 0x20 || FORBIDDEN.contains(&byte))
        && !text.ends_with(['.', ' '])
        && !DEVICES.contains(&&*stem)
        && !is_numbered
}

/// What names a file in a call.
pub trait Arg {
    /// As a path; `None`: it can be none.
    fn as_path(&self) -> Option<PathBuf>;
}

impl Arg for [u8] {
    fn as_path(&self) -> Option<PathBuf> {
        std::str::from_utf8(self).ok().map(PathBuf::from)
    }
}

impl Arg for str {
    fn as_path(&self) -> Option<PathBuf> {
        Some(self.into())
    }
}

impl Arg for std::ffi::CStr {
    fn as_path(&self) -> Option<PathBuf> {
        self.to_str().ok().map(PathBuf::from)
    }
}

impl Arg for std::ffi::CString {
    fn as_path(&self) -> Option<PathBuf> {
        self.as_c_str().as_path()
    }
}

impl Arg for OsStr {
    fn as_path(&self) -> Option<PathBuf> {
        Some(self.into())
    }
}

impl Arg for Path {
    fn as_path(&self) -> Option<PathBuf> {
        Some(self.into())
    }
}

impl Arg for PathBuf {
    fn as_path(&self) -> Option<PathBuf> {
        Some(self.clone())
    }
}

impl<A: Arg + ?Sized> Arg for &A {
    fn as_path(&self) -> Option<PathBuf> {
        (**self).as_path()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_elsewhere_or_mean_a_device_are_refused() {
        let no = ["a\\..\\b", "c:x", "f:stream", "con", "NUL.txt", "com1", "LPT9.log", "a.", "a "];
        for name in no {
            assert!(!can_be_a_name(name.as_bytes()), "{name}");
        }
        assert!(!can_be_a_name(b"\xff") && !can_be_a_name(b"a\nb"));
        for name in ["a", "übung.txt", "console", "com", "command.com", ".hidden", "a b"] {
            assert!(can_be_a_name(name.as_bytes()), "{name}");
        }
    }
}

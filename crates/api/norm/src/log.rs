//! What is told to people: lines on standard error, or in a file that the program names.

use std::{
    fs::File,
    io::Write as _,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

/// What programs ask for before they ask for something else: errors alone (NRL's level).
static LEVEL: AtomicU32 = AtomicU32::new(0);
static FILE: Mutex<Option<File>> = Mutex::new(None);

/// A fault.
pub(crate) const ERROR: u32 = 0;
/// Settings, once.
pub(crate) const INFO: u32 = 2;

pub(crate) fn set_level(level: u32) {
    LEVEL.store(level, Ordering::Relaxed);
}

pub(crate) fn level() -> u32 {
    LEVEL.load(Ordering::Relaxed)
}

/// Writes to this file from now on, or to standard error.
pub(crate) fn set_file(file: Option<File>) {
    *FILE.lock().unwrap_or_else(PoisonError::into_inner) = file;
}

/// Writes a line if the program asked for so much.
pub(crate) fn line(level: u32, text: &str) {
    if level > self::level() {
        return;
    }
    let mut file = FILE.lock().unwrap_or_else(PoisonError::into_inner);
    // There is nobody to tell that a log cannot be written.
    let _ = match &mut *file {
        Some(file) => writeln!(file, "fanfare-norm: {text}"),
        None => writeln!(std::io::stderr(), "fanfare-norm: {text}"),
    };
}

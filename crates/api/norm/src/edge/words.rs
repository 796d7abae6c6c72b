//! C's words: strings, buffers, numbers to be filled in, and `errno`.

use std::{
    ffi::{CStr, OsStr, c_char, c_void},
    os::unix::ffi::OsStrExt as _,
    path::PathBuf,
    slice,
};

use crate::handle::Handle;

/// What a program holds.
pub(super) type Word = *const c_void;

/// Largest buffer that a program can mean: half of the address space.
const BUFFER_MAX: usize = isize::MAX as usize;

pub(super) fn handle(word: Word) -> Handle {
    Handle::from_word(word as usize)
}

pub(super) fn word(handle: Handle) -> Word {
    handle.to_word() as Word
}

/// Says why a call failed.
pub(super) fn set_errno(number: i32) {
    // SAFETY: the C library gives the place of this thread's number.
    unsafe { *libc::__errno_location() = number };
}

/// A string of the program. `None` for null, and for what is not UTF-8.
///
/// # Safety
/// `text` is null, or ends with a zero byte and stays as it is during the call.
pub(super) unsafe fn text<'a>(text: *const c_char) -> Option<&'a str> {
    if text.is_null() {
        return None;
    }
    // SAFETY: what the caller says.
    unsafe { CStr::from_ptr(text) }.to_str().ok()
}

/// A path of the program.
///
/// # Safety
/// As [`text`].
pub(super) unsafe fn path(text: *const c_char) -> Option<PathBuf> {
    if text.is_null() {
        return None;
    }
    // SAFETY: what the caller says.
    let bytes = unsafe { CStr::from_ptr(text) }.to_bytes();
    (!bytes.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(bytes)))
}

/// Bytes of the program. None of them for null.
///
/// # Safety
/// `start` is null, or `len` bytes there can be read during the call.
pub(super) unsafe fn bytes<'a>(start: *const c_char, len: usize) -> &'a [u8] {
    if start.is_null() || len == 0 || len > BUFFER_MAX {
        return &[];
    }
    // SAFETY: what the caller says.
    unsafe { slice::from_raw_parts(start.cast(), len) }
}

/// A buffer of the program to be filled. Empty for null.
///
/// # Safety
/// `start` is null, or `len` bytes there are the caller's alone during the call.
pub(super) unsafe fn buffer<'a>(start: *mut c_char, len: usize) -> &'a mut [u8] {
    if start.is_null() || len == 0 || len > BUFFER_MAX {
        return &mut [];
    }
    // SAFETY: what the caller says.
    unsafe { slice::from_raw_parts_mut(start.cast(), len) }
}

/// NORM_INFO of the program.
///
/// # Safety
/// As [`bytes`].
pub(super) unsafe fn info(start: *const c_char, len: u32) -> Option<Vec<u8>> {
    // SAFETY: what the caller says.
    let bytes = unsafe { bytes(start, len as usize) };
    (!bytes.is_empty()).then(|| bytes.to_vec())
}

/// Puts a value where the program wants it; nowhere for null.
///
/// # Safety
/// `place` is null, or can be written.
pub(super) unsafe fn put<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: what the caller says.
        unsafe { place.write(value) };
    }
}

/// Gives bytes to a program that says how much room it has, and is told how much there is. False when
/// the room is too little; then nothing is written but the length.
///
/// # Safety
/// `room` is null or can be read and written; `start` is null or has as many bytes as it says.
pub(super) unsafe fn fill(start: *mut c_char, room: *mut u32, content: &[u8]) -> bool {
    if room.is_null() {
        return false;
    }
    // SAFETY: what the caller says.
    let has = unsafe { room.read() } as usize;
    // SAFETY: the same.
    unsafe { put(room, u32::try_from(content.len()).unwrap_or(u32::MAX)) };
    if start.is_null() || has < content.len() {
        return false;
    }
    // SAFETY: the same.
    unsafe { buffer(start, content.len()) }.copy_from_slice(content);
    true
}

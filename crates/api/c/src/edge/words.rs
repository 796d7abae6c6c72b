//! Pointers of a program: texts, bytes, and places for results.

use std::{
    ffi::{CStr, OsStr, c_char, c_void},
    os::unix::ffi::OsStrExt as _,
    path::PathBuf,
    slice,
};

use super::call::Refusal;

/// Largest buffer that a program can mean: half of the address space.
const BUFFER_MAX: usize = isize::MAX as usize;

fn null(name: &str) -> Refusal {
    Refusal::invalid(format!("{name}: is null"))
}

/// # Safety
/// `start` is null, or ends with a zero byte and stays as it is during the call.
pub(super) unsafe fn text<'a>(name: &str, start: *const c_char) -> Result<&'a str, Refusal> {
    if start.is_null() {
        return Err(null(name));
    }
    // SAFETY: what the caller says.
    let text = unsafe { CStr::from_ptr(start) }.to_str();
    text.map_err(|_| Refusal::invalid(format!("{name}: is not UTF-8")))
}

/// # Safety
/// As [`text`].
pub(super) unsafe fn path(name: &str, start: *const c_char) -> Result<PathBuf, Refusal> {
    if start.is_null() {
        return Err(null(name));
    }
    // SAFETY: what the caller says.
    let bytes = unsafe { CStr::from_ptr(start) }.to_bytes();
    match bytes.is_empty() {
        true => Err(Refusal::invalid(format!("{name}: is empty"))),
        false => Ok(PathBuf::from(OsStr::from_bytes(bytes))),
    }
}

/// # Safety
/// `start` is null, or `count` pointers there can be read, each as for [`text`].
pub(super) unsafe fn paths(
    name: &str,
    start: *const *const c_char,
    count: usize,
) -> Result<Vec<PathBuf>, Refusal> {
    if start.is_null() || count == 0 {
        return Err(Refusal::invalid(format!("{name}: there are none")));
    }
    if count > BUFFER_MAX / size_of::<*const c_char>() {
        return Err(Refusal::invalid(format!("{name}: there are too many")));
    }
    // SAFETY: what the caller says.
    let all = unsafe { slice::from_raw_parts(start, count) };
    // SAFETY: the same.
    all.iter().map(|one| unsafe { path(name, *one) }).collect()
}

/// # Safety
/// `start` is null, or `length` bytes there can be read during the call.
pub(super) unsafe fn bytes<'a>(
    name: &str,
    start: *const c_void,
    length: usize,
) -> Result<&'a [u8], Refusal> {
    if length == 0 {
        return Ok(&[]);
    }
    if start.is_null() {
        return Err(null(name));
    }
    if length > BUFFER_MAX {
        return Err(Refusal::invalid(format!("{name}: {length} bytes cannot be")));
    }
    // SAFETY: what the caller says.
    Ok(unsafe { slice::from_raw_parts(start.cast(), length) })
}

/// # Safety
/// `start` is null, or `length` bytes there are the caller's alone during the call.
pub(super) unsafe fn buffer<'a>(
    name: &str,
    start: *mut c_void,
    length: usize,
) -> Result<&'a mut [u8], Refusal> {
    if start.is_null() || length == 0 {
        return Err(Refusal::invalid(format!("{name}: has no room")));
    }
    if length > BUFFER_MAX {
        return Err(Refusal::invalid(format!("{name}: {length} bytes cannot be")));
    }
    // SAFETY: what the caller says. Bytes that nobody has written are zeroed first: Rust must not see them.
    unsafe {
        std::ptr::write_bytes(start.cast::<u8>(), 0, length);
        Ok(slice::from_raw_parts_mut(start.cast(), length))
    }
}

/// Where a result goes; it must be somewhere.
pub(super) fn place<T>(name: &str, place: *mut T) -> Result<*mut T, Refusal> {
    if place.is_null() { Err(null(name)) } else { Ok(place) }
}

/// # Safety
/// `place` is null, or can be written.
pub(super) unsafe fn put<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: what the caller says.
        unsafe { place.write(value) };
    }
}

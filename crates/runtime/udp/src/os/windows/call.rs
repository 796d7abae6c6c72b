//! Calls that `std` has no name for. All unsafe code of this system is here.

use std::{
    fs::File,
    io,
    os::windows::{
        ffi::{OsStrExt as _, OsStringExt as _},
        io::{AsRawHandle as _, BorrowedHandle},
    },
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use super::fd::AsFd;
use windows_sys::Win32::{
    Foundation::{INVALID_HANDLE_VALUE, WAIT_FAILED},
    Storage::FileSystem::{
        GetDiskFreeSpaceExW, GetFinalPathNameByHandleW, LOCKFILE_EXCLUSIVE_LOCK,
        LOCKFILE_FAIL_IMMEDIATELY, LockFileEx, MoveFileExW,
    },
    System::{
        IO::OVERLAPPED,
        Pipes::PeekNamedPipe,
        Threading::{INFINITE, WaitForSingleObject},
    },
};

/// Longest path of this system, 16-bit units: "approximately 32,767 characters" (Maximum Path Length
/// Limitation).
const UNITS_MAX: usize = 32 << 10;

/// Stands for the folder in which this process works, where a directory is asked for.
// SAFETY: the number means no handle to this module, which never gives it to the system.
pub const CWD: BorrowedHandle<'static> =
    unsafe { BorrowedHandle::borrow_raw(INVALID_HANDLE_VALUE) };

/// Whether it stands for the folder in which this process works.
pub(super) fn is_cwd(handle: BorrowedHandle<'_>) -> bool {
    handle.as_raw_handle() == CWD.as_raw_handle()
}

/// The verbatim path of something that is open.
pub(super) fn path_of(handle: BorrowedHandle<'_>) -> io::Result<PathBuf> {
    let mut units = vec![0_u16; UNITS_MAX];
    // SAFETY: the handle is borrowed, so open; `units` is writable for the length that is told. The
    // flags are 0: the name without links, by the letter of its volume.
    let len = unsafe {
        let room = u32::try_from(units.len()).unwrap_or(u32::MAX);
        GetFinalPathNameByHandleW(handle.as_raw_handle(), units.as_mut_ptr(), room, 0)
    };
    match usize::try_from(len).unwrap_or(0) {
        0 => Err(io::Error::last_os_error()),
        len if len >= units.len() => Err(io::ErrorKind::InvalidInput.into()),
        len => Ok(std::ffi::OsString::from_wide(&units[..len]).into()),
    }
}

/// A path with the zero at its end.
fn wide(path: &Path) -> io::Result<Vec<u16>> {
    let mut units: Vec<u16> = path.as_os_str().encode_wide().collect();
    if units.contains(&0) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    units.push(0);
    Ok(units)
}

/// Gives it another name, where nothing has that one.
pub(super) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    let (from, to) = (wide(from)?, wide(to)?);
    // SAFETY: both end with a zero and live until the call is over.
    let done = unsafe { MoveFileExW(from.as_ptr(), to.as_ptr(), 0) };
    if done == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Bytes that this user may still write to the volume of a directory, and all of its bytes.
pub(super) fn room(directory: &Path) -> io::Result<(u64, u64)> {
    let directory = wide(directory)?;
    let (mut free, mut all) = (0_u64, 0_u64);
    // SAFETY: the path ends with a zero; both numbers are writable, and the third may be null.
    let done = unsafe {
        GetDiskFreeSpaceExW(directory.as_ptr(), &mut free, &mut all, std::ptr::null_mut())
    };
    if done == 0 { Err(io::Error::last_os_error()) } else { Ok((free, all)) }
}

/// Locks the last byte that a file could have, against other openings. Locks hold up who reads and
/// writes here: this one is beyond whatever is in the file.
pub(super) fn lock(file: impl AsFd, waits: bool) -> io::Result<()> {
    let mut place = OVERLAPPED::default();
    place.Anonymous.Anonymous.Offset = u32::MAX - 1;
    place.Anonymous.Anonymous.OffsetHigh = i32::MAX.cast_unsigned();
    let flags = LOCKFILE_EXCLUSIVE_LOCK | if waits { 0 } else { LOCKFILE_FAIL_IMMEDIATELY };
    // SAFETY: the handle is borrowed, so open and not for overlapped use; `place` lives until the call
    // is over.
    let done = unsafe { LockFileEx(file.as_fd().as_raw_handle(), flags, 0, 1, 0, &mut place) };
    if done == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Between two looks at a pipe: this system tells nobody that something has come.
const LOOK: Duration = Duration::from_millis(5);

/// Whether there is something to be read, its end among it, within `most`.
pub(crate) fn is_readable(input: impl AsFd, most: Duration) -> io::Result<bool> {
    let handle = input.as_fd().as_raw_handle();
    let kind = winapi_util::file::typ(&input.as_fd().try_clone_to_owned().map(File::from)?)?;
    if kind.is_char() {
        let time = u32::try_from(most.as_millis()).unwrap_or(INFINITE - 1);
        // SAFETY: the handle is borrowed, so open.
        let waited = unsafe { WaitForSingleObject(handle, time) };
        return if waited == WAIT_FAILED {
            Err(io::Error::last_os_error())
        } else {
            Ok(waited == 0)
        };
    }
    if !kind.is_pipe() {
        return Ok(true);
    }
    let start = Instant::now();
    loop {
        let mut waiting = 0;
        let none = std::ptr::null_mut;
        // SAFETY: the handle is borrowed, so open; `waiting` is writable, and all others may be null.
        let looked =
            unsafe { PeekNamedPipe(handle, none(), 0, none().cast(), &mut waiting, none().cast()) };
        // Nobody is at its other end any more: that can be read, too.
        if looked == 0 || waiting > 0 {
            return Ok(true);
        }
        if start.elapsed() >= most {
            return Ok(false);
        }
        std::thread::sleep(LOOK.min(most.saturating_sub(start.elapsed())));
    }
}

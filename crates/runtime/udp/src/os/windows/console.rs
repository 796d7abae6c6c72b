//! Terminals.

use std::os::windows::io::AsRawHandle as _;

use windows_sys::Win32::System::Console::{
    CONSOLE_SCREEN_BUFFER_INFO, ENABLE_ECHO_INPUT, ENABLE_LINE_INPUT,
    ENABLE_VIRTUAL_TERMINAL_INPUT, GetConsoleMode, GetConsoleScreenBufferInfo, SetConsoleMode,
};

use super::fd::AsFd;

/// Columns and rows of what is seen of a terminal.
pub(crate) fn size(of: impl AsFd) -> Option<(u16, u16)> {
    let mut told = CONSOLE_SCREEN_BUFFER_INFO::default();
    // SAFETY: the handle is borrowed, so open, and `told` is writable.
    let done = unsafe { GetConsoleScreenBufferInfo(of.as_fd().as_raw_handle(), &mut told) };
    let seen = told.srWindow;
    let length = |from: i16, to: i16| u16::try_from(i32::from(to) - i32::from(from) + 1).ok();
    let size = length(seen.Left, seen.Right).zip(length(seen.Top, seen.Bottom));
    size.filter(|_| done != 0)
}

/// Keys come at once and are not shown. How it was before; `None`: it is no terminal.
pub(crate) fn take_keys(of: impl AsFd) -> Option<u32> {
    let handle = of.as_fd().as_raw_handle();
    let mut before = 0;
    // SAFETY: the handle is borrowed, so open, and `before` is writable.
    if unsafe { GetConsoleMode(handle, &mut before) } == 0 {
        return None;
    }
    let raw = before & !(ENABLE_LINE_INPUT | ENABLE_ECHO_INPUT) | ENABLE_VIRTUAL_TERMINAL_INPUT;
    // SAFETY: the handle is borrowed, so open.
    (unsafe { SetConsoleMode(handle, raw) } != 0).then_some(before)
}

/// As it was before.
pub(crate) fn give_back(of: impl AsFd, before: u32) {
    // SAFETY: the handle is borrowed, so open. Nothing is left to be done where it fails.
    let _ = unsafe { SetConsoleMode(of.as_fd().as_raw_handle(), before) };
}

//! The end of a stream at which bytes come out.

use std::ffi::{c_char, c_void};

use fanfare_binding::{StreamIn, Wait};

use super::{
    call::{Held, Refusal, call, options as given},
    files::told,
    words::{buffer, place, put, text},
};
use crate::{
    handle::{self, Thing},
    types::{fanfare_event, fanfare_in, fanfare_options, fanfare_result, fanfare_stream_message},
};

/// Listens for a stream: the first that is heard in the group.
///
/// # Safety
/// `group` ends with a zero byte; `stream` can be written. Null is refused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fanfare_in_open(
    group: *const c_char,
    options: fanfare_options,
    stream: *mut fanfare_in,
) -> fanfare_result {
    call(c"fanfare_in_open", || {
        let stream = place("stream", stream)?;
        // SAFETY: what the caller says.
        let group = unsafe { text("group", group)? };
        let made = handle::insert(Thing::In(StreamIn::open(group, &given(options)?)?))?;
        // SAFETY: it is not null, and the caller says that it can be written.
        unsafe { put(stream, made) };
        Ok(())
    })
}

/// Reads bytes, as many as there are at once, at most `length`; waits so many milliseconds for the
/// first of them, below zero without end. FANFARE_ENDED: the stream has ended. FANFARE_GAP: bytes are
/// lost; the next call reads what is behind them.
///
/// # Safety
/// `into` has room for `length` bytes; `count` can be written. Null is refused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fanfare_in_read(
    stream: fanfare_in,
    into: *mut c_void,
    length: usize,
    timeout_ms: i64,
    count: *mut usize,
) -> fanfare_result {
    call(c"fanfare_in_read", || {
        let count = place("count", count)?;
        // SAFETY: what the caller says.
        let into = unsafe { buffer("buffer", into, length)? };
        let read = Held::of(stream)?.input()?.read(into, Wait::of_millis(timeout_ms))?;
        // SAFETY: it is not null, and the caller says that it can be written.
        unsafe { put(count, read) };
        if read == 0 { Err(Refusal::over("stream: has ended")) } else { Ok(()) }
    })
}

/// The next message. FANFARE_ENDED: the stream has ended.
///
/// # Safety
/// `message` can be written. Null is refused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fanfare_in_message(
    stream: fanfare_in,
    timeout_ms: i64,
    message: *mut fanfare_stream_message,
) -> fanfare_result {
    call(c"fanfare_in_message", || {
        let message = place("message", message)?;
        let held = Held::of(stream)?;
        let found = held.input()?.read_message(Wait::of_millis(timeout_ms))?;
        let found = found.ok_or_else(|| Refusal::over("stream: has ended"))?;
        let (offset, gap_before) = (found.offset, found.gap_before);
        let mut kept = held.kept();
        let bytes = kept.bytes(found.bytes);
        let (data, length) = (bytes.as_ptr().cast(), bytes.len());
        // SAFETY: it is not null, and the caller says that it can be written.
        unsafe { put(message, fanfare_stream_message { data, length, offset, gap_before }) };
        Ok(())
    })
}

/// Position of the next byte; after a late start it does not begin at 0.
///
/// # Safety
/// `offset` can be written. Null is refused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fanfare_in_offset(stream: fanfare_in, offset: *mut u64) -> fanfare_result {
    call(c"fanfare_in_offset", || {
        let offset = place("offset", offset)?;
        let found = Held::of(stream)?.input()?.offset()?;
        // SAFETY: it is not null, and the caller says that it can be written.
        unsafe { put(offset, found) };
        Ok(())
    })
}

/// What has happened next, as fanfare_files_next has it.
///
/// # Safety
/// `event` can be written. Null is refused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fanfare_in_next(
    stream: fanfare_in,
    timeout_ms: i64,
    event: *mut fanfare_event,
) -> fanfare_result {
    call(c"fanfare_in_next", || {
        let event = place("event", event)?;
        let held = Held::of(stream)?;
        let found = held.input()?.next_event(Wait::of_millis(timeout_ms))?;
        let told = told(&found, &mut held.kept());
        // SAFETY: it is not null, and the caller says that it can be written.
        unsafe { put(event, told) };
        Ok(())
    })
}

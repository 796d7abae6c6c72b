//! The end of a stream at which bytes go in.

use std::{
    ffi::{c_char, c_void},
    time::Duration,
};

use fanfare_binding::{StreamOut, Wait};

use super::{
    call::{Held, call, options as given},
    files::told,
    words::{bytes, place, put, text},
};
use crate::{
    handle::{self, Thing},
    types::{fanfare_event, fanfare_options, fanfare_out, fanfare_result, fanfare_status},
};

/// Opens a stream to a group.
///
/// # Safety
/// `group` ends with a zero byte; `stream` can be written. Null is refused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fanfare_out_open(
    group: *const c_char,
    options: fanfare_options,
    stream: *mut fanfare_out,
) -> fanfare_result {
    call(c"fanfare_out_open", || {
        let stream = place("stream", stream)?;
        // SAFETY: what the caller says.
        let group = unsafe { text("group", group)? };
        let opened = Box::new(StreamOut::open(group, &given(options)?)?);
        let made = handle::insert(Thing::Out(opened))?;
        // SAFETY: it is not null, and the caller says that it can be written.
        unsafe { put(stream, made) };
        Ok(())
    })
}

/// Writes all of it; waits for room.
///
/// # Safety
/// `data` is null for no bytes, or has `length` of them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fanfare_out_write(
    stream: fanfare_out,
    data: *const c_void,
    length: usize,
) -> fanfare_result {
    call(c"fanfare_out_write", || {
        // SAFETY: what the caller says.
        let data = unsafe { bytes("data", data, length)? };
        Ok(Held::of(stream)?.out()?.write(data)?)
    })
}

/// Writes as much as there is room for, and puts how much that was into `taken`. It does not wait.
///
/// # Safety
/// `data` is null for no bytes, or has `length` of them; `taken` can be written. Null is refused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fanfare_out_try_write(
    stream: fanfare_out,
    data: *const c_void,
    length: usize,
    taken: *mut usize,
) -> fanfare_result {
    call(c"fanfare_out_try_write", || {
        let taken = place("taken", taken)?;
        // SAFETY: what the caller says.
        let data = unsafe { bytes("data", data, length)? };
        let count = Held::of(stream)?.out()?.try_write(data)?;
        // SAFETY: it is not null, and the caller says that it can be written.
        unsafe { put(taken, count) };
        Ok(())
    })
}

/// Writes a message; waits for room. The stream needs the option "framing". The message is of use for
/// so many milliseconds: if it has not gone by then, it is left out, whole. Below zero: as the
/// stream's own lifetime says.
///
/// # Safety
/// `data` is null for no bytes, or has `length` of them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fanfare_out_message(
    stream: fanfare_out,
    data: *const c_void,
    length: usize,
    lifetime_ms: i64,
) -> fanfare_result {
    call(c"fanfare_out_message", || {
        // SAFETY: what the caller says.
        let data = unsafe { bytes("data", data, length)? };
        let lifetime = u64::try_from(lifetime_ms).ok().map(Duration::from_millis);
        Ok(Held::of(stream)?.out()?.write_message(data, lifetime)?)
    })
}

/// Says that the next byte begins a message, in a stream without framing.
#[unsafe(no_mangle)]
pub extern "C" fn fanfare_out_mark(stream: fanfare_out) -> fanfare_result {
    call(c"fanfare_out_mark", || Ok(Held::of(stream)?.out()?.mark()?))
}

/// Sends what was written, though it does not fill a packet. `active`: receivers are told at once that
/// nothing follows, and ask for what they lack.
#[unsafe(no_mangle)]
pub extern "C" fn fanfare_out_flush(stream: fanfare_out, active: bool) -> fanfare_result {
    call(c"fanfare_out_flush", || Ok(Held::of(stream)?.out()?.flush(active)?))
}

/// How it stands.
///
/// # Safety
/// `status` can be written. Null is refused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fanfare_out_status(
    stream: fanfare_out,
    status: *mut fanfare_status,
) -> fanfare_result {
    call(c"fanfare_out_status", || {
        let status = place("status", status)?;
        let found = Held::of(stream)?.out()?.status()?;
        let told = fanfare_status {
            written: found.written,
            acknowledged: found.acknowledged,
            receivers: found.receivers,
            stalled: found.stalled,
            rate: found.rate,
            vacancy: found.vacancy,
            ended: found.ended,
        };
        // SAFETY: it is not null, and the caller says that it can be written.
        unsafe { put(status, told) };
        Ok(())
    })
}

/// What has happened next, as fanfare_files_next has it.
///
/// # Safety
/// `event` can be written. Null is refused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fanfare_out_next(
    stream: fanfare_out,
    timeout_ms: i64,
    event: *mut fanfare_event,
) -> fanfare_result {
    call(c"fanfare_out_next", || {
        let event = place("event", event)?;
        let held = Held::of(stream)?;
        let found = held.out()?.next_event(Wait::of_millis(timeout_ms))?;
        let told = told(&found, &mut held.kept());
        // SAFETY: it is not null, and the caller says that it can be written.
        unsafe { put(event, told) };
        Ok(())
    })
}

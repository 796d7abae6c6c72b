//! Files.

use std::ffi::c_char;

use fanfare_binding::{Event, EventKind, Files, Wait};

use super::{
    call::{Held, call, options as given},
    words::{path, paths, place, put, text},
};
use crate::{
    handle::{self, Thing},
    kept::Kept,
    types::{
        fanfare_event,
        fanfare_event_kind::{self, *},
        fanfare_files, fanfare_options, fanfare_result,
    },
};

/// Sends files and folders to a group such as "239.255.42.1:6003". It begins at once, in a thread of
/// its own.
///
/// # Safety
/// `group` ends with a zero byte; `list` has `count` pointers, each to a path that ends so; `files`
/// can be written. Null is refused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fanfare_send_files(
    group: *const c_char,
    list: *const *const c_char,
    count: usize,
    options: fanfare_options,
    files: *mut fanfare_files,
) -> fanfare_result {
    call(c"fanfare_send_files", || {
        let files = place("files", files)?;
        // SAFETY: what the caller says.
        let (group, list) = unsafe { (text("group", group)?, paths("paths", list, count)?) };
        let sender = Files::send(group, list, &given(options)?)?;
        let made = handle::insert(Thing::Files(sender))?;
        // SAFETY: it is not null, and the caller says that it can be written.
        unsafe { put(files, made) };
        Ok(())
    })
}

/// Receives files from a group into a folder. It goes on until it is stopped, or as the option
/// "until" says.
///
/// # Safety
/// `group` and `directory` end with a zero byte; `files` can be written. Null is refused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fanfare_receive_files(
    group: *const c_char,
    directory: *const c_char,
    options: fanfare_options,
    files: *mut fanfare_files,
) -> fanfare_result {
    call(c"fanfare_receive_files", || {
        let files = place("files", files)?;
        // SAFETY: what the caller says.
        let (group, directory) = unsafe { (text("group", group)?, path("directory", directory)?) };
        let receiver = Files::receive(group, &directory, &given(options)?)?;
        let made = handle::insert(Thing::Files(receiver))?;
        // SAFETY: it is not null, and the caller says that it can be written.
        unsafe { put(files, made) };
        Ok(())
    })
}

/// What has happened next; waits so many milliseconds for it, below zero without end.
/// FANFARE_TIMEOUT: nothing has. FANFARE_ENDED: nothing will.
///
/// # Safety
/// `event` can be written. Null is refused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fanfare_files_next(
    files: fanfare_files,
    timeout_ms: i64,
    event: *mut fanfare_event,
) -> fanfare_result {
    call(c"fanfare_files_next", || {
        let event = place("event", event)?;
        let held = Held::of(files)?;
        let found = held.files()?.next(Wait::of_millis(timeout_ms))?;
        let told = told(&found, &mut held.kept());
        // SAFETY: it is not null, and the caller says that it can be written.
        unsafe { put(event, told) };
        Ok(())
    })
}

/// An event as C sees it.
pub(super) fn told(event: &Event, kept: &mut Kept) -> fanfare_event {
    fanfare_event {
        kind: kind(event.kind),
        node: event.node,
        name: kept.text(&event.name),
        text: kept.text(&event.text),
        count: event.count,
        bytes: event.bytes,
        total: event.total,
        seconds: event.seconds,
        hash: event.hash,
    }
}

fn kind(kind: EventKind) -> fanfare_event_kind {
    match kind {
        EventKind::Receiver => FANFARE_EVENT_RECEIVER,
        EventKind::Waiting => FANFARE_EVENT_WAITING,
        EventKind::Started => FANFARE_EVENT_STARTED,
        EventKind::Progress => FANFARE_EVENT_PROGRESS,
        EventKind::Sent => FANFARE_EVENT_SENT,
        EventKind::Receipt => FANFARE_EVENT_RECEIPT,
        EventKind::Failed => FANFARE_EVENT_FAILED,
        EventKind::Sender => FANFARE_EVENT_SENDER,
        EventKind::File => FANFARE_EVENT_FILE,
        EventKind::SenderGone => FANFARE_EVENT_SENDER_GONE,
        EventKind::Stalled => FANFARE_EVENT_STALLED,
        EventKind::Resumed => FANFARE_EVENT_RESUMED,
        EventKind::Left => FANFARE_EVENT_LEFT,
        EventKind::GivenUp => FANFARE_EVENT_GIVEN_UP,
        EventKind::Trouble => FANFARE_EVENT_TROUBLE,
    }
}

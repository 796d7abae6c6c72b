//! Writing and reading streams.

use std::ffi::c_char;

use crate::{
    handle::{Handle, Kind},
    kinds::Flush,
    session::{Session, object::Object},
};

use super::{
    access::{Access, guard, with_session},
    words::{Word, buffer, bytes, handle, put, set_errno},
};

/// Runs with a stream of the direction that is asked for.
fn on_stream<R: Copy>(
    name: &str,
    (stream, incoming): (Word, bool),
    neutral: R,
    run: impl FnOnce(&mut Access<'_>, Handle) -> R,
) -> R {
    let stream = handle(stream);
    with_session(name, (stream, Kind::Object), neutral, |at| {
        let fits = |object: &Object| match incoming {
            true => object.incoming.is_some(),
            false => object.outgoing.is_some(),
        };
        if at.desk.objects.get(stream).is_some_and(fits) {
            return run(at, stream);
        }
        set_errno(libc::EINVAL);
        neutral
    })
}

/// Segments that a stream with so large a buffer has.
#[unsafe(no_mangle)]
pub extern "C" fn NormGetStreamBufferSegmentCount(bytes: u32, segment: u16, block: u16) -> u32 {
    guard("NormGetStreamBufferSegmentCount", 0, || {
        let size = u64::from(segment) * u64::from(block);
        let blocks = u64::from(bytes).checked_div(size).map_or(0, |blocks| blocks.max(2));
        u32::try_from(blocks * u64::from(block)).unwrap_or(u32::MAX)
    })
}

/// Takes bytes as far as there is room; gives how many.
///
/// # Safety
/// `start` is null or has `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn NormStreamWrite(stream: Word, start: *const c_char, len: u32) -> u32 {
    // SAFETY: what the caller says.
    let content = unsafe { bytes(start, len as usize) };
    on_stream("NormStreamWrite", (stream, false), 0, |at, stream| {
        at.wakes = true;
        let object = at.desk.objects.get_mut(stream);
        object.map_or(0, |object| at.session.write_stream(at.now, (stream, object), content) as u32)
    })
}

/// Ends a message, sends what was written, or both.
#[unsafe(no_mangle)]
pub extern "C" fn NormStreamFlush(stream: Word, end_of_message: bool, mode: i32) {
    on_stream("NormStreamFlush", (stream, false), (), |at, stream| {
        at.wakes = true;
        if let Some(object) = at.desk.objects.get(stream) {
            let how = (end_of_message, Flush::of(mode));
            at.session.flush_stream(at.now, (stream, object), how);
        }
    });
}

/// How each write is flushed.
#[unsafe(no_mangle)]
pub extern "C" fn NormStreamSetAutoFlush(stream: Word, mode: i32) {
    on_stream("NormStreamSetAutoFlush", (stream, false), (), |at, stream| {
        if let Some(object) = at.desk.objects.get_mut(stream) {
            Session::set_auto_flush(object, Flush::of(mode));
        }
    });
}

/// Whether old bytes give way to new ones at once.
#[unsafe(no_mangle)]
pub extern "C" fn NormStreamSetPushEnable(stream: Word, push: bool) {
    on_stream("NormStreamSetPushEnable", (stream, false), (), |at, stream| {
        if let Some(object) = at.desk.objects.get(stream) {
            at.session.sending.proto.sender().set_stream_push(object.key.object, push);
        }
    });
}

fn vacancy(at: &mut Access<'_>, stream: Handle) -> u32 {
    let object = at.desk.objects.get(stream);
    let bytes = object.map_or(0, |object| at.session.vacancy(object));
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// Whether a byte would be taken now.
#[unsafe(no_mangle)]
pub extern "C" fn NormStreamHasVacancy(stream: Word) -> bool {
    on_stream("NormStreamHasVacancy", (stream, false), false, |at, stream| vacancy(at, stream) > 0)
}

/// How many of so many bytes would be taken now; of any number for 0.
#[unsafe(no_mangle)]
pub extern "C" fn NormStreamGetVacancy(stream: Word, wanted: u32) -> u32 {
    on_stream("NormStreamGetVacancy", (stream, false), 0, |at, stream| {
        let free = vacancy(at, stream);
        if wanted == 0 { free } else { free.min(wanted) }
    })
}

/// The next byte begins a message.
#[unsafe(no_mangle)]
pub extern "C" fn NormStreamMarkEom(stream: Word) {
    on_stream("NormStreamMarkEom", (stream, false), (), |at, stream| {
        if let Some(object) = at.desk.objects.get(stream) {
            at.session.mark_stream(object);
        }
    });
}

/// Reads on; `count` says how much there is room for, and then how much was read. False for a break.
///
/// # Safety
/// `count` is null or can be read and written; `start` is null or has as many bytes as it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn NormStreamRead(stream: Word, start: *mut c_char, count: *mut u32) -> bool {
    if count.is_null() {
        set_errno(libc::EINVAL);
        return false;
    }
    // SAFETY: what the caller says.
    let into = unsafe { buffer(start, count.read() as usize) };
    let read = on_stream("NormStreamRead", (stream, true), None, |at, stream| {
        let read = at.session.read_stream(at.now, at.desk, stream, into);
        at.read = true;
        Some(read)
    });
    // SAFETY: what the caller says.
    unsafe { put(count, read.flatten().unwrap_or(0) as u32) };
    matches!(read, Some(Some(_)))
}

/// Skips to the beginning of a message. False when none is here yet.
#[unsafe(no_mangle)]
pub extern "C" fn NormStreamSeekMsgStart(stream: Word) -> bool {
    on_stream("NormStreamSeekMsgStart", (stream, true), false, |at, stream| {
        let found = at.session.seek_stream(at.now, at.desk, stream);
        at.read = true;
        found
    })
}

/// Position of the next byte in the stream.
#[unsafe(no_mangle)]
pub extern "C" fn NormStreamGetReadOffset(stream: Word) -> u32 {
    on_stream("NormStreamGetReadOffset", (stream, true), 0, |at, stream| {
        let incoming = at.desk.objects.get(stream).and_then(|object| object.incoming.as_ref());
        incoming.map_or(0, |incoming| incoming.offset())
    })
}

/// Segments that wait to be read.
#[unsafe(no_mangle)]
pub extern "C" fn NormStreamGetBufferUsage(stream: Word) -> u32 {
    on_stream("NormStreamGetBufferUsage", (stream, true), 0, |at, stream| {
        let Some(object) = at.desk.objects.get(stream) else { return 0 };
        let view = at.session.receiving.proto.receiver().stream_view(object.key);
        let rest = object.incoming.as_ref().is_some_and(|incoming| incoming.has_rest());
        view.map_or(0, |view| view.ahead as u32) + u32::from(rest)
    })
}

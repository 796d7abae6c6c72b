//! Data and files to send, and commands.

use std::ffi::c_char;

use crate::handle::{Handle, Kind};

use super::{
    access::with_session,
    session::on,
    words::{Word, bytes, handle, info, path, set_errno, word},
};

/// Enqueues a file, which has to stay as it is until it is purged. Null when that is not possible now.
///
/// # Safety
/// `name` is null or a string; `start` is null or has `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn NormFileEnqueue(
    session: Word,
    name: *const c_char,
    start: *const c_char,
    len: u32,
) -> Word {
    // SAFETY: what the caller says.
    let (name, info) = unsafe { (path(name), info(start, len)) };
    on("NormFileEnqueue", session, word(Handle::NULL), |at| {
        at.wakes = true;
        let Some(name) = name else {
            set_errno(libc::EINVAL);
            return word(Handle::NULL);
        };
        word(at.session.enqueue_file(at.now, at.desk, name, info))
    })
}

/// Enqueues bytes, which are copied. Null when that is not possible now.
///
/// # Safety
/// `data` is null or has `bytes` bytes, `start` is null or has `len`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn NormDataEnqueue(
    session: Word,
    data: *const c_char,
    size: u32,
    start: *const c_char,
    len: u32,
) -> Word {
    // SAFETY: what the caller says.
    let (content, info) = unsafe { (bytes(data, size as usize), info(start, len)) };
    on("NormDataEnqueue", session, word(Handle::NULL), |at| {
        at.wakes = true;
        if content.len() != size as usize {
            set_errno(libc::EINVAL);
            return word(Handle::NULL);
        }
        word(at.session.enqueue_data(at.now, at.desk, (content, data as usize), info))
    })
}

/// Sends an object once more. False when it is no longer kept, or a stream.
#[unsafe(no_mangle)]
pub extern "C" fn NormRequeueObject(session: Word, object: Word) -> bool {
    on("NormRequeueObject", session, false, |at| {
        let object = handle(object);
        at.wakes = true;
        let known = at.desk.objects.get(object);
        let known = known.filter(|known| known.session == at.session.handle && known.live);
        known.is_some_and(|known| at.session.requeue(object, known))
    })
}

/// Sends a command to the programs at the receivers. False while one is under way.
///
/// # Safety
/// `start` is null or has `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn NormSendCommand(
    session: Word,
    start: *const c_char,
    len: u32,
    robust: bool,
) -> bool {
    // SAFETY: what the caller says.
    let content = unsafe { bytes(start, len as usize) };
    on("NormSendCommand", session, false, |at| {
        at.wakes = true;
        at.session.send_command(at.now, content.to_vec(), robust)
    })
}

/// Sends it no more.
#[unsafe(no_mangle)]
pub extern "C" fn NormCancelCommand(session: Word) {
    use crate::kinds::EventType;
    on("NormCancelCommand", session, (), |at| {
        at.session.stop_command();
        let own = at.session.handle;
        at.desk.purge(|event| event.kind == EventType::TxCmdSent && event.session == own);
    });
}

/// Opens a stream. Null when that is not possible.
///
/// # Safety
/// `start` is null or has `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn NormStreamOpen(
    session: Word,
    buffer: u32,
    start: *const c_char,
    len: u32,
) -> Word {
    // SAFETY: what the caller says.
    let info = unsafe { info(start, len) };
    on("NormStreamOpen", session, word(Handle::NULL), |at| {
        at.wakes = true;
        let stream = at.session.open_stream(at.now, at.desk, buffer, info);
        if stream.is_null() {
            set_errno(libc::EINVAL);
        }
        word(stream)
    })
}

/// Ends a stream: with all that was written, or at once.
#[unsafe(no_mangle)]
pub extern "C" fn NormStreamClose(stream: Word, graceful: bool) {
    let stream = handle(stream);
    with_session("NormStreamClose", (stream, Kind::Object), (), |at| {
        at.wakes = true;
        at.session.close_stream(at.now, at.desk, stream, graceful);
    });
}

//! What is known of objects, and what becomes of them.

use std::{ffi::c_char, os::unix::ffi::OsStrExt as _};

use crate::{
    handle::{Handle, Kind},
    instance::State,
    kinds::ObjectType,
    session::{object::Object, store::Body},
};

use super::{
    access::{with_desk, with_session},
    words::{Word, buffer, handle, path, set_errno, word},
};

/// Runs with an object, whether or not its session is still there.
fn on_object<R: Copy>(
    name: &str,
    object: Word,
    neutral: R,
    run: impl FnOnce(&mut Object) -> R,
) -> R {
    let object = handle(object);
    with_desk(name, (object, Kind::Object), neutral, |state| {
        if let Some(object) = state.desk.objects.get_mut(object) {
            return run(object);
        }
        set_errno(libc::EINVAL);
        neutral
    })
}

/// What kind of object it is.
#[unsafe(no_mangle)]
pub extern "C" fn NormObjectGetType(object: Word) -> i32 {
    on_object("NormObjectGetType", object, ObjectType::None as i32, |object| object.kind as i32)
}

/// Whether it has NORM_INFO.
#[unsafe(no_mangle)]
pub extern "C" fn NormObjectHasInfo(object: Word) -> bool {
    on_object("NormObjectHasInfo", object, false, |object| object.has_info)
}

/// Bytes of its NORM_INFO that are here.
#[unsafe(no_mangle)]
pub extern "C" fn NormObjectGetInfoLength(object: Word) -> u16 {
    on_object("NormObjectGetInfoLength", object, 0, |object| {
        object.info.as_ref().map_or(0, |info| info.len() as u16)
    })
}

/// Gives its NORM_INFO, as far as there is room; gives how long it is.
///
/// # Safety
/// `start` is null or has `room` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn NormObjectGetInfo(object: Word, start: *mut c_char, room: u16) -> u16 {
    // SAFETY: what the caller says.
    let into = unsafe { buffer(start, usize::from(room)) };
    on_object("NormObjectGetInfo", object, 0, |object| {
        let Some(info) = &object.info else { return 0 };
        let count = info.len().min(into.len());
        into[..count].copy_from_slice(&info[..count]);
        info.len() as u16
    })
}

/// Its bytes; of a stream its buffer.
#[unsafe(no_mangle)]
pub extern "C" fn NormObjectGetSize(object: Word) -> i64 {
    on_object("NormObjectGetSize", object, 0, |object| object.size as i64)
}

/// Bytes of it that are still to come.
#[unsafe(no_mangle)]
pub extern "C" fn NormObjectGetBytesPending(object: Word) -> i64 {
    let object = handle(object);
    with_session("NormObjectGetBytesPending", (object, Kind::Object), 0, |at| {
        let known = at.desk.objects.get(object);
        known.map_or(0, |known| at.session.bytes_pending(known) as i64)
    })
}

/// Gives it up. Nothing more is told of it.
#[unsafe(no_mangle)]
pub extern "C" fn NormObjectCancel(object: Word) {
    let object = handle(object);
    with_session("NormObjectCancel", (object, Kind::Object), (), |at| {
        at.wakes = true;
        at.session.cancel_object(at.desk, object);
    });
}

/// Its handle stays valid until it is released.
#[unsafe(no_mangle)]
pub extern "C" fn NormObjectRetain(object: Word) {
    on_object("NormObjectRetain", object, (), |object| {
        object.holds.retained = object.holds.retained.saturating_add(1);
    });
}

/// Releases it once.
#[unsafe(no_mangle)]
pub extern "C" fn NormObjectRelease(object: Word) {
    let object = handle(object);
    with_desk("NormObjectRelease", (object, Kind::Object), (), |state| {
        let Some(known) = state.desk.objects.get_mut(object) else {
            return set_errno(libc::EINVAL);
        };
        known.holds.retained = known.holds.retained.saturating_sub(1);
        state.desk.reap_object(object);
    });
}

/// Keeps a word of the program's.
#[unsafe(no_mangle)]
pub extern "C" fn NormObjectSetUserData(object: Word, data: Word) {
    on_object("NormObjectSetUserData", object, (), |object| object.user_data = data as usize);
}

/// Gives it back.
#[unsafe(no_mangle)]
pub extern "C" fn NormObjectGetUserData(object: Word) -> Word {
    on_object("NormObjectGetUserData", object, std::ptr::null(), |object| object.user_data as Word)
}

/// Who sends it. Null for an object of this node.
#[unsafe(no_mangle)]
pub extern "C" fn NormObjectGetSender(object: Word) -> Word {
    on_object("NormObjectGetSender", object, word(Handle::NULL), |object| word(object.sender))
}

/// Where a file is. False when it is none, or there is too little room.
///
/// # Safety
/// `start` is null or has `room` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn NormFileGetName(file: Word, start: *mut c_char, room: u32) -> bool {
    // SAFETY: what the caller says.
    let into = unsafe { buffer(start, room as usize) };
    on_object("NormFileGetName", file, false, |object| {
        let Some(path) = object.path.as_ref().filter(|_| object.kind == ObjectType::File) else {
            set_errno(libc::EINVAL);
            return false;
        };
        let name = path.as_os_str().as_bytes();
        // With the zero at its end.
        if into.len() <= name.len() {
            set_errno(libc::ERANGE);
            return false;
        }
        into[..name.len()].copy_from_slice(name);
        into[name.len()] = 0;
        true
    })
}

/// Gives a received file another name. Folders on the way are made.
///
/// # Safety
/// `name` is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn NormFileRename(file: Word, name: *const c_char) -> bool {
    // SAFETY: what the caller says.
    let name = unsafe { path(name) };
    on_object("NormFileRename", file, false, |object| {
        let received = object.kind == ObjectType::File && object.is_incoming();
        let (Some(name), Some(now), true) = (name, object.path.as_ref(), received) else {
            set_errno(libc::EINVAL);
            return false;
        };
        if let Some(folder) = name.parent() {
            // What stands against it shows with the file itself.
            let _ = std::fs::create_dir_all(folder);
        }
        match std::fs::rename(now, &name) {
            Ok(()) => {
                object.path = Some(name);
                true
            }
            Err(error) => {
                set_errno(error.raw_os_error().unwrap_or(libc::EIO));
                false
            }
        }
    })
}

/// Where the bytes of an object are, under way or whole.
fn data_of(state: &State, handle: Handle) -> usize {
    let Some(object) = state.desk.objects.get(handle) else { return 0 };
    if object.kind != ObjectType::Data {
        return 0;
    }
    if !object.is_incoming() {
        return object.given;
    }
    let under_way = || {
        let session = state.sessions.get(object.session)?;
        let known = session.receiving.by_key.get(&object.key) == Some(&handle);
        session.receiving.store.get(object.key).filter(|_| known)?.address()
    };
    object.body.as_ref().and_then(Body::address).or_else(under_way).unwrap_or(0)
}

/// The bytes of a data object. They stay as long as its handle is valid.
#[unsafe(no_mangle)]
pub extern "C" fn NormDataAccessData(object: Word) -> *const c_char {
    let object = handle(object);
    let null = std::ptr::null();
    with_desk("NormDataAccessData", (object, Kind::Object), null, |state| {
        data_of(state, object) as *const c_char
    })
}

/// Leaves the bytes of a data object to the program, which frees them. Of what is under way, the object
/// is given up.
#[unsafe(no_mangle)]
pub extern "C" fn NormDataDetachData(object: Word) -> *mut c_char {
    let object = handle(object);
    let null = std::ptr::null_mut();
    with_desk("NormDataDetachData", (object, Kind::Object), null, |state| {
        let address = data_of(state, object);
        let Some(known) = state.desk.objects.get_mut(object).filter(|_| address != 0) else {
            return null;
        };
        if !known.is_incoming() {
            known.given = 0;
            return address as *mut c_char;
        }
        if known.body.is_none() {
            let session = known.session;
            let State { sessions, desk, .. } = state;
            // Nobody may write there any more.
            if let Some(session) = sessions.get_mut(session) {
                session.detach(desk, object);
            }
        }
        let known = state.desk.objects.get_mut(object);
        match known.and_then(|known| known.body.take()) {
            Some(Body::Received(buffer)) => buffer.into_address() as *mut c_char,
            _ => null,
        }
    })
}

//! Instances, events, the log, memory.

use std::{ffi::c_char, sync::Once};

use crate::{
    handle::{Handle, Kind},
    instance::{Shared, desk::Event as Told},
    log,
    options::{Options, VARIABLE},
    registry,
};

use super::{
    access::{guard, with_desk, with_instance},
    heap::{self, Alloc, Free, Hooks},
    words::{Word, handle, path, put, set_errno, word},
};

/// What programs compile for (NormEvent).
#[repr(C)]
#[derive(Debug)]
pub struct NormEvent {
    kind: i32,
    session: Word,
    sender: Word,
    object: Word,
}

impl From<Told> for NormEvent {
    fn from(told: Told) -> Self {
        let [session, sender, object] = [told.session, told.node, told.object].map(word);
        Self { kind: told.kind as i32, session, sender, object }
    }
}

/// Version of the interface, as Debian's libnorm1 1.5.9 tells it.
const VERSION: (i32, i32, i32) = (1, 5, 7);

static FORKS: Once = Once::new();
/// The child of a process with instances has no thread of theirs.
extern "C" fn on_fork() {
    registry::on_fork();
}

/// Gives the version, and its first number back.
///
/// # Safety
/// Each pointer is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn NormGetVersion(major: *mut i32, minor: *mut i32, patch: *mut i32) -> i32 {
    // SAFETY: what the caller says.
    unsafe {
        put(major, VERSION.0);
        put(minor, VERSION.1);
        put(patch, VERSION.2);
    }
    VERSION.0
}

fn create() -> Handle {
    let text = std::env::var(VARIABLE).unwrap_or_default();
    let options = match Options::parse(&text) {
        Ok(options) => options,
        Err(why) => {
            log::line(log::ERROR, &format!("{VARIABLE}: {why}"));
            set_errno(libc::EINVAL);
            return Handle::NULL;
        }
    };
    if !text.is_empty() {
        log::line(log::INFO, &format!("{VARIABLE}={text}"));
    }
    FORKS.call_once(|| {
        // SAFETY: the handler stores one flag, which is all that a child may do.
        unsafe { libc::pthread_atfork(None, None, Some(on_fork)) };
    });
    match Shared::start(&options) {
        Some(Ok(handle)) => handle,
        Some(Err(error)) => {
            set_errno(error.raw_os_error().unwrap_or(libc::EAGAIN));
            Handle::NULL
        }
        None => {
            set_errno(libc::EMFILE);
            Handle::NULL
        }
    }
}

/// Begins an instance with a thread of its own.
#[unsafe(no_mangle)]
pub extern "C" fn NormCreateInstance(_priority: bool) -> Word {
    guard("NormCreateInstance", word(Handle::NULL), || word(create()))
}

/// Ends an instance with everything in it.
#[unsafe(no_mangle)]
pub extern "C" fn NormDestroyInstance(instance: Word) {
    guard("NormDestroyInstance", (), || match registry::remove(handle(instance)) {
        Some(shared) => shared.destroy(),
        None => set_errno(libc::EINVAL),
    });
}

/// Pauses an instance; whoever waits for events is told.
#[unsafe(no_mangle)]
pub extern "C" fn NormStopInstance(instance: Word) {
    with_instance("NormStopInstance", handle(instance), (), |shared| shared.stop());
}

/// Lets it go on.
#[unsafe(no_mangle)]
pub extern "C" fn NormRestartInstance(instance: Word) -> bool {
    with_instance("NormRestartInstance", handle(instance), false, |shared| shared.restart())
}

/// Holds the instance's thread and all other callers off.
#[unsafe(no_mangle)]
pub extern "C" fn NormSuspendInstance(instance: Word) -> bool {
    with_instance("NormSuspendInstance", handle(instance), false, |shared| shared.suspend())
}

/// Lets go of it once.
#[unsafe(no_mangle)]
pub extern "C" fn NormResumeInstance(instance: Word) {
    with_instance("NormResumeInstance", handle(instance), (), |shared| shared.resume());
}

/// Received files go to this folder, of sessions that begin from now on, too.
///
/// # Safety
/// `folder` is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn NormSetCacheDirectory(instance: Word, folder: *const c_char) -> bool {
    // SAFETY: what the caller says.
    let folder = unsafe { path(folder) };
    with_instance("NormSetCacheDirectory", handle(instance), false, |shared| {
        let Some(folder) = folder.filter(|folder| folder.is_dir()) else {
            set_errno(libc::ENOTDIR);
            return false;
        };
        let mut state = shared.lock();
        for session in state.sessions.handles() {
            if let Some(session) = state.sessions.get_mut(session) {
                session.receiving.store.cache = Some(folder.clone());
            }
        }
        state.cache = Some(folder);
        true
    })
}

/// Gives the next event, and waits for it if it is to. False when there is none.
///
/// # Safety
/// `event` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn NormGetNextEvent(
    instance: Word,
    event: *mut NormEvent,
    wait: bool,
) -> bool {
    with_instance("NormGetNextEvent", handle(instance), false, |shared| {
        match shared.next_event(wait) {
            Some(told) => {
                // SAFETY: what the caller says.
                unsafe { put(event, told.into()) };
                true
            }
            None => false,
        }
    })
}

/// What becomes readable while events wait.
#[unsafe(no_mangle)]
pub extern "C" fn NormGetDescriptor(instance: Word) -> i32 {
    with_instance("NormGetDescriptor", handle(instance), -1, |shared| {
        shared.lock().desk.descriptor()
    })
}

/// The event that was fetched last is done with.
#[unsafe(no_mangle)]
pub extern "C" fn NormReleasePreviousEvent(instance: Word) {
    with_instance("NormReleasePreviousEvent", handle(instance), (), |shared| {
        let mut state = shared.lock();
        state.desk.release_current();
        state.bury();
    });
}

/// Received data of sessions is put into memory of the program's allocator.
#[unsafe(no_mangle)]
pub extern "C" fn NormSetAllocationFunctions(
    instance: Word,
    alloc: Option<Alloc>,
    free: Option<Free>,
) {
    with_instance("NormSetAllocationFunctions", handle(instance), (), |shared| {
        let mut state = shared.lock();
        state.hooks = Hooks::new(alloc, free);
        let hooks = state.hooks;
        for session in state.sessions.handles() {
            if let Some(session) = state.sessions.get_mut(session) {
                session.receiving.store.hooks = hooks;
            }
        }
    });
}

/// What is told to people goes into this file.
///
/// # Safety
/// `name` is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn NormOpenDebugLog(instance: Word, name: *const c_char) -> bool {
    // SAFETY: what the caller says.
    let name = unsafe { path(name) };
    with_instance("NormOpenDebugLog", handle(instance), false, |_| {
        let opened = name
            .and_then(|name| std::fs::OpenOptions::new().create(true).append(true).open(name).ok());
        let done = opened.is_some();
        if done {
            log::set_file(opened);
        }
        done
    })
}

/// It goes to standard error again.
#[unsafe(no_mangle)]
pub extern "C" fn NormCloseDebugLog(instance: Word) {
    with_instance("NormCloseDebugLog", handle(instance), (), |_| log::set_file(None));
}

/// How much is told.
#[unsafe(no_mangle)]
pub extern "C" fn NormSetDebugLevel(level: u32) {
    guard("NormSetDebugLevel", (), || log::set_level(level));
}

/// How much is told.
#[unsafe(no_mangle)]
pub extern "C" fn NormGetDebugLevel() -> u32 {
    guard("NormGetDebugLevel", 0, log::level)
}

/// Memory that [`NormFree`] frees.
#[unsafe(no_mangle)]
pub extern "C" fn NormAlloc(bytes: usize) -> *mut c_char {
    guard("NormAlloc", std::ptr::null_mut(), || heap::alloc(bytes) as *mut c_char)
}

/// Frees it.
///
/// # Safety
/// `data` is null, or came from [`NormAlloc`] or `NormDataDetachData` and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn NormFree(data: *mut c_char) {
    // SAFETY: what the caller says.
    guard("NormFree", (), || unsafe { heap::free(data) });
}

/// The instance of a session.
#[unsafe(no_mangle)]
pub extern "C" fn NormGetInstance(session: Word) -> Word {
    let session = handle(session);
    let null = word(Handle::NULL);
    with_desk("NormGetInstance", (session, Kind::Session), null, |state| {
        let known = state.sessions.get(session).is_some();
        known.then(|| registry::handle(state.place)).flatten().map_or(null, word)
    })
}

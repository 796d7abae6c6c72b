//! What is not of one thing alone: version, errors, options, ends.

use std::{
    ffi::c_char,
    sync::{Arc, Mutex, PoisonError},
};

use fanfare_binding::Options;

use super::{
    call::{Held, Refusal, call, why},
    words::{place, put, text},
};
use crate::{
    handle::{self, Thing},
    types::{fanfare_options, fanfare_report, fanfare_result},
};

const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");

/// The version of this library, such as "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn fanfare_version() -> *const c_char {
    VERSION.as_ptr().cast()
}

/// Why the last call of this thread that did not give FANFARE_OK did not: a sentence for people.
/// It stays until the next such call of this thread.
#[unsafe(no_mangle)]
pub extern "C" fn fanfare_error() -> *const c_char {
    why()
}

/// Makes options, all at their defaults. Close them with fanfare_close.
///
/// # Safety
/// `options` is null, or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fanfare_options_new(options: *mut fanfare_options) -> fanfare_result {
    call(c"fanfare_options_new", || {
        let options = place("options", options)?;
        let made = handle::insert(Thing::Options(Mutex::new(Options::default())))?;
        // SAFETY: it is not null, and the caller says that it can be written.
        unsafe { put(options, made) };
        Ok(())
    })
}

/// Sets an option by its name, such as "rate" to "100M". The page on C lists them.
///
/// # Safety
/// `name` and `value` are null, or end with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fanfare_options_set(
    options: fanfare_options,
    name: *const c_char,
    value: *const c_char,
) -> fanfare_result {
    call(c"fanfare_options_set", || {
        // SAFETY: what the caller says.
        let (name, value) = unsafe { (text("name", name)?, text("value", value)?) };
        match Held::of(options)?.thing() {
            Thing::Options(options) => {
                let mut options = options.lock().unwrap_or_else(PoisonError::into_inner);
                Ok(options.set(name, value)?)
            }
            _ => Err(Refusal::invalid("handle: is not of options")),
        }
    })
}

/// Asks a transfer, a stream or a member to end. Any thread may do so; who waits in it, comes back.
#[unsafe(no_mangle)]
pub extern "C" fn fanfare_stop(handle: u64) -> fanfare_result {
    call(c"fanfare_stop", || {
        Held::of(handle)?.thing().stop();
        Ok(())
    })
}

/// Waits until all is done, and says what it came to. A stream that is sent is closed first; one that is
/// received tells the sender that it was kept, if it was read to its end. A member leaves its group.
/// The handle is still to be closed.
///
/// # Safety
/// `report` is null, or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fanfare_finish(
    handle: u64,
    report: *mut fanfare_report,
) -> fanfare_result {
    call(c"fanfare_finish", || {
        let held = Held::of(handle)?;
        let came_to = match held.thing() {
            Thing::Files(files) => files.finish()?,
            Thing::Out(stream) => stream.finish()?,
            Thing::In(stream) => stream.finish()?,
            Thing::Member(member) => {
                member.leave()?;
                fanfare_binding::Report { complete: true, ..Default::default() }
            }
            Thing::Options(_) | Thing::Publisher(_) => {
                return Err(Refusal::invalid("handle: is of nothing that comes to an end"));
            }
        };
        let came_to = held.kept().report(&came_to);
        // SAFETY: what the caller says.
        unsafe { put(report, came_to) };
        Ok(())
    })
}

/// Closes a handle of any kind. What runs is stopped where it is; what it has lent is gone.
#[unsafe(no_mangle)]
pub extern "C" fn fanfare_close(handle: u64) -> fanfare_result {
    call(c"fanfare_close", || {
        let entry = handle::remove(handle)?;
        // Another thread may wait in it: it comes back, and ends it.
        entry.thing.stop();
        drop(Arc::into_inner(entry));
        Ok(())
    })
}

//! From a handle to what it names, with the instance locked, and back to the thread that has something
//! to do.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, MutexGuard},
};

use fanfare_proto::Time;

use crate::{
    handle::{Handle, Kind},
    instance::{Phase, Shared, State, desk::Desk},
    log, registry,
    session::Session,
};

use super::words::set_errno;

/// Runs one function of the interface. A panic is told, and answered with the neutral value: it must
/// not reach a program in another language.
pub(super) fn guard<R>(name: &str, neutral: R, run: impl FnOnce() -> R) -> R {
    if let Ok(result) = catch_unwind(AssertUnwindSafe(run)) {
        return result;
    }
    log::line(log::ERROR, &format!("{name}: a fault of this library; the call had no effect"));
    set_errno(libc::EFAULT);
    neutral
}

/// A session, with everything beside it.
pub(super) struct Access<'a> {
    pub(super) session: &'a mut Session,
    pub(super) desk: &'a mut Desk,
    pub(super) now: Time,
    /// The thread has something to do now because of this.
    pub(super) wakes: bool,
    /// It may have something to do earlier than it thinks.
    pub(super) read: bool,
}

fn refuse<R>(neutral: R) -> R {
    set_errno(libc::EINVAL);
    neutral
}

/// Locks an instance that has not ended.
pub(super) fn with_instance<R>(
    name: &str,
    handle: Handle,
    neutral: R,
    run: impl FnOnce(&Arc<Shared>) -> R,
) -> R
where
    R: Copy,
{
    guard(name, neutral, || match registry::instance(handle) {
        Some(shared) => run(&shared),
        None => refuse(neutral),
    })
}

/// What a session, a node or an object belongs to.
fn session_of(state: &State, handle: Handle) -> Option<Handle> {
    if handle.is(Kind::Session) {
        Some(handle)
    } else if handle.is(Kind::Node) {
        state.desk.nodes.get(handle).map(|node| node.session)
    } else {
        state.desk.objects.get(handle).map(|object| object.session)
    }
}

fn with_owner<R: Copy>(
    name: &str,
    (handle, kind): (Handle, Kind),
    neutral: R,
    run: impl FnOnce(&Arc<Shared>, MutexGuard<'_, State>) -> R,
) -> R {
    guard(name, neutral, || match registry::owner(handle, kind) {
        Some(shared) => {
            let state = shared.lock();
            match state.phase == Phase::Destroyed {
                true => refuse(neutral),
                false => run(&shared, state),
            }
        }
        None => refuse(neutral),
    })
}

/// Does something with the session that `handle` names or belongs to.
pub(super) fn with_session<R: Copy>(
    name: &str,
    (handle, kind): (Handle, Kind),
    neutral: R,
    run: impl FnOnce(&mut Access<'_>) -> R,
) -> R {
    with_owner(name, (handle, kind), neutral, |shared, mut state| {
        let now = shared.now();
        let Some(session) = session_of(&state, handle) else { return refuse(neutral) };
        let State { sessions, desk, .. } = &mut *state;
        let Some(session) = sessions.get_mut(session) else { return refuse(neutral) };
        let mut access = Access { session, desk, now, wakes: false, read: false };
        let result = run(&mut access);
        let due = match (access.wakes, access.read) {
            (true, _) => Some(now),
            (false, true) => access.session.next_time(now),
            (false, false) => None,
        };
        state.bury();
        let wake = due.is_some_and(|at| state.take_sleep(at));
        drop(state);
        if wake {
            shared.wake();
        }
        shared.tell_changed();
        result
    })
}

/// Does something with what nodes and objects know, whether or not their session is still there.
pub(super) fn with_desk<R: Copy>(
    name: &str,
    (handle, kind): (Handle, Kind),
    neutral: R,
    run: impl FnOnce(&mut State) -> R,
) -> R {
    with_owner(name, (handle, kind), neutral, |_, mut state| {
        let result = run(&mut state);
        state.bury();
        result
    })
}

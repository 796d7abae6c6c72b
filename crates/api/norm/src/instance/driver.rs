//! The thread of an instance: takes what has arrived, lets the sessions react, sends, waits.
//!
//! Sockets are read and written without the lock, so that a program can write into a stream
//! meanwhile.

use std::{os::fd::AsFd as _, sync::Arc, time::Duration};

use fanfare_proto::Time;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::{handle::Handle, kinds::EventType, log};

use super::{Phase, Shared, desk::Event, port::Port, state::State};

/// How long to wait for room in a socket before other timers are looked at.
const BLOCKED: Duration = Duration::from_millis(1);
/// Longest sleep: nothing depends on it.
const LONGEST: Duration = Duration::from_secs(60);

/// Runs until the instance is destroyed.
pub(super) fn run(shared: &Arc<Shared>) {
    let mut ports: Vec<Port> = Vec::new();
    let mut readable = true;
    loop {
        if readable {
            ports.iter_mut().for_each(|port| receive(shared, port));
        }
        let mut state = shared.lock();
        while state.phase == Phase::Stopped {
            state = shared.changed.wait(state).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
        if state.phase == Phase::Destroyed {
            return;
        }
        adopt(&mut state, &mut ports);
        turn(shared, state);
        for port in &mut ports {
            transmit(shared, port);
        }
        readable = wait(shared, &ports);
    }
}

/// Takes sockets over that a call has opened, and closes those whose sessions are gone.
fn adopt(state: &mut State, ports: &mut Vec<Port>) {
    ports.retain(|port| state.sessions.get(port.session).is_some_and(|session| session.is_open()));
    for handle in state.sessions.handles() {
        let Some(session) = state.sessions.get_mut(handle) else { continue };
        if let Some(endpoint) = session.take_endpoint() {
            ports.retain(|port| port.session != handle);
            ports.push(Port::new(handle, endpoint));
        }
        if let Some(port) = ports.iter_mut().find(|port| port.session == handle) {
            session.apply_changes(&mut port.endpoint);
            port.loss = session.settings.tx_loss;
        }
    }
}

fn receive(shared: &Arc<Shared>, port: &mut Port) {
    if shared.lock().desk.is_full() {
        return;
    }
    let received = port.receive(|session, meta, run, stride| {
        let mut state = shared.lock();
        let now = shared.now();
        if let Some(session) = state.sessions.get_mut(session) {
            session.hear(now, meta, run, stride);
        }
    });
    if let Err(error) = received {
        log::line(log::ERROR, &format!("receiving: {error}"));
    }
}

/// Time passes for each session, and what has happened becomes events.
fn turn(shared: &Arc<Shared>, mut state: std::sync::MutexGuard<'_, State>) {
    let now = shared.now();
    for handle in state.sessions.handles() {
        let State { sessions, desk, .. } = &mut *state;
        if let Some(session) = sessions.get_mut(handle) {
            session.on_time(now);
            session.react(now, desk);
        }
    }
    state.bury();
    drop(state);
    shared.tell_changed();
}

fn transmit(shared: &Arc<Shared>, port: &mut Port) {
    let handle = port.session;
    let sent = port.transmit(|most, buffer| {
        let mut state = shared.lock();
        let now = shared.now();
        state.sessions.get_mut(handle)?.poll_transmit(now, most, buffer)
    });
    if let Err(error) = sent {
        let mut state = shared.lock();
        let State { sessions, desk, .. } = &mut *state;
        if let Some(session) = sessions.get_mut(handle) {
            session.on_send_error(&error);
            let kind = EventType::SendError;
            desk.post(Event { kind, session: handle, node: Handle::NULL, object: Handle::NULL });
        }
        drop(state);
        shared.tell_changed();
    }
}

/// Sleeps until something arrives, somebody calls, or time has come. True when datagrams may be there.
fn wait(shared: &Arc<Shared>, ports: &[Port]) -> bool {
    let now = shared.now();
    let mut state = shared.lock();
    for handle in state.sessions.handles() {
        let State { sessions, desk, .. } = &mut *state;
        if let Some(session) = sessions.get_mut(handle) {
            session.react(now, desk);
        }
    }
    state.bury();
    let next = state.sessions.iter().filter_map(|(_, session)| session.next_time(now)).min();
    let full = state.desk.is_full();
    let blocked = ports.iter().any(Port::is_blocked);
    let timeout = next.map_or(LONGEST, |at| at.since(now)).min(LONGEST);
    let timeout = if blocked { timeout.max(BLOCKED) } else { timeout };
    let fresh = state.sessions.iter().any(|(_, session)| session.has_news());
    let timeout = if fresh { Duration::ZERO } else { timeout };
    if timeout > Duration::ZERO {
        state.asleep = Some(next.unwrap_or(Time::FAR_FUTURE));
    }
    drop(state);
    shared.tell_changed();
    let mut fds = vec![PollFd::from_borrowed_fd(shared.as_fd(), PollFlags::IN)];
    for port in ports {
        for (number, descriptor) in port.endpoint.descriptors().enumerate() {
            // The first one sends.
            let mut interest = if full { PollFlags::empty() } else { PollFlags::IN };
            if number == 0 && port.is_blocked() {
                interest |= PollFlags::OUT;
            }
            fds.push(PollFd::from_borrowed_fd(descriptor, interest));
        }
    }
    let time = Timespec {
        tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: timeout.subsec_nanos().into(),
    };
    // A signal ends the wait early, which does no harm.
    let _ = poll(&mut fds, Some(&time));
    let woken = !fds[0].revents().is_empty();
    let readable = fds[1..].iter().any(|fd| fd.revents().intersects(!PollFlags::OUT));
    if timeout > Duration::ZERO {
        shared.lock().asleep = None;
    }
    if woken {
        shared.clear_waker();
    }
    readable
}

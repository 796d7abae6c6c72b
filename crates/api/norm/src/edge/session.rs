//! Sessions, their ids and addresses, timers.

use std::{
    ffi::c_char,
    net::{IpAddr, SocketAddr, ToSocketAddrs as _},
    time::Duration,
};

use fanfare_proto::NodeId;

use crate::{
    handle::{Handle, Kind},
    instance::{Phase, Shared},
    kinds::EventType,
    log,
    session::{Session, settings::seconds},
};

use super::{
    access::{Access, guard, with_desk, with_instance, with_session},
    words::{Word, fill, handle, put, set_errno, text, word},
};

/// Resolves a name, or reads an address.
pub(super) fn resolve(name: &str, port: u16) -> Option<SocketAddr> {
    match name.parse::<IpAddr>() {
        Ok(ip) => Some(SocketAddr::new(ip, port)),
        Err(_) => (name, port).to_socket_addrs().ok()?.next(),
    }
}

/// Runs with the session that a handle names.
pub(super) fn on<R: Copy>(
    name: &str,
    session: Word,
    neutral: R,
    run: impl FnOnce(&mut Access<'_>) -> R,
) -> R {
    with_session(name, (handle(session), Kind::Session), neutral, run)
}

/// 64 bits that no other run has.
fn random() -> u64 {
    use std::hash::{BuildHasher as _, RandomState};
    RandomState::new().hash_one(std::process::id())
}

/// An id for a program that leaves it open. From its address two programs of one machine would have
/// the same.
fn own_id(asked: u32) -> NodeId {
    match asked {
        0 | u32::MAX => NodeId(1 + (random() % 0xffff_fffe) as u32),
        id => NodeId(id),
    }
}

fn create(shared: &Shared, group: SocketAddr, id: u32) -> Handle {
    let mut state = shared.lock();
    if state.phase == Phase::Destroyed {
        return Handle::NULL;
    }
    let (cache, hooks) = (state.cache.clone(), state.hooks);
    let mut session = Session::new((group, own_id(id)), (random(), shared.now()), (cache, hooks));
    let options = state.options.clone();
    session.settings.interface.clone_from(&options.interface);
    session.settings.ttl = options.ttl.unwrap_or(session.settings.ttl);
    session.settings.rx_loss = options.loss.map_or(0.0, |loss| f64::from(loss) / 100.0);
    session.settings.chosen = options.control.unwrap_or(session.settings.chosen);
    session.settings.control = options.control.unwrap_or(session.settings.control);
    if let Some(rate) = options.rate {
        session.settings.rate = rate.as_bps() as f64;
        session.settings.bounds = (-1.0, rate.as_bps() as f64);
    }
    session.fixed = options;
    let Some(handle) = state.sessions.insert(session) else { return Handle::NULL };
    if let Some(session) = state.sessions.get_mut(handle) {
        session.handle = handle;
    }
    handle
}

/// Makes a session: a group or a host, its port, and this node's id.
///
/// # Safety
/// `address` is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn NormCreateSession(
    instance: Word,
    address: *const c_char,
    port: u16,
    id: u32,
) -> Word {
    // SAFETY: what the caller says.
    let address = unsafe { text(address) };
    let null = word(Handle::NULL);
    with_instance("NormCreateSession", handle(instance), null, |shared| {
        let Some(group) = address.and_then(|address| resolve(address, port)) else {
            set_errno(libc::EINVAL);
            return null;
        };
        let created = create(shared, group, id);
        if created.is_null() {
            set_errno(libc::ENOSPC);
        }
        word(created)
    })
}

/// Ends a session with everything in it, without a word to others.
#[unsafe(no_mangle)]
pub extern "C" fn NormDestroySession(session: Word) {
    let session = handle(session);
    with_desk("NormDestroySession", (session, Kind::Session), (), |state| {
        if !state.destroy_session(session) {
            set_errno(libc::EINVAL);
        }
    });
}

/// Whether a name or an address is one of a single host.
///
/// # Safety
/// `address` is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn NormIsUnicastAddress(address: *const c_char) -> bool {
    // SAFETY: what the caller says.
    let address = unsafe { text(address) };
    guard("NormIsUnicastAddress", false, || {
        let resolved = address.and_then(|address| resolve(address, 0));
        resolved.is_some_and(|address| !address.ip().is_multicast())
    })
}

/// Keeps a word of the program's.
#[unsafe(no_mangle)]
pub extern "C" fn NormSetUserData(session: Word, data: Word) {
    on("NormSetUserData", session, (), |at| at.session.user_data = data as usize);
}

/// Gives it back.
#[unsafe(no_mangle)]
pub extern "C" fn NormGetUserData(session: Word) -> Word {
    on("NormGetUserData", session, std::ptr::null(), |at| at.session.user_data as Word)
}

/// Tells the program once, after so many seconds.
#[unsafe(no_mangle)]
pub extern "C" fn NormSetUserTimer(session: Word, after: f64) {
    on("NormSetUserTimer", session, (), |at| {
        purge_timeouts(at);
        let Some(after) = seconds(after) else { return set_errno(libc::EINVAL) };
        at.session.timer = Some(at.now + Duration::from_secs_f64(after));
        at.wakes = true;
    });
}

/// Does not.
#[unsafe(no_mangle)]
pub extern "C" fn NormCancelUserTimer(session: Word) {
    on("NormCancelUserTimer", session, (), |at| {
        at.session.timer = None;
        purge_timeouts(at);
    });
}

fn purge_timeouts(at: &mut Access<'_>) {
    let own = at.session.handle;
    at.desk.purge(|event| event.kind == EventType::UserTimeout && event.session == own);
}

/// This node's id.
#[unsafe(no_mangle)]
pub extern "C" fn NormGetLocalNodeId(session: Word) -> u32 {
    on("NormGetLocalNodeId", session, 0, |at| at.session.node_id.0)
}

/// Takes another id: only before the session sends.
#[unsafe(no_mangle)]
pub extern "C" fn NormSetId(session: Word, id: u32) {
    on("NormSetId", session, (), |at| {
        if at.session.sending.proto.is_sender() {
            log::line(log::ERROR, "NormSetId: an id is part of what was sent; it stays");
            return set_errno(libc::EBUSY);
        }
        let id = own_id(id);
        at.session.node_id = id;
        at.session.sending.proto.set_node_id(id);
        at.session.receiving.proto.set_node_id(id);
    });
}

/// Bytes of an address, and its port.
///
/// # Safety
/// Each pointer is null or can be written, and `start` has as many bytes as `room` says.
pub(super) unsafe fn give_address(
    (start, room, port): (*mut c_char, *mut u32, *mut u16),
    address: SocketAddr,
) -> bool {
    // SAFETY: what the caller says.
    unsafe {
        put(port, address.port());
        match address.ip() {
            IpAddr::V4(ip) => fill(start, room, &ip.octets()),
            IpAddr::V6(ip) => fill(start, room, &ip.octets()),
        }
    }
}

/// The session's address and port.
///
/// # Safety
/// Each pointer is null or can be written, and `start` has as many bytes as `room` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn NormGetAddress(
    session: Word,
    start: *mut c_char,
    room: *mut u32,
    port: *mut u16,
) -> bool {
    on("NormGetAddress", session, false, |at| {
        // SAFETY: what the caller says.
        unsafe { give_address((start, room, port), at.session.group) }
    })
}

/// The port that is listened at.
#[unsafe(no_mangle)]
pub extern "C" fn NormGetRxPort(session: Word) -> u16 {
    on("NormGetRxPort", session, 0, |at| at.session.listening_port())
}

/// The port that is listened at, once sockets are open. The address has no bytes: it is each.
///
/// # Safety
/// Each pointer is null or can be written, and `start` has as many bytes as `room` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn NormGetRxBindAddress(
    session: Word,
    start: *mut c_char,
    room: *mut u32,
    port: *mut u16,
) -> bool {
    on("NormGetRxBindAddress", session, false, |at| {
        if !at.session.is_open() {
            return false;
        }
        // Every address is listened at. NRL's says so by an address of no bytes.
        let _ = start;
        // SAFETY: what the caller says.
        unsafe {
            put(port, at.session.listening_port());
            put(room, 0);
        }
        true
    })
}

/// The port that everything is sent from, once sockets are open.
#[unsafe(no_mangle)]
pub extern "C" fn NormGetTxPort(session: Word) -> u16 {
    on("NormGetTxPort", session, 0, |at| {
        at.session.local().map_or(at.session.settings.tx_port, |local| local.port())
    })
}

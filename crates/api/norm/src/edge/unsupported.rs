//! Functions that are exported, and refuse: what they stand for is not here. Each says so once, with
//! its reason.

use std::{
    collections::BTreeSet,
    ffi::c_char,
    sync::{Mutex, PoisonError},
};

use crate::log;

use super::{
    access::guard,
    words::{Word, set_errno},
};

static TOLD: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());

fn refuse(name: &'static str, why: &str) {
    guard(name, (), || {
        set_errno(libc::ENOTSUP);
        if TOLD.lock().unwrap_or_else(PoisonError::into_inner).insert(name) {
            log::line(log::ERROR, &format!("{name} is not supported: {why}"));
        }
    });
}

const SOCKETS: &str = "NRL's connections over NORM need messages that RFC 5740 does not have";

/// Refuses.
#[unsafe(no_mangle)]
pub extern "C" fn NormSetServerListener(_session: Word, _state: bool) {
    refuse("NormSetServerListener", SOCKETS);
}

/// Refuses.
#[unsafe(no_mangle)]
pub extern "C" fn NormTransferSender(_session: Word, _sender: Word) -> bool {
    refuse("NormTransferSender", SOCKETS);
    false
}

/// Refuses.
#[unsafe(no_mangle)]
pub extern "C" fn NormSetSynStatus(_session: Word, _state: bool) {
    refuse("NormSetSynStatus", SOCKETS);
}

/// Refuses.
#[unsafe(no_mangle)]
pub extern "C" fn NormSetGrttProbingTOS(_session: Word, _tos: u8) {
    refuse("NormSetGrttProbingTOS", "everything of a session has one traffic class");
}

/// Refuses.
#[unsafe(no_mangle)]
pub extern "C" fn NormOpenDebugPipe(_instance: Word, _name: *const c_char) -> bool {
    refuse("NormOpenDebugPipe", "use NormOpenDebugLog");
    false
}

/// Refuses.
#[unsafe(no_mangle)]
pub extern "C" fn NormCloseDebugPipe(_instance: Word) {
    refuse("NormCloseDebugPipe", "use NormOpenDebugLog");
}

/// Refuses: receivers of ours need to hear what objects are like.
#[unsafe(no_mangle)]
pub extern "C" fn NormPresetObjectInfo(
    _session: Word,
    _bytes: u64,
    _segment: u16,
    _source: u16,
    _parity: u16,
) -> bool {
    refuse("NormPresetObjectInfo", "what objects are like always travels with them");
    false
}

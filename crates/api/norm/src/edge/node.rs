//! What is known of remote nodes.

use std::ffi::c_char;

use crate::{handle::Kind, session::node::Node};

use super::{
    access::{with_desk, with_session},
    session::give_address,
    words::{Word, bytes, fill, handle, set_errno},
};

fn on_node<R: Copy>(name: &str, node: Word, neutral: R, run: impl FnOnce(&mut Node) -> R) -> R {
    let node = handle(node);
    with_desk(name, (node, Kind::Node), neutral, |state| {
        if let Some(node) = state.desk.nodes.get_mut(node) {
            return run(node);
        }
        set_errno(libc::EINVAL);
        neutral
    })
}

/// Its id.
#[unsafe(no_mangle)]
pub extern "C" fn NormNodeGetId(node: Word) -> u32 {
    on_node("NormNodeGetId", node, 0, |node| node.id.0)
}

/// Where it was heard from. False when that is not known, or there is too little room.
///
/// # Safety
/// Each pointer is null or can be written, and `start` has as many bytes as `room` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn NormNodeGetAddress(
    node: Word,
    start: *mut c_char,
    room: *mut u32,
    port: *mut u16,
) -> bool {
    on_node("NormNodeGetAddress", node, false, |node| {
        // SAFETY: what the caller says.
        node.address.is_some_and(|address| unsafe { give_address((start, room, port), address) })
    })
}

/// Keeps a word of the program's.
#[unsafe(no_mangle)]
pub extern "C" fn NormNodeSetUserData(node: Word, data: Word) {
    on_node("NormNodeSetUserData", node, (), |node| node.user_data = data as usize);
}

/// Gives it back.
#[unsafe(no_mangle)]
pub extern "C" fn NormNodeGetUserData(node: Word) -> Word {
    on_node("NormNodeGetUserData", node, std::ptr::null(), |node| node.user_data as Word)
}

/// The round trip that a sender advertises, in seconds.
#[unsafe(no_mangle)]
pub extern "C" fn NormNodeGetGrtt(node: Word) -> f64 {
    let node = handle(node);
    with_session("NormNodeGetGrtt", (node, Kind::Node), -1.0, |at| {
        let Some(known) = at.desk.nodes.get_mut(node) else { return -1.0 };
        known.grtt_told = false;
        let grtt = at.session.receiving.proto.receiver().grtt(known.id);
        grtt.map_or(-1.0, |grtt| grtt.as_secs_f64())
    })
}

/// The oldest command of a sender that was not fetched. False when there is none, or too little room.
///
/// # Safety
/// `room` is null or can be read and written; `start` is null or has as many bytes as it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn NormNodeGetCommand(
    node: Word,
    start: *mut c_char,
    room: *mut u32,
) -> bool {
    on_node("NormNodeGetCommand", node, false, |node| {
        let Some(command) = node.commands.front() else { return false };
        // SAFETY: what the caller says.
        let given = unsafe { fill(start, room, command) };
        if given {
            node.commands.pop_front();
        }
        given
    })
}

/// Answers the question that came with a watermark, and acknowledges it.
///
/// # Safety
/// `start` is null or has `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn NormNodeSendAckEx(node: Word, start: *const c_char, len: u32) -> bool {
    // SAFETY: what the caller says.
    let answer = unsafe { bytes(start, len as usize) };
    let node = handle(node);
    with_session("NormNodeSendAckEx", (node, Kind::Node), false, |at| {
        at.wakes = true;
        let Some(id) = at.desk.nodes.get(node).map(|node| node.id) else { return false };
        let mut receiver = at.session.receiving.proto.receiver();
        let Some(instance) = receiver.instance(id) else { return false };
        receiver.answer_watermark((id, instance), answer.to_vec())
    })
}

/// The question that came with a watermark. False when there is none, or too little room.
///
/// # Safety
/// `room` is null or can be read and written; `start` is null or has as many bytes as it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn NormNodeGetWatermarkEx(
    node: Word,
    start: *mut c_char,
    room: *mut u32,
) -> bool {
    on_node("NormNodeGetWatermarkEx", node, false, |node| {
        // SAFETY: what the caller says.
        node.question.as_ref().is_some_and(|question| unsafe { fill(start, room, question) })
    })
}

/// Gives up what is under way of a sender. It is new when it is heard again.
#[unsafe(no_mangle)]
pub extern "C" fn NormNodeFreeBuffers(node: Word) {
    let node = handle(node);
    with_session("NormNodeFreeBuffers", (node, Kind::Node), (), |at| {
        if let Some(id) = at.desk.nodes.get_mut(node).map(|node| node.forget()) {
            let crate::session::Half { proto, store, .. } = &mut at.session.receiving;
            proto.receiver().forget(id, store);
            at.wakes = true;
        }
    });
}

/// Forgets a sender with everything of it. Nothing more is told of it.
#[unsafe(no_mangle)]
pub extern "C" fn NormNodeDelete(node: Word) {
    let node = handle(node);
    with_session("NormNodeDelete", (node, Kind::Node), (), |at| {
        at.session.delete_node(at.desk, node);
        at.wakes = true;
    });
}

/// Its handle stays valid until it is released.
#[unsafe(no_mangle)]
pub extern "C" fn NormNodeRetain(node: Word) {
    on_node("NormNodeRetain", node, (), |node| {
        node.holds.retained = node.holds.retained.saturating_add(1);
    });
}

/// Releases it once.
#[unsafe(no_mangle)]
pub extern "C" fn NormNodeRelease(node: Word) {
    let node = handle(node);
    with_desk("NormNodeRelease", (node, Kind::Node), (), |state| {
        let Some(known) = state.desk.nodes.get_mut(node) else { return set_errno(libc::EINVAL) };
        known.holds.retained = known.holds.retained.saturating_sub(1);
        state.desk.reap_node(node);
    });
}

//! Watermarks and acking nodes.

use std::ffi::c_char;

use fanfare_proto::NodeId;

use crate::{
    handle::Handle,
    kinds::{AckingStatus, Tracking},
};

use super::{
    access::Access,
    session::on,
    words::{Word, bytes, fill, handle, put, set_errno, word},
};

/// Most bytes of a question, and of an answer.
const QUESTION_MAX: usize = 960;

fn set_watermark(at: &mut Access<'_>, object: Word, question: Option<Vec<u8>>) -> bool {
    at.wakes = true;
    let object = handle(object);
    let own = at
        .desk
        .objects
        .get(object)
        .is_some_and(|known| known.session == at.session.handle && known.live);
    let set = own && at.session.set_watermark(at.desk, object, question);
    if !set {
        set_errno(libc::EINVAL);
    }
    set
}

/// Asks all acking nodes to acknowledge an object and all before it; of a stream what was flushed.
#[unsafe(no_mangle)]
pub extern "C" fn NormSetWatermark(session: Word, object: Word, _override: bool) -> bool {
    on("NormSetWatermark", session, false, |at| set_watermark(at, object, None))
}

/// The same with a question to their programs.
///
/// # Safety
/// `start` is null or has `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn NormSetWatermarkEx(
    session: Word,
    object: Word,
    start: *const c_char,
    len: u32,
    _override: bool,
) -> bool {
    // SAFETY: what the caller says.
    let question = unsafe { bytes(start, len as usize) };
    on("NormSetWatermarkEx", session, false, |at| {
        let fits = question.len() <= QUESTION_MAX;
        fits && set_watermark(at, object, (!question.is_empty()).then(|| question.to_vec()))
    })
}

/// Asks those once more who have not answered.
#[unsafe(no_mangle)]
pub extern "C" fn NormResetWatermark(session: Word) -> bool {
    on("NormResetWatermark", session, false, |at| {
        at.wakes = true;
        at.session.reset_watermark(at.desk)
    })
}

/// Asks nobody any more.
#[unsafe(no_mangle)]
pub extern "C" fn NormCancelWatermark(session: Word) {
    on("NormCancelWatermark", session, (), |at| at.session.cancel_watermark(at.desk));
}

/// Asks this node from now on.
#[unsafe(no_mangle)]
pub extern "C" fn NormAddAckingNode(session: Word, node: u32) -> bool {
    on("NormAddAckingNode", session, false, |at| {
        at.wakes = true;
        at.session.add_acking_node(at.desk, NodeId(node))
    })
}

/// No longer asks it.
#[unsafe(no_mangle)]
pub extern "C" fn NormRemoveAckingNode(session: Word, node: u32) {
    on("NormRemoveAckingNode", session, (), |at| {
        at.wakes = true;
        at.session.remove_acking_node(NodeId(node));
    });
}

/// The handle of an acking node. Null when it is none.
#[unsafe(no_mangle)]
pub extern "C" fn NormGetAckingNodeHandle(session: Word, node: u32) -> Word {
    on("NormGetAckingNodeHandle", session, word(Handle::NULL), |at| {
        word(at.session.acking.node(NodeId(node)).unwrap_or(Handle::NULL))
    })
}

/// Who becomes an acking node by itself.
#[unsafe(no_mangle)]
pub extern "C" fn NormSetAutoAckingNodes(session: Word, tracking: i32) {
    on("NormSetAutoAckingNodes", session, (), |at| {
        at.session.settings.tracking = Tracking::of(tracking);
    });
}

/// How far a node has acknowledged, or all of them.
#[unsafe(no_mangle)]
pub extern "C" fn NormGetAckingStatus(session: Word, node: u32) -> i32 {
    on("NormGetAckingStatus", session, AckingStatus::Invalid as i32, |at| {
        at.session.acking.status(NodeId(node)) as i32
    })
}

/// The acking node behind the one that is named, by its id. False when there is none.
///
/// # Safety
/// `node` is null or can be read and written; `status` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn NormGetNextAckingNode(
    session: Word,
    node: *mut u32,
    status: *mut i32,
) -> bool {
    if node.is_null() {
        set_errno(libc::EINVAL);
        return false;
    }
    // SAFETY: what the caller says.
    let last = NodeId(unsafe { node.read() });
    let next = on("NormGetNextAckingNode", session, None, |at| at.session.acking.next_after(last));
    // SAFETY: what the caller says.
    unsafe {
        put(node, next.map_or(0, |(node, _)| node.0));
        put(status, next.map_or(AckingStatus::Invalid, |(_, status)| status) as i32);
    }
    next.is_some()
}

/// What a node's program answered to the question. False when there is none, or too little room.
///
/// # Safety
/// `room` is null or can be read and written; `start` is null or has as many bytes as it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn NormGetAckEx(
    session: Word,
    node: u32,
    start: *mut c_char,
    room: *mut u32,
) -> bool {
    on("NormGetAckEx", session, false, |at| {
        let answer = at.session.acking.answer(NodeId(node));
        // SAFETY: what the caller says.
        answer.is_some_and(|answer| unsafe { fill(start, room, answer) })
    })
}

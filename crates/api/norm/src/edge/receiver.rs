//! The receiving side.

use fanfare_proto::Nacking;

use crate::{
    handle::{Handle, Kind},
    kinds::SyncPolicy,
    session::settings::Settings,
};

use super::{
    access::{Access, with_session},
    sender::tell_refusal,
    session::on,
    words::{Word, handle, set_errno},
};

/// Begins to receive, with so many bytes for what is incomplete.
#[unsafe(no_mangle)]
pub extern "C" fn NormStartReceiver(session: Word, space: u32) -> bool {
    on("NormStartReceiver", session, false, |at| {
        at.wakes = true;
        match at.session.start_receiver(space) {
            Ok(()) => true,
            Err(refusal) => {
                tell_refusal("NormStartReceiver", &refusal);
                false
            }
        }
    })
}

/// Receives no more.
#[unsafe(no_mangle)]
pub extern "C" fn NormStopReceiver(session: Word) {
    on("NormStopReceiver", session, (), |at| at.session.stop_receiver(at.desk));
}

/// Objects of a sender that are in view at once.
#[unsafe(no_mangle)]
pub extern "C" fn NormSetRxCacheLimit(session: Word, most: u16) {
    on("NormSetRxCacheLimit", session, (), |at| {
        at.session.settings.rx_cache = most.max(1);
        at.session.receiving.proto.receiver().set_objects_max(most.max(1));
    });
}

/// Sends nothing at all. Of a stream, what is missing is waited for as long as so many blocks take, or
/// half of its buffer.
#[unsafe(no_mangle)]
pub extern "C" fn NormSetSilentReceiver(session: Word, silent: bool, delay: i32) {
    on("NormSetSilentReceiver", session, (), |at| {
        at.session.settings.silent = silent;
        at.session.settings.silent_delay = u32::try_from(delay).ok();
        at.session.receiving.proto.receiver().set_silent(silent);
        at.wakes = true;
    });
}

/// Feedback goes to senders alone, or to the group.
#[unsafe(no_mangle)]
pub extern "C" fn NormSetDefaultUnicastNack(session: Word, unicast: bool) {
    on("NormSetDefaultUnicastNack", session, (), |at| {
        at.session.settings.unicast_nacks = unicast;
        at.session.apply_feedback();
    });
}

/// Where a receiver begins, of senders that are heard for the first time from now on.
#[unsafe(no_mangle)]
pub extern "C" fn NormSetDefaultSyncPolicy(session: Word, policy: i32) {
    on("NormSetDefaultSyncPolicy", session, (), |at| {
        at.session.settings.sync = SyncPolicy::of(policy);
        let join = at.session.settings.join();
        at.session.receiving.proto.receiver().set_join(join);
    });
}

fn nacking_of(mode: i32) -> Nacking {
    match mode {
        0 => Nacking::None,
        1 => Nacking::InfoOnly,
        _ => Nacking::Normal,
    }
}

/// What is requested of objects.
#[unsafe(no_mangle)]
pub extern "C" fn NormSetDefaultNackingMode(session: Word, mode: i32) {
    on("NormSetDefaultNackingMode", session, (), |at| {
        at.session.settings.nacking = nacking_of(mode);
        at.session.receiving.proto.receiver().set_nacking(nacking_of(mode));
    });
}

/// Runs with the node that a handle names: its session, and the sender that it is.
fn on_node<R: Copy>(
    name: &str,
    node: Word,
    neutral: R,
    run: impl FnOnce(&mut Access<'_>, Handle) -> R,
) -> R {
    let node = handle(node);
    with_session(name, (node, Kind::Node), neutral, |at| run(at, node))
}

/// The same of one sender, from now on.
#[unsafe(no_mangle)]
pub extern "C" fn NormNodeSetNackingMode(node: Word, mode: i32) {
    on_node("NormNodeSetNackingMode", node, (), |at, node| {
        let Some(id) = at.desk.nodes.get(node).map(|node| node.id) else { return };
        let of = |object: &crate::session::object::Object| object.sender == node && object.live;
        let mut receiver = at.session.receiving.proto.receiver();
        if let Some(instance) = receiver.instance(id) {
            receiver.set_sender_nacking((id, instance), nacking_of(mode));
        }
        let keys = at.desk.objects.iter().filter(|(_, o)| of(o)).map(|(_, o)| o.key);
        for key in keys.collect::<Vec<_>>() {
            set_object_nacking(at, key, nacking_of(mode));
        }
    });
}

fn set_object_nacking(at: &mut Access<'_>, key: fanfare_proto::ObjectKey, nacking: Nacking) {
    at.session.own_nacking.insert(key, nacking);
    at.session.receiving.proto.receiver().set_object_nacking(key, nacking);
    at.wakes = true;
}

/// The same of one object.
#[unsafe(no_mangle)]
pub extern "C" fn NormObjectSetNackingMode(object: Word, mode: i32) {
    let object = handle(object);
    with_session("NormObjectSetNackingMode", (object, Kind::Object), (), |at| {
        let known = at.desk.objects.get(object);
        match known.filter(|known| known.is_incoming() && known.live).map(|known| known.key) {
            Some(key) => set_object_nacking(at, key, nacking_of(mode)),
            None => set_errno(libc::EINVAL),
        }
    });
}

/// Feedback to one sender goes to it alone, or to the group.
#[unsafe(no_mangle)]
pub extern "C" fn NormNodeSetUnicastNack(node: Word, unicast: bool) {
    on_node("NormNodeSetUnicastNack", node, (), |at, node| {
        let Some(id) = at.desk.nodes.get(node).map(|node| node.id) else { return };
        let mut receiver = at.session.receiving.proto.receiver();
        if let Some(instance) = receiver.instance(id) {
            receiver.set_sender_unicast((id, instance), unicast);
        }
    });
}

/// Kept, and without effect: what is missing is requested at the end of each block.
#[unsafe(no_mangle)]
pub extern "C" fn NormSetDefaultRepairBoundary(session: Word, _boundary: i32) {
    on("NormSetDefaultRepairBoundary", session, (), |_| ());
}

/// The same.
#[unsafe(no_mangle)]
pub extern "C" fn NormNodeSetRepairBoundary(node: Word, _boundary: i32) {
    on_node("NormNodeSetRepairBoundary", node, (), |_, _| ());
}

/// How often a silent sender is asked; below zero without end.
#[unsafe(no_mangle)]
pub extern "C" fn NormSetDefaultRxRobustFactor(session: Word, factor: i32) {
    on("NormSetDefaultRxRobustFactor", session, (), |at| {
        at.session.settings.rx_robust = Settings::robust(factor);
        let factor = at.session.settings.rx_robust;
        at.session.receiving.proto.receiver().set_robust_factor(factor);
    });
}

/// Without effect: all senders are asked as often.
#[unsafe(no_mangle)]
pub extern "C" fn NormNodeSetRxRobustFactor(node: Word, _factor: i32) {
    on_node("NormNodeSetRxRobustFactor", node, (), |_, _| ());
}

/// Memory is taken as it is needed: nothing is to be done.
#[unsafe(no_mangle)]
pub extern "C" fn NormPreallocateRemoteSender(
    session: Word,
    _bytes: u64,
    _segment: u16,
    _source: u16,
    _parity: u16,
    _stream: u32,
) -> bool {
    on("NormPreallocateRemoteSender", session, false, |at| at.session.receiving.proto.is_receiver())
}

/// Objects that were received whole.
#[unsafe(no_mangle)]
pub extern "C" fn NormCountCompletedObjects(session: Word) -> u32 {
    on("NormCountCompletedObjects", session, 0, |at| at.session.completed)
}

//! Every function with a handle that is null, dead, of another kind, or no handle at all.

use std::ffi::c_char;

use norm::edge::{
    acking::*, enqueue::*, instance::*, network::*, node::*, object::*, receiver::*, sender::*,
    session::*, stream::*,
};

use crate::{NULL, Word, open, session, started, text};

/// Calls everything that takes a handle with this one, whatever it is.
fn call_everything(word: Word) {
    let (mut room, mut port, mut byte) = (4_u32, 0_u16, [0 as c_char; 8]);
    let (start, room, port) = (byte.as_mut_ptr(), &raw mut room, &raw mut port);
    let name = text("x");
    let name = name.as_ptr();
    // SAFETY: pointers to what is said; handles may be anything.
    unsafe {
        NormGetInstance(word);
        NormSetUserData(word, NULL);
        NormGetUserData(word);
        NormSetUserTimer(word, 1.0);
        NormCancelUserTimer(word);
        NormGetLocalNodeId(word);
        NormSetId(word, 9);
        NormGetAddress(word, start, room, port);
        NormGetRxPort(word);
        NormGetTxPort(word);
        NormGetRxBindAddress(word, start, room, port);
        NormSetTxPort(word, 0, false, NULL.cast());
        NormSetTxOnly(word, false, false);
        NormChangeDestination(word, name, 1, false);
        NormSetRxPortReuse(word, true, NULL.cast(), NULL.cast(), 0);
        NormSetMulticastInterface(word, name);
        NormSetSSM(word, name);
        NormSetTTL(word, 1);
        NormSetTOS(word, 1);
        NormSetLoopback(word, false);
        NormSetMulticastLoopback(word, false);
        NormSetFragmentation(word, false);
        NormSetEcnSupport(word, false, false, false);
        NormSetMessageTrace(word, false);
        NormSetTxLoss(word, 0.0);
        NormSetRxLoss(word, 0.0);
        NormSetReportInterval(word, 1.0);
        NormGetReportInterval(word);
        NormSetTxSocketBuffer(word, 100_000);
        NormSetRxSocketBuffer(word, 100_000);
        call_everything_of_senders(word, (start, room));
        call_everything_else(word, (start, room, port));
    }
}

/// The same of what concerns sending and acknowledgements.
///
/// # Safety
/// The pointers can be written.
unsafe fn call_everything_of_senders(word: Word, (start, room): (*mut c_char, *mut u32)) {
    let name = text("x");
    let name = name.as_ptr();
    // SAFETY: what the caller says.
    unsafe {
        NormSetTxRate(word, 1e6);
        NormGetTxRate(word);
        NormSetTxRateBounds(word, -1.0, -1.0);
        NormSetCongestionControl(word, false, true);
        NormSetFlowControl(word, 2.0);
        NormSetTxCacheBounds(word, 1, 1, 1);
        NormSetAutoParity(word, 1);
        NormSetGrttEstimate(word, 0.1);
        NormGetGrttEstimate(word);
        NormSetGrttMax(word, 1.0);
        NormSetGrttProbingMode(word, 2);
        NormSetGrttProbingInterval(word, 1.0, 2.0);
        NormSetBackoffFactor(word, 4.0);
        NormSetGroupSize(word, 10);
        NormSetTxRobustFactor(word, 20);
        NormLimitObjectInfo(word, false);
        NormFileEnqueue(word, name, NULL.cast(), 0);
        NormDataEnqueue(word, name, 1, NULL.cast(), 0);
        NormRequeueObject(word, word);
        NormSendCommand(word, name, 1, false);
        NormCancelCommand(word);
        NormSetWatermark(word, word, false);
        NormSetWatermarkEx(word, word, name, 1, false);
        NormResetWatermark(word);
        NormCancelWatermark(word);
        NormAddAckingNode(word, 3);
        NormRemoveAckingNode(word, 3);
        NormGetAckingNodeHandle(word, 3);
        NormSetAutoAckingNodes(word, 0);
        NormGetAckingStatus(word, u32::MAX);
        NormGetNextAckingNode(word, room, NULL as *mut i32);
        NormGetAckEx(word, 3, start, room);
        NormSetRxCacheLimit(word, 9);
        NormSetSilentReceiver(word, false, -1);
        NormSetDefaultUnicastNack(word, false);
        NormSetDefaultSyncPolicy(word, 0);
        NormSetDefaultNackingMode(word, 2);
        NormSetDefaultRepairBoundary(word, 0);
        NormSetDefaultRxRobustFactor(word, 20);
        NormPreallocateRemoteSender(word, 1, 1, 1, 1, 1);
        NormCountCompletedObjects(word);
    }
}

/// The same of what concerns streams, objects and nodes.
///
/// # Safety
/// The pointers can be written.
unsafe fn call_everything_else(word: Word, (start, room, port): (*mut c_char, *mut u32, *mut u16)) {
    let name = text("x");
    // SAFETY: what the caller says.
    unsafe {
        open(word, 1000);
        NormStreamWrite(word, name.as_ptr(), 1);
        NormStreamFlush(word, true, 2);
        NormStreamSetAutoFlush(word, 1);
        NormStreamSetPushEnable(word, false);
        NormStreamHasVacancy(word);
        NormStreamGetVacancy(word, 0);
        NormStreamMarkEom(word);
        NormStreamRead(word, start, room);
        NormStreamSeekMsgStart(word);
        NormStreamGetReadOffset(word);
        NormStreamGetBufferUsage(word);
        NormObjectGetType(word);
        NormObjectHasInfo(word);
        NormObjectGetInfoLength(word);
        NormObjectGetInfo(word, start, 4);
        NormObjectGetSize(word);
        NormObjectGetBytesPending(word);
        NormObjectSetNackingMode(word, 2);
        NormObjectSetUserData(word, NULL);
        NormObjectGetUserData(word);
        NormObjectGetSender(word);
        NormFileGetName(word, start, 4);
        NormFileRename(word, NULL.cast());
        NormDataAccessData(word);
        NormDataDetachData(word);
        NormNodeGetId(word);
        NormNodeGetAddress(word, start, room, port);
        NormNodeSetUserData(word, NULL);
        NormNodeGetUserData(word);
        NormNodeGetGrtt(word);
        NormNodeGetCommand(word, start, room);
        NormNodeSendAckEx(word, name.as_ptr(), 1);
        NormNodeGetWatermarkEx(word, start, room);
        NormNodeSetUnicastNack(word, false);
        NormNodeSetNackingMode(word, 2);
        NormNodeSetRepairBoundary(word, 0);
        NormNodeSetRxRobustFactor(word, 20);
        NormNodeFreeBuffers(word);
        NormNodeRetain(word);
        NormNodeRelease(word);
        NormNodeDelete(word);
        NormObjectRetain(word);
        NormObjectRelease(word);
        NormStreamClose(word, true);
        NormObjectCancel(word);
        NormStopSender(word);
        NormStopReceiver(word);
        NormDestroySession(word);
    }
}

#[test]
fn null_dead_wrong_and_foreign_handles_are_answered_in_every_function() {
    let instance = NormCreateInstance(false);
    let dead = session(instance, 1);
    NormDestroySession(dead);
    let live = started(instance, 2);
    let stream = open(live, 100_000);
    let foreign = 0x1234_5678_9abc_def0_usize as Word;
    for word in [NULL, dead, foreign, usize::MAX as Word, stream] {
        call_everything(word);
    }
    // The stream was cancelled by its own handle, and nothing else was touched by it.
    assert_eq!(NormGetLocalNodeId(live), 5);
    assert_eq!(NormObjectGetType(stream), 0);
    call_everything(instance);
    call_everything(live);
    assert_eq!(NormGetLocalNodeId(live), 0);
    NormDestroyInstance(instance);
    NormDestroyInstance(instance);
}

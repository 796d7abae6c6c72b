//! What programs get wrong: every call has an answer, and nothing that was not asked for happens.

use std::{
    ffi::{CString, c_char, c_void},
    ptr,
};

use norm::edge::{
    acking::*, enqueue::*, instance::*, network::*, node::*, object::*, receiver::*, sender::*,
    session::*, stream::*, unsupported::*,
};

type Word = *const c_void;

const NULL: Word = ptr::null();

fn text(word: &str) -> CString {
    CString::new(word).unwrap()
}

/// A session on the loopback interface, in the group of this number.
fn session(instance: Word, group: u8) -> Word {
    let (address, interface) = (text(&format!("239.255.78.{group}")), text("lo"));
    // SAFETY: strings.
    unsafe {
        let session = NormCreateSession(instance, address.as_ptr(), 17_900 + u16::from(group), 5);
        NormSetMulticastInterface(session, interface.as_ptr());
        session
    }
}

fn started(instance: Word, group: u8) -> Word {
    let session = session(instance, group);
    assert!(NormStartSender(session, 1, 1 << 20, 1400, 16, 4, 0));
    session
}

fn open(session: Word, bytes: u32) -> Word {
    // SAFETY: no info.
    unsafe { NormStreamOpen(session, bytes, NULL.cast(), 0) }
}

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

#[test]
fn a_call_before_the_sender_begins_has_no_object() {
    let instance = NormCreateInstance(false);
    let session = session(instance, 3);
    assert!(open(session, 100_000).is_null());
    let byte = [1_u8];
    // SAFETY: one byte.
    let data = unsafe { NormDataEnqueue(session, byte.as_ptr().cast(), 1, NULL.cast(), 0) };
    assert!(data.is_null());
    NormDestroyInstance(instance);
}

#[test]
fn streams_of_no_bytes_are_refused_and_a_second_one_is_taken() {
    let instance = NormCreateInstance(false);
    let session = started(instance, 4);
    assert!(open(session, 0).is_null());
    let (first, second) = (open(session, 1), open(session, 100_000));
    assert!(!first.is_null() && !second.is_null() && first != second);
    assert_eq!(NormObjectGetSize(first), 2 * 16 * 1400, "two blocks at least");
    NormDestroyInstance(instance);
}

#[test]
fn a_stream_of_nearly_4_gib_costs_memory_only_as_it_is_written() {
    let instance = NormCreateInstance(false);
    let session = started(instance, 5);
    let stream = open(session, u32::MAX);
    if !stream.is_null() {
        let bytes = [7_u8; 1000];
        // SAFETY: a slice of this length.
        assert_eq!(unsafe { NormStreamWrite(stream, bytes.as_ptr().cast(), 1000) }, 1000);
    }
    NormDestroyInstance(instance);
}

#[test]
fn codes_and_segments_that_there_are_none_of_do_not_begin() {
    let instance = NormCreateInstance(false);
    let session = session(instance, 6);
    for (segment, source, parity, fec_id) in [
        (0, 16, 4, 0),
        (u16::MAX, 16, 4, 0),
        (1400, 0, 4, 0),
        (1400, 200, 100, 5),
        (1400, 40_000, 30_000, 0),
    ] {
        assert!(!NormStartSender(session, 1, 1 << 20, segment, source, parity, fec_id));
    }
    assert!(NormStartSender(session, 1, 1 << 20, 1400, 16, 0, 0), "without parity it does");
    NormDestroyInstance(instance);
}

#[test]
fn an_interface_that_is_not_there_shows_when_the_session_begins() {
    let instance = NormCreateInstance(false);
    let session = session(instance, 7);
    let nowhere = text("nowhere7");
    // SAFETY: a string.
    assert!(unsafe { NormSetMulticastInterface(session, nowhere.as_ptr()) });
    assert!(!NormStartSender(session, 1, 1 << 20, 1400, 16, 4, 0));
    assert!(!NormStartReceiver(session, 1 << 20));
    NormDestroyInstance(instance);
}

#[test]
fn numbers_that_are_none_change_nothing() {
    let instance = NormCreateInstance(false);
    let session = session(instance, 8);
    NormSetTxRate(session, 1e6);
    for number in [f64::NAN, f64::NEG_INFINITY, -1.0, 0.0] {
        NormSetTxRate(session, number);
        NormSetTxRateBounds(session, number, f64::NAN);
    }
    assert_eq!(NormGetTxRate(session), 1e6);
    let before = NormGetGrttEstimate(session);
    for number in [f64::NAN, f64::INFINITY, -1.0] {
        NormSetGrttEstimate(session, number);
        NormSetGrttMax(session, number);
        NormSetBackoffFactor(session, number);
        NormSetFlowControl(session, number);
        NormSetUserTimer(session, number);
        NormSetGrttProbingInterval(session, number, number);
        NormSetTxLoss(session, number);
        NormSetRxLoss(session, number);
    }
    assert_eq!(NormGetGrttEstimate(session), before);
    NormDestroyInstance(instance);
}

#[test]
fn info_longer_than_a_segment_is_refused_and_a_buffer_of_no_bytes_is_not_written() {
    let instance = NormCreateInstance(false);
    let session = started(instance, 9);
    let long = vec![1_u8; 1401];
    // SAFETY: slices of these lengths.
    unsafe {
        let start = long.as_ptr().cast();
        assert!(NormDataEnqueue(session, start, 1, start, 1401).is_null());
        let object = NormDataEnqueue(session, start, 1, start, 1400);
        assert_eq!(NormObjectGetInfo(object, ptr::null_mut(), 0), 1400);
        let mut room = 0;
        assert!(!NormGetAddress(session, ptr::null_mut(), &raw mut room, ptr::null_mut()));
        assert_eq!(room, 4, "it says how much it needs");
    }
    NormDestroyInstance(instance);
}

#[test]
fn reading_from_a_stream_that_is_sent_gives_nothing() {
    let instance = NormCreateInstance(false);
    let stream = open(started(instance, 10), 100_000);
    let (mut byte, mut count) = ([0 as c_char; 4], 4);
    // SAFETY: four bytes.
    assert!(!unsafe { NormStreamRead(stream, byte.as_mut_ptr(), &raw mut count) });
    assert_eq!((count, NormStreamSeekMsgStart(stream)), (0, false));
    NormDestroyInstance(instance);
}

#[test]
fn releasing_twice_and_never_does_no_harm() {
    let instance = NormCreateInstance(false);
    let session = started(instance, 11);
    let stream = open(session, 100_000);
    NormObjectRetain(stream);
    NormObjectRelease(stream);
    NormObjectRelease(stream);
    assert_eq!(NormObjectGetType(stream), 3, "it is being sent");
    NormObjectRetain(stream);
    NormDestroySession(session);
    assert_eq!(NormObjectGetType(stream), 3, "it is retained");
    // SAFETY: one byte.
    assert_eq!(unsafe { NormStreamWrite(stream, [1].as_ptr(), 1) }, 0);
    NormObjectRelease(stream);
    assert_eq!(NormObjectGetType(stream), 0);
    NormDestroyInstance(instance);
}

#[test]
fn a_stopped_instance_says_once_that_there_are_no_more_events() {
    let instance = NormCreateInstance(false);
    let session = started(instance, 12);
    NormStopInstance(instance);
    let mut event = [usize::MAX; 4];
    // SAFETY: as long as an event.
    unsafe {
        assert!(NormGetNextEvent(instance, (&raw mut event).cast(), true));
        assert_eq!((event[0] as i32, &event[1..]), (0, &[0, 0, 0][..]));
        assert!(!NormGetNextEvent(instance, (&raw mut event).cast(), true));
    }
    assert!(!open(session, 100_000).is_null(), "calls still work");
    assert!(NormRestartInstance(instance));
    NormDestroyInstance(instance);
}

#[test]
fn destroying_an_instance_ends_the_waiting_of_other_threads_also_while_it_is_suspended() {
    let instance = NormCreateInstance(false);
    let word = instance as usize;
    let waits = || {
        std::thread::spawn(move || {
            // SAFETY: nothing is written.
            unsafe { NormGetNextEvent(word as Word, ptr::null_mut(), true) }
        })
    };
    let waiting = [waits(), waits()];
    assert!(NormSuspendInstance(instance) && NormSuspendInstance(instance));
    NormDestroyInstance(instance);
    for thread in waiting {
        assert!(!thread.join().unwrap());
    }
}

#[test]
fn another_thread_waits_until_an_instance_is_resumed() {
    let instance = NormCreateInstance(false);
    let session = session(instance, 13) as usize;
    assert!(NormSuspendInstance(instance));
    let thread = std::thread::spawn(move || NormGetLocalNodeId(session as Word));
    assert_eq!(NormGetLocalNodeId(session as Word), 5, "whoever suspended it may call");
    NormResumeInstance(instance);
    assert_eq!(thread.join().unwrap(), 5);
    NormDestroyInstance(instance);
}

#[test]
fn calls_of_other_threads_during_the_end_are_answered() {
    let instance = NormCreateInstance(false);
    let session = started(instance, 14) as usize;
    let threads: Vec<_> = (0..4)
        .map(|_| {
            std::thread::spawn(move || {
                for _ in 0..2000 {
                    let stream = open(session as Word, 1000);
                    // SAFETY: one byte.
                    unsafe { NormStreamWrite(stream, [1].as_ptr(), 1) };
                    NormStreamClose(stream, false);
                }
            })
        })
        .collect();
    NormDestroyInstance(instance);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn what_is_not_supported_refuses() {
    let instance = NormCreateInstance(false);
    let session = session(instance, 15);
    NormSetServerListener(session, true);
    NormSetSynStatus(session, true);
    NormSetGrttProbingTOS(session, 1);
    assert!(!NormTransferSender(session, NULL));
    assert!(!NormPresetObjectInfo(session, 1, 1, 1, 1));
    assert!(!NormOpenDebugPipe(instance, NULL.cast()));
    NormCloseDebugPipe(instance);
    NormDestroyInstance(instance);
}

#[test]
fn one_stream_counts_as_many_segments_as_nrls() {
    assert_eq!(NormGetStreamBufferSegmentCount(2 << 20, 1400, 16), 1488);
    assert_eq!(NormGetStreamBufferSegmentCount(1, 1400, 16), 32);
    assert_eq!(NormGetStreamBufferSegmentCount(1, 0, 0), 0);
}

#[test]
fn a_stream_takes_at_least_as_many_flushed_symbols_as_it_says() {
    let instance = NormCreateInstance(false);
    let session = session(instance, 16);
    NormSetTxRate(session, 1.0);
    assert!(NormStartSender(session, 1, 1 << 20, 100, 4, 2, 0));
    let stream = open(session, 1600);
    let most = NormGetStreamBufferSegmentCount(1600, 100, 4);
    for _ in 0..most {
        // SAFETY: one byte.
        assert_eq!(unsafe { NormStreamWrite(stream, [1].as_ptr(), 1) }, 1);
        NormStreamFlush(stream, true, 2);
    }
    NormDestroyInstance(instance);
}

//! What programs get wrong: every call has an answer, and nothing that was not asked for happens.
//!
//! - `handles`: every function with handles of all kinds
//! - `threads`: calls while another thread suspends or destroys the instance

mod handles;
mod threads;

use std::{
    ffi::{CString, c_char, c_void},
    ptr,
};

use norm::edge::{
    enqueue::*, instance::*, network::*, object::*, receiver::*, sender::*, session::*, stream::*,
    unsupported::*,
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

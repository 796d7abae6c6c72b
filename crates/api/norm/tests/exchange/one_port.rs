//! Sessions with one host that send and hear at one port, as norp has them.

use std::{
    ffi::{CString, c_void},
    ptr,
    time::Duration,
};

use norm::{
    edge::{instance::*, network::*, receiver::*, sender::*, session::*, stream::*},
    kinds::EventType as E,
};

use crate::program::{self, Program};

type Word = *const c_void;

fn host() -> CString {
    CString::new("127.0.0.1").unwrap()
}

fn session(instance: Word, port: u16, id: u32) -> Word {
    // SAFETY: a string.
    unsafe { NormCreateSession(instance, host().as_ptr(), port, id) }
}

fn aim(session: Word, port: u16, only: bool) -> bool {
    // SAFETY: a string.
    unsafe { NormChangeDestination(session, host().as_ptr(), port, only) }
}

fn begin(session: Word) {
    NormSetTxRate(session, 50e6);
    NormSetGrttEstimate(session, 0.005);
    assert!(NormStartSender(session, 7, 1 << 20, 1400, 16, 4, 0));
}

#[test]
fn with_port_0_a_session_sends_and_hears_at_a_port_that_the_system_chooses() {
    let instance = NormCreateInstance(false);
    let session = session(instance, 0, 1);
    assert_eq!(NormGetRxPort(session), 0);
    begin(session);
    let port = NormGetTxPort(session);
    assert!(port > 0);
    assert_eq!(NormGetRxPort(session), port);
    assert!(NormStartReceiver(session, 1 << 20), "it hears already");
    assert_eq!(NormGetTxPort(session), port);
    assert!(aim(session, 9, true), "another port while it runs");
    // SAFETY: a string.
    let group = unsafe { NormChangeDestination(session, c"239.1.2.3".as_ptr(), 9, false) };
    assert!(!group, "no group in the place of a host");
    NormDestroyInstance(instance);
}

#[test]
fn a_stream_comes_to_a_session_at_one_port_that_another_shares_and_goes_back() {
    let near = Program::of(session, 0, 1);
    begin(near.session);
    let from = NormGetTxPort(near.session);
    // The far side: two sessions that share a port; the first has gone on to another host.
    let probe = Program::of(session, 0, 3);
    begin(probe.session);
    let port = NormGetTxPort(probe.session);
    drop(probe);
    let far = [2, 4].map(|id| {
        let far = Program::of(session, port, id);
        // SAFETY: nulls.
        unsafe {
            assert!(NormSetTxPort(far.session, port, false, ptr::null()));
            NormSetRxPortReuse(far.session, true, ptr::null(), ptr::null(), 0);
        }
        NormSetDefaultSyncPolicy(far.session, 1);
        assert!(NormStartReceiver(far.session, 1 << 20));
        assert_eq!((NormGetTxPort(far.session), NormGetRxPort(far.session)), (port, port));
        far
    });
    assert!(aim(far[1].session, 9, true) && aim(far[0].session, from, true));
    // The thread passes it on.
    std::thread::sleep(Duration::from_millis(100));
    assert!(aim(near.session, port, true));
    let stream = near.open_stream(200_000);
    let sent: Vec<u8> = (0..300_000_u32).map(|n| (n / 3) as u8).collect();
    near.write_all(stream, &sent);
    program::close(stream);
    assert!(far[0].read_stream_to_its_end() == sent);
    assert_eq!(far[1].events_of(E::RxObjectNew), 0);
    begin(far[0].session);
    NormSetDefaultSyncPolicy(near.session, 1);
    assert!(NormStartReceiver(near.session, 1 << 20));
    let back = far[0].open_stream(200_000);
    far[0].write_all(back, &sent);
    NormStreamFlush(back, true, 2);
    program::close(back);
    assert!(near.read_stream_to_its_end() == sent);
}

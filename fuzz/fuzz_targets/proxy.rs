//! What clients say to the proxy, and what its two sides say to each other: nothing panics, and a
//! client's handshake keeps no more than its limit.
#![no_main]

use fanfare_link::proxy::{
    flows,
    frame::{Open, Reply},
    http_connect,
    mux::{Mux, control::Control, span},
    socks5::{self, Handshake, SAID_MAX, Step},
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    for wants_password in [false, true] {
        shake_hands(wants_password, input);
    }
    let _ = (http_connect::read(input), socks5::datagram(input));
    let _ = (Open::parse(input), Reply::parse(input));
    let _ = (flows::at_far(input), flows::at_near(input));
    let _ = span::parse(input);
    if let Some(control) = Control::parse(input) {
        assert_eq!(Control::parse(&control.to_bytes()), Some(control));
    }
    speak(input);
});

fn shake_hands(wants_password: bool, input: &[u8]) {
    let mut handshake = Handshake::new(wants_password);
    for piece in input.chunks(7) {
        handshake.on_bytes(piece);
        loop {
            match handshake.step() {
                Step::More => break,
                Step::Check { .. } => drop(handshake.on_checked(true)),
                Step::Answer(_) => {}
                Step::Ask(_) | Step::Close(_) => {
                    assert!(handshake.into_rest().len() <= SAID_MAX + 7);
                    return;
                }
            }
        }
    }
}

/// Control and spans of a peer that does what it wants: length, kind, bytes.
fn speak(mut input: &[u8]) {
    let mut mux = Mux::new(0);
    for _ in 0..3 {
        mux.open(Vec::new());
    }
    while let Some((&[kind, length], rest)) = input.split_first_chunk() {
        let (piece, behind) = rest.split_at(rest.len().min(usize::from(length)));
        input = behind;
        let taken = match kind & 1 {
            0 => mux.on_control(piece),
            _ => mux.on_span(&[&span::begin()[..], piece].concat()),
        };
        if taken.is_err() {
            return;
        }
        while mux.poll_event().is_some() {}
    }
}

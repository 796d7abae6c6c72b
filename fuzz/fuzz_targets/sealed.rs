//! Any datagrams at a node with a key, among true ones: nothing panics, nothing opens that was not sealed,
//! and a true packet still opens afterwards.
#![no_main]

use fanfare_crypto::{Form, Key, Moment, Seal, Settings};
use libfuzzer_sys::fuzz_target;
use std::net::SocketAddr;

fuzz_target!(|input: &[u8]| {
    let form = if input.first().is_some_and(|byte| byte & 1 == 1) { Form::Short } else { Form::Long };
    let settings = || Settings::new(vec![Key::from_secret([7; 32], 1)], "fuzz").in_form(form);
    let (mut one, mut other) = (Seal::new(settings(), [1; 16]), Seal::new(settings(), [2; 16]));
    let (at, source) = (Moment::default(), SocketAddr::from(([10, 0, 0, 1], 6003)));
    let (hello, mut out) = (one.hello(at, None), Vec::new());
    other.open(at, source, &hello, &mut out).unwrap();
    let mut rest = input.get(1..).unwrap_or_default();
    while let Some((length, after)) = rest.split_first() {
        let (made, after) = after.split_at(usize::from(*length).min(after.len()));
        rest = after;
        // As it is, and as a change of what was truly said.
        let mut sealed = Vec::new();
        one.seal(at, b"a message of the group", &mut sealed);
        let mut changed = sealed.clone();
        changed.iter_mut().zip(made).for_each(|(byte, change)| *byte ^= change);
        for datagram in [made, &changed] {
            out.clear();
            if other.open(at, source, datagram, &mut out).is_ok() && !out.is_empty() {
                assert_eq!(datagram, sealed);
            }
        }
        other.poll(at);
        other.poll_notice(at.now);
    }
    let mut sealed = Vec::new();
    one.seal(at, b"the end", &mut sealed);
    out.clear();
    other.open(at, source, &sealed, &mut out).unwrap();
    assert_eq!(out, b"the end");
});

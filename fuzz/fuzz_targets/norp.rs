//! What a norp of NRL's may say: nothing panics, and a session's signalling ends.
#![no_main]

use fanfare_proto::Time;
use fanfare_link::proxy::norp::{
    message::Message,
    request,
    signalling::{Signalling, Step},
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let _ = (request::destination(input), request::code(input));
    if let Some(message) = Message::parse(input) {
        assert_eq!(Message::parse(&message.to_bytes()).map(|read| read.kind), Some(message.kind));
    }
    let near = Signalling::asking(Time::ZERO, 1, 1, (1, 1), vec![5, 1, 0, 1, 1, 2, 3, 4, 0, 80]);
    for signalling in [near, Signalling::asked(1, 2, (2, 2))] {
        speak(signalling, input);
    }
});

/// Length, milliseconds that pass, message.
fn speak(mut signalling: Signalling, mut input: &[u8]) {
    let mut now = Time::from_nanos(1_000_000_000);
    let mut ended = 0;
    while let Some((&[length, millis], rest)) = input.split_first_chunk() {
        let (piece, behind) = rest.split_at(rest.len().min(usize::from(length)));
        input = behind;
        now = now.plus(std::time::Duration::from_millis(u64::from(millis) * 50));
        signalling.on_timeout(now);
        match Message::parse(piece) {
            Some(message) => signalling.on_message(now, &message),
            None if length & 1 == 1 => signalling.answer(now, piece.to_vec()),
            None => signalling.end(now),
        }
        while signalling.poll_message().is_some() {}
        while let Some(step) = signalling.poll_step() {
            ended += u32::from(matches!(step, Step::Over | Step::Silent));
        }
        assert!(ended <= 1, "it ended more than once");
    }
    // Whatever was said, who ends it does so in finite time.
    signalling.end(now);
    for _ in 0..100 {
        let Some(next) = signalling.next_timeout() else { return };
        now = now.max(next);
        signalling.on_timeout(now);
    }
    panic!("it goes on for ever");
}

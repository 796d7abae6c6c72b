//! What parses, encodes; what was encoded parses, says the same, and encodes to the same bytes.
//!
//! The first encoding may differ from the datagram in what parsing ignores: reserved fields, bytes
//! behind messages without content, repeated extensions, the order of extensions.
#![no_main]

use fanfare_wire::{Cmd, Message, ext::Extensions};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|datagram: &[u8]| {
    let Ok(message) = Message::parse(datagram) else { return };
    let once = encoded(&message);
    let again = Message::parse(&once).expect("what was encoded must parse");
    assert_eq!(encoded(&again), once);
    assert_eq!(without_extensions(again), without_extensions(message));
});

fn encoded(message: &Message<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    message.encode(&mut out);
    out
}

/// The message but for its extension area, which encoding puts in order.
fn without_extensions(mut message: Message<'_>) -> Message<'_> {
    let area = match &mut message {
        Message::Info(m) => &mut m.extensions,
        Message::Data(m) => &mut m.extensions,
        Message::Cmd(Cmd::Flush(m)) => &mut m.extensions,
        Message::Cmd(Cmd::Eot(m)) => &mut m.extensions,
        Message::Cmd(Cmd::Squelch(m)) => &mut m.extensions,
        Message::Cmd(Cmd::Cc(m)) => &mut m.extensions,
        Message::Cmd(Cmd::RepairAdv(m)) => &mut m.extensions,
        Message::Cmd(Cmd::AckReq(m)) => &mut m.extensions,
        Message::Cmd(Cmd::Application(m)) => &mut m.extensions,
        Message::Nack(m) => &mut m.extensions,
        Message::Ack(m) => &mut m.extensions,
        Message::Report(m) => &mut m.extensions,
    };
    *area = Extensions::default();
    message
}

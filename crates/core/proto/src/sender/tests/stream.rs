//! Streams: what they look like on the wire, and how they are repaired.

use super::*;
use crate::{
    config::FtiMode,
    stream::{NewStream, StreamFlush, StreamPolicy},
};

fn hex(bytes: &[u8]) -> alloc::string::String {
    bytes.iter().map(|byte| alloc::format!("{byte:02x}")).collect()
}

/// As in the run with libnorm 1.5.9 from which the golden bytes are: segments of 100 bytes, blocks of
/// 4 + 2, a buffer of 1600 bytes.
fn golden() -> (Harness, ObjectKey) {
    let config = SenderConfig {
        fec: FecConfig { source: 4, parity: 2, ..FecConfig::default() },
        fti: FtiMode::Always,
        ..config()
    };
    let mut harness = Harness::new(config);
    let stream =
        NewStream { buffer: 1600, info: Some(b"hi".to_vec()), policy: StreamPolicy::Repaired };
    let Harness { sender, now, storage, events, .. } = &mut harness;
    let key = sender.open_stream(*now, &stream, storage, events).unwrap();
    (harness, key)
}

impl Harness {
    fn write(&mut self, bytes: &[u8]) -> usize {
        self.sender.write_stream(self.now, OBJECT, bytes, &mut self.storage)
    }

    fn flush(&mut self, how: StreamFlush) {
        self.sender.flush_stream(self.now, OBJECT, how, &mut self.storage);
    }

    /// What goes within a time.
    fn datagrams(&mut self, millis: u64) -> Vec<Vec<u8>> {
        let (end, mut all) = (self.now + ms(millis), Vec::new());
        loop {
            let mut out = Vec::new();
            while self.call(|sender, ctx| sender.poll_message(ctx, &mut out)) {
                all.push(core::mem::take(&mut out));
            }
            let next = self.sender.next_timeout().map(|(at, _)| at).filter(|at| *at <= end);
            let Some(at) = next else { break };
            self.now = self.now.max(at);
            self.call(|sender, ctx| sender.on_timeout(ctx));
        }
        self.now = end;
        all
    }

    fn asked(&mut self, write: impl FnOnce(&mut RequestWriter)) {
        self.nack(2, false, write);
    }

    /// Content of INFO and DATA that may go now, behind the fields that name sender and moment.
    fn parts(&mut self) -> Vec<alloc::string::String> {
        let datagrams = self.datagrams(1000);
        let part = |datagram: &Vec<u8>| match Message::parse(datagram).unwrap() {
            Message::Info(_) | Message::Data(_) => Some(hex(&datagram[12..])),
            _ => None,
        };
        datagrams.iter().filter_map(part).collect()
    }
}

#[test]
fn a_stream_is_on_the_wire_what_it_is_with_libnorm() {
    let (mut harness, _) = golden();
    assert_eq!(harness.write(&[b'A'; 250]), 250);
    harness.sender.mark_stream(OBJECT);
    harness.write(b"second");
    harness.flush(StreamFlush::Active);
    harness.sender.mark_stream(OBJECT);
    harness.write(b"third");
    harness.flush(StreamFlush::Passive);
    assert!(harness.sender.close_stream(harness.now, OBJECT, &mut harness.storage));
    let fti = "400300000000064000640402";
    let parts = harness.parts();
    let heads = [
        ("24050000", "", "6869"),
        ("24050000", "00000000", "00640001000000004141"),
        ("24050000", "00000001", "00640000000000644141"),
        ("24050000", "00000002", "00380033000000c84141"),
        ("24050000", "00000003", "00050001000001007468697264"),
        ("24050000", "00000100", "0000000000000105"),
    ];
    assert_eq!(parts.len(), heads.len(), "{parts:#?}");
    for (part, (object, id, payload)) in parts.iter().zip(heads) {
        let expected = alloc::format!("{object}{id}{fti}{payload}");
        assert!(part.starts_with(&expected), "{part} is not {expected}");
    }
}

#[test]
fn parity_covers_the_headers_of_symbols_and_is_as_long_as_the_longest() {
    let (mut harness, key) = golden();
    for message in [b"aaa", b"bbb", b"ccc", b"ccc"] {
        harness.sender.mark_stream(OBJECT);
        harness.write(message);
        harness.flush(StreamFlush::Passive);
    }
    harness.parts();
    harness.asked(|writer| {
        assert!(writer.item(SEGMENT, key.object, id(0, 4)));
    });
    let parity = harness.parts();
    assert_eq!(parity.len(), 1, "{parity:?}");
    // The row 77 40 38 0e of NRL's code over header and content.
    assert!(parity[0].ends_with("000300010000002ecdcdcd"), "{parity:?}");
}

#[test]
fn of_a_block_that_is_not_full_what_was_sent_serves_a_request_for_parity() {
    let (mut harness, key) = golden();
    harness.write(&[1; 200]);
    assert_eq!(harness.parts().len(), 1 + 2);
    harness.asked(|writer| {
        assert!(writer.item(SEGMENT, key.object, id(0, 4)));
    });
    assert_eq!(harness.parts().len(), 2, "both symbols by name");
    harness.asked(|writer| {
        assert!(writer.item(SEGMENT, key.object, id(0, 1)));
        assert!(writer.item(SEGMENT, key.object, id(0, 3)));
    });
    assert_eq!(harness.parts().len(), 1, "symbol 3 was not written yet");
}

#[test]
fn what_has_left_the_ring_is_answered_with_a_squelch_that_names_the_first_block_there_is() {
    let (mut harness, key) = golden();
    for _ in 0..20 {
        while harness.write(&[7; 400]) > 0 {}
        harness.parts();
        harness.datagrams(2000);
    }
    let low = harness.sender.cache.get(1 << 32).unwrap().low();
    assert!(low > 0);
    harness.asked(|writer| {
        let level = RepairLevel(RepairLevel::BLOCK);
        assert!(writer.range(level, (key.object, key.object), id(0, 0), id(low, 0)));
    });
    let datagrams = harness.datagrams(1000);
    let squelch = datagrams.iter().find_map(|datagram| match Message::parse(datagram).unwrap() {
        Message::Cmd(Cmd::Squelch(squelch)) => Some(squelch.payload_id.unpack(FieldSize::M8)),
        _ => None,
    });
    assert_eq!(squelch.map(|id| id.block.0), Some(low));
    let repairs = datagrams.iter().filter(|d| matches!(said(d), Said::Data { repair: true, .. }));
    assert_eq!(repairs.count(), 4, "the block that is there is served");
}

#[test]
fn a_stream_that_waits_for_its_application_is_not_purged_and_cannot_be_repeated() {
    let (mut harness, key) = golden();
    harness.write(&[1; 100]);
    harness.parts();
    harness.run(Duration::from_secs(3600));
    assert!(harness.sender.stream_progress(key.object).is_some());
    assert!(!harness.sender.requeue(harness.now, key.object));
    harness.write(&[2; 100]);
    assert_eq!(harness.parts().len(), 1);
}

//! Streams in masses, and streams that begin oddly.

use super::*;
use crate::{config::JoinPolicy, stream::StreamRead};
use fanfare_wire::StreamSymbol;

/// Blocks of 4 + 2, segments of 10 bytes; four blocks are promised.
const PROMISED: u64 = 4 * 4 * 10;

fn first_symbol(script: &mut Script, stream: u16, flags: u8) -> Vec<u8> {
    let mut out = Vec::new();
    let data = Data {
        sender: script.fields(),
        flags: ObjectFlags(flags | ObjectFlags::STREAM),
        object_transport_id: ObjectTransportId(stream),
        payload_id: raw(0, 0),
        extensions: Extensions::default(),
        payload: &[],
    };
    data.encode_header(Some(&super::super::format::tests::small(PROMISED, 10)), &mut out);
    out.extend(StreamSymbol::header(10, Some(0), 0));
    out.extend([7; 10]);
    out
}

fn read(harness: &mut Harness, stream: ObjectKey) -> StreamRead {
    let mut out = Vec::new();
    harness.with(|senders, ctx| senders.read_stream(ctx, stream, 1000, &mut out))
}

#[test]
fn a_stream_of_which_the_first_packet_heard_is_a_repair_is_received() {
    let (mut script, mut harness) = (Script::new(), Harness::new(ReceiverConfig::default()));
    harness.hear(&first_symbol(&mut script, 0, ObjectFlags::REPAIR));
    assert!(matches!(read(&mut harness, key(0)), StreamRead::Data { bytes: 10, offset: 0, .. }));
}

#[test]
fn ten_thousand_streams_of_one_sender_take_no_more_memory_than_a_few() {
    let config = ReceiverConfig { join: JoinPolicy::AllCached, ..ReceiverConfig::default() };
    let (mut script, mut harness) = (Script::new(), Harness::new(config));
    for stream in 0..10_000 {
        harness.hear(&first_symbol(&mut script, stream, 0));
        harness.events();
    }
    let open = |stream: &u16| harness.senders.stream_view(key(*stream)).is_some();
    let open = (0..10_000).filter(open).count();
    let most = usize::from(harness.senders.local.config.objects_max);
    assert!((1..=most).contains(&open), "{open} of at most {most}");
}

#[test]
fn ten_thousand_senders_take_no_more_memory_than_those_that_are_allowed() {
    let mut harness = Harness::new(ReceiverConfig::default());
    for id in 0..10_000 {
        let mut script = Script { id: NodeId(1000 + id), ..Script::new() };
        harness.hear(&first_symbol(&mut script, 0, 0));
        harness.events();
    }
    let stream = |id: u32| ObjectKey { sender: NodeId(1000 + id), ..key(0) };
    let open = (0..10_000).filter(|id| harness.senders.stream_view(stream(*id)).is_some());
    let (open, most) = (open.count(), harness.senders.local.config.senders_max);
    assert!((1..=most).contains(&open), "{open} of at most {most}");
}

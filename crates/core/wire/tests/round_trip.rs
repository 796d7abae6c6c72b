//! What is encoded reads as what it was, for every message with any content; and no bytes at all
//! make parsing panic.

use fanfare_wire::cmd::{AckReq, Application, Cc, CcNode, Eot, Flush, RepairAdv, Squelch};
use fanfare_wire::ext::{CcFlags, ExtCc, Extensions, Fti, write_variable};
use fanfare_wire::fec::RawPayloadId;
use fanfare_wire::header::{FeedbackFields, SendTime, SenderFields};
use fanfare_wire::nack::RequestWriter;
use fanfare_wire::*;
use proptest::collection::vec;
use proptest::prelude::*;

fn fec_id() -> impl Strategy<Value = FecId> {
    prop_oneof![
        Just(FecId::ReedSolomonM),
        Just(FecId::ReedSolomon8),
        Just(FecId::SmallBlockSystematic)
    ]
}

fn field(fec_id: FecId, wide: bool) -> FieldSize {
    if fec_id == FecId::ReedSolomonM && wide { FieldSize::M16 } else { FieldSize::M8 }
}

prop_compose! {
    fn sender()(
        (sequence, source, instance) in any::<(u16, u32, u16)>(),
        (grtt, backoff, gsize) in (any::<u8>(), 0..16_u8, 0..16_u8),
    ) -> SenderFields {
        SenderFields {
            sequence: Sequence(sequence),
            source_id: NodeId(source),
            instance_id: InstanceId(instance),
            grtt: QuantizedRtt(grtt),
            backoff,
            gsize: GroupSize(gsize),
        }
    }
}

prop_compose! {
    fn feedback()(
        (sequence, source, server, instance) in any::<(u16, u32, u32, u16)>(),
        // Zero seconds with zero microseconds says "none", so times begin at one second here.
        time in proptest::option::of((1..u32::MAX, 0..1_000_000_u32)),
    ) -> FeedbackFields {
        FeedbackFields {
            sequence: Sequence(sequence),
            source_id: NodeId(source),
            server_id: NodeId(server),
            instance_id: InstanceId(instance),
            grtt_response: time.map(|(seconds, micros)| SendTime { seconds, micros }),
        }
    }
}

prop_compose! {
    fn cc()(
        (cc_sequence, flags, rtt) in any::<(u16, u8, u8)>(), (loss, rate) in any::<(u32, u16)>(),
    ) -> ExtCc {
        ExtCc {
            cc_sequence,
            flags: CcFlags(flags),
            rtt: QuantizedRtt(rtt),
            loss: QuantizedLoss(loss),
            rate: QuantizedRate(rate),
        }
    }
}

prop_compose! {
    /// A payload id with numbers that fit the form of its encoding id.
    fn point()(
        (fec_id, wide) in (fec_id(), any::<bool>()),
        (block, block_len, symbol) in any::<(u32, u16, u16)>(),
    ) -> (RawPayloadId, FieldSize, FecPayloadId) {
        let field = field(fec_id, wide);
        let (blocks, symbols, lengths) = match (fec_id, field) {
            (FecId::SmallBlockSystematic, _) => (u32::MAX, u16::MAX, u16::MAX),
            (_, FieldSize::M16) => (0xffff, u16::MAX, 0),
            (_, FieldSize::M8) => (0x00ff_ffff, 0xff, 0),
        };
        let id = FecPayloadId {
            block: SourceBlockNumber(block & blocks),
            block_len: block_len & lengths,
            symbol: EncodingSymbolId(symbol & symbols),
        };
        (RawPayloadId::pack(fec_id, field, id), field, id)
    }
}

prop_compose! {
    /// EXT_FTI with numbers that fit the form of `fec_id`.
    fn fti(fec_id: FecId)(
        wide in any::<bool>(), object_size in 0..1_u64 << 48, segment_size in 1..=u16::MAX,
        (k, p) in (1..=255_u16, 0..=255_u16), scale in 1..=257_u16,
    ) -> Fti {
        let scale = if fec_id == FecId::ReedSolomon8 { 1 } else { scale };
        Fti {
            object_size,
            field: field(fec_id, wide),
            segment_size,
            max_block_len: k * scale,
            num_parity: p * scale,
        }
    }
}

/// An extension area of types that nobody knows: with a length, and of one word.
fn unknown_extensions() -> impl Strategy<Value = Vec<u8>> {
    (vec(any::<u8>(), 0..40), any::<[u8; 3]>(), any::<bool>()).prop_map(|(content, word, both)| {
        let mut area = Vec::new();
        write_variable(99, &content, &mut area);
        if both {
            area.extend_from_slice(&[200, word[0], word[1], word[2]]);
        }
        area
    })
}

fn area(bytes: &[u8]) -> Extensions<'_> {
    Extensions::parse(bytes).expect("well formed")
}

fn unknown(extensions: &Extensions<'_>) -> Vec<(u8, Vec<u8>)> {
    let foreign = extensions.iter().filter(|e| matches!(e.het, 99 | 200));
    foreign.map(|e| (e.het, e.content.to_vec())).collect()
}

fn parse(datagram: &[u8]) -> Message<'_> {
    let message = Message::parse(datagram).expect("our own encoding");
    let mut again = Vec::new();
    message.encode(&mut again);
    assert_eq!(again, datagram, "{message}");
    message
}

/// Reads everything that is read on demand.
fn walk(datagram: &[u8]) {
    let Ok(message) = Message::parse(datagram) else { return };
    let _ = (message.source_id(), message.to_string());
    let mut again = Vec::new();
    message.encode(&mut again);
    let second = Message::parse(&again).expect("our own encoding");
    let mut twice = Vec::new();
    second.encode(&mut twice);
    assert_eq!(again, twice, "{message}");
}

proptest! {
    #[test]
    fn info_reads_as_encoded(
        sender in sender(), flags in any::<u8>(), object in any::<u16>(),
        (fec_id, fti) in fec_id().prop_flat_map(|id| (Just(id), proptest::option::of(fti(id)))),
        foreign in unknown_extensions(), payload in vec(any::<u8>(), 0..100),
    ) {
        let info = Info {
            sender, fec_id,
            flags: ObjectFlags(flags),
            object_transport_id: ObjectTransportId(object),
            extensions: area(&foreign),
            payload: &payload,
        };
        let mut out = Vec::new();
        info.encode(fti.as_ref(), &mut out);
        let Message::Info(read) = parse(&out) else { panic!("another type") };
        prop_assert_eq!(read.extensions.fti(fec_id), fti);
        prop_assert_eq!(unknown(&read.extensions), unknown(&info.extensions));
        prop_assert_eq!(Info { extensions: info.extensions, ..read }, info);
    }

    #[test]
    fn data_reads_as_encoded(
        sender in sender(), flags in any::<u8>(), object in any::<u16>(), point in point(),
        payload in vec(any::<u8>(), 0..100), fti in fti(FecId::ReedSolomon8),
    ) {
        let (payload_id, field, id) = point;
        let data = Data {
            sender, payload_id,
            flags: ObjectFlags(flags),
            object_transport_id: ObjectTransportId(object),
            extensions: Extensions::default(),
            payload: &payload,
        };
        let fti = Fti { field, ..fti };
        let mut out = Vec::new();
        data.encode_header(Some(&fti), &mut out);
        out.extend_from_slice(&payload);
        let Message::Data(read) = parse(&out) else { panic!("another type") };
        prop_assert_eq!(read.extensions.fti(payload_id.fec_id), Some(fti));
        prop_assert_eq!(read.payload_id.unpack(field), id);
        prop_assert_eq!(Data { extensions: data.extensions, ..read }, data);
    }

    #[test]
    fn flush_and_squelch_read_as_encoded(
        sender in sender(), object in any::<u16>(), point in point(),
        nodes in vec(any::<u32>().prop_map(NodeId), 0..20),
        invalid in vec(any::<u16>().prop_map(ObjectTransportId), 0..20),
        app in proptest::option::of(vec(1..=255_u8, 0..50)),
    ) {
        let object_transport_id = ObjectTransportId(object);
        let (payload_id, extensions) = (point.0, Extensions::default());
        let acking_nodes = cmd::NodeIds::default();
        let flush = Flush { sender, object_transport_id, payload_id, extensions, acking_nodes };
        let mut out = Vec::new();
        flush.encode(app.as_deref(), &nodes, &mut out);
        let Message::Cmd(Cmd::Flush(read)) = parse(&out) else { panic!("another type") };
        prop_assert_eq!(read.acking_nodes.iter().collect::<Vec<_>>(), nodes);
        let padded = read.extensions.app_ack().map(|app| app.content);
        prop_assert_eq!(padded.is_some(), app.is_some());
        prop_assert!(padded.unwrap_or_default().starts_with(app.as_deref().unwrap_or_default()));
        prop_assert_eq!(Flush { extensions, acking_nodes, ..read }, flush);

        let invalid_objects = cmd::ObjectIds::default();
        let squelch =
            Squelch { sender, object_transport_id, payload_id, extensions, invalid_objects };
        out.clear();
        squelch.encode(&invalid, &mut out);
        let Message::Cmd(Cmd::Squelch(read)) = parse(&out) else { panic!("another type") };
        prop_assert_eq!(read.invalid_objects.iter().collect::<Vec<_>>(), invalid);
        prop_assert_eq!(Squelch { invalid_objects, ..read }, squelch);
    }

    #[test]
    fn a_probe_reads_as_encoded(
        sender in sender(), (cc_sequence, seconds, micros) in any::<(u16, u32, u32)>(),
        rate in proptest::option::of(any::<u16>().prop_map(QuantizedRate)),
        items in vec(any::<(u32, u8, u8, u16)>(), 0..10),
    ) {
        let nodes: Vec<_> = items
            .into_iter()
            .map(|(node, flags, rtt, rate)| CcNode {
                node: NodeId(node),
                flags: CcFlags(flags),
                rtt: QuantizedRtt(rtt),
                rate: QuantizedRate(rate),
            })
            .collect();
        let probe = Cc {
            sender, cc_sequence,
            send_time: SendTime { seconds, micros },
            extensions: Extensions::default(),
            nodes: cmd::CcNodes::default(),
        };
        let mut out = Vec::new();
        probe.encode(rate, &nodes, &mut out);
        let Message::Cmd(Cmd::Cc(read)) = parse(&out) else { panic!("another type") };
        prop_assert_eq!(read.extensions.rate().map(|ext| ext.rate), rate);
        prop_assert_eq!(read.nodes.iter().collect::<Vec<_>>(), nodes);
        prop_assert_eq!(Cc { extensions: probe.extensions, nodes: probe.nodes, ..read }, probe);
    }

    #[test]
    fn the_small_commands_and_the_report_read_as_encoded(
        sender in sender(), (ack_type, ack_id) in any::<(u8, u8)>(),
        nodes in vec(any::<u32>().prop_map(NodeId), 0..20),
        content in vec(any::<u8>(), 0..100), foreign in unknown_extensions(),
    ) {
        let extensions = area(&foreign);
        let mut out = Vec::new();
        let eot = Eot { sender, extensions };
        eot.encode(&mut out);
        prop_assert_eq!(parse(&out), Message::Cmd(Cmd::Eot(eot)));

        out.clear();
        let application = Application { sender, extensions, content: &content };
        application.encode(&mut out);
        prop_assert_eq!(parse(&out), Message::Cmd(Cmd::Application(application)));

        out.clear();
        let acking_nodes = cmd::NodeIds::default();
        let request = AckReq { sender, ack_type, ack_id, extensions, acking_nodes };
        request.encode(&nodes, &mut out);
        let Message::Cmd(Cmd::AckReq(read)) = parse(&out) else { panic!("another type") };
        prop_assert_eq!(read.acking_nodes.iter().collect::<Vec<_>>(), nodes);
        prop_assert_eq!(AckReq { acking_nodes, ..read }, request);

        out.clear();
        let (sequence, source_id) = (sender.sequence, sender.source_id);
        let report = Report { sequence, source_id, extensions, payload: &content };
        report.encode(&mut out);
        prop_assert_eq!(parse(&out), Message::Report(report));
    }

    #[test]
    fn acknowledgements_read_as_encoded(
        feedback in feedback(), ack_id in any::<u8>(), cc in proptest::option::of(cc()),
        point in point(), object in any::<u16>(), application in 16..=255_u8,
        content in vec(any::<u8>(), 0..50), which in 0..3,
    ) {
        let kind = match which {
            0 => AckKind::Cc,
            1 => AckKind::Flush(FlushAck {
                object_transport_id: ObjectTransportId(object),
                payload_id: point.0,
            }),
            _ => AckKind::Application(application, &content),
        };
        let ack = Ack { feedback, kind, ack_id, extensions: Extensions::default() };
        let mut out = Vec::new();
        ack.encode(cc.as_ref(), Some(b"word??"), &mut out);
        let Message::Ack(read) = parse(&out) else { panic!("another type") };
        prop_assert_eq!(read.extensions.cc(), cc);
        prop_assert_eq!(read.extensions.app_ack().map(|app| app.content), Some(&b"word??"[..]));
        prop_assert_eq!(Ack { extensions: ack.extensions, ..read }, ack);
    }

    #[test]
    fn repair_requests_read_as_written_in_nack_and_repair_adv(
        feedback in feedback(), sender in sender(), flags in any::<u8>(),
        cc in proptest::option::of(cc()), (fec_id, wide) in (fec_id(), any::<bool>()),
        asked in vec((1..16_u8, any::<u16>(), 0..=0xffff_u32, 0..=0xff_u16, any::<bool>()), 0..30),
        bound in 0..400_usize,
    ) {
        let field = field(fec_id, wide);
        let id = |block, symbol| FecPayloadId {
            block: SourceBlockNumber(block), block_len: 0, symbol: EncodingSymbolId(symbol),
        };
        let mut writer = RequestWriter::new(fec_id, field, bound);
        let mut written = Vec::new();
        for (level, object, block, symbol, range) in asked {
            let (level, object) = (RepairLevel(level), ObjectTransportId(object));
            let (first, last) = (id(block, symbol), id(block, 0xff));
            let (added, last) = if range {
                (writer.range(level, (object, object), first, last), last)
            } else {
                (writer.item(level, object, first), first)
            };
            if added {
                written.push((level, object, first, last));
            }
        }
        let requests = writer.finish();
        prop_assert!(requests.len() <= bound);
        let read = |requests: RepairRequests<'_>| -> Vec<_> {
            let each = |r: RepairRequest<'_>| r.ranges().map(move |(first, last)| {
                (r.level, first.object_transport_id, first.id(field), last.id(field))
            }).collect::<Vec<_>>();
            requests.iter().flat_map(each).collect()
        };

        let (extensions, none) = (Extensions::default(), RepairRequests::default());
        let nack = Nack { feedback, extensions, requests: none };
        let mut out = Vec::new();
        nack.encode(cc.as_ref(), &requests, &mut out);
        let Message::Nack(m) = parse(&out) else { panic!("another type") };
        prop_assert_eq!(read(m.requests), written.clone());
        prop_assert_eq!(m.extensions.cc(), cc);
        prop_assert_eq!(m.feedback, feedback);

        out.clear();
        let advertisement = RepairAdv { sender, flags, extensions, requests: none };
        advertisement.encode(cc.as_ref(), &requests, &mut out);
        let Message::Cmd(Cmd::RepairAdv(m)) = parse(&out) else { panic!("another type") };
        prop_assert_eq!(read(m.requests), written);
        prop_assert_eq!((m.sender, m.flags, m.extensions.cc()), (sender, flags, cc));
    }

    #[test]
    fn random_bytes_never_panic(bytes in vec(any::<u8>(), 0..200)) {
        walk(&bytes);
    }

    #[test]
    fn random_bytes_behind_a_plausible_header_never_panic(
        kind in 1..=6_u8, words in 2..20_u8, flavor in 0..9_u8,
        fec_id in prop_oneof![Just(2_u8), Just(5), Just(129), any::<u8>()],
        mut bytes in vec(prop_oneof![0..6_u8, any::<u8>()], 16..200),
    ) {
        bytes[0] = 0x10 | kind;
        bytes[1] = words;
        if kind == 3 {
            bytes[12] = flavor;
        }
        bytes[13] = fec_id;
        walk(&bytes);
    }
}

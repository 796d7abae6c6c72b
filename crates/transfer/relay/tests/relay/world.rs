//! A relay with its sides, and the messages of one sender and its members.

use std::{net::SocketAddr, time::Duration};

use fanfare_relay::{Config, From, Outgoing, Relay, To};
use fanfare_wire::{
    Data, EncodingSymbolId, FecId, FecPayloadId, FieldSize, GroupSize, InstanceId, Message, Nack,
    NodeId, ObjectFlags, ObjectTransportId, QuantizedRtt, RepairLevel, Sequence, SourceBlockNumber,
    ext::{Extensions, Fti},
    fec::RawPayloadId,
    header::{FeedbackFields, SenderFields},
    nack::{RepairRequests, RequestWriter},
};

pub(crate) const SENDER: u32 = 7;
const FTI: Fti = Fti {
    object_size: 80,
    field: FieldSize::M8,
    segment_size: 10,
    max_block_len: 4,
    num_parity: 3,
};

/// True if it is a message of NORM, and not what relays say beside it.
pub(crate) fn is_norm(bytes: &[u8]) -> bool {
    Message::parse(bytes).is_ok_and(|message| message.source_id() != NodeId::NONE)
}

pub(crate) fn address(last: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, last], 6003))
}

pub(crate) fn groups(count: usize) -> Vec<SocketAddr> {
    (0..count).map(|_| SocketAddr::from(([239, 255, 42, 1], 6003))).collect()
}

pub(crate) fn relay(id: u32, groups: usize, peers: &[u8]) -> Relay {
    Relay::new(Config {
        id,
        groups: self::groups(groups),
        peers: peers.iter().map(|last| address(*last)).collect(),
        accept: Vec::new(),
        open: false,
        limit: 1_000_000_000,
        cache: 1 << 20,
    })
}

pub(crate) fn by_group(group: usize, last: u8) -> From {
    From { address: address(last), group, multicast: true }
}

pub(crate) fn single(last: u8) -> From {
    From { address: address(last), group: 0, multicast: false }
}

pub(crate) fn id(block: u32, symbol: u16) -> FecPayloadId {
    let (block, symbol) = (SourceBlockNumber(block), EncodingSymbolId(symbol));
    FecPayloadId { block, block_len: 0, symbol }
}

pub(crate) fn data(sequence: u16, block: u32, symbol: u16) -> Vec<u8> {
    let payload = [block as u8 * 16 + symbol as u8; 10];
    let message = Data {
        sender: SenderFields {
            sequence: Sequence(sequence),
            source_id: NodeId(SENDER),
            instance_id: InstanceId(1),
            grtt: QuantizedRtt::from_nanos(1_000_000),
            backoff: 4,
            gsize: GroupSize::from_receivers(10),
        },
        flags: ObjectFlags(ObjectFlags::FILE),
        object_transport_id: ObjectTransportId(0),
        payload_id: RawPayloadId::pack(FecId::ReedSolomon8, FieldSize::M8, id(block, symbol)),
        extensions: Extensions::default(),
        payload: &payload,
    };
    let mut bytes = Vec::new();
    message.encode_header(Some(&FTI), &mut bytes);
    bytes.extend_from_slice(&payload);
    bytes
}

pub(crate) fn nack(member: u32, symbols: &[(u32, u16)]) -> Vec<u8> {
    let mut writer = RequestWriter::new(FecId::ReedSolomon8, FieldSize::M8, 1000);
    for (block, symbol) in symbols {
        let level = RepairLevel(RepairLevel::SEGMENT);
        assert!(writer.item(level, ObjectTransportId(0), id(*block, *symbol)));
    }
    let requests = writer.finish();
    let message = Nack {
        feedback: FeedbackFields {
            sequence: Sequence(0),
            source_id: NodeId(member),
            server_id: NodeId(SENDER),
            instance_id: InstanceId(1),
            grtt_response: None,
        },
        extensions: Extensions::default(),
        requests: RepairRequests::parse(&requests).unwrap(),
    };
    let mut bytes = Vec::new();
    message.encode(None, &requests, &mut bytes);
    bytes
}

/// All that goes out but hellos.
pub(crate) fn sent(relay: &mut Relay) -> Vec<Outgoing> {
    let all = std::iter::from_fn(|| relay.poll_transmit());
    all.filter(|one| is_norm(&one.bytes)).collect()
}

/// After a start, when it has listened for others.
pub(crate) fn ms(ms: u64) -> Duration {
    Duration::from_millis(1000 + ms)
}

pub(crate) fn symbols(sent: &[Outgoing]) -> Vec<(To, u16, u32, u16)> {
    let one = |one: &Outgoing| match Message::parse(&one.bytes) {
        Ok(Message::Data(data)) => {
            let id = data.payload_id.unpack(FieldSize::M8);
            Some((one.to, data.sender.sequence.0, id.block.0, id.symbol.0))
        }
        _ => None,
    };
    sent.iter().filter_map(one).collect()
}

/// The same symbol of another object.
pub(crate) fn with_object(message: &[u8], object: u16) -> Vec<u8> {
    let mut message = message.to_vec();
    message[14..16].copy_from_slice(&object.to_be_bytes());
    message
}

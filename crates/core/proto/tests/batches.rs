//! Super-packets whose symbols the storage lends have the same bytes as those read one by one.

use core::net::SocketAddr;
use fanfare_proto::{
    Bitrate, CongestionControl, FecConfig, FtiMode, MemoryStorage, NewObject, NodeId, ObjectKey,
    ObjectKind, ReceiverConfig, RecvMeta, SenderConfig, Session, SessionConfig, Storage,
    StorageError,
    rng::Rng,
    time::{Duration, Time},
};
use fanfare_wire::FecId;
use proptest::prelude::*;

const SIZE: usize = 200_000;
const STEP: Duration = Duration::from_micros(300);

/// A store that has nothing in memory.
struct ReadingStorage(MemoryStorage);

impl Storage for ReadingStorage {
    fn open(&mut self, key: ObjectKey, kind: ObjectKind, size: u64) -> Result<(), StorageError> {
        self.0.open(key, kind, size)
    }
    fn write(&mut self, key: ObjectKey, offset: u64, bytes: &[u8]) -> Result<(), StorageError> {
        self.0.write(key, offset, bytes)
    }
    fn read(&mut self, key: ObjectKey, offset: u64, into: &mut [u8]) -> Result<(), StorageError> {
        self.0.read(key, offset, into)
    }
    fn close(&mut self, key: ObjectKey, complete: bool) {
        self.0.close(key, complete);
    }
}

fn sender(config: &SenderConfig) -> (Session, MemoryStorage) {
    let config = SessionConfig { sender: Some(config.clone()), ..SessionConfig::default() };
    let mut session = Session::new(config, 1, Time::ZERO);
    let mut storage = MemoryStorage::new(1 << 20);
    for (n, size) in [SIZE, 1, 30_000].into_iter().enumerate() {
        let info = (n == 2).then(|| b"named".to_vec());
        let (kind, size, pass) = (ObjectKind::Data, size as u64, Default::default());
        let object = NewObject { kind, size, info, pass };
        let key = session.sender().enqueue(Time::ZERO, object).expect("room");
        storage.put(key, (0..size).map(|at| (at % 251) as u8).collect());
    }
    (session, storage)
}

fn receiver() -> (Session, MemoryStorage) {
    let config = SessionConfig {
        node_id: NodeId(2),
        receiver: Some(ReceiverConfig::default()),
        ..SessionConfig::default()
    };
    (Session::new(config, 2, Time::ZERO), MemoryStorage::new(1 << 20))
}

fn meta(host: u8) -> RecvMeta {
    RecvMeta {
        source: SocketAddr::from(([10, 0, 0, host], 6003)),
        ecn: None,
        unicast: false,
        waited: Duration::ZERO,
    }
}

/// Everything that the one says the other says, too; returns source symbols sent.
fn compare(config: &SenderConfig, (seed, loss): (u64, f64)) -> u64 {
    let (mut lent, mut storage) = sender(config);
    let (mut read, unlent) = sender(config);
    let mut unlent = ReadingStorage(unlent);
    let (mut hearer, mut heard) = receiver();
    let (mut rng, mut now) = (Rng::new(seed), Time::ZERO);
    let (mut one, mut other) = (Vec::new(), Vec::new());
    for _ in 0..3000 {
        now = now + STEP;
        lent.handle_timeout(now, &mut storage);
        read.handle_timeout(now, &mut unlent);
        loop {
            let sent = lent.poll_transmit(now, 45, &mut one, &mut storage);
            assert_eq!(sent, read.poll_transmit(now, 45, &mut other, &mut unlent));
            assert_eq!(one, other, "at {now}");
            assert_eq!(lent.poll_timeout(), read.poll_timeout());
            let Some(sent) = sent else { break };
            for datagram in one.chunks(sent.segment_size) {
                if !rng.random_bool(loss) {
                    hearer.handle_datagram(now, meta(1), datagram, &mut heard);
                }
            }
        }
        hearer.handle_timeout(now, &mut heard);
        while hearer.poll_transmit(now, 1, &mut one, &mut heard).is_some() {
            lent.handle_datagram(now, meta(2), &one, &mut storage);
            read.handle_datagram(now, meta(2), &one, &mut unlent);
        }
    }
    assert_eq!(lent.stats(), read.stats());
    lent.stats().source_sent
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn lent_symbols_are_sent_like_symbols_that_are_read(
        seed in any::<u64>(),
        loss in prop_oneof![Just(0.0), 0.0..0.3],
        (source, parity, proactive) in (1..200_u16, 0..50_u16, 0..3_u16),
        id in prop_oneof![Just(FecId::ReedSolomon8), Just(FecId::SmallBlockSystematic)],
        fti in prop_oneof![Just(FtiMode::Always), Just(FtiMode::Sparse), Just(FtiMode::InfoOnly)],
        mbps in prop_oneof![Just(20), Just(1000)],
        auto in any::<bool>(),
    ) {
        let fec = FecConfig { id, source, parity, proactive, ..FecConfig::default() };
        let congestion = if auto { CongestionControl::Auto } else { CongestionControl::Fixed };
        let rate = Bitrate::mbps(mbps);
        let config = SenderConfig { rate, congestion, fec, fti, ..SenderConfig::default() };
        prop_assert!(compare(&config, (seed, loss)) > 0);
    }
}

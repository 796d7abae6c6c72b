//! A group node that is told anything: shared by the property test beside this and by the fuzz target
//! `group`. Time, chance and storage are its own, so that an input always does the same.
//!
//! An input is a row of steps, the last of which may be cut short:
//!
//! ```text
//! time (8): 3 bits, see `STEPS`; 08: a frame is in a report | how (8) | speaker (8) | length (16) | bytes
//! how: its lower half is the kind of the frame that the bytes are, or 0: they are a whole datagram;
//!      its upper half, how many words of the bytes are header extensions of the command around the frame
//! ```

use std::net::SocketAddr;

use fanfare_messaging::{
    Filter, GroupConfig, GroupNode, GroupStats, History, Options, Ordering, Subscription, Topic,
};
use fanfare_proto::{
    Bitrate, Duration, FecConfig, MemoryStorage, ReceiverConfig, RecvMeta, SenderConfig,
    SessionConfig, Time,
};
use fanfare_wire::{
    GroupSize, InstanceId, NodeId, QuantizedRtt, Report, Sequence, cmd::Application,
    ext::Extensions, header::SenderFields,
};

/// Time that passes before a datagram, in milliseconds.
const STEPS: [u64; 8] = [0, 0, 1, 30, 200, 1_000, 9_000, 70_000];
/// Of a step's first byte: the frame is in a NORM_REPORT.
pub(crate) const REPORT: u8 = 0x08;
/// Bytes of others' messages that are kept.
const CACHE: u64 = 100_000;
/// Bytes of an object that is taken.
const OBJECT: u64 = 20_000;
/// Objects in view of each of so many senders.
const OBJECTS: u16 = 32;
const SENDERS: usize = 8;
/// A node that wakes so often without time passing, or says so much at once, does not come to rest.
const REST: usize = 2_000;
/// Steps of one input that are taken: longer ones say nothing new.
const STEPS_MAX: usize = 200;

/// The node, and what it stands on.
pub(crate) struct World {
    node: GroupNode,
    storage: MemoryStorage,
    now: Time,
}

impl World {
    /// A node that has published, and subscribes in every way.
    pub(crate) fn new() -> Self {
        let fec = FecConfig { source: 8, parity: 8, ..FecConfig::default() };
        let sender = SenderConfig {
            segment_size: 200,
            fec,
            rate: Bitrate::mbps(1),
            group_size: 10,
            grtt_initial: Duration::from_millis(50),
            ..SenderConfig::default()
        };
        let receiver = ReceiverConfig {
            objects_max: OBJECTS,
            senders_max: SENDERS,
            object_size_max: OBJECT,
            buffer_max: 100_000,
            ..ReceiverConfig::default()
        };
        let session = SessionConfig {
            node_id: NodeId(1),
            sender: Some(sender),
            receiver: Some(receiver),
            ..SessionConfig::default()
        };
        let config = GroupConfig {
            cache_bytes: CACHE,
            repair_rate: Bitrate::mbps(1),
            hears_itself: true,
            ..GroupConfig::default()
        };
        let node = GroupNode::new(config, session, 1, Time::ZERO);
        let mut world = Self { node, storage: MemoryStorage::new(OBJECT), now: Time::ZERO };
        world.begin();
        world
    }

    fn begin(&mut self) {
        let all = Subscription::new(Filter::new("#").expect("a filter"));
        for ordering in [Ordering::Source, Ordering::SourceTopic, Ordering::Latest] {
            self.node.subscribe(self.now, Subscription { ordering, ..all.clone() });
        }
        let history = History::Since(Duration::from_secs(60));
        let deadline = Some(Duration::from_secs(20));
        self.node.subscribe(self.now, Subscription { history, deadline, ..all });
        let topic = Topic::new("a/b").expect("a topic");
        for size in [5, 1_000] {
            let content = vec![7; size];
            let published = self.node.publish(self.now, &topic, &content, Options::default());
            let published = published.expect("there is room");
            self.storage.put(published.key, content);
            self.node.watch(published.key);
        }
        self.rest();
    }

    /// Takes all steps of an input.
    pub(crate) fn run(&mut self, mut input: &[u8]) {
        for _ in 0..STEPS_MAX {
            let &[time, how, speaker, high, low, ref rest @ ..] = input else { return };
            let length = usize::from(u16::from_be_bytes([high, low])).min(rest.len());
            let (bytes, behind) = rest.split_at(length);
            input = behind;
            self.pass(Duration::from_millis(STEPS[usize::from(time & 7)]));
            self.hear((how, time & REPORT != 0), speaker, bytes);
            self.rest();
            self.check();
        }
    }

    /// What came of it.
    #[allow(dead_code, reason = "the fuzz target has no use for it")]
    pub(crate) fn stats(&self) -> GroupStats {
        self.node.stats()
    }

    fn hear(&mut self, (how, report): (u8, bool), speaker: u8, bytes: &[u8]) {
        let datagram = match how & 0x0f {
            0 => bytes.to_vec(),
            kind => framed((kind, report), usize::from(how >> 4) * 4, speaker, bytes),
        };
        let source = SocketAddr::from(([10, 0, 0, speaker], 6004));
        let meta = RecvMeta { source, ecn: None, unicast: false, waited: Duration::ZERO };
        self.node.handle_datagram(self.now, meta, &datagram, &mut self.storage);
    }

    /// Lets time pass, and the node do what it wants meanwhile.
    fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        let (mut last, mut wakes) = (self.now, 0);
        while let Some((at, why)) = self.node.poll_timeout().filter(|(at, _)| *at <= end) {
            self.now = self.now.max(at);
            wakes = if self.now == last { wakes + 1 } else { 0 };
            last = self.now;
            assert!(wakes < REST, "it wakes again and again at {last:?}: {why:?}");
            self.node.handle_timeout(self.now, &mut self.storage);
            self.rest();
        }
        self.now = end;
    }

    /// Until the node has nothing more to say now.
    fn rest(&mut self) {
        let mut buffer = Vec::new();
        let mut said = 0;
        while self.node.poll_transmit(self.now, 1, &mut buffer, &mut self.storage).is_some() {
            said += 1;
            assert!(said < REST, "it does not stop speaking");
        }
        let told = std::iter::from_fn(|| self.node.poll_event()).take(10 * REST).count();
        assert!(told < 10 * REST, "it does not stop telling");
    }

    /// What is kept has bounds.
    fn check(&mut self) {
        let (_, bytes) = self.node.kept();
        // What is whole gives way for what is new, but for what waits for its turn in an order.
        let waiting = SENDERS as u64 * u64::from(OBJECTS) * OBJECT;
        assert!(bytes <= CACHE + waiting, "{bytes} bytes kept");
        let load = self.node.load();
        assert!(load.publishers <= fanfare_messaging::PUBLISHERS_MAX + SENDERS, "{load:?}");
        assert!(load.deadlines <= fanfare_messaging::DEADLINES_MAX, "{load:?}");
        assert!(load.requests <= 4_096 && load.relays <= 1_024, "{load:?}");
        assert!(self.node.members().len() <= 4_096, "nodes");
    }
}

/// The command or report of `speaker` that carries a frame.
fn framed((kind, report): (u8, bool), extensions: usize, speaker: u8, bytes: &[u8]) -> Vec<u8> {
    let (area, body) = bytes.split_at(extensions.min(bytes.len()));
    let extensions = Extensions::parse(area).unwrap_or_default();
    let mut out = Vec::new();
    if report {
        let payload = &[&b"F"[..], &[0x20 | kind & 0x0f], body].concat();
        let (sequence, source_id) = (Sequence(0), NodeId(u32::from(speaker)));
        Report { sequence, source_id, extensions, payload }.encode(&mut out);
        return out;
    }
    let sender = SenderFields {
        sequence: Sequence(0),
        source_id: NodeId(u32::from(speaker)),
        instance_id: InstanceId(1),
        grtt: QuantizedRtt(0xa6),
        backoff: 4,
        gsize: GroupSize(2),
    };
    let content = [&b"FG"[..], &[0x20 | kind & 0x0f], body].concat();
    Application { sender, extensions, content: &content }.encode(&mut out);
    out
}

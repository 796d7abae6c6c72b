//! A sender and some receivers, and a network between them that loses, repeats and reorders.

use std::{collections::BTreeMap, net::SocketAddr};

use fanfare_proto::{
    Bitrate, Destination, Duration, Event, InstanceId, MemoryStorage, NewStream, NodeId, ObjectKey,
    ReceiverConfig, RecvMeta, SenderConfig, Session, SessionConfig, StreamFlush, StreamPolicy,
    StreamRead, Time, rng::Rng,
};

/// What the network does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line {
    pub(crate) loss: f64,
    /// How often a datagram arrives twice.
    pub(crate) twice: f64,
    /// How much longer one may take than another.
    pub(crate) spread: Duration,
}

#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) policy: StreamPolicy,
    pub(crate) buffer: u64,
    pub(crate) sender: SenderConfig,
    pub(crate) receiver: ReceiverConfig,
    pub(crate) receivers: usize,
    pub(crate) bytes: usize,
    pub(crate) line: Line,
    pub(crate) reads: bool,
    /// Receivers also read what is here behind what is missing.
    pub(crate) early: bool,
    /// Receivers join so late.
    pub(crate) late: Option<Duration>,
}

#[derive(Debug)]
pub(crate) struct Receiver {
    session: Session,
    storage: MemoryStorage,
    key: Option<ObjectKey>,
    reads: Vec<StreamRead>,
    bytes: Vec<u8>,
    /// Read before their turn: from, and what.
    early: Vec<(u64, Vec<u8>, Option<usize>)>,
}

impl Receiver {
    pub(crate) fn gaps(&self) -> usize {
        self.reads.iter().filter(|read| matches!(read, StreamRead::Gap { .. })).count()
    }

    pub(crate) fn ended(&self) -> Option<u64> {
        match self.reads.last() {
            Some(StreamRead::End { offset }) => Some(*offset),
            _ => None,
        }
    }

    /// Bytes that were read before their turn.
    pub(crate) fn early(&self) -> usize {
        self.early.iter().map(|(_, bytes, _)| bytes.len()).sum()
    }

    /// What was read before its turn is what was sent, and was read so once.
    pub(crate) fn check_early(&self, sent: &Sent, seed: u64) {
        let mut seen = vec![false; sent.bytes.len()];
        for (from, bytes, mark) in &self.early {
            let from = *from as usize;
            assert!(sent.bytes[from..from + bytes.len()] == *bytes, "seed {seed} at {from}");
            assert!(mark.is_none_or(|at| sent.marks.contains(&(from + at))), "seed {seed}");
            for seen in &mut seen[from..from + bytes.len()] {
                assert!(!std::mem::replace(seen, true), "seed {seed} at {from}: twice");
            }
        }
    }

    /// What was read is what was sent, in order; what is missing was told.
    pub(crate) fn check(&self, sent: &Sent, seed: u64) {
        let (mut at, mut taken) = (None, 0);
        for read in &self.reads {
            match *read {
                StreamRead::Data { bytes, offset, msg_start } => {
                    assert_eq!(at.unwrap_or(offset), offset, "seed {seed}: {:?}", self.reads);
                    let got = &self.bytes[taken..taken + bytes];
                    let from = offset as usize;
                    assert!(sent.bytes[from..from + bytes] == *got, "seed {seed} at {offset}");
                    if let Some(start) = msg_start {
                        assert!(sent.marks.contains(&(from + start)), "seed {seed} at {offset}");
                    }
                    taken += bytes;
                    at = Some(offset + bytes as u64);
                }
                StreamRead::Gap { from, to } => {
                    assert!(from < to && at.is_none_or(|at| at == from), "seed {seed}: {read:?}");
                    at = Some(to);
                }
                StreamRead::End { offset } => {
                    assert_eq!(at.unwrap_or(offset), offset, "seed {seed}");
                }
                StreamRead::Empty | StreamRead::Gone => panic!("seed {seed}: {read:?}"),
            }
        }
        assert_eq!(taken, self.bytes.len());
    }
}

/// What was written, and where messages begin in it.
#[derive(Debug, Default)]
pub(crate) struct Sent {
    pub(crate) bytes: Vec<u8>,
    pub(crate) marks: Vec<usize>,
}

pub(crate) struct World {
    plan: Plan,
    rng: Rng,
    now: Time,
    sender: Session,
    storage: MemoryStorage,
    key: ObjectKey,
    pub(crate) sent: Sent,
    written: usize,
    closed: bool,
    /// Room is awaited.
    stuck: bool,
    watermark: bool,
    pub(crate) reads: bool,
    pub(crate) receivers: Vec<Receiver>,
    /// What is under way, by arrival: to which node (0: the sender), from whom.
    wire: BTreeMap<(Time, u64), (usize, usize, Vec<u8>)>,
    number: u64,
}

fn address(node: usize) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, node as u8 + 1], 4000))
}

const NODE: u32 = 100;

impl World {
    pub(crate) fn new(seed: u64, plan: Plan) -> Self {
        let now = Time::ZERO;
        let instance_id = InstanceId(7);
        let sender = SenderConfig { rate: Bitrate::mbps(1), instance_id, ..plan.sender.clone() };
        let config =
            SessionConfig { node_id: NodeId(1), sender: Some(sender), ..SessionConfig::default() };
        let mut sender = Session::new(config, seed, now);
        let mut storage = MemoryStorage::new(1 << 20);
        let stream =
            NewStream { buffer: plan.buffer, policy: plan.policy, info: Some(vec![1, 2, 3]) };
        let key = sender.sender().open_stream(now, &stream, &mut storage).unwrap();
        let receivers = (0..plan.receivers).map(|n| {
            let config = SessionConfig {
                node_id: NodeId(NODE + n as u32),
                receiver: Some(plan.receiver.clone()),
                ..SessionConfig::default()
            };
            let session = Session::new(config, seed + 1 + n as u64, now);
            let storage = MemoryStorage::new(1 << 20);
            Receiver {
                session,
                storage,
                key: None,
                reads: Vec::new(),
                bytes: Vec::new(),
                early: Vec::new(),
            }
        });
        let mut rng = Rng::new(seed);
        let receivers = receivers.collect();
        let mut sent = Sent { marks: vec![0], ..Sent::default() };
        sent.bytes.extend((0..plan.bytes).map(|_| rng.next_u64() as u8));
        Self {
            rng,
            now,
            sender,
            storage,
            key,
            sent,
            written: 0,
            closed: false,
            stuck: false,
            watermark: false,
            reads: plan.reads,
            receivers,
            wire: BTreeMap::new(),
            number: 0,
            plan,
        }
    }

    pub(crate) fn written(&self) -> usize {
        self.written
    }

    fn chance(&mut self, probability: f64) -> bool {
        (self.rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64 <= probability
            && probability > 0.0
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.rng.next_u64() % limit.max(1)
    }

    /// Until all have read to the end.
    pub(crate) fn run(&mut self) {
        self.run_for(Duration::from_secs(300));
    }

    pub(crate) fn run_for(&mut self, duration: Duration) {
        let until = self.now + duration;
        let mut next_act = self.now;
        while self.now < until && self.receivers.iter().any(|r| r.ended().is_none()) {
            if self.now >= next_act {
                self.act();
                let pause = self.below(3000);
                next_act = self.now + Duration::from_micros(pause);
            }
            self.step();
            let mut next = next_act;
            let sessions = self.receivers.iter().map(|r| &r.session).chain([&self.sender]);
            next = sessions.filter_map(|s| Some(s.poll_timeout()?.0)).fold(next, Time::min);
            next = self.wire.keys().next().map_or(next, |(at, _)| next.min(*at));
            self.now = self.now.max(next);
        }
    }

    /// Something that an application does.
    fn act(&mut self) {
        let id = self.key.object;
        let left = self.sent.bytes.len() - self.written;
        if self.stuck || self.closed {
            return;
        }
        if left == 0 {
            self.closed = self.sender.sender().close_stream(self.now, id, &mut self.storage);
            self.stuck = !self.closed;
            return self.watermark(true);
        }
        match self.below(8) {
            0 => {
                self.sender.sender().mark_stream(id);
                self.sent.marks.push(self.written);
            }
            1 | 2 => {
                let how = [StreamFlush::Passive, StreamFlush::Active][self.below(2) as usize];
                self.sender.sender().flush_stream(self.now, id, how, &mut self.storage);
            }
            _ => {
                let most = if self.below(4) == 0 { 400 } else { 50 };
                let count = left.min(1 + self.below(most) as usize);
                let bytes = &self.sent.bytes[self.written..self.written + count];
                let mut sender = self.sender.sender();
                let taken = sender.write_stream(self.now, id, bytes, &mut self.storage);
                self.written += taken;
                self.stuck = taken < count;
            }
        }
        self.watermark(false);
    }

    /// Word of delivery is wanted when half of the buffer waits for it.
    fn watermark(&mut self, last: bool) {
        if self.plan.policy != StreamPolicy::Lossless || self.watermark {
            return;
        }
        let progress = self.sender.sender().stream_progress(self.key.object).unwrap();
        let waiting = progress.packed - progress.released;
        if waiting * 2 >= self.plan.buffer || self.stuck || last {
            let nodes: Vec<NodeId> =
                (0..self.plan.receivers).map(|n| NodeId(NODE + n as u32)).collect();
            self.sender.sender().set_watermark(&nodes);
            self.watermark = progress.packed > progress.released;
        }
    }

    fn step(&mut self) {
        while let Some(entry) = self.wire.first_entry() {
            if entry.key().0 > self.now {
                break;
            }
            let (to, from, bytes) = entry.remove();
            let meta = RecvMeta {
                source: address(from),
                ecn: None,
                unicast: false,
                waited: Duration::ZERO,
            };
            let here = self.plan.late.is_none_or(|late| self.now.since(Time::ZERO) >= late);
            match to {
                0 => self.sender.handle_datagram(self.now, meta, &bytes, &mut self.storage),
                _ if !here => {}
                n => {
                    let Receiver { session, storage, .. } = &mut self.receivers[n - 1];
                    session.handle_datagram(self.now, meta, &bytes, storage);
                }
            }
        }
        self.sender.handle_timeout(self.now, &mut self.storage);
        while let Some(event) = self.sender.poll_event() {
            match event {
                Event::StreamWritable { .. } => self.stuck = false,
                Event::WatermarkDone { .. } => self.watermark = false,
                _ => {}
            }
        }
        self.watermark(false);
        self.transmit(0);
        for n in 0..self.receivers.len() {
            let Receiver { session, storage, .. } = &mut self.receivers[n];
            session.handle_timeout(self.now, storage);
            self.read(n);
            self.transmit(n + 1);
        }
    }

    fn read(&mut self, n: usize) {
        let most = 1 + self.below(200) as usize;
        let (now, reads, ahead) = (self.now, self.reads, self.plan.early);
        let Receiver { session, storage, key, reads: told, bytes, early } = &mut self.receivers[n];
        while let Some(event) = session.poll_event() {
            if let Event::ObjectNew { key: new, .. } = event {
                *key = Some(new);
            }
        }
        let Some(key) = key.filter(|_| reads) else { return };
        if matches!(told.last(), Some(StreamRead::End { .. })) {
            return;
        }
        match session.receiver().read_stream(now, key, most, storage, bytes) {
            StreamRead::Empty if ahead => {
                let mut run = Vec::new();
                let read = session.receiver().read_stream_early(now, key, most, storage, &mut run);
                if let StreamRead::Data { offset, msg_start, .. } = read {
                    early.push((offset, run, msg_start));
                }
            }
            StreamRead::Empty => {}
            read => {
                told.push(read);
                if matches!(read, StreamRead::End { .. }) {
                    session.receiver().finish_stream(now, key, storage);
                }
            }
        }
    }

    fn transmit(&mut self, from: usize) {
        let mut buffer = Vec::new();
        loop {
            let (session, storage) = match from {
                0 => (&mut self.sender, &mut self.storage),
                n => {
                    let Receiver { session, storage, .. } = &mut self.receivers[n - 1];
                    (session, storage)
                }
            };
            let Some(transmit) = session.poll_transmit(self.now, 8, &mut buffer, storage) else {
                return;
            };
            for datagram in buffer.chunks(transmit.segment_size).map(<[u8]>::to_vec) {
                for to in 0..=self.receivers.len() {
                    let meant = match transmit.destination {
                        Destination::Group => true,
                        Destination::Peer(peer) => peer == address(to),
                    };
                    if to == from || !meant || self.chance(self.plan.line.loss) {
                        continue;
                    }
                    let copies = 1 + usize::from(self.chance(self.plan.line.twice));
                    for _ in 0..copies {
                        let spread = self.plan.line.spread.as_nanos() as u64;
                        let delay = 500_000 + self.below(spread);
                        let at = self.now + Duration::from_nanos(delay);
                        self.number += 1;
                        self.wire.insert((at, self.number), (to, from, datagram.clone()));
                    }
                }
            }
        }
    }
}

//! `fanfare bench packets`: what the protocol itself takes for a packet, without sockets and files.

use std::{
    net::{Ipv4Addr, SocketAddr},
    time::{Duration, Instant},
};

use clap::Args;
use fanfare_proto::{
    Bitrate, CongestionControl, Event, NewObject, ObjectKey, ObjectKind, ReceiverConfig, RecvMeta,
    SenderConfig, Session, SessionConfig, Storage, StorageError, Time,
};
use serde::Serialize;

use super::lines::print;
use fanfare_command::{Exit, Failure, Help, Output, OutputArgs};

/// Segments in a super-packet of 64 KiB.
const BATCH: usize = 45;
const RATE: Bitrate = Bitrate::mbps(2000);
/// What a driver does at this rate between two looks.
const STEP: Duration = Duration::from_micros(250);
/// Virtual time after which it has failed.
const LIMIT: Duration = Duration::from_secs(600);

const HELP: Help = Help::new(&[
    ("fanfare bench packets", "100 MB"),
    ("fanfare bench packets --size 20000000", "less, for callgrind"),
]);

/// Measure the time of the protocol for a packet, in memory
///
/// There are no sockets and no files. Instructions are a figure without noise: run it under
/// valgrind --tool=callgrind, with --toggle-collect='*Session*poll_transmit*' for the sender, or
/// '*Session*handle_datagrams*' for the receiver (docs/explanation/throughput.md).
#[derive(Debug, Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
pub(super) struct PacketsArgs {
    /// Bytes of the object
    #[arg(long, default_value_t = 100_000_000, value_parser = clap::value_parser!(u64).range(1..=4_000_000_000))]
    size: u64,
    /// Lose one of N packets
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(2..))]
    lose_every: Option<u64>,
    /// Use the congestion controller of 'fanfare send --cc auto'
    #[arg(long)]
    auto: bool,
    #[command(flatten)]
    output: OutputArgs,
}

/// What it came to.
#[derive(Debug, Serialize)]
struct Counted {
    packets: u64,
    sender_ns_per_packet: f64,
    receiver_ns_per_packet: f64,
}

pub(super) fn run(args: &PacketsArgs) -> Exit {
    let output = Output::new(args.output);
    match Exchange::new(args).and_then(|exchange| exchange.run(args)) {
        Some(counted) => {
            print(&output, "packets", &counted);
            output.data(&format!(
                "{} packets; sender {:.0} ns, receiver {:.0} ns for each",
                counted.packets, counted.sender_ns_per_packet, counted.receiver_ns_per_packet
            ));
            Exit::Done
        }
        None => {
            let text = "packets (): the object did not arrive. Report this";
            fanfare_command::give_up(
                &output,
                &Failure::new(Exit::Failed, "bench.packets", text.to_owned()),
            )
        }
    }
}

/// Takes bytes as fast as memory is written, and keeps none.
#[derive(Debug, Default)]
struct Void {
    place: Vec<u8>,
}

impl Storage for Void {
    fn open(&mut self, _: ObjectKey, _: ObjectKind, _: u64) -> Result<(), StorageError> {
        self.place.resize(1 << 16, 0);
        Ok(())
    }
    fn write(&mut self, _: ObjectKey, _: u64, bytes: &[u8]) -> Result<(), StorageError> {
        let place = self.place.get_mut(..bytes.len()).ok_or(StorageError::Full)?;
        place.copy_from_slice(bytes);
        Ok(())
    }
    fn read(&mut self, _: ObjectKey, _: u64, into: &mut [u8]) -> Result<(), StorageError> {
        into.fill(0);
        Ok(())
    }
    fn lend(&mut self, _: ObjectKey, _: u64, len: usize) -> Option<&[u8]> {
        self.place.resize(1 << 16, 0);
        self.place.get(..len)
    }
    fn close(&mut self, _: ObjectKey, _: bool) {}
}

/// One sender and one receiver without anything between.
struct Exchange {
    sender: (Session, Void),
    receiver: (Session, Void),
    now: Time,
    buffer: Vec<u8>,
    packets: u64,
    spent: [Duration; 2],
}

impl Exchange {
    fn new(args: &PacketsArgs) -> Option<Self> {
        let congestion = if args.auto { CongestionControl::Auto } else { CongestionControl::Fixed };
        let sender = SenderConfig { rate: RATE, congestion, ..SenderConfig::default() };
        let sender = SessionConfig { sender: Some(sender), ..SessionConfig::default() };
        let receiver = SessionConfig {
            node_id: fanfare_proto::NodeId(2),
            receiver: Some(ReceiverConfig::default()),
            ..SessionConfig::default()
        };
        let mut sender = Session::new(sender, 1, Time::ZERO);
        let (kind, size, pass) = (ObjectKind::Data, args.size, Default::default());
        sender.sender().enqueue(Time::ZERO, NewObject { kind, size, info: None, pass }).ok()?;
        Some(Self {
            sender: (sender, Void::default()),
            receiver: (Session::new(receiver, 2, Time::ZERO), Void::default()),
            now: Time::ZERO,
            buffer: Vec::new(),
            packets: 0,
            spent: [Duration::ZERO; 2],
        })
    }

    /// `None` when it does not arrive.
    fn run(mut self, args: &PacketsArgs) -> Option<Counted> {
        let mut arrived = false;
        while !arrived {
            self.send_on(args.lose_every);
            self.answer();
            while let Some(event) = self.receiver.0.poll_event() {
                arrived |= matches!(event, Event::ObjectCompleted { .. });
            }
            self.now = self.now + STEP;
            if self.now > Time::ZERO + LIMIT {
                return None;
            }
        }
        let each = |spent: Duration| spent.as_nanos() as f64 / self.packets as f64;
        let [sender, receiver] = self.spent.map(each);
        Some(Counted {
            packets: self.packets,
            sender_ns_per_packet: sender,
            receiver_ns_per_packet: receiver,
        })
    }

    fn send_on(&mut self, lose_every: Option<u64>) {
        let meta = meta(1);
        loop {
            let begun = Instant::now();
            let (session, storage) = &mut self.sender;
            session.handle_timeout(self.now, storage);
            let sent = session.poll_transmit(self.now, BATCH, &mut self.buffer, storage);
            self.spent[0] += begun.elapsed();
            let Some(transmit) = sent else { return };
            let begun = Instant::now();
            let (session, storage) = &mut self.receiver;
            let (size, mut from, mut at) = (transmit.segment_size, 0, 0);
            while at < self.buffer.len() {
                let end = (at + size).min(self.buffer.len());
                self.packets += 1;
                if lose_every.is_some_and(|every| self.packets.is_multiple_of(every)) {
                    let run = &self.buffer[from..at];
                    session.handle_datagrams(self.now, meta, run, size, storage);
                    from = end;
                }
                at = end;
            }
            session.handle_datagrams(self.now, meta, &self.buffer[from..], size, storage);
            self.spent[1] += begun.elapsed();
        }
    }

    fn answer(&mut self) {
        let (session, storage) = &mut self.receiver;
        session.handle_timeout(self.now, storage);
        while session.poll_transmit(self.now, 1, &mut self.buffer, storage).is_some() {
            let (sender, storage) = &mut self.sender;
            sender.handle_datagram(self.now, meta(2), &self.buffer, storage);
        }
    }
}

fn meta(host: u8) -> RecvMeta {
    let source = SocketAddr::from((Ipv4Addr::new(10, 0, 0, host), 6003));
    RecvMeta { source, ecn: None, unicast: false, waited: Duration::ZERO }
}

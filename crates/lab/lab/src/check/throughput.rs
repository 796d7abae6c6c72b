//! How much the laboratory carries: super-packets to a group, with loss and delay for each
//! datagram.

use super::{SIGMAS_MAX, is_accounted, measurement::opened};
use crate::{
    emulator::snapshot::Snapshot,
    error::LabError,
    lab::Lab,
    super_packet::{self, SuperPackets},
    system::priority,
};
use serde::Serialize;
use socket2::Socket;
use std::{
    net::Ipv4Addr,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

/// Full Ethernet packets, as many as one call takes. Half a second at 1 Gbit/s may wait: the receiving
/// threads share their cores with the emulator.
const PACKETS: SuperPackets = SuperPackets {
    group: Ipv4Addr::new(239, 255, 77, 2),
    port: 6078,
    segment: 1472,
    segments: 44,
    buffer: 64 << 20,
};
const LOSS: f64 = 0.05;
/// A packet's bits: IP and UDP before each datagram.
const PACKET: usize = (PACKETS.segment + 28) * 8;
const TAIL: Duration = Duration::from_millis(500);

/// A measurement of what is carried to a group of three over 5 % loss and 20 ms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Throughput {
    /// IP bits per second that the sender sends.
    pub rate: f64,
    /// How long.
    pub seconds: u64,
}

/// What was carried.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Carried {
    /// IP bits per second that the sender has sent.
    pub sent_bps: f64,
    /// Of each receiver.
    pub received_bps: Vec<f64>,
    /// Share of the datagrams that a receiver did not get, of each.
    pub loss: Vec<f64>,
    /// Frames that the emulator did not fetch in time.
    pub overruns: u64,
    /// The emulator's share of one core.
    pub cores: f64,
    /// The emulator's lateness: median and 99th percentile, milliseconds.
    pub late_ms: [f64; 2],
    /// Every packet is in one of the emulator's numbers.
    pub accounted: bool,
    /// Nothing was lost but what the model loses, and the rate was reached to a hundredth.
    pub ok: bool,
}

impl Throughput {
    /// The network of the measurement.
    pub(super) fn scenario() -> String {
        format!(
            "[scenario]\nname = \"throughput\"\nduration = \"1h\"\n\
             [[node]]\nname = \"n\"\ncount = 4\n\
             [[link]]\nfrom = \"*\"\nto = \"*\"\ndelay = \"20ms\"\nloss = {LOSS}\n"
        )
    }

    /// Measures it.
    ///
    /// # Errors
    /// When no lab can be made here.
    pub fn run(self) -> Result<Carried, LabError> {
        let lab = Lab::up(&super::read(&Self::scenario()), 1)?;
        let over = AtomicBool::new(false);
        let (seconds, datagrams, received) = thread::scope(|scope| {
            let mut receivers = Vec::new();
            for host in &lab.hosts()[1..] {
                let socket = opened(host, || PACKETS.listen(host.address()))?;
                receivers.push(scope.spawn(|| count(socket, &over)));
            }
            let host = &lab.hosts()[0];
            let socket = opened(host, || PACKETS.talk(host.address()))?;
            let sender = scope.spawn(move || self.send(&socket));
            let (seconds, datagrams) = sender.join().unwrap_or_default();
            thread::sleep(TAIL);
            over.store(true, Ordering::SeqCst);
            let received = receivers.into_iter().map(|r| r.join().unwrap_or(0)).collect();
            Ok::<_, LabError>((seconds, datagrams, received))
        })?;
        let overruns = lab.overruns()?;
        Ok(self.quantity(seconds, datagrams, received, &lab.down()?, overruns))
    }

    /// Sends at the rate; gives how long it took, and the datagrams.
    fn send(self, socket: &Socket) -> (f64, u64) {
        let _ = priority::go_early();
        let bytes = PACKETS.content();
        let gap = (PACKETS.segments * PACKET) as f64 / self.rate;
        let begun = Instant::now();
        let mut calls = 0_u32;
        while begun.elapsed().as_secs() < self.seconds {
            let at = begun + Duration::from_secs_f64(f64::from(calls) * gap);
            thread::sleep(at.saturating_duration_since(Instant::now()));
            // What does not leave is missing at all receivers, which shows.
            let _ = socket.send(&bytes);
            calls += 1;
        }
        (begun.elapsed().as_secs_f64(), u64::from(calls) * PACKETS.segments as u64)
    }

    fn quantity(
        self,
        seconds: f64,
        datagrams: u64,
        received: Vec<u64>,
        counted: &Snapshot,
        overruns: u64,
    ) -> Carried {
        let bps = |datagrams: u64| (datagrams as usize * PACKET) as f64 / seconds;
        let sent = datagrams as f64;
        let loss: Vec<f64> = received.iter().map(|n| 1.0 - *n as f64 / sent).collect();
        let deviation = (LOSS * (1.0 - LOSS) / sent).sqrt();
        let right = |loss: &f64| (loss - LOSS).abs() <= SIGMAS_MAX * deviation;
        let accounted = overruns == 0 && is_accounted(counted);
        Carried {
            sent_bps: bps(datagrams),
            received_bps: received.into_iter().map(bps).collect(),
            ok: accounted && loss.iter().all(right) && bps(datagrams) >= 0.99 * self.rate,
            loss,
            overruns,
            cores: counted.cpu_seconds / counted.seconds,
            late_ms: [counted.lateness.median_ms, counted.lateness.p99_ms],
            accounted,
        }
    }
}

/// Counts datagrams until it is over.
fn count(socket: Socket, over: &AtomicBool) -> u64 {
    // Its host's share of the machine; without it a loaded machine measures itself.
    let _ = priority::go_early();
    super_packet::count(socket, over) / PACKETS.segment as u64
}

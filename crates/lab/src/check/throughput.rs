//! How much the laboratory carries: super-packets to a group, with a loss and a delay that each
//! datagram meets for itself.

use super::{SIGMAS_MAX, is_accounted, option};
use crate::{error::LabError, lab::Lab, priority, snapshot::Snapshot};
use serde::Serialize;
use socket2::{Domain, Socket, Type};
use std::{
    io::{self, Read as _},
    net::{Ipv4Addr, SocketAddr},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

const PORT: u16 = 6078;
const GROUP: Ipv4Addr = Ipv4Addr::new(239, 255, 77, 2);
/// UDP payload: a full Ethernet packet.
const SEGMENT: usize = 1472;
/// Of one call: what 16 bits of length hold.
const SEGMENTS: usize = 44;
const LOSS: f64 = 0.05;
const HEADERS: usize = 28;
/// Half a second at 1 Gbit/s: the receiving threads share their cores with the emulator.
const BUFFER: usize = 64 << 20;
const TAIL: Duration = Duration::from_millis(500);
const LOOK: Duration = Duration::from_millis(50);

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
                let socket = super::measurement::opened(host, || listen(host.address()))?;
                receivers.push(scope.spawn(|| count(socket, &over)));
            }
            let host = &lab.hosts()[0];
            let socket = super::measurement::opened(host, || talk(host.address()))?;
            let sender = scope.spawn(move || self.send(&socket));
            let (seconds, datagrams) = sender.join().unwrap_or_default();
            thread::sleep(TAIL);
            over.store(true, Ordering::SeqCst);
            let received = receivers.into_iter().map(|r| r.join().unwrap_or(0)).collect();
            Ok::<_, LabError>((seconds, datagrams, received))
        })?;
        let overruns = lab.overruns()?;
        Ok(self.judge(seconds, datagrams, received, &lab.down()?, overruns))
    }

    /// Sends at the rate; gives how long it took, and the datagrams.
    fn send(self, socket: &Socket) -> (f64, u64) {
        let _ = priority::go_early();
        let bytes = vec![0x5a; SEGMENT * SEGMENTS];
        let gap = (SEGMENTS * (SEGMENT + HEADERS) * 8) as f64 / self.rate;
        let begun = Instant::now();
        let mut calls = 0_u32;
        while begun.elapsed().as_secs() < self.seconds {
            let at = begun + Duration::from_secs_f64(f64::from(calls) * gap);
            thread::sleep(at.saturating_duration_since(Instant::now()));
            // What does not leave is missing at all receivers, which shows.
            let _ = socket.send(&bytes);
            calls += 1;
        }
        (begun.elapsed().as_secs_f64(), u64::from(calls) * SEGMENTS as u64)
    }

    fn judge(
        self,
        seconds: f64,
        datagrams: u64,
        received: Vec<u64>,
        counted: &Snapshot,
        overruns: u64,
    ) -> Carried {
        let bps = |datagrams: u64| (datagrams as usize * (SEGMENT + HEADERS) * 8) as f64 / seconds;
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

fn listen(own: Ipv4Addr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, None)?;
    option::buffer(&socket, BUFFER)?;
    option::receive_joined(&socket)?;
    socket.bind(&SocketAddr::from((Ipv4Addr::UNSPECIFIED, PORT)).into())?;
    socket.join_multicast_v4(&GROUP, &own)?;
    socket.set_read_timeout(Some(LOOK))?;
    Ok(socket)
}

fn talk(own: Ipv4Addr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, None)?;
    socket.bind(&SocketAddr::from((own, 0)).into())?;
    socket.set_multicast_if_v4(&own)?;
    socket.set_multicast_loop_v4(false)?;
    socket.connect(&SocketAddr::from((GROUP, PORT)).into())?;
    option::send_segments(&socket, SEGMENT)?;
    Ok(socket)
}

/// Counts datagrams until it is over.
fn count(mut socket: Socket, over: &AtomicBool) -> u64 {
    // Its host's share of the machine; without it a loaded machine measures itself.
    let _ = priority::go_early();
    let mut buffer = vec![0; 1 << 16];
    let mut bytes = 0;
    while !over.load(Ordering::SeqCst) {
        bytes += socket.read(&mut buffer).unwrap_or(0);
    }
    (bytes / SEGMENT) as u64
}

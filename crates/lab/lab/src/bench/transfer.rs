//! One file from one host to all others, by one system at one rate.
//!
//! The time starts when data leaves the sender's host, seen at the other end of its cable. It ends
//! for a receiver when its program shows that it has the file. The file's BLAKE3 hash is compared
//! afterwards.

use super::{Cell, first_packet::FirstPacket};
use crate::{
    error::LabError,
    payload,
    peer::{
        Peer, System, Task,
        delivery::{self, Delivery, Order},
    },
    wait::WakeEvent,
};
use serde::Serialize;
use std::{
    fs,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

/// A transfer slower than this is given up: a tenth of the slowest peer to ten receivers.
const SLOWEST: f64 = 10e6;
/// Beside that, for gathering receivers and for the end.
const BESIDE: Duration = Duration::from_secs(30);

/// One transfer, as it was.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Transfer {
    /// Who sent.
    pub system: &'static str,
    /// Receivers.
    pub receivers: usize,
    /// The rate that it was told, bit/s.
    pub rate_bps: u64,
    /// Bits of the file per second at the slowest receiver; zero when one did not get it.
    pub goodput_bps: f64,
    /// The same of each receiver; none when one did not get it.
    pub each_bps: Vec<f64>,
    /// Bits of the file per second from starting the sender's program until the slowest receiver has
    /// it: reading and hashing it before it is sent are in it. Zero as above.
    pub started_bps: f64,
    /// Seconds of processor per 10^9 bytes of file: sender, and mean of receivers.
    pub cpu_per_gb: [f64; 2],
    /// Most resident memory, bytes: sender, and largest of receivers.
    pub memory: [u64; 2],
    /// Why it is not complete.
    pub why: String,
}

/// Runs one.
pub(super) fn run(
    cell: &Cell<'_>,
    system: System,
    peer: &dyn Peer,
    rate: u64,
) -> Result<Transfer, LabError> {
    let directory = cell.scratch.join("transfer");
    let failed = |error: std::io::Error| {
        LabError::system(format_args!("file ({})", directory.display()), &error)
    };
    fs::create_dir_all(&directory).map_err(failed)?;
    let task = Task {
        source: source(cell.scratch, cell.bench.size).map_err(failed)?,
        receivers: cell.receivers().iter().map(|host| host.address()).collect(),
        capacity: rate,
        round_trip: Duration::ZERO,
        limit: Duration::from_secs_f64(cell.bench.size as f64 * 8.0 / SLOWEST) + BESIDE,
        parity: cell.bench.parity,
    };
    let order = Order {
        system,
        peer,
        task: &task,
        directory: &directory,
        stop: cell.stop,
        interrupted: "bench (interrupted): not all was measured. Run it again",
    };
    let copies = cell.bench.size * task.receivers.len() as u64;
    let reserve = payload::MemoryReserve::shedding(&directory, copies).map_err(failed)?;
    let transfer = deliver(cell, order);
    drop(reserve);
    fs::remove_dir_all(&directory).map_err(failed)?;
    transfer
}

/// Where it is.
pub(super) fn source_path(scratch: &Path) -> PathBuf {
    scratch.join("payload.bin")
}

/// Made once.
fn source(scratch: &Path, size: u64) -> std::io::Result<PathBuf> {
    let path = source_path(scratch);
    if !path.exists() {
        payload::write(&path, 0, size)?;
    }
    Ok(path)
}

fn deliver(cell: &Cell<'_>, order: Order<'_>) -> Result<Transfer, LabError> {
    let failed = |error: std::io::Error| LabError::system("bench (its files)", &error);
    let none = [Vec::new(), Vec::new()];
    let [to_sender, to_receivers] =
        if order.system == System::Fanfare { &cell.bench.extra } else { &none };
    let mut delivery = Delivery::to(order, cell.receivers(), to_receivers)?;
    let (beginning, over) = (FirstPacket::watch(cell.star)?, WakeEvent::new().map_err(failed)?);
    thread::scope(|scope| {
        let first = scope.spawn(|| beginning.wait(&over));
        let launched = Instant::now();
        let seen = delivery.send(cell.star.sender(), to_sender).and_then(|mut sender| {
            let why = delivery.wait(&mut sender)?;
            delivery.end(&mut sender);
            Ok((sender, why))
        });
        over.ring();
        let first = first.join().ok().flatten().unwrap_or(launched);
        let (sender, mut why) = seen?;
        let sent = delivery::hash(&order.task.source).map_err(failed)?;
        if why.is_empty() && delivery.right(sent).contains(&false) {
            "a file is not what was sent".clone_into(&mut why);
        }
        let (used, size) = (delivery.used(&sender), cell.bench.size as f64);
        let done = delivery.done().into_iter().collect::<Option<Vec<Instant>>>();
        let done = done.filter(|_| why.is_empty()).unwrap_or_default();
        let since = |begun: Instant| {
            done.iter()
                .map(move |at| size * 8.0 / (*at - begun).as_secs_f64())
                .collect::<Vec<f64>>()
        };
        let least = |each: &[f64]| each.iter().copied().min_by(f64::total_cmp).unwrap_or(0.0);
        let each = since(first);
        Ok(Transfer {
            system: order.system.name(),
            receivers: order.task.receivers.len(),
            rate_bps: order.task.capacity,
            goodput_bps: least(&each),
            started_bps: least(&since(launched)),
            each_bps: each,
            cpu_per_gb: used.cpu.map(|seconds| seconds / (size / 1e9)),
            memory: used.memory,
            why,
        })
    })
}

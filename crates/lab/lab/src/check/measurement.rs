//! Sends and receives on the hosts of a lab, with the kernel's receive times.

use super::{Times, option::received_at};
use crate::{error::LabError, host::Host, lab::Lab, system::priority};
use socket2::{Domain, Socket, Type};
use std::{
    io,
    net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

const PORT: u16 = 6077;
/// From the last datagram sent to the end: longer than any delay and queue of a cell.
const TAIL: Duration = Duration::from_millis(700);
/// A receiver that hears nothing looks this often whether it is over.
const LOOK: Duration = Duration::from_millis(50);
/// Room for what arrives while a receiver is not run: half a second at 10 Mbit/s, and ample.
const BUFFER: usize = 4 << 20;

/// A call that takes longer, nanoseconds, was interrupted: it has sent at its end, or a little
/// before, since it takes a hundredth of that.
const INTERRUPTED: i64 = 1_000_000;

/// What is sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    pub(super) nodes: usize,
    /// The first so many of them send.
    pub(super) senders: usize,
    /// Of each, bit/s with IP and UDP headers.
    pub(super) rate: f64,
    pub(super) to: Ipv4Addr,
    /// UDP payload.
    pub(super) bytes: usize,
    pub(super) lasting: Duration,
}

/// What one receiver has of one sender.
#[derive(Debug)]
pub(super) struct Arrived {
    /// When each was sent, nanoseconds since the epoch.
    pub(super) sent: Vec<i64>,
    /// By number: when it was handed to the host.
    pub(super) times: Times,
}

/// One datagram as a receiver has noted it: sender, number, when it was handed over.
type Note = (u16, u32, i64);

/// Sends a cell's load and gives what came of it, for each pair that should hear.
pub(super) fn measure(lab: &Lab, load: &Load) -> Result<Vec<Arrived>, LabError> {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let mut receivers = Vec::new();
        for (number, host) in lab.hosts().iter().enumerate() {
            let hears = load.to.is_multicast() || load.to == host.address();
            let alone = load.senders == 1 && number == 0;
            if !hears || alone {
                continue;
            }
            let socket = opened(host, || listen(host.address(), load.to))?;
            receivers.push((number, scope.spawn(|| receive(socket, &over))));
        }
        let mut senders = Vec::new();
        for (number, host) in lab.hosts().iter().enumerate().take(load.senders) {
            let socket = opened(host, || talk(host.address()))?;
            senders.push(scope.spawn(move || send(&socket, number as u16, load)));
        }
        let sent: Vec<Vec<i64>> =
            senders.into_iter().map(|sender| sender.join().unwrap_or_default()).collect();
        thread::sleep(TAIL);
        over.store(true, Ordering::SeqCst);
        let mut all = Vec::new();
        for (receiver, thread) in receivers {
            let notes = thread.join().unwrap_or_default();
            for (sender, sent) in sent.iter().enumerate().filter(|(n, _)| *n != receiver) {
                let of = notes.iter().filter(|(from, ..)| usize::from(*from) == sender);
                let times = of.map(|(_, number, at)| (*number, *at)).collect();
                all.push(Arrived { sent: sent.clone(), times });
            }
        }
        Ok(all)
    })
}

/// A socket on a host.
pub(crate) fn opened<S: Send>(
    host: &Host,
    open: impl FnOnce() -> io::Result<S> + Send,
) -> Result<S, LabError> {
    let failed = |error| LabError::system(format!("socket ({})", host.name()), &error);
    host.enter(open)?.map_err(failed)
}

fn listen(own: Ipv4Addr, to: Ipv4Addr) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, None)?;
    // As much as the system gives.
    let _ = socket.set_recv_buffer_size(BUFFER);
    socket.bind(&SocketAddr::from((Ipv4Addr::UNSPECIFIED, PORT)).into())?;
    if to.is_multicast() {
        socket.join_multicast_v4(&to, &own)?;
    }
    socket.set_read_timeout(Some(LOOK))?;
    // The first question switches the noting of times on; there is no datagram yet.
    let _ = received_at(&socket);
    Ok(socket.into())
}

fn talk(own: Ipv4Addr) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, None)?;
    socket.bind(&SocketAddr::from((own, 0)).into())?;
    socket.set_multicast_if_v4(&own)?;
    socket.set_multicast_loop_v4(false)?;
    Ok(socket.into())
}

/// Sends at the load's rate; gives when each was sent.
fn send(socket: &UdpSocket, number: u16, load: &Load) -> Vec<i64> {
    // Before ordinary programs, so that a sending time is that of the sending.
    let _ = priority::go_early();
    let to = SocketAddrV4::new(load.to, PORT);
    let gap = (load.bytes + super::HEADERS) as f64 * 8.0 / load.rate;
    let count = (load.lasting.as_secs_f64() / gap) as u32;
    let mut datagram = vec![0; load.bytes];
    // Senders begin apart, as nodes do.
    let begun = Instant::now() + Duration::from_secs_f64(gap * f64::from(number) / 16.0);
    let mut sent = Vec::with_capacity(count as usize);
    for n in 0..count {
        let at = begun + Duration::from_secs_f64(f64::from(n) * gap);
        thread::sleep(at.saturating_duration_since(Instant::now()));
        datagram[..2].copy_from_slice(&number.to_le_bytes());
        datagram[2..6].copy_from_slice(&n.to_le_bytes());
        let before = wall();
        // What does not leave does not arrive, and is found missing.
        let _ = socket.send_to(&datagram, to);
        let after = wall();
        sent.push(if after - before > INTERRUPTED { after } else { before });
    }
    sent
}

/// Notes everything that arrives until it is over.
fn receive(socket: UdpSocket, over: &AtomicBool) -> Vec<Note> {
    let mut notes = Vec::new();
    let mut buffer = [0; 2048];
    while !over.load(Ordering::SeqCst) {
        let Ok(length) = socket.recv(&mut buffer) else { continue };
        let Ok(at) = received_at(&socket) else { continue };
        if let Some((head, _)) = buffer[..length].split_first_chunk::<6>() {
            let [s0, s1, number @ ..] = *head;
            notes.push((u16::from_le_bytes([s0, s1]), u32::from_le_bytes(number), at));
        }
    }
    notes
}

fn wall() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as i64
}

//! Where a message's time goes on a local network: from the sender's own stamp to the kernel's, to
//! the receiver's kernel, to the receiver's process. It shows what a rate control by delay must not take
//! for a queue.

use super::{rate::Load, star::Star};
use crate::{check::opened, error::LabError, system::privileges};
use fanfare_sim::Sorted;
use nix::sys::{
    socket::{
        ControlMessageOwned, MsgFlags, SockaddrStorage, TimestampingFlag, recvmsg, setsockopt,
        sockopt::{ReceiveTimestampns, Timestamping},
    },
    time::TimeSpec,
};
use serde::Serialize;
use std::{
    io::{self, IoSliceMut},
    net::{SocketAddr, UdpSocket},
    os::fd::AsRawFd as _,
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

const PORT: u16 = 6080;
const MTU: usize = 1500;
/// A full message of Fanfare's.
const BYTES: usize = 1420;
/// From one message to the next: no queue can grow.
const GAP: Duration = Duration::from_millis(1);
/// Of one condition.
const MESSAGES: usize = 3000;
/// A receiver that hears nothing for so long has heard all.
const OVER: Duration = Duration::from_secs(1);

/// Where the time of messages went, under one condition.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StampedDelays {
    /// `idle`, or `busy`: two processes for each processor count in a loop.
    pub condition: &'static str,
    /// Messages that arrived.
    pub messages: usize,
    /// From the sender's stamp until its kernel handed the message to the network.
    pub sending: Delays,
    /// From there to the receiver's kernel.
    pub network: Delays,
    /// From there until the receiver's process had the message.
    pub receiving: Delays,
    /// From the sender's stamp until then.
    pub whole: Delays,
}

/// Of many delays, microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Delays {
    /// Half of them are shorter.
    pub p50: f64,
    /// 99 of 100 are shorter.
    pub p99: f64,
    /// The longest.
    pub max: f64,
}

impl Delays {
    fn of(all: Vec<f64>) -> Self {
        let all: Sorted = all.into_iter().collect();
        let [p50, p99, max] = [50, 99, 100].map(|n| all.percentile(n).unwrap_or_default());
        Self { p50, p99, max }
    }
}

/// Measures between two namespaces on idle processors, and on busy ones.
///
/// # Errors
/// What is missing or refused: this needs root.
pub fn stamps() -> Result<Vec<StampedDelays>, LabError> {
    privileges::check()?;
    crate::lab::clear_leftovers()?;
    let star = Star::up(1, MTU, false)?;
    let idle = measure(&star, "idle")?;
    let load = Load::start()?;
    let busy = measure(&star, "busy")?;
    drop(load);
    Ok(vec![idle, busy])
}

fn measure(star: &Star, condition: &'static str) -> Result<StampedDelays, LabError> {
    let (from, to) = (star.sender().address(), star.receivers()[0].address());
    let incoming = opened(&star.receivers()[0], || UdpSocket::bind((to, PORT)))?;
    let outgoing = opened(star.sender(), || {
        let socket = UdpSocket::bind((from, 0))?;
        socket.connect(SocketAddr::from((to, PORT)))?;
        Ok(socket)
    })?;
    let (sent, received) = thread::scope(|scope| {
        let received = scope.spawn(|| receive(&incoming));
        let sent = send(&outgoing);
        (sent, received.join().unwrap_or_else(|_| Err(io::Error::other("the receiver failed"))))
    });
    let failed = |error: io::Error| LabError::system("bench (stamps)", &error);
    Ok(delays(condition, &sent.map_err(failed)?, &received.map_err(failed)?))
}

/// A message at one end: its number, and two times in nanoseconds. At the sender these are the process's and
/// then the kernel's; at the receiver the kernel's and then the process's.
type Stamp = (u64, u64, u64);

fn delays(condition: &'static str, sent: &[Stamp], received: &[Stamp]) -> StampedDelays {
    let micros = |from: u64, to: u64| (to as f64 - from as f64) / 1e3;
    let pairs: Vec<(&Stamp, &Stamp)> = received
        .iter()
        .filter_map(|got| Some((sent.get(usize::try_from(got.0).ok()?)?, got)))
        .filter(|(sent, _)| sent.2 > 0)
        .collect();
    let of = |delay: &dyn Fn(&Stamp, &Stamp) -> f64| {
        Delays::of(pairs.iter().map(|(sent, got)| delay(sent, got)).collect())
    };
    StampedDelays {
        condition,
        messages: pairs.len(),
        sending: of(&|sent, _| micros(sent.1, sent.2)),
        network: of(&|sent, got| micros(sent.2, got.1)),
        receiving: of(&|_, got| micros(got.1, got.2)),
        whole: of(&|sent, got| micros(sent.1, got.2)),
    }
}

/// The clock that the kernel's stamps are from.
fn clock() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

fn nanos(stamp: TimeSpec) -> u64 {
    u64::try_from(stamp.tv_sec()).unwrap_or(0) * 1_000_000_000
        + u64::try_from(stamp.tv_nsec()).unwrap_or(0)
}

fn send(socket: &UdpSocket) -> io::Result<Vec<Stamp>> {
    let flags = TimestampingFlag::SOF_TIMESTAMPING_TX_SOFTWARE
        | TimestampingFlag::SOF_TIMESTAMPING_SOFTWARE;
    setsockopt(socket, Timestamping, &flags)?;
    let mut message = vec![0; BYTES];
    let mut stamps = Vec::with_capacity(MESSAGES);
    for number in 0..MESSAGES as u64 {
        message[..8].copy_from_slice(&number.to_be_bytes());
        let own = clock();
        socket.send(&message)?;
        // The kernel's stamp comes by the error queue, at once where the cable is a pair of interfaces.
        let errors = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
        let stamp = stamped(socket, errors)?;
        stamps.push((number, own, stamp.map_or(0, |(_, kernel)| kernel)));
        // The bridge's cable stamps it again.
        while stamped(socket, errors)?.is_some() {}
        thread::sleep(GAP);
    }
    Ok(stamps)
}

fn receive(socket: &UdpSocket) -> io::Result<Vec<Stamp>> {
    setsockopt(socket, ReceiveTimestampns, &true)?;
    socket.set_read_timeout(Some(OVER))?;
    let mut stamps = Vec::with_capacity(MESSAGES);
    while stamps.len() < MESSAGES {
        match stamped(socket, MsgFlags::empty())? {
            Some((number, kernel)) => stamps.push((number, kernel, clock())),
            None => break,
        }
    }
    Ok(stamps)
}

/// The number of a message and the kernel's stamp; nothing when there is none.
fn stamped(socket: &UdpSocket, flags: MsgFlags) -> io::Result<Option<(u64, u64)>> {
    let mut content = [0; 2048];
    let mut space = nix::cmsg_space!([TimeSpec; 3], [u8; 64]);
    let mut parts = [IoSliceMut::new(&mut content)];
    let read = recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut parts, Some(&mut space), flags);
    let message = match read {
        Ok(message) => message,
        Err(nix::errno::Errno::EAGAIN) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let mut stamp = None;
    for control in message.cmsgs()? {
        stamp = match control {
            ControlMessageOwned::ScmTimestampns(at) => Some(nanos(at)),
            ControlMessageOwned::ScmTimestampsns(all) => Some(nanos(all.system)),
            _ => stamp,
        };
    }
    let number = content.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
    Ok(stamp.map(|stamp| (number, stamp)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_is_between_the_stamps_of_one_message() {
        let sent = [(0, 1_000, 3_000), (1, 11_000, 12_000), (2, 21_000, 0)];
        let received = [(1, 20_000, 50_000), (0, 9_000, 10_000), (2, 30_000, 31_000)];
        let found = delays("idle", &sent, &received);
        // The kernel has not told when the third was sent.
        assert_eq!(found.messages, 2);
        assert_eq!((found.sending.max, found.network.max), (2.0, 8.0));
        assert_eq!((found.receiving.max, found.whole.max), (30.0, 39.0));
    }

    #[test]
    fn of_delays_a_middle_one_and_the_longest_are_told() {
        let found = Delays::of((1..=101).rev().map(f64::from).collect());
        assert_eq!((found.p50, found.p99, found.max), (51.0, 100.0, 101.0));
        assert_eq!(Delays::of(Vec::new()).max, 0.0);
    }
}

//! Pings once a second, as the program of that name sends them. Nobody waits for the answers: the sensor sees
//! them.

use std::{
    io,
    net::{Ipv4Addr, SocketAddrV4},
    thread,
    time::{Duration, Instant},
};

use fanfare_command::{Exit, Failure};
use fanfare_lab::{Host, Stop};
use rustix::{
    fd::OwnedFd,
    net::{AddressFamily, SendFlags, SocketFlags, SocketType, ipproto, sendto, socket_with},
};

const EVERY: Duration = Duration::from_secs(1);
/// Header of ICMP, and the 56 bytes that `ping` adds.
const BYTES: usize = 64;
/// Echo request (RFC 792).
const ECHO: u8 = 8;
/// Of the program that pings: any.
const PROGRAM: u16 = 0x4646;

/// They end when it is dropped.
#[derive(Debug)]
pub(super) struct Pings {
    done: Stop,
}

impl Pings {
    pub(super) fn start(from: &Host, to: &Host) -> Result<Self, Failure> {
        let open = || {
            socket_with(
                AddressFamily::INET,
                SocketType::RAW,
                SocketFlags::CLOEXEC,
                Some(ipproto::ICMP),
            )
        };
        let failed =
            |error: io::Error| Failure::new(Exit::Failed, "lab.pings", format!("pings: {error}"));
        let socket = from.enter(open).map_err(|error| crate::ending::failure(&error))?;
        let socket = socket.map_err(|error| failed(error.into()))?;
        let done = Stop::new().map_err(|error| crate::ending::failure(&error))?;
        let (told, address) = (done.clone(), to.address());
        thread::spawn(move || send(&socket, address, &told));
        Ok(Self { done })
    }
}

impl Drop for Pings {
    fn drop(&mut self) {
        self.done.set();
    }
}

fn send(socket: &OwnedFd, to: Ipv4Addr, done: &Stop) {
    let begun = Instant::now();
    for number in 0..u16::MAX {
        // One that cannot be sent is one that is lost.
        let _ = sendto(socket, &ping(number), SendFlags::empty(), &SocketAddrV4::new(to, 0));
        let due = EVERY * (u32::from(number) + 1);
        if done.wait(due.saturating_sub(begun.elapsed())) {
            return;
        }
    }
}

fn ping(number: u16) -> [u8; BYTES] {
    let mut ping = [0; BYTES];
    ping[0] = ECHO;
    ping[4..6].copy_from_slice(&PROGRAM.to_be_bytes());
    ping[6..8].copy_from_slice(&number.to_be_bytes());
    let sum = checksum(&ping);
    ping[2..4].copy_from_slice(&sum.to_be_bytes());
    ping
}

/// RFC 1071.
fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks_exact(2).map(|two| u32::from(u16::from_be_bytes([two[0], two[1]])));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ping_has_its_number_and_sums_to_nothing() {
        let ping = ping(0x0102);
        assert_eq!((ping[0], &ping[4..8]), (8, &[0x46, 0x46, 1, 2][..]));
        assert_eq!(checksum(&ping), 0);
    }
}

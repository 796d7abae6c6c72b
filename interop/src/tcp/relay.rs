//! A path between two hosts: forwards VXLAN datagrams through the simulator's bottleneck.
//!
//! The hosts' TCP uses VXLAN devices whose remote end is the relay. So plain UDP sockets carry
//! whole packets, and nothing here needs privileges except the network namespace.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fanfare_proto::Time;
use fanfare_sim::tcp::Bottleneck;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// VXLAN's port (RFC 7348).
pub const PORT: u16 = 4789;
/// VXLAN header and the Ethernet header within: the rest is the IP packet.
const ENVELOPE_BYTES: usize = 8 + 14;
/// Where the inner EtherType is, and IPv4's value: ARP passes free.
const ETHERTYPE_AT: usize = 8 + 12;
const IPV4: [u8; 2] = [0x08, 0x00];
/// How long it may take to notice that it should stop.
const IDLE: Duration = Duration::from_millis(100);

/// Passes packets on until `stop`: from `sender` through the bottleneck, to it with the delay only.
///
/// # Errors
/// When the socket fails.
pub fn run(
    socket: &UdpSocket,
    sender: IpAddr,
    receiver: IpAddr,
    mut bottleneck: Bottleneck,
    stop: &AtomicBool,
) -> io::Result<()> {
    socket.set_nonblocking(true)?;
    let begun = Instant::now();
    // One queue each way: within a direction packets stay in order.
    let mut queues: [VecDeque<(Duration, Vec<u8>)>; 2] = Default::default();
    let ends = [receiver, sender].map(|ip| SocketAddr::new(ip, PORT));
    let mut buffer = [0; 2048];
    while !stop.load(Ordering::Relaxed) {
        let now = begun.elapsed();
        while let Some((length, from)) = receive(socket, &mut buffer)? {
            let packet = &buffer[..length];
            let forward = from.ip() == sender;
            if let Some(at) = arrival(&mut bottleneck, now, packet, forward) {
                queues[usize::from(!forward)].push_back((at, packet.to_vec()));
            }
        }
        for (queue, end) in queues.iter_mut().zip(ends) {
            while queue.front().is_some_and(|(at, _)| *at <= begun.elapsed())
                && let Some((_, packet)) = queue.pop_front()
            {
                // A full socket buffer is a loss like others.
                let _ = socket.send_to(&packet, end);
            }
        }
        let next = queues.iter().filter_map(|queue| queue.front()).map(|(at, _)| *at).min();
        wait(socket, next.map_or(IDLE, |at| at.saturating_sub(begun.elapsed()).min(IDLE)))?;
    }
    Ok(())
}

fn receive(socket: &UdpSocket, buffer: &mut [u8]) -> io::Result<Option<(usize, SocketAddr)>> {
    match socket.recv_from(buffer) {
        Ok(got) => Ok(Some(got)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        // An ICMP answer to an earlier datagram: that one is lost.
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(None),
        Err(error) => Err(error),
    }
}

fn arrival(
    bottleneck: &mut Bottleneck,
    now: Duration,
    packet: &[u8],
    forward: bool,
) -> Option<Duration> {
    let ip = packet.get(ETHERTYPE_AT..ETHERTYPE_AT + 2) == Some(&IPV4);
    if !ip || !forward {
        return Some(now + bottleneck.one_way);
    }
    let bytes = packet.len() - ENVELOPE_BYTES;
    let passage = bottleneck.carry(Time::ZERO + now, bytes)?;
    Some(Duration::from_nanos(passage.at.as_nanos()))
}

fn wait(socket: &UdpSocket, time: Duration) -> io::Result<()> {
    let timeout =
        Timespec { tv_sec: time.as_secs() as i64, tv_nsec: i64::from(time.subsec_nanos()) };
    match poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&timeout)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanfare_proto::Bitrate;

    fn packet(ethertype: [u8; 2]) -> Vec<u8> {
        let mut packet = vec![0; ENVELOPE_BYTES + 1000];
        packet[ETHERTYPE_AT..ETHERTYPE_AT + 2].copy_from_slice(&ethertype);
        packet
    }

    #[test]
    fn data_waits_for_the_line_by_its_ip_bytes_and_the_rest_has_only_the_delay() {
        let mut line = Bottleneck::new(Bitrate::mbps(8), Duration::from_millis(10), 1);
        let mut at = |ethertype, forward| {
            arrival(&mut line, Duration::ZERO, &packet(ethertype), forward).unwrap().as_millis()
        };
        assert_eq!(at(IPV4, true), 11);
        assert_eq!(at(IPV4, true), 12);
        assert_eq!(at(IPV4, false), 10);
        assert_eq!(at([0x08, 0x06], true), 10);
    }
}

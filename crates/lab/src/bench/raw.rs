//! What the kernel moves without a protocol: super-packets to a group as fast as they go, received
//! joined, and thrown away.

use super::star::Star;
use crate::{
    check::{opened, option},
    error::LabError,
};
use socket2::{Domain, Socket, Type};
use std::{
    io::{self, Read as _},
    net::{Ipv4Addr, SocketAddr},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

const PORT: u16 = 6079;
const GROUP: Ipv4Addr = Ipv4Addr::new(239, 255, 77, 3);
/// What a full segment of Fanfare's takes.
const SEGMENT: usize = 1420;
/// Of one call: what 16 bits of length hold.
const SEGMENTS: usize = 45;
/// As much as Fanfare asks for where it may.
const BUFFER: usize = 32 << 20;
/// Long enough to be past the start, short beside the transfers.
const LENGTH: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(50);

/// Bits of payload per second at the slowest receiver.
pub(super) fn measure(star: &Star) -> Result<f64, LabError> {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let mut counts = Vec::new();
        for host in star.receivers() {
            let socket = opened(host, || listen(host.address()))?;
            let over = &over;
            counts.push(scope.spawn(move || count(socket, over)));
        }
        let own = star.sender().address();
        let socket = opened(star.sender(), || talk(own));
        let begun = Instant::now();
        if let Ok(socket) = &socket {
            let bytes = vec![0x5a; SEGMENT * SEGMENTS];
            while begun.elapsed() < LENGTH {
                // What does not leave is missing at the receivers, which shows.
                let _ = socket.send(&bytes);
            }
        }
        let seconds = begun.elapsed().as_secs_f64();
        over.store(true, Ordering::SeqCst);
        let received = counts.into_iter().map(|count| count.join().unwrap_or(0)).min();
        socket.map(|_| received.unwrap_or(0) as f64 * 8.0 / seconds)
    })
}

fn listen(own: Ipv4Addr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, None)?;
    option::buffer(&socket, BUFFER)?;
    option::receive_joined(&socket)?;
    socket.bind(&SocketAddr::from((GROUP, PORT)).into())?;
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

/// Counts bytes until it is over.
fn count(mut socket: Socket, over: &AtomicBool) -> u64 {
    let (mut buffer, mut bytes) = (vec![0; 1 << 16], 0);
    while !over.load(Ordering::SeqCst) {
        bytes += socket.read(&mut buffer).unwrap_or(0) as u64;
    }
    bytes
}

//! What the kernel moves without a protocol: super-packets to a group as fast as possible, received
//! joined, and discarded.

use super::star::Star;
use crate::{
    check::opened,
    error::LabError,
    super_packet::{self, SuperPackets},
};
use std::{
    net::Ipv4Addr,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

/// Full segments of Fanfare's, as many as one call takes; a receiver's buffer as Fanfare asks for it
/// where it may.
const PACKETS: SuperPackets = SuperPackets {
    group: Ipv4Addr::new(239, 255, 77, 3),
    port: 6079,
    segment: 1420,
    segments: 45,
    buffer: 32 << 20,
};
/// Long enough to be past the start, short beside the transfers.
const LENGTH: Duration = Duration::from_secs(1);

/// Bits of payload per second at the slowest receiver.
pub(super) fn measure(star: &Star) -> Result<f64, LabError> {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let mut counts = Vec::new();
        for host in star.receivers() {
            let socket = opened(host, || PACKETS.listen(host.address()))?;
            let over = &over;
            counts.push(scope.spawn(move || super_packet::count(socket, over)));
        }
        let own = star.sender().address();
        let socket = opened(star.sender(), || PACKETS.talk(own));
        let begun = Instant::now();
        if let Ok(socket) = &socket {
            let bytes = PACKETS.content();
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

//! Flows of datagrams at the far side: from the link to their destinations, and answers back.

use std::{collections::HashSet, net::SocketAddr, sync::PoisonError, time::Duration};

use crate::quinn::{RecvStream, SendStream};
use tokio::{
    net::UdpSocket,
    sync::mpsc,
    time::{Instant, sleep_until},
};

use crate::proxy::{
    code::Code,
    connect,
    destination::Destination,
    far::Far,
    flows::{Flows, ToFar, begin, count, to_near},
    frame::Reply,
    pipe::write_frame,
};

/// A flow without a datagram for so long is over.
const IDLE: Duration = Duration::from_secs(120);
/// Destinations of one flow that may answer.
const DESTINATIONS_MAX: usize = 1024;
/// Largest datagram of UDP.
const DATAGRAM_MAX: usize = 65_535;

impl Flows {
    /// One flow, until its stream ends or nothing comes for a while.
    pub(crate) async fn serve(
        &self,
        far: &Far,
        flow: u64,
        (mut send, mut recv): (SendStream, RecvStream),
    ) {
        let Some(waiting) = begin(&self.far, flow) else {
            let _ = write_frame(&mut send, &Reply::failed(Code::General).to_bytes()).await;
            return;
        };
        let reply = Reply::done(([0, 0, 0, 0], 0).into(), 0).to_bytes();
        let mut gone = [0];
        if write_frame(&mut send, &reply).await.is_ok() {
            tokio::select! {
                _ = recv.read(&mut gone) => {}
                () = self.carry(far, flow, waiting) => {}
            }
        }
        self.far.lock().unwrap_or_else(PoisonError::into_inner).remove(&flow);
    }

    /// One socket for all destinations of a family: they see the same port.
    async fn carry(&self, far: &Far, flow: u64, mut waiting: mpsc::Receiver<ToFar>) {
        let v4 = UdpSocket::bind(SocketAddr::from(([0, 0, 0, 0], 0))).await.ok();
        let v6 = UdpSocket::bind(SocketAddr::from(([0u16; 8], 0))).await.ok();
        let mut written = HashSet::new();
        let (mut one, mut two) = (vec![0; DATAGRAM_MAX], vec![0; DATAGRAM_MAX]);
        let mut until = Instant::now() + IDLE;
        loop {
            tokio::select! {
                next = waiting.recv() => {
                    let Some((destination, bytes)) = next else { return };
                    let sockets = (v4.as_ref(), v6.as_ref());
                    self.send(far, (&destination, &bytes), sockets, &mut written).await;
                }
                Some((len, from)) = receive(v4.as_ref(), &mut one) => {
                    self.answer(flow, from, &one[..len], &written);
                }
                Some((len, from)) = receive(v6.as_ref(), &mut two) => {
                    self.answer(flow, from, &two[..len], &written);
                }
                () = sleep_until(until) => return,
            }
            until = Instant::now() + IDLE;
        }
    }

    async fn send(
        &self,
        far: &Far,
        (destination, bytes): (&Destination, &[u8]),
        (v4, v6): (Option<&UdpSocket>, Option<&UdpSocket>),
        written: &mut HashSet<SocketAddr>,
    ) {
        let policy = far.policy();
        let found = connect::addresses(destination, Some(&policy), far.resolver()).await;
        let Ok(addresses) = found else { return count(&self.dropped.refused) };
        let Some(to) = addresses.first() else { return };
        if written.len() < DESTINATIONS_MAX {
            written.insert(*to);
        }
        let socket = if to.is_ipv4() { v4 } else { v6 };
        if let Some(socket) = socket {
            // A datagram may be lost.
            let _ = socket.send_to(bytes, to).await;
        }
    }

    /// Only those answer that were written to.
    fn answer(&self, flow: u64, from: SocketAddr, bytes: &[u8], written: &HashSet<SocketAddr>) {
        if !written.contains(&from) {
            return count(&self.dropped.other);
        }
        if !self.link.send_datagram(&to_near(flow, from, bytes)) {
            count(&self.dropped.too_long);
        }
    }
}

async fn receive(socket: Option<&UdpSocket>, buffer: &mut [u8]) -> Option<(usize, SocketAddr)> {
    match socket {
        // Errors are those of earlier datagrams: nobody listens there.
        Some(socket) => loop {
            if let Ok(received) = socket.recv_from(buffer).await {
                return Some(received);
            }
        },
        None => std::future::pending().await,
    }
}

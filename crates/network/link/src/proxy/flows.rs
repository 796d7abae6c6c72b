//! Datagrams over the link (SOCKS5's UDP ASSOCIATE): a flow for each association.
//!
//! ```text
//! to the far side    0 | flow (varint) | length of host (1) | host | port (2) | bytes
//! to the near side   1 | flow (varint) | 4 or 16 | address | port (2) | bytes
//! ```
//! A flow begins with a stream that says OPEN, and ends with that stream.

use std::{
    collections::HashMap,
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex, PoisonError, atomic::AtomicU64, atomic::Ordering},
};

use crate::{Link, varint};
use tokio::sync::mpsc;

use crate::proxy::destination::{Destination, Host};

/// Flows of a peer at once.
const FLOWS_MAX: usize = 1024;
/// Datagrams that may wait for one flow.
const WAITING_MAX: usize = 256;

const TO_FAR: u8 = 0;
const TO_NEAR: u8 = 1;

fn take_direction(datagram: &mut &[u8], direction: u8) -> Option<()> {
    *datagram = datagram.strip_prefix(&[direction])?;
    Some(())
}

/// A datagram to the far side.
#[must_use]
pub fn to_far(flow: u64, destination: &Destination, bytes: &[u8]) -> Vec<u8> {
    let mut datagram = vec![TO_FAR];
    varint::put(flow, &mut datagram);
    let host = destination.host.to_string();
    // Names have 255 bytes at most, addresses less.
    datagram.push(host.len() as u8);
    datagram.extend_from_slice(host.as_bytes());
    datagram.extend_from_slice(&destination.port.to_be_bytes());
    datagram.extend_from_slice(bytes);
    datagram
}

/// What [`to_far`] made.
#[must_use]
pub fn at_far(mut datagram: &[u8]) -> Option<(u64, Destination, &[u8])> {
    take_direction(&mut datagram, TO_FAR)?;
    let flow = varint::take(&mut datagram)?;
    let (&len, rest) = datagram.split_first()?;
    let (host, rest) = rest.split_at_checked(usize::from(len))?;
    let (port, bytes) = rest.split_first_chunk()?;
    let (host, port) = (Host::parse(host).ok()?, u16::from_be_bytes(*port));
    (port != 0).then_some((flow, Destination { host, port }, bytes))
}

/// A datagram to the near side.
#[must_use]
pub fn to_near(flow: u64, from: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut datagram = vec![TO_NEAR];
    varint::put(flow, &mut datagram);
    match from.ip().to_canonical() {
        IpAddr::V4(ip) => {
            datagram.push(4);
            datagram.extend_from_slice(&ip.octets());
        }
        IpAddr::V6(ip) => {
            datagram.push(16);
            datagram.extend_from_slice(&ip.octets());
        }
    }
    datagram.extend_from_slice(&from.port().to_be_bytes());
    datagram.extend_from_slice(bytes);
    datagram
}

/// What [`to_near`] made.
#[must_use]
pub fn at_near(mut datagram: &[u8]) -> Option<(u64, SocketAddr, &[u8])> {
    take_direction(&mut datagram, TO_NEAR)?;
    let flow = varint::take(&mut datagram)?;
    let (&len, rest) = datagram.split_first()?;
    let (ip, rest): (IpAddr, &[u8]) = match len {
        4 => rest.split_first_chunk::<4>().map(|(ip, rest)| ((*ip).into(), rest))?,
        16 => rest.split_first_chunk::<16>().map(|(ip, rest)| ((*ip).into(), rest))?,
        _ => return None,
    };
    let (port, bytes) = rest.split_first_chunk()?;
    Some((flow, SocketAddr::new(ip, u16::from_be_bytes(*port)), bytes))
}

/// Why datagrams were dropped, and how many.
#[derive(Debug, Default)]
pub struct Dropped {
    /// They do not fit into a packet of the link.
    pub too_long: AtomicU64,
    /// The policy refuses their destination.
    pub refused: AtomicU64,
    /// Nobody waits for them, or too many wait.
    pub other: AtomicU64,
}

pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

pub(crate) type ToFar = (Destination, Vec<u8>);
type ToNear = (SocketAddr, Vec<u8>);

/// The flows of a link, in both directions.
#[derive(Debug)]
pub(crate) struct Flows {
    pub(crate) link: Link,
    pub(crate) far: Mutex<HashMap<u64, mpsc::Sender<ToFar>>>,
    near: Mutex<HashMap<u64, mpsc::Sender<ToNear>>>,
    pub(crate) dropped: Dropped,
}

impl Flows {
    pub(crate) fn new(link: Link) -> Arc<Self> {
        let (far, near, dropped) = (Mutex::default(), Mutex::default(), Dropped::default());
        Arc::new(Self { link, far, near, dropped })
    }

    /// Gives datagrams to their flows, until the link ends.
    pub(crate) async fn run(self: Arc<Self>) {
        while let Some(datagram) = self.link.recv_datagram().await {
            let given = if let Some((flow, to, bytes)) = at_far(&datagram) {
                give(&self.far, flow, (to, bytes.to_vec()))
            } else if let Some((flow, from, bytes)) = at_near(&datagram) {
                give(&self.near, flow, (from, bytes.to_vec()))
            } else {
                false
            };
            if !given {
                count(&self.dropped.other);
            }
        }
    }

    /// Sends a datagram of a client's.
    pub(crate) fn send_to_far(&self, flow: u64, destination: &Destination, bytes: &[u8]) {
        if !self.link.send_datagram(&to_far(flow, destination, bytes)) {
            count(&self.dropped.too_long);
        }
    }

    /// Answers of a flow come out here.
    pub(crate) fn begin_near(&self, flow: u64) -> Option<mpsc::Receiver<ToNear>> {
        begin(&self.near, flow)
    }

    /// A flow at the near side is over.
    pub(crate) fn end_near(&self, flow: u64) {
        self.near.lock().unwrap_or_else(PoisonError::into_inner).remove(&flow);
    }
}

pub(crate) fn begin<T>(
    flows: &Mutex<HashMap<u64, mpsc::Sender<T>>>,
    flow: u64,
) -> Option<mpsc::Receiver<T>> {
    let (sender, receiver) = mpsc::channel(WAITING_MAX);
    let mut flows = flows.lock().unwrap_or_else(PoisonError::into_inner);
    if flows.len() >= FLOWS_MAX || flows.contains_key(&flow) {
        return None;
    }
    flows.insert(flow, sender);
    Some(receiver)
}

fn give<T>(flows: &Mutex<HashMap<u64, mpsc::Sender<T>>>, flow: u64, datagram: T) -> bool {
    let flows = flows.lock().unwrap_or_else(PoisonError::into_inner);
    flows.get(&flow).is_some_and(|flow| flow.try_send(datagram).is_ok())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn datagrams_come_back_with_their_flow_and_address() {
        let destination: Destination = "example.org:53".parse().unwrap();
        let datagram = to_far(70_000, &destination, b"query");
        assert_eq!(at_far(&datagram), Some((70_000, destination, &b"query"[..])));
        for from in ["10.0.0.1:53", "[fd00::1]:53"] {
            let from: SocketAddr = from.parse().unwrap();
            let datagram = to_near(3, from, b"answer");
            assert_eq!(at_near(&datagram), Some((3, from, &b"answer"[..])));
            for cut in 0..datagram.len() - 6 {
                assert_eq!(at_near(&datagram[..cut]), None);
            }
        }
    }

    #[test]
    fn a_peer_has_1024_flows_at_once_and_256_datagrams_may_wait_for_each() {
        let flows = Mutex::default();
        let mut all: Vec<_> = (0..1024).map(|flow| begin::<u8>(&flows, flow).unwrap()).collect();
        assert!(begin::<u8>(&flows, 1024).is_none(), "no more than that");
        assert!(begin::<u8>(&flows, 7).is_none(), "each is there once");
        assert_eq!((0..300).filter(|n| give(&flows, 7, *n as u8)).count(), 256);
        assert!(give(&flows, 8, 0), "another one has room");
        assert!(!give(&flows, 1024, 0), "and nobody waits for this");
        assert_eq!(all[7].try_recv(), Ok(0));
        assert!(give(&flows, 7, 0));
    }

    proptest! {
        #[test]
        fn datagrams_of_any_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = (at_far(&bytes), at_near(&bytes));
        }
    }
}

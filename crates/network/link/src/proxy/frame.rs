//! What the two sides say to each other about one connection: CBOR, at most [`FRAME_MAX`] bytes.

use std::net::{IpAddr, SocketAddr};

use minicbor::{Decode, Encode};

use crate::proxy::{
    code::Code,
    destination::{Destination, Host},
};

/// Longest frame, bytes.
pub const FRAME_MAX: usize = 512;
/// This version.
const VERSION: u8 = 1;
/// Proxies that a connection may go through.
pub const HOPS_MAX: u8 = 4;

/// Asks for a connection, or for a relay of datagrams.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Open {
    #[n(0)]
    version: u8,
    /// Proxies so far.
    #[n(1)]
    pub hops: u8,
    /// The node where it began: its key.
    #[n(2)]
    #[cbor(with = "minicbor::bytes")]
    origin: Vec<u8>,
    /// The flow of a relay of datagrams; none for a connection.
    #[n(3)]
    pub flow: Option<u64>,
    #[n(4)]
    #[cbor(with = "minicbor::bytes")]
    host: Vec<u8>,
    #[n(5)]
    port: u16,
    /// How many bytes may come back before more are asked for.
    #[n(6)]
    pub credit: u64,
}

impl Open {
    /// For a connection to there.
    #[must_use]
    pub fn connection(origin: &[u8; 32], destination: &Destination) -> Self {
        let (host, port) = (destination.host.to_string().into_bytes(), destination.port);
        let origin = origin.to_vec();
        Self { version: VERSION, hops: 1, origin, flow: None, host, port, credit: 0 }
    }

    /// The same, granting so many bytes.
    #[must_use]
    pub fn with_credit(self, credit: u64) -> Self {
        Self { credit, ..self }
    }

    /// For datagrams of this flow.
    #[must_use]
    pub fn relay(origin: &[u8; 32], flow: u64) -> Self {
        let origin = origin.to_vec();
        Self {
            version: VERSION,
            hops: 1,
            origin,
            flow: Some(flow),
            host: Vec::new(),
            port: 0,
            credit: 0,
        }
    }

    /// Where to; `None` when that cannot be.
    #[must_use]
    pub fn destination(&self) -> Option<Destination> {
        let host = Host::parse(&self.host).ok()?;
        (self.port != 0).then_some(Destination { host, port: self.port })
    }

    /// Whether it is going round in circles, as the node with this key sees it.
    #[must_use]
    pub fn is_loop(&self, own: &[u8; 32]) -> bool {
        self.hops > HOPS_MAX || self.origin == own
    }

    /// As bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        minicbor::to_vec(self).unwrap_or_default()
    }

    /// From bytes.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let open: Self = decode(bytes)?;
        (open.version == VERSION && open.origin.len() == 32).then_some(open)
    }
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Reply {
    #[n(0)]
    code: u8,
    #[n(1)]
    #[cbor(with = "minicbor::bytes")]
    address: Vec<u8>,
    #[n(2)]
    port: u16,
    /// How many bytes may be sent before more are asked for.
    #[n(3)]
    pub credit: u64,
}

impl Reply {
    /// It is there, from this address.
    #[must_use]
    pub fn done(bound: SocketAddr, credit: u64) -> Self {
        let address = match bound.ip().to_canonical() {
            IpAddr::V4(ip) => ip.octets().to_vec(),
            IpAddr::V6(ip) => ip.octets().to_vec(),
        };
        Self { code: 0, address, port: bound.port(), credit }
    }

    /// It could not be had.
    #[must_use]
    pub const fn failed(code: Code) -> Self {
        Self { code: code as u8, address: Vec::new(), port: 0, credit: 0 }
    }

    /// How it ended.
    #[must_use]
    pub fn code(&self) -> Code {
        Code::of(self.code)
    }

    /// The far side's own address of the connection.
    #[must_use]
    pub fn bound(&self) -> Option<SocketAddr> {
        let ip: IpAddr = match self.address.len() {
            4 => <[u8; 4]>::try_from(self.address.as_slice()).ok()?.into(),
            16 => <[u8; 16]>::try_from(self.address.as_slice()).ok()?.into(),
            _ => return None,
        };
        Some(SocketAddr::new(ip, self.port))
    }

    /// As bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        minicbor::to_vec(self).unwrap_or_default()
    }

    /// From bytes.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        decode(bytes)
    }
}

/// A whole frame and nothing behind it.
fn decode<'b, T: Decode<'b, ()>>(bytes: &'b [u8]) -> Option<T> {
    if bytes.len() > FRAME_MAX {
        return None;
    }
    let mut decoder = minicbor::Decoder::new(bytes);
    let value = decoder.decode().ok()?;
    (decoder.position() == bytes.len()).then_some(value)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn frames_come_back_and_cut_or_longer_ones_are_refused() {
        let open = Open::connection(&[7; 32], &"example.org:443".parse().unwrap());
        let reply = Reply::done("10.0.0.1:99".parse().unwrap(), 65_536);
        let (a, b) = (open.to_bytes(), reply.to_bytes());
        assert_eq!((Open::parse(&a), Reply::parse(&b)), (Some(open.clone()), Some(reply.clone())));
        assert_eq!(open.destination().unwrap().to_string(), "example.org:443");
        assert_eq!(reply.bound(), Some("10.0.0.1:99".parse().unwrap()));
        for cut in 0..a.len() {
            assert_eq!(Open::parse(&a[..cut]), None);
        }
        assert_eq!(Open::parse(&[&a[..], &[0]].concat()), None);
    }

    #[test]
    fn circles_are_seen_by_their_hops_and_by_where_they_began() {
        let open = Open::connection(&[7; 32], &"example.org:443".parse().unwrap());
        assert!(!open.is_loop(&[8; 32]));
        assert!(open.is_loop(&[7; 32]));
        assert!(Open { hops: HOPS_MAX + 1, ..open }.is_loop(&[8; 32]));
    }

    #[test]
    fn a_name_with_a_zero_byte_or_no_port_is_no_destination() {
        let open = Open::connection(&[7; 32], &"example.org:443".parse().unwrap());
        assert_eq!(Open { host: b"a\0b".to_vec(), ..open.clone() }.destination(), None);
        assert_eq!(Open { port: 0, ..open }.destination(), None);
    }

    proptest! {
        #[test]
        fn frames_of_any_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            let _ = (Open::parse(&bytes), Reply::parse(&bytes));
        }
    }
}

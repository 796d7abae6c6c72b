//! The request and the reply of SOCKS5 inside NORP's messages.

use std::net::{IpAddr, SocketAddr};

use crate::proxy::{
    code::Code,
    destination::{Destination, Host},
    socks5,
};

const VERSION: u8 = 5;
const CONNECT: u8 = 1;

/// A request of SOCKS5 for this destination, as a client would say it.
#[must_use]
pub fn request(to: &Destination) -> Vec<u8> {
    let mut bytes = vec![VERSION, CONNECT, 0];
    match &to.host {
        Host::Address(IpAddr::V4(ip)) => {
            bytes.push(1);
            bytes.extend_from_slice(&ip.octets());
        }
        Host::Address(IpAddr::V6(ip)) => {
            bytes.push(4);
            bytes.extend_from_slice(&ip.octets());
        }
        Host::Name(name) => {
            // Names have 255 bytes at most.
            bytes.extend_from_slice(&[3, name.len() as u8]);
            bytes.extend_from_slice(name.as_bytes());
        }
    }
    bytes.extend_from_slice(&to.port.to_be_bytes());
    bytes
}

/// Where a request wants to go, or the code of the refusal.
///
/// # Errors
/// When it is none, or nothing that is served.
pub fn destination(request: &[u8]) -> Result<Destination, Code> {
    let (&[version, command, _, kind], rest) =
        request.split_first_chunk::<4>().ok_or(Code::General)?;
    if version != VERSION {
        return Err(Code::General);
    }
    if command != CONNECT {
        return Err(Code::Command);
    }
    let (host, port) = match kind {
        1 => rest.split_first_chunk::<4>().map(|(ip, port)| (Ok(IpAddr::from(*ip)), port)),
        4 => rest.split_first_chunk::<16>().map(|(ip, port)| (Ok(IpAddr::from(*ip)), port)),
        3 => rest.split_first().and_then(|(&len, rest)| {
            rest.split_at_checked(usize::from(len)).map(|(name, port)| (Err(name), port))
        }),
        _ => return Err(Code::AddressType),
    }
    .ok_or(Code::General)?;
    let host = match host {
        Ok(ip) => Host::Address(ip.to_canonical()),
        Err(name) => Host::parse(name).map_err(|_| Code::General)?,
    };
    match <[u8; 2]>::try_from(port).map(u16::from_be_bytes) {
        Ok(port) if port != 0 => Ok(Destination { host, port }),
        _ => Err(Code::General),
    }
}

/// A reply of SOCKS5.
#[must_use]
pub fn reply(code: Code, bound: Option<SocketAddr>) -> Vec<u8> {
    socks5::reply(code, bound)
}

/// The code of a reply.
#[must_use]
pub fn code(reply: &[u8]) -> Code {
    match reply {
        [VERSION, code, ..] => Code::of(*code),
        _ => Code::General,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_destination_goes_there_and_comes_back() {
        for text in ["10.90.0.1:80", "[fd90::1]:443", "example.org:22"] {
            let to: Destination = text.parse().unwrap();
            assert_eq!(destination(&request(&to)), Ok(to));
        }
    }

    #[test]
    fn what_is_not_served_is_refused_with_the_code_of_socks() {
        assert_eq!(destination(&[5, 2, 0, 1, 1, 2, 3, 4, 0, 80]), Err(Code::Command));
        assert_eq!(destination(&[5, 1, 0, 9, 1, 2, 3, 4, 0, 80]), Err(Code::AddressType));
        assert_eq!(destination(&[4, 1, 0, 1, 1, 2, 3, 4, 0, 80]), Err(Code::General));
        assert_eq!(destination(&[5, 1, 0, 1, 1, 2, 3, 4, 0, 0]), Err(Code::General));
        assert_eq!(destination(&[5, 1, 0, 1, 1, 2, 3, 4, 0, 80, 0]), Err(Code::General));
        assert_eq!(code(&reply(Code::Refused, None)), Code::Refused);
        assert_eq!(code(&[]), Code::General);
    }

    proptest! {
        #[test]
        fn requests_of_any_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = (destination(&bytes), code(&bytes));
        }
    }
}

//! A kernel filter that drops the datagrams that this endpoint has sent itself.
//!
//! Members of a group on one machine hear each other because the kernel loops sent datagrams back,
//! also to the sender's own socket. At 1 Gbit/s that wakes the sender after every super-packet, and
//! costs as much as a receiver.

use std::io;
use std::net::{IpAddr, SocketAddr};

use socket2::{SockFilter, Socket};

// linux/bpf_common.h: loads of a word and of a half word at an absolute place, jumps, and verdicts.
const LOAD_WORD: u16 = 0x20;
const LOAD_HALF: u16 = 0x28;
const JUMP_EQUAL: u16 = 0x15;
const RETURN: u16 = 0x06;
/// linux/filter.h: SKF_NET_OFF, places in the IP header. Others are in the UDP header.
const NETWORK: u32 = 0xfff0_0000;
/// Of the whole datagram.
const ACCEPT: u32 = u32::MAX;
const DROP: u32 = 0;

/// Keeps from `socket` what comes from `own`.
pub(crate) fn refuse_own(socket: &Socket, own: SocketAddr) -> io::Result<()> {
    let program: Vec<SockFilter> =
        program(own).into_iter().map(|[code, jt, jf, k]| instruction(code, jt, jf, k)).collect();
    socket.attach_filter(&program)
}

fn instruction(code: u32, equal: u32, other: u32, value: u32) -> SockFilter {
    SockFilter::new(code as u16, equal as u8, other as u8, value)
}

/// Compares the source's port, then its address word by word; what differs is accepted.
fn program(own: SocketAddr) -> Vec<[u32; 4]> {
    let (start, address) = match own.ip() {
        IpAddr::V4(address) => (12, address.octets().to_vec()),
        IpAddr::V6(address) => (8, address.octets().to_vec()),
    };
    let words = address.chunks_exact(4).map(|w| u32::from_be_bytes([w[0], w[1], w[2], w[3]]));
    let mut tests = vec![(LOAD_HALF, 0, u32::from(own.port()))];
    for (number, word) in (0_u32..).zip(words) {
        tests.push((LOAD_WORD, NETWORK + start + 4 * number, word));
    }
    let length = 2 * tests.len() as u32;
    let mut program = Vec::new();
    for (number, (load, place, value)) in (0..).zip(tests) {
        program.push([u32::from(load), 0, 0, place]);
        let to_accept = length - (2 * number + 2);
        program.push([u32::from(JUMP_EQUAL), 0, to_accept + 1, value]);
    }
    program.push([u32::from(RETURN), 0, 0, DROP]);
    program.push([u32::from(RETURN), 0, 0, ACCEPT]);
    program
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_comparison_that_fails_jumps_to_the_accepting_end() {
        for own in ["10.0.0.1:5000", "[fe80::1]:5000"] {
            let program = program(own.parse().unwrap());
            let accept = program.len() - 1;
            for (at, [code, _, other, _]) in program.iter().enumerate() {
                if *code == u32::from(JUMP_EQUAL) {
                    assert_eq!(at + 1 + *other as usize, accept, "{own}");
                }
            }
            assert_eq!(program[accept][3], ACCEPT);
            assert_eq!(program[accept - 1][3], DROP);
        }
    }
}

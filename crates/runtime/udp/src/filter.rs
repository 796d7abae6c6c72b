//! Kernel filters: one drops the datagrams that this endpoint has sent itself, another what was not sent
//! to a group.
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
const AND: u16 = 0x54;
const JUMP_EQUAL: u16 = 0x15;
const RETURN: u16 = 0x06;
/// linux/filter.h: SKF_NET_OFF, places in the IP header. Others are in the UDP header.
const NETWORK: u32 = 0xfff0_0000;
/// linux/filter.h: SKF_AD_OFF + SKF_AD_IFINDEX, the index of the interface that a datagram came in by.
const INTERFACE: u32 = 0xffff_f000 + 8;
/// Of the whole datagram.
const ACCEPT: u32 = u32::MAX;
const DROP: u32 = 0;

/// Keeps from `socket` what comes from `own`, and what does not come in by the `interface` of this index,
/// where they are given.
pub(crate) fn refuse(
    socket: &Socket,
    own: Option<SocketAddr>,
    interface: Option<u32>,
) -> io::Result<()> {
    let mut whole: Vec<[u32; 4]> = interface.map(only_from).into_iter().flatten().collect();
    match own {
        Some(own) => whole.extend(program(own)),
        None => whole.push([u32::from(RETURN), 0, 0, ACCEPT]),
    }
    let program: Vec<SockFilter> =
        whole.into_iter().map(|[code, jt, jf, k]| instruction(code, jt, jf, k)).collect();
    socket.attach_filter(&program)
}

/// Linux asks of IPv6 whether a socket has joined the group, and not on which interface (`inet6_mc_check`,
/// 6.18): another program's membership lets everything of its interface in.
fn only_from(interface: u32) -> [[u32; 4]; 3] {
    [
        [u32::from(LOAD_WORD), 0, 0, INTERFACE],
        [u32::from(JUMP_EQUAL), 1, 0, interface],
        [u32::from(RETURN), 0, 0, DROP],
    ]
}

/// Keeps from `socket` what was not sent to a group. A socket that hears several groups is bound to the
/// port alone, and would hear what is sent to this machine.
pub(crate) fn multicast_only(socket: &Socket, ipv6: bool, interface: u32) -> io::Result<()> {
    let here = ipv6.then(|| only_from(interface)).into_iter().flatten();
    let program: Vec<SockFilter> = here
        .chain(groups_program(ipv6))
        .map(|[code, jt, jf, k]| instruction(code, jt, jf, k))
        .collect();
    socket.attach_filter(&program)
}

/// IPv4 groups are 224.0.0.0/4 (RFC 5771), IPv6 groups ff00::/8 (RFC 4291 2.7). These are the upper four or
/// eight bits of the address that a datagram went to. It stands at byte 16 or 24 of the header.
fn groups_program(ipv6: bool) -> [[u32; 4]; 5] {
    let (place, mask, prefix) = match ipv6 {
        false => (16, 0xf000_0000, 0xe000_0000),
        true => (24, 0xff00_0000, 0xff00_0000),
    };
    [
        [u32::from(LOAD_WORD), 0, 0, NETWORK + place],
        [u32::from(AND), 0, 0, mask],
        [u32::from(JUMP_EQUAL), 0, 1, prefix],
        [u32::from(RETURN), 0, 0, ACCEPT],
        [u32::from(RETURN), 0, 0, DROP],
    ]
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

//! First packets of a link between two ends, with somebody between them who loses, repeats, reorders,
//! cuts and changes datagrams. Nothing panics, and each end takes only what the other one sent, once.
#![no_main]

use std::{net::SocketAddr, time::Duration};

use fanfare_link::{
    Hello,
    early::{Early, Origin, ticket::Ticket, tickets::Tickets},
    seal::PublicKey,
};
use fanfare_proto::Time;
use libfuzzer_sys::fuzz_target;

const HELLO: Hello = Hello { instance: [9; 16], known: [0; 16] };
const DIALS: PublicKey = PublicKey([1; 32]);
const DIALLED: PublicKey = PublicKey([2; 32]);
/// Datagrams that somebody keeps.
const KEPT_MAX: usize = 64;

fuzz_target!(|input: &[u8]| {
    let mut road = Road::new();
    let mut rest = input;
    while let Some((&[act, value], behind)) = rest.split_first_chunk() {
        rest = behind;
        road.act(act, value);
    }
    for early in &mut road.ends {
        assert!(early.on_datagram(road.now, address(3), input).is_none(), "a forged packet");
    }
});

fn address(n: u8) -> SocketAddr {
    ([10, 0, 0, n], 7001).into()
}

struct Road {
    /// The end that dials, and the one that is dialled.
    ends: [Early; 2],
    now: Time,
    wall: Duration,
    /// What went over the road, and from which end.
    kept: Vec<(usize, Vec<u8>)>,
    /// Parts that each end sent, and those that came from it.
    sent: [Vec<Vec<u8>>; 2],
    came: [Vec<Vec<u8>>; 2],
    tickets: u32,
}

impl Road {
    fn new() -> Self {
        Self {
            ends: [(); 2].map(|()| Early::new(Tickets::default())),
            now: Time::ZERO,
            wall: Duration::from_secs(1_800_000_000),
            kept: Vec::new(),
            sent: [const { Vec::new() }; 2],
            came: [const { Vec::new() }; 2],
            tickets: 0,
        }
    }

    fn act(&mut self, act: u8, value: u8) {
        match act % 8 {
            0 => self.connect(),
            1 => {
                let (to, salt) = ((DIALLED, address(2)), [value; 16]);
                // A salt that was used before would be the same key again: ends draw them by chance.
                let _ = self.ends[0].ask(self.wall, to, HELLO, salt);
            }
            2 | 3 => self.send(usize::from(act % 8 - 2), value),
            4 => self.arrive(value, |_| {}),
            5 => self.arrive(value, |datagram| {
                let place = usize::from(value) % datagram.len();
                datagram[place] ^= 1 << (value % 8);
            }),
            6 => self.arrive(value, |datagram| datagram.truncate(usize::from(value))),
            _ => {
                let passed = Duration::from_millis(u64::from(value) * 500);
                (self.now, self.wall) = (self.now + passed, self.wall + passed);
            }
        }
    }

    /// Both ends draw a ticket, as after a handshake.
    fn connect(&mut self) {
        self.tickets += 1;
        let mut drawn = [0; 32];
        drawn[..4].copy_from_slice(&self.tickets.to_be_bytes());
        let ticket = Ticket::new(drawn, drawn);
        let at = (self.now, self.wall);
        self.ends[0].on_connected(at, DIALLED, true, ticket.clone());
        self.ends[1].on_connected(at, DIALS, false, ticket);
    }

    fn send(&mut self, from: usize, value: u8) {
        let number = u32::try_from(self.sent[from].len()).unwrap_or(u32::MAX).to_be_bytes();
        let part = [&number[..], &vec![value; usize::from(value)]].concat();
        let peer = if from == 0 { DIALLED } else { DIALS };
        if let Some((_, datagram)) = self.ends[from].seal((self.now, self.wall), &peer, &part) {
            self.sent[from].push(part);
            self.kept.push((from, datagram));
            if self.kept.len() > KEPT_MAX {
                self.kept.remove(0);
            }
        }
    }

    /// One of those that are kept comes to the other end; it may come again later.
    fn arrive(&mut self, value: u8, change: impl FnOnce(&mut Vec<u8>)) {
        if self.kept.is_empty() {
            return;
        }
        let (from, whole) = self.kept[usize::from(value) % self.kept.len()].clone();
        let mut datagram = whole.clone();
        change(&mut datagram);
        let Some(came) = self.ends[1 - from].on_datagram(self.now, address(9), &datagram) else {
            return;
        };
        assert_eq!(datagram, whole, "a changed packet was taken");
        assert_eq!(came.from == Origin::Dialled, from == 1);
        assert_eq!(came.peer, if from == 0 { DIALS } else { DIALLED });
        assert!(self.sent[from].contains(&came.part), "nobody sent this");
        assert!(!self.came[from].contains(&came.part), "it came twice");
        self.came[from].push(came.part);
    }
}

//! Packets that are seen twice, as a router sees them: coming in by one interface and going out by
//! another. The first is counted; the other is a copy.

use std::{collections::HashMap, net::IpAddr};

use fanfare_messaging::monitor::observe::Sighting;

use crate::sensor::dissect::LinkType;

/// Pairs of addresses that are remembered; then it begins anew.
const PAIRS_MAX: usize = 16_384;
/// linux/if_packet.h: a packet that this machine sends.
const OUTGOING: u8 = 4;

/// Where a packet was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Place {
    /// Number of the interface.
    pub interface: u32,
    /// It went out there, as far as is known.
    pub outgoing: Option<bool>,
}

impl Place {
    /// What the frame itself says wins: Linux writes it where it captures on all interfaces.
    #[must_use]
    pub fn of_frame(self, link: LinkType, bytes: &[u8]) -> Self {
        match (link, bytes) {
            (LinkType::Cooked, [_, kind, ..]) => Self { outgoing: Some(*kind == OUTGOING), ..self },
            (LinkType::Cooked2, [_, _, _, _, a, b, c, d, _, _, kind, ..]) => Self {
                interface: u32::from_be_bytes([*a, *b, *c, *d]),
                outgoing: Some(*kind == OUTGOING),
            },
            _ => self,
        }
    }
}

/// What is known of a pair of addresses.
#[derive(Debug, Clone, Copy)]
struct Pair {
    /// Where it was seen first, with the hops that were left there.
    interface: u32,
    ttl: u8,
    /// It has come in somewhere: what goes out of it was only passed on.
    comes_in: bool,
    /// Packets that were seen going out before any was seen coming in: interfaces are read one by one.
    ahead: u32,
}

/// Tells copies from packets.
#[derive(Debug, Default)]
pub struct Copies {
    pairs: HashMap<(IpAddr, IpAddr), Pair>,
}

impl Copies {
    /// Whether this packet was seen before, at another place of this machine.
    pub fn is_copy(&mut self, place: Place, seen: &Sighting) -> bool {
        if self.pairs.len() >= PAIRS_MAX && !self.pairs.contains_key(&seen.ends) {
            self.pairs.clear();
        }
        let fresh = Pair { interface: place.interface, ttl: seen.ttl, comes_in: false, ahead: 0 };
        let pair = self.pairs.entry(seen.ends).or_insert(fresh);
        match place.outgoing {
            Some(true) => {
                pair.ahead = pair.ahead.saturating_add(u32::from(!pair.comes_in));
                pair.comes_in
            }
            Some(false) => {
                // It has one hop more than where it went out, and was counted there.
                let was_counted = pair.ahead > 0
                    && place.interface != pair.interface
                    && pair.ttl.checked_add(1) == Some(seen.ttl);
                pair.ahead -= u32::from(was_counted);
                pair.comes_in = true;
                was_counted
            }
            // No direction: whoever passes a packet on takes one hop from it.
            None if place.interface == pair.interface => {
                pair.ttl = seen.ttl;
                false
            }
            None if pair.ttl.checked_add(1) == Some(seen.ttl) => {
                // The later place was written first: this one is where it came in.
                *pair = Pair { interface: place.interface, ttl: seen.ttl, ..*pair };
                false
            }
            None => pair.ttl.checked_sub(1) == Some(seen.ttl),
        }
    }
}

#[cfg(test)]
mod tests {
    use fanfare_messaging::monitor::observe::What;
    use fanfare_wire::units::Time;

    use super::*;

    fn seen(from: u8, to: u8, ttl: u8) -> Sighting {
        let address = |last: u8| IpAddr::from([10, 0, 0, last]);
        Sighting {
            at: Time::ZERO,
            bytes: 100,
            packets: 1,
            macs: None,
            ends: (address(from), address(to)),
            ttl,
            what: What::Other(1),
        }
    }

    /// A packet: where, its direction there, from whom to whom, and its hops.
    type Packet = (u32, Option<bool>, u8, u8, u8);

    fn copies(packets: &[Packet]) -> Vec<bool> {
        let mut copies = Copies::default();
        let is_copy = |(interface, outgoing, from, to, ttl): &Packet| {
            let place = Place { interface: *interface, outgoing: *outgoing };
            copies.is_copy(place, &seen(*from, *to, *ttl))
        };
        packets.iter().map(is_copy).collect()
    }

    #[test]
    fn what_a_router_passes_on_is_counted_once_and_its_own_packets_too() {
        const IN: Option<bool> = Some(false);
        const OUT: Option<bool> = Some(true);
        let cases: [(&[Packet], &[bool]); 7] = [
            // Both ways through it, several times.
            (
                &[(1, IN, 1, 2, 64), (2, OUT, 1, 2, 63), (2, IN, 2, 1, 64), (1, OUT, 2, 1, 63)],
                &[false, true, false, true],
            ),
            // Going out is read before coming in.
            (
                &[
                    (2, OUT, 1, 2, 63),
                    (2, OUT, 1, 2, 63),
                    (1, IN, 1, 2, 64),
                    (1, IN, 1, 2, 64),
                    (1, IN, 1, 2, 64),
                ],
                &[false, false, true, true, false],
            ),
            // To a group that goes out by three interfaces.
            (
                &[(1, IN, 1, 9, 64), (2, OUT, 1, 9, 63), (3, OUT, 1, 9, 63), (4, OUT, 1, 9, 63)],
                &[false, true, true, true],
            ),
            // What it sends itself, also by two interfaces at once.
            (&[(1, OUT, 3, 2, 64), (2, OUT, 3, 2, 64), (1, IN, 2, 3, 64)], &[false; 3]),
            // Two ways that both come in.
            (&[(1, IN, 1, 2, 60), (2, IN, 1, 2, 61), (3, OUT, 1, 2, 59)], &[false, false, true]),
            // No direction: by the hops, in either order, and not where they are others.
            (
                &[
                    (1, None, 1, 2, 64),
                    (2, None, 1, 2, 63),
                    (1, None, 1, 2, 64),
                    (2, None, 1, 2, 63),
                ],
                &[false, true, false, true],
            ),
            (&[(1, None, 1, 2, 64), (2, None, 1, 2, 64), (2, None, 1, 2, 60)], &[false; 3]),
        ];
        for (packets, expected) in cases {
            assert_eq!(copies(packets), expected, "{packets:?}");
        }
        // The interface behind was written first once: all that follows is told right.
        let late = [(2, None, 1, 2, 63), (1, None, 1, 2, 64), (2, None, 1, 2, 63)];
        assert_eq!(copies(&late), [false, false, true]);
    }

    #[test]
    fn frames_of_linux_tell_their_place_themselves() {
        let given = Place { interface: 7, outgoing: None };
        let mut two = vec![8, 0, 0, 0, 0, 0, 0, 3, 0, 1, 4, 6];
        let of = |link, bytes: &[u8]| given.of_frame(link, bytes);
        assert_eq!(of(LinkType::Cooked2, &two), Place { interface: 3, outgoing: Some(true) });
        two[10] = 0;
        assert_eq!(of(LinkType::Cooked2, &two), Place { interface: 3, outgoing: Some(false) });
        assert_eq!(of(LinkType::Cooked, &[0, 4, 0]), Place { interface: 7, outgoing: Some(true) });
        assert_eq!(of(LinkType::Cooked, &[0]), given);
        assert_eq!(of(LinkType::Cooked2, &two[..10]), given);
        assert_eq!(of(LinkType::Ethernet, &two), given);
        assert_eq!(of(LinkType::Raw, &[]), given);
    }
}

//! The program that the kernel runs for each packet. It says how many bytes are copied: headers, and no
//! content. What is not copied cannot leak.

/// An instruction of the classic packet filter (linux/filter.h).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) code: u16,
    /// Instructions to pass over when a comparison holds.
    pub(super) yes: u8,
    pub(super) value: u32,
}

// Loads, by width, from a place, or from a place after X.
const HALF: u16 = 0x28;
const BYTE: u16 = 0x30;
const HALF_X: u16 = 0x48;
const BYTE_X: u16 = 0x50;
/// X becomes four times the lower half of a byte: the length of an IPv4 header.
const HEADER_X: u16 = 0xb1;
const EQUAL: u16 = 0x15;
const ANY_BIT: u16 = 0x45;
const AND: u16 = 0x54;
const SHIFT_RIGHT: u16 = 0x74;
const ADD: u16 = 0x04;
const ADD_X: u16 = 0x0c;
const FROM_X: u16 = 0x87;
const RETURN: u16 = 0x06;
const RETURN_A: u16 = 0x16;

/// Of a NORM message: its common head, and the instance with what stands beside it.
const NORM_HEAD: u32 = 16;
/// Ports that are looked for: a jump passes over 255 instructions at most.
const PORTS_MAX: usize = 32;
/// The header of Ethernet.
const LINK: u32 = 14;
/// The header of IPv6.
const SIX: u32 = 40;

/// Where jumps go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Four,
    Six,
    FourTcp,
    FourUdp,
    FourPlain,
    FourNorm,
    FourHeader,
    SixTcp,
    SixUdp,
    SixPlain,
    SixNorm,
}

/// The program as it is written.
#[derive(Debug, Default)]
struct Program {
    steps: Vec<(Step, Option<Place>)>,
    places: Vec<(Place, usize)>,
}

impl Program {
    fn step(&mut self, code: u16, value: u32) {
        self.steps.push((Step { code, yes: 0, value }, None));
    }

    /// Goes there when it holds, and on to the next step when not.
    fn when(&mut self, code: u16, value: u32, to: Place) {
        self.steps.push((Step { code, yes: 0, value }, Some(to)));
    }

    fn at(&mut self, place: Place) {
        self.places.push((place, self.steps.len()));
    }

    fn finish(self) -> Vec<Step> {
        let Self { steps, places } = self;
        let distance = |from: usize, to: Place| {
            let found =
                places.iter().find(|(place, _)| *place == to).map_or(from + 1, |(_, at)| *at);
            (found - from - 1) as u8
        };
        let resolved = |(at, (step, to)): (usize, (Step, Option<Place>))| Step {
            yes: to.map_or(0, |to| distance(at, to)),
            ..step
        };
        steps.into_iter().enumerate().map(resolved).collect()
    }
}

/// For Ethernet and loopback. Ports beyond the 32nd are those of any UDP.
pub(super) fn headers_only(ports: &[u16]) -> Vec<Step> {
    let ports = &ports[..ports.len().min(PORTS_MAX)];
    let mut program = Program::default();
    program.step(HALF, LINK - 2);
    program.when(EQUAL, 0x0800, Place::Four);
    program.when(EQUAL, 0x86dd, Place::Six);
    // Others, and tags that the kernel has left: an IP header behind a tag, no more.
    program.step(RETURN, LINK + 24);
    four(&mut program, LINK, ports);
    six(&mut program, LINK, ports);
    program.finish()
}

/// For interfaces whose packets are IP at once.
pub(super) fn headers_of_ip(ports: &[u16]) -> Vec<Step> {
    let ports = &ports[..ports.len().min(PORTS_MAX)];
    let mut program = Program::default();
    program.step(BYTE, 0);
    program.step(AND, 0xf0);
    program.when(EQUAL, 0x40, Place::Four);
    program.when(EQUAL, 0x60, Place::Six);
    // Neither version: the first byte says so.
    program.step(RETURN, 1);
    four(&mut program, 0, ports);
    six(&mut program, 0, ports);
    program.finish()
}

/// IPv4: its header has a length.
fn four(program: &mut Program, link: u32, ports: &[u16]) {
    program.at(Place::Four);
    program.step(HEADER_X, link);
    program.step(HALF, link + 6);
    // A later piece has no header of what it carries.
    program.when(ANY_BIT, 0x1fff, Place::FourHeader);
    program.step(BYTE, link + 9);
    program.when(EQUAL, 6, Place::FourTcp);
    program.when(EQUAL, 17, Place::FourUdp);
    program.when(EQUAL, 1, Place::FourPlain);
    program.at(Place::FourHeader);
    returns_after_x(program, link);
    program.at(Place::FourTcp);
    // Its header says in fours how long it is.
    program.step(BYTE_X, link + 12);
    program.step(AND, 0xf0);
    program.step(SHIFT_RIGHT, 2);
    program.step(ADD_X, 0);
    program.step(ADD, link);
    program.step(RETURN_A, 0);
    program.at(Place::FourUdp);
    for place in [link, link + 2] {
        program.step(HALF_X, place);
        ports.iter().for_each(|port| program.when(EQUAL, (*port).into(), Place::FourNorm));
    }
    program.at(Place::FourPlain);
    returns_after_x(program, link + 8);
    program.at(Place::FourNorm);
    returns_after_x(program, link + 8 + NORM_HEAD);
}

fn returns_after_x(program: &mut Program, more: u32) {
    program.step(FROM_X, 0);
    program.step(ADD, more);
    program.step(RETURN_A, 0);
}

/// IPv6: more headers than the first are not followed; what is copied is then less.
fn six(program: &mut Program, link: u32, ports: &[u16]) {
    let head = link + SIX;
    program.at(Place::Six);
    program.step(BYTE, link + 6);
    program.when(EQUAL, 6, Place::SixTcp);
    program.when(EQUAL, 17, Place::SixUdp);
    program.when(EQUAL, 58, Place::SixPlain);
    program.step(RETURN, head);
    program.at(Place::SixTcp);
    program.step(BYTE, head + 12);
    program.step(AND, 0xf0);
    program.step(SHIFT_RIGHT, 2);
    program.step(ADD, head);
    program.step(RETURN_A, 0);
    program.at(Place::SixUdp);
    for place in [head, head + 2] {
        program.step(HALF, place);
        ports.iter().for_each(|port| program.when(EQUAL, (*port).into(), Place::SixNorm));
    }
    program.at(Place::SixPlain);
    program.step(RETURN, head + 8);
    program.at(Place::SixNorm);
    program.step(RETURN, head + 8 + NORM_HEAD);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the kernel runs it: a load past the end copies nothing.
    fn copied(program: &[Step], packet: &[u8]) -> Option<u32> {
        let (mut a, mut x, mut at) = (0_u32, 0_u32, 0);
        let byte = |place: u32| packet.get(place as usize).copied().map(u32::from);
        let half = |place: u32| Some(byte(place)? << 8 | byte(place + 1)?);
        loop {
            let Step { code, yes, value } = program[at];
            at += 1;
            match code {
                HALF => a = half(value)?,
                BYTE => a = byte(value)?,
                HALF_X => a = half(x + value)?,
                BYTE_X => a = byte(x + value)?,
                HEADER_X => x = (byte(value)? & 15) * 4,
                EQUAL if a == value => at += usize::from(yes),
                ANY_BIT if a & value != 0 => at += usize::from(yes),
                EQUAL | ANY_BIT => {}
                AND => a &= value,
                SHIFT_RIGHT => a >>= value,
                ADD => a += value,
                ADD_X => a += x,
                FROM_X => a = x,
                RETURN => return Some(value),
                RETURN_A => return Some(a),
                _ => panic!("{code:#x}"),
            }
        }
    }

    fn packet(kind: u16, head: &[u8], content: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; 12];
        bytes.extend(kind.to_be_bytes());
        bytes.extend(head);
        bytes.extend(content);
        bytes.resize(1500, 0xaa);
        bytes
    }

    #[test]
    fn headers_are_copied_and_nothing_of_the_content() {
        let four = |first: u8, piece: u8, protocol: u8| {
            let mut head = vec![first, 0, 0, 0, 0, 0, 0, piece, 64, protocol];
            head.resize(usize::from(first & 15) * 4, 0);
            head
        };
        let six = |next: u8| {
            let mut head = vec![0x60, 0, 0, 0, 0, 0, next];
            head.resize(40, 0);
            head
        };
        let mut tcp = vec![0; 12];
        tcp.push(0x80);
        let (udp, norm) = ([0, 9, 0, 9], [0, 9, 0x17, 0x73]);
        let program = headers_only(&[6003, 6004]);
        let cases = [
            (packet(0x0800, &four(0x45, 0, 6), &tcp), 14 + 20 + 32),
            (packet(0x0800, &four(0x46, 0, 6), &tcp), 14 + 24 + 32),
            (packet(0x0800, &four(0x45, 0, 17), &udp), 14 + 20 + 8),
            (packet(0x0800, &four(0x45, 0, 17), &norm), 14 + 20 + 24),
            (packet(0x0800, &four(0x45, 0, 1), &[8]), 14 + 20 + 8),
            (packet(0x0800, &four(0x45, 0, 50), &[]), 14 + 20),
            (packet(0x0800, &four(0x45, 9, 6), &tcp), 14 + 20),
            (packet(0x86dd, &six(6), &tcp), 14 + 40 + 32),
            (packet(0x86dd, &six(17), &udp), 14 + 40 + 8),
            (packet(0x86dd, &six(17), &norm), 14 + 40 + 24),
            (packet(0x86dd, &six(58), &[]), 14 + 40 + 8),
            (packet(0x86dd, &six(44), &[]), 14 + 40),
            (packet(0x8100, &[], &[]), 14 + 24),
        ];
        let bare = headers_of_ip(&[6003, 6004]);
        for (bytes, expected) in cases {
            assert_eq!(copied(&program, &bytes), Some(expected), "{:x?}", &bytes[12..40]);
            // A tunnel has the same without the header of Ethernet.
            let expected = if bytes[12] == 0x81 { 1 } else { expected - 14 };
            assert_eq!(copied(&bare, &bytes[14..]), Some(expected), "{:x?}", &bytes[14..40]);
        }
        assert_eq!(copied(&bare, &[]), None, "too short");
        assert_eq!(copied(&program, &[0; 13]), None, "too short");
    }

    #[test]
    fn as_many_ports_as_there_is_room_for_are_reached_by_all_jumps() {
        let ports: Vec<u16> = (1..100).collect();
        for program in [headers_only(&ports), headers_of_ip(&ports)] {
            let end = program.len();
            let all = program.iter().enumerate();
            assert!(all.into_iter().all(|(at, step)| at + 1 + usize::from(step.yes) < end + 1));
        }
        let program = headers_only(&ports);
        let head = [0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(copied(&program, &packet(0x0800, &head, &[0, 1, 9, 9])), Some(58));
    }
}

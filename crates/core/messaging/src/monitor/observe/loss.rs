//! Loss: TCP segments that come again, and numbers of NORM messages that are missing.

use alloc::{collections::BTreeMap, vec::Vec};
use core::net::IpAddr;

use fanfare_wire::units::{Duration, Time};

use super::sighting::{Norm, Segment, Sighting, What};

/// Directions of connections that are followed; those that were quiet longest go.
const DIRECTIONS_MAX: usize = 8192;
/// Gaps that are remembered of one.
const HOLES_MAX: usize = 16;
/// What comes so soon after what should have followed it was only overtaken (as Wireshark has it).
const OVERTAKEN: Duration = Duration::from_millis(3);
/// NORM sessions that are followed.
const SESSIONS_MAX: usize = 1024;
/// Numbers that are farther apart are another session of the same name.
const JUMP: u16 = 1 << 12;

/// A message that does not fit into a frame of Ethernet (1,500 bytes, RFC 894) may be several, which the
/// kernel hands over joined. A capture file does not say of how many. Bytes, without the headers of UDP.
const MESSAGE_MAX: u32 = 1500 - 28;
/// What a frame has beyond whole messages is no further one: tags, and headers of links. Bytes.
const SLACK: u32 = 24;

/// One direction of a connection: addresses and ports.
type Connection = ((IpAddr, IpAddr), (u16, u16));

/// Segments of one direction between two addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Retransmitted {
    /// Segments with data.
    pub segments: u64,
    /// Data that had not been seen here: lost before it came here.
    pub before: u64,
    /// Data that had been seen here: lost after it, or sent again in vain.
    pub after: u64,
    /// Segments that were overtaken.
    pub overtaken: u64,
}

#[derive(Debug)]
struct Direction {
    next: u32,
    holes: Vec<(u32, u32, Time)>,
    last: Time,
}

/// Messages of one NORM sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Session {
    /// Numbers that there were from the first to the last, and those that came.
    pub sent: u64,
    /// What came of them.
    pub came: u64,
    /// Bytes on the line.
    pub bytes: u64,
    /// When one came last.
    pub last: Time,
    /// Number of the last message that there was.
    highest: u16,
    /// Bytes of NORM in the frame that has it, and how many messages of it were counted.
    frame: (u32, u32),
    /// Bytes of one message in joined frames, as far as is known.
    message: u32,
}

/// All of it.
#[derive(Debug, Default)]
pub struct Losses {
    directions: BTreeMap<Connection, Direction>,
    pairs: BTreeMap<(IpAddr, IpAddr), Retransmitted>,
    sessions: BTreeMap<(IpAddr, IpAddr, u32, u16), Session>,
}

impl Losses {
    pub(super) fn on_sighting(&mut self, seen: &Sighting) {
        match &seen.what {
            What::Tcp(ports, segment) => self.on_segment(seen, *ports, segment),
            What::Norm(_, norm) if norm.is_of_sender() => self.on_norm(seen, *norm),
            _ => {}
        }
    }

    fn on_segment(&mut self, seen: &Sighting, ports: (u16, u16), segment: &Segment) {
        let key = (seen.ends, ports);
        if segment.rst {
            self.directions.remove(&key);
            return;
        }
        let length = segment.length + u32::from(segment.syn) + u32::from(segment.fin);
        if length == 0 {
            return;
        }
        if !self.directions.contains_key(&key) {
            self.make_room();
        }
        let end = segment.number.wrapping_add(length);
        let fresh = Direction { next: segment.number, holes: Vec::new(), last: seen.at };
        let direction = self.directions.entry(key).or_insert(fresh);
        if segment.syn && segment.number.wrapping_add(1) != direction.next {
            // The ports are used again.
            *direction = Direction { next: segment.number, holes: Vec::new(), last: seen.at };
        }
        let outcome = direction.on_range(seen.at, segment.number, end, segment.length);
        let room = self.pairs.len() < DIRECTIONS_MAX || self.pairs.contains_key(&seen.ends);
        if !room {
            return;
        }
        let pair = self.pairs.entry(seen.ends).or_default();
        pair.segments += u64::from(segment.length > 0);
        match outcome {
            Outcome::Fresh => {}
            Outcome::Before => pair.before += 1,
            Outcome::After => pair.after += 1,
            Outcome::Overtaken => pair.overtaken += 1,
        }
    }

    fn make_room(&mut self) {
        if self.directions.len() < DIRECTIONS_MAX {
            return;
        }
        let mut times: Vec<Time> = self.directions.values().map(|one| one.last).collect();
        times.sort_unstable();
        let bound = times[times.len() / 4];
        let mut left = times.len() / 4 + 1;
        self.directions.retain(|_, one| {
            let goes = one.last <= bound && left > 0;
            left -= usize::from(goes);
            !goes
        });
    }

    fn on_norm(&mut self, seen: &Sighting, norm: Norm) {
        let key = (seen.ends.0, seen.ends.1, norm.source, norm.instance);
        if self.sessions.len() >= SESSIONS_MAX && !self.sessions.contains_key(&key) {
            let oldest = self.sessions.iter().min_by_key(|(_, one)| one.last).map(|(key, _)| *key);
            oldest.map(|key| self.sessions.remove(&key));
        }
        let fresh = Session {
            sent: 0,
            came: 0,
            bytes: 0,
            last: seen.at,
            highest: norm.sequence.wrapping_sub(1),
            frame: (0, 1),
            message: 0,
        };
        let session = self.sessions.entry(key).or_insert(fresh);
        let ahead = norm.sequence.wrapping_sub(session.highest);
        // Messages that are joined have numbers that follow each other.
        let joined = u64::from(seen.packets.max(1));
        let last = norm.sequence.wrapping_add(joined as u16).wrapping_sub(1);
        if ahead < JUMP {
            session.on_next(ahead);
            session.sent += u64::from(ahead) + joined - 1;
            session.on_frame(last, seen);
        } else if ahead < JUMP.wrapping_neg() {
            // Neither soon after nor shortly before: it counts anew from here.
            session.sent += joined;
            session.on_frame(last, seen);
        }
        session.came += joined;
        session.bytes += u64::from(seen.bytes);
        session.last = seen.at;
    }

    /// For each who sends to whom.
    pub fn pairs(&self) -> impl Iterator<Item = (&(IpAddr, IpAddr), &Retransmitted)> {
        self.pairs.iter()
    }

    /// By sender's address, group, node and instance.
    pub fn sessions(&self) -> impl Iterator<Item = (&(IpAddr, IpAddr, u32, u16), &Session)> {
        self.sessions.iter()
    }
}

impl Session {
    /// The next message comes so far behind the last one: as many may have been in the last frame.
    fn on_next(&mut self, ahead: u16) {
        let (bytes, counted) = self.frame;
        if counted > 1 || ahead == 0 || (self.message == 0 && bytes <= MESSAGE_MAX) {
            return;
        }
        // Of two frames the one behind which nothing is missing has the longer messages.
        if bytes > MESSAGE_MAX {
            self.message = self.message.max(bytes / u32::from(ahead));
        }
        let held = bytes.saturating_sub(SLACK).div_ceil(self.message.max(1));
        self.came += u64::from(held.clamp(1, ahead.into()) - 1);
    }

    fn on_frame(&mut self, last: u16, seen: &Sighting) {
        self.highest = last;
        // IP, UDP, and Ethernet where there are cards.
        let headers = if seen.ends.0.is_ipv4() { 28 } else { 48 };
        let link = if seen.macs.is_some() { 14 } else { 0 };
        self.frame = (seen.bytes.saturating_sub(headers + link), seen.packets);
    }

    /// What did not come.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.sent.saturating_sub(self.came)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Fresh,
    Before,
    After,
    Overtaken,
}

impl Direction {
    fn on_range(&mut self, at: Time, start: u32, end: u32, length: u32) -> Outcome {
        self.last = at;
        let ahead = start.wrapping_sub(self.next).cast_signed();
        if ahead >= 0 {
            if ahead > 0 {
                if self.holes.len() == HOLES_MAX {
                    self.holes.remove(0);
                }
                self.holes.push((self.next, start, at));
            }
            self.next = end;
            return Outcome::Fresh;
        }
        // One byte that was acknowledged keeps a connection alive.
        if length <= 1 && ahead == -1 {
            return Outcome::Fresh;
        }
        let within = |hole: &(u32, u32, Time)| {
            end.wrapping_sub(hole.0).cast_signed() > 0
                && hole.1.wrapping_sub(start).cast_signed() > 0
        };
        let found = self.holes.iter().position(within);
        if end.wrapping_sub(self.next).cast_signed() > 0 {
            self.next = end;
        }
        let Some(found) = found else { return Outcome::After };
        let (from, to, since) = self.holes.remove(found);
        if start.wrapping_sub(from).cast_signed() > 0 {
            self.holes.push((from, start, since));
        }
        if to.wrapping_sub(end).cast_signed() > 0 && self.holes.len() < HOLES_MAX {
            self.holes.push((end, to, since));
        }
        if at.since(since) <= OVERTAKEN { Outcome::Overtaken } else { Outcome::Before }
    }
}

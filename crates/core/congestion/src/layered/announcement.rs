//! The session announcement: what a receiver must know before it joins a layer.
//!
//! It is the SAM of the thesis (5.5.1): rates of the layers, their groups, packet size, object
//! length and the rate adaptation interval (RAI). It is sent every n intervals. Ours also answers
//! receivers that request their round-trip time, and says which share of the receivers may ask. It
//! travels as a CMD(APPLICATION) on the session's own group, like the roll call.
//!
//! ```text
//! "FNLA" | version 1 (8) | rhythm (8) | interval ms (16) | every n intervals (8) | echoes (8)
//! packet bytes (16) | ask share (16) | object bytes (64) | family 4 or 6 (8) | scheme (8)
//! first port (16) | first group (32 or 128) | scheme's numbers | echoes
//! equal 0: layers (8), rate bit/s (32)     multiplicative 1: layers (8), rate (32), factor (16)
//! waves 3: layers (8), rate (32), what is left after a slot (16)
//! listed 2: layers (8), rates (32 each)    echo: receiver (32), its clock us (32), held us (32)
//! ```

use super::{
    SendPattern,
    scheme::{Layers, Scheme, SchemeError},
};
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};
use fanfare_wire::units::{rate::Bitrate, time::Duration};

const MAGIC: [u8; 4] = *b"FNLA";
const VERSION: u8 = 1;
/// Bytes up to the first group's address.
const HEAD: usize = 26;
/// Adaptation more often than this is not seen by the network; less often, nobody would wait for.
/// Milliseconds, on the wire.
pub const INTERVAL: core::ops::RangeInclusive<u16> = 50..=60_000;
/// A packet holds a header and something, and fits into a datagram.
const PACKET: core::ops::RangeInclusive<u16> = 64..=65_000;
/// An object has 48 bits of length, as on NORM's wire.
const OBJECT_MAX: u64 = (1 << 48) - 1;
/// Receivers answered in one announcement.
pub const ECHOES_MAX: usize = 16;
/// An ask share of one.
pub const EVERYBODY: u16 = u16::MAX;

/// The answer to a receiver that asked for its round trip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Echo {
    /// Who asked.
    pub receiver: u32,
    /// Its clock as it asked, microseconds; wraps.
    pub asked: u32,
    /// How long the sender kept the question.
    pub held: Duration,
}

/// A session, as its sender describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct Announcement {
    /// How packets of a layer follow each other.
    pub send_pattern: SendPattern,
    /// All receivers adapt once in each, by the sender's time (RAI).
    pub interval: Duration,
    /// An announcement every so many intervals.
    pub every: u8,
    /// Bytes of a packet on the wire.
    pub packet: u16,
    /// Which share of the receivers may ask in an interval, of [`EVERYBODY`].
    pub ask_share: u16,
    /// Bytes of the object; 0 when it does not end.
    pub object: u64,
    /// The group of the first channel; the others follow it.
    pub group: SocketAddr,
    /// Rates.
    pub scheme: Scheme,
    /// Who asked lately.
    pub echoes: Vec<Echo>,
}

/// Groups that a receiver is ready to join.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupRange {
    /// The first.
    pub first: IpAddr,
    /// How many.
    pub count: u32,
}

/// Why an announcement is not followed. Each is counted by the receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Not an announcement of this version, or cut short.
    Malformed,
    /// An impossible interval, packet size, object or send pattern.
    Absurd,
    /// Impossible layers.
    Layers(SchemeError),
    /// Groups outside the range that the receiver was told.
    Groups,
    /// The packets have another send pattern than the receiver's controller needs.
    SendPattern(SendPattern),
    /// Another session than the one that is followed.
    Changed,
}

impl Announcement {
    /// Its layers.
    ///
    /// # Errors When they are impossible.
    pub fn layers(&self) -> Result<Layers, SchemeError> {
        self.scheme.layers()
    }
    /// Groups that it takes: with dynamic layers more than layers.
    #[must_use]
    pub fn channels(&self) -> usize {
        let layers = self.layers().map_or(0, |layers| layers.count());
        layers + usize::from(self.send_pattern.quiet_slots())
    }

    /// Waves are sent as waves, and nothing else is.
    fn is_of_one_kind(&self) -> bool {
        (self.send_pattern == SendPattern::Waves) == matches!(self.scheme, Scheme::Waves { .. })
    }

    /// Appends its bytes to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let ms = u16::try_from(self.interval.as_millis()).unwrap_or(u16::MAX);
        let echoes = &self.echoes[..self.echoes.len().min(ECHOES_MAX)];
        out.extend(MAGIC);
        out.extend([VERSION, self.send_pattern.to_wire()]);
        out.extend(ms.to_be_bytes());
        out.extend([self.every, echoes.len() as u8]);
        out.extend(self.packet.to_be_bytes());
        out.extend(self.ask_share.to_be_bytes());
        out.extend(self.object.to_be_bytes());
        out.extend([if self.group.is_ipv4() { 4 } else { 6 }, self.scheme.number()]);
        out.extend(self.group.port().to_be_bytes());
        match self.group.ip() {
            IpAddr::V4(group) => out.extend(group.octets()),
            IpAddr::V6(group) => out.extend(group.octets()),
        }
        self.scheme.encode(out);
        for echo in echoes {
            out.extend(echo.receiver.to_be_bytes());
            out.extend(echo.asked.to_be_bytes());
            out.extend(micros(echo.held).to_be_bytes());
        }
    }

    /// Parses an announcement and checks its values.
    ///
    /// # Errors
    /// Why it is not followed.
    pub fn parse(bytes: &[u8], allowed: GroupRange) -> Result<Self, Refusal> {
        let announcement = Self::read(&mut Reader(bytes)).ok_or(Refusal::Malformed)?;
        let ms = announcement.interval.as_millis() as u16;
        let plausible = INTERVAL.contains(&ms)
            && announcement.every > 0
            && PACKET.contains(&announcement.packet)
            && announcement.object <= OBJECT_MAX
            && announcement.is_of_one_kind();
        if !plausible {
            return Err(Refusal::Absurd);
        }
        announcement.layers().map_err(Refusal::Layers)?;
        if !allowed.holds(announcement.group.ip(), announcement.channels()) {
            return Err(Refusal::Groups);
        }
        Ok(announcement)
    }

    fn read(reader: &mut Reader<'_>) -> Option<Self> {
        if reader.take::<4>()? != MAGIC || reader.byte()? != VERSION {
            return None;
        }
        let send_pattern = SendPattern::from_wire(reader.byte()?)?;
        let interval = Duration::from_millis(u64::from(reader.short()?));
        let (every, echoes) = (reader.byte()?, usize::from(reader.byte()?));
        let (packet, ask_share) = (reader.short()?, reader.short()?);
        let object = u64::from_be_bytes(reader.take()?);
        let (family, scheme) = (reader.byte()?, reader.byte()?);
        let port = reader.short()?;
        let ip: IpAddr = match family {
            4 => reader.take::<4>()?.into(),
            6 => reader.take::<16>()?.into(),
            _ => return None,
        };
        let scheme = Scheme::read(scheme, reader)?;
        let echo = |_| {
            let (receiver, asked) = (reader.word()?, reader.word()?);
            let held = Duration::from_micros(u64::from(reader.word()?));
            Some(Echo { receiver, asked, held })
        };
        let echoes = (0..echoes.min(ECHOES_MAX)).map(echo).collect::<Option<Vec<_>>>()?;
        let group = SocketAddr::new(ip, port);
        Some(Self {
            send_pattern,
            interval,
            every,
            packet,
            ask_share,
            object,
            group,
            scheme,
            echoes,
        })
    }

    /// Bytes of it on the wire, without UDP's headers.
    #[must_use]
    pub fn wire_bytes(&self) -> usize {
        let mut bytes = Vec::with_capacity(HEAD + 64);
        self.encode(&mut bytes);
        bytes.len()
    }
}

impl Scheme {
    const fn number(&self) -> u8 {
        match self {
            Self::Equal { .. } => 0,
            Self::Multiplicative { .. } => 1,
            Self::Listed(_) => 2,
            Self::Waves { .. } => 3,
        }
    }
    fn encode(&self, out: &mut Vec<u8>) {
        let word = |rate: &Bitrate| u32::try_from(rate.as_bps()).unwrap_or(u32::MAX).to_be_bytes();
        match self {
            Self::Equal { rate, count } => {
                out.push(*count);
                out.extend(word(rate));
            }
            Self::Multiplicative { base, factor, count } => {
                out.push(*count);
                out.extend(word(base));
                out.extend(factor.to_be_bytes());
            }
            Self::Waves { base, fall, count } => {
                out.push(*count);
                out.extend(word(base));
                out.extend(fall.to_be_bytes());
            }
            Self::Listed(rates) => {
                out.push(u8::try_from(rates.len()).unwrap_or(u8::MAX));
                rates.iter().take(usize::from(u8::MAX)).for_each(|rate| out.extend(word(rate)));
            }
        }
    }
    fn read(number: u8, reader: &mut Reader<'_>) -> Option<Self> {
        let count = reader.byte()?;
        let mut rate = || reader.word().map(|bps| Bitrate::bps(u64::from(bps)));
        Some(match number {
            0 => Self::Equal { rate: rate()?, count },
            1 => Self::Multiplicative { base: rate()?, factor: reader.short()?, count },
            2 => Self::Listed((0..count).map(|_| rate()).collect::<Option<_>>()?),
            3 => Self::Waves { base: rate()?, fall: reader.short()?, count },
            _ => return None,
        })
    }
}

impl GroupRange {
    /// Whether `count` groups from `first` on are all within.
    fn holds(&self, first: IpAddr, count: usize) -> bool {
        let number = |ip: IpAddr| match ip {
            IpAddr::V4(ip) => u128::from(u32::from(ip)),
            IpAddr::V6(ip) => u128::from(ip),
        };
        let Some(offset) = number(first).checked_sub(number(self.first)) else { return false };
        first.is_ipv4() == self.first.is_ipv4()
            && first.is_multicast()
            && offset.saturating_add(count as u128) <= u128::from(self.count)
    }
}

fn micros(time: Duration) -> u32 {
    u32::try_from(time.as_micros()).unwrap_or(u32::MAX)
}

/// Bytes that are read from the front.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }
    fn byte(&mut self) -> Option<u8> {
        self.take().map(u8::from_be_bytes)
    }
    fn short(&mut self) -> Option<u16> {
        self.take().map(u16::from_be_bytes)
    }
    fn word(&mut self) -> Option<u32> {
        self.take().map(u32::from_be_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use core::net::Ipv4Addr;

    fn announcement(scheme: Scheme) -> Announcement {
        Announcement {
            send_pattern: SendPattern::Pairs,
            interval: Duration::from_secs(1),
            every: 1,
            packet: 512,
            ask_share: EVERYBODY,
            object: 50_000_000,
            group: "239.255.43.0:6100".parse().unwrap(),
            scheme,
            echoes: vec![Echo { receiver: 7, asked: 0x0102_0304, held: Duration::from_micros(9) }],
        }
    }
    fn equal() -> Announcement {
        announcement(Scheme::Equal { rate: Bitrate::kbps(20), count: 100 })
    }
    fn allowed() -> GroupRange {
        GroupRange { first: Ipv4Addr::new(239, 255, 43, 0).into(), count: 256 }
    }
    fn encoded(announcement: &Announcement) -> Vec<u8> {
        let mut bytes = Vec::new();
        announcement.encode(&mut bytes);
        bytes
    }

    #[test]
    fn an_announcement_has_these_bytes() {
        let golden = [
            b'F', b'N', b'L', b'A', 1, 0, 0x03, 0xe8, 1, 1, 0x02, 0x00, 0xff, 0xff, // head
            0, 0, 0, 0, 0x02, 0xfa, 0xf0, 0x80, 4, 0, 0x17,
            0xd4, // object, family, scheme, port
            239, 255, 43, 0, 100, 0, 0, 0x4e, 0x20, // group, layers, 20 kbit/s
            0, 0, 0, 7, 1, 2, 3, 4, 0, 0, 0, 9, // echo
        ];
        assert_eq!(encoded(&equal()), golden);
        assert_eq!(equal().wire_bytes(), golden.len());
    }

    #[test]
    fn an_announcement_is_read_back_and_a_truncated_one_is_refused() {
        let listed = Scheme::Listed(vec![Bitrate::kbps(64), Bitrate::kbps(192)]);
        let flid = Scheme::Multiplicative { base: Bitrate::kbps(12), factor: 1300, count: 26 };
        let waves = Scheme::Waves { base: Bitrate::bps(4096), fall: 750, count: 16 };
        let waves = Announcement { send_pattern: SendPattern::Waves, ..announcement(waves) };
        for announcement in [equal(), announcement(listed), announcement(flid), waves] {
            let bytes = encoded(&announcement);
            assert_eq!(Announcement::parse(&bytes, allowed()), Ok(announcement));
            for end in 0..bytes.len() {
                let cut = Announcement::parse(&bytes[..end], allowed());
                assert_eq!(cut, Err(Refusal::Malformed), "{end}");
            }
        }
    }

    #[test]
    fn an_inconsistent_announcement_is_refused() {
        let parse = |announcement: &Announcement| {
            Announcement::parse(&encoded(announcement), allowed()).unwrap_err()
        };
        let hurried = Announcement { interval: Duration::from_millis(1), ..equal() };
        let tiny = Announcement { packet: 10, ..equal() };
        let huge = Announcement { object: 1 << 60, ..equal() };
        let never = Announcement { every: 0, ..equal() };
        let mixed = Announcement { send_pattern: SendPattern::Waves, ..equal() };
        for absurd in [hurried, tiny, huge, never, mixed] {
            assert_eq!(parse(&absurd), Refusal::Absurd);
        }
        let many = Scheme::Equal { rate: Bitrate::kbps(20), count: 200 };
        let count = SchemeError::Count(200);
        assert_eq!(parse(&announcement(many)), Refusal::Layers(count));
        // The last of 100 groups, or the first, or all of them, are another node's.
        for group in ["239.255.43.200:1", "239.255.42.255:1", "10.1.1.1:1", "[ff02::1]:1"] {
            let elsewhere = Announcement { group: group.parse().unwrap(), ..equal() };
            assert_eq!(parse(&elsewhere), Refusal::Groups, "{group}");
        }
    }
}

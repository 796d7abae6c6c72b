//! What doctors say to each other: small numbered probes that NORM nodes skip.
//!
//! A probe is a NORM_CMD(APPLICATION) (RFC 5740 4.2.3.7) with this content, network byte order:
//!
//! ```text
//! "FNDR" | version 1 | flags | name length 1 | entries 1 | boot id 8 | sequence 4 | name
//! entries x ( boot id 8 | first 4 | last 4 | heard 4 | held, microseconds 4 )
//! at the end: longest packet of the interface 2 (0: unknown); flag 2: zeros follow up to that length
//! ```

use std::time::Duration;

use fanfare_wire::{
    Cmd, GroupSize, InstanceId, Message, NodeId, QuantizedRtt, Sequence, cmd::Application,
    ext::Extensions, header::SenderFields,
};

const MAGIC: &[u8; 4] = b"FNDR";
const VERSION: u8 = 1;
const LEAVING: u8 = 0x01;
/// Flag: zeros make it as long as the interface takes.
const FULL: u8 = 2;
/// Longest name, bytes.
const NAME_MAX: usize = 63;
/// Most peers named in one probe: with the longest name a probe stays below 600 bytes, which every
/// NORM receiver takes whatever its segment size is by default.
pub(crate) const ENTRIES_MAX: usize = 20;

/// One probe.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Probe {
    /// Random, one per run of a doctor.
    pub(crate) boot: u64,
    /// Counts from 0.
    pub(crate) sequence: u32,
    /// The machine's name; cut at 63 bytes on the wire.
    pub(crate) name: String,
    /// The last one: it will not be heard again.
    pub(crate) leaving: bool,
    /// Whom it heard.
    pub(crate) heard: Vec<Heard>,
    /// Longest packet that the machine's interface takes; 0: it does not say.
    pub(crate) mtu: u16,
    /// It is as long as that: zeros follow.
    pub(crate) full: bool,
}

/// What a doctor heard of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Heard {
    pub(crate) boot: u64,
    /// Sequence of the first probe heard of it.
    pub(crate) first: u32,
    /// Sequence of the last one.
    pub(crate) last: u32,
    /// How many, each once.
    pub(crate) count: u32,
    /// From hearing the last one until this probe was sent; from it the other learns the RTT.
    pub(crate) held: Duration,
}

impl Probe {
    /// The datagram.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let content = self.content();
        let mut datagram = Vec::new();
        let (sender, extensions) = (self.sender(), Extensions::default());
        Application { sender, extensions, content: &content }.encode(&mut datagram);
        datagram
    }

    fn content(&self) -> Vec<u8> {
        let name = cut(&self.name);
        let heard = &self.heard[..self.heard.len().min(ENTRIES_MAX)];
        let mut out = MAGIC.to_vec();
        let flags = (u8::from(self.leaving) * LEAVING) | (u8::from(self.full) * FULL);
        out.extend([VERSION, flags, name.len() as u8, heard.len() as u8]);
        out.extend(self.boot.to_be_bytes());
        out.extend(self.sequence.to_be_bytes());
        out.extend(name.as_bytes());
        for entry in heard {
            let held = u32::try_from(entry.held.as_micros()).unwrap_or(u32::MAX);
            out.extend(entry.boot.to_be_bytes());
            [entry.first, entry.last, entry.count, held]
                .iter()
                .for_each(|n| out.extend(n.to_be_bytes()));
        }
        out.extend(self.mtu.to_be_bytes());
        out
    }

    /// The same as long as the interface takes it, for a group of this family. `None` where that is no longer
    /// than the probe itself, or not known.
    pub(crate) fn encode_full(&self, ipv6: bool) -> Option<Vec<u8>> {
        let full = Self { full: true, heard: Vec::new(), ..self.clone() };
        let mut bytes = full.encode();
        let length = usize::from(self.mtu).checked_sub(if ipv6 { 48 } else { 28 })?;
        if length <= bytes.len() {
            return None;
        }
        bytes.resize(length, 0);
        Some(bytes)
    }

    /// Plausible for a NORM receiver, which keeps a little state for each sender it hears.
    fn sender(&self) -> SenderFields {
        let id = 1 + self.boot % 0xffff_fffe;
        SenderFields {
            sequence: Sequence(self.sequence as u16),
            source_id: NodeId(id as u32),
            instance_id: InstanceId((self.boot >> 48) as u16),
            // NORM's usual defaults: half a second, K = 4, 1000 receivers.
            grtt: QuantizedRtt::from_nanos(500_000_000),
            backoff: 4,
            gsize: GroupSize::from_receivers(1000),
        }
    }

    /// `None` for anything that is not a probe of this version.
    pub(crate) fn parse(datagram: &[u8]) -> Option<Self> {
        let Ok(Message::Cmd(Cmd::Application(command))) = Message::parse(datagram) else {
            return None;
        };
        let mut rest = command.content.strip_prefix(MAGIC)?;
        let [version, flags, name_length, entries] = take(&mut rest)?;
        if version != VERSION || usize::from(entries) > ENTRIES_MAX {
            return None;
        }
        let boot = u64::from_be_bytes(take(&mut rest)?);
        let sequence = u32::from_be_bytes(take(&mut rest)?);
        let name = rest.split_off(..usize::from(name_length))?;
        let heard = (0..entries).map(|_| Heard::parse(&mut rest)).collect::<Option<_>>()?;
        // Versions up to 0.1.0 end here.
        let mtu = take(&mut rest).map_or(0, u16::from_be_bytes);
        let (leaving, full) = (flags & LEAVING != 0, flags & FULL != 0);
        Some(Self { boot, sequence, name: printable(name), leaving, heard, mtu, full })
    }
}

impl Heard {
    fn parse(rest: &mut &[u8]) -> Option<Self> {
        let boot = u64::from_be_bytes(take(rest)?);
        let mut number = || take(rest).map(u32::from_be_bytes);
        let (first, last, count, held) = (number()?, number()?, number()?, number()?);
        Some(Self { boot, first, last, count, held: Duration::from_micros(held.into()) })
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    rest.split_off(..N)?.try_into().ok()
}

fn cut(name: &str) -> &str {
    let mut end = name.len().min(NAME_MAX);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    &name[..end]
}

/// A name from the network goes to a terminal: nothing in it may steer one.
fn printable(name: &[u8]) -> String {
    let text = String::from_utf8_lossy(cut_bytes(name));
    let shown: String = text.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    if shown.trim().is_empty() { "unnamed".to_owned() } else { shown }
}

fn cut_bytes(name: &[u8]) -> &[u8] {
    &name[..name.len().min(NAME_MAX)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probe() -> Probe {
        let heard =
            Heard { boot: 9, first: 3, last: 27, count: 24, held: Duration::from_micros(1_500) };
        Probe {
            boot: 0x0102_0304_0506_0708,
            sequence: 70_000,
            name: "lab-02".to_owned(),
            leaving: true,
            heard: vec![heard],
            mtu: 1500,
            full: false,
        }
    }

    #[test]
    fn a_probe_reads_back_as_it_was_written() {
        assert_eq!(Probe::parse(&probe().encode()), Some(probe()));
    }

    #[test]
    fn a_probe_is_an_application_command_to_every_norm_node() {
        let datagram = probe().encode();
        let Ok(Message::Cmd(Cmd::Application(command))) = Message::parse(&datagram) else {
            panic!("another message")
        };
        assert!(command.content.starts_with(b"FNDR"));
        assert_ne!(command.sender.source_id, NodeId::NONE);
        assert_ne!(command.sender.source_id, NodeId::ANY);
    }

    #[test]
    fn the_longest_probe_stays_below_600_bytes() {
        let entry = probe().heard[0];
        let long = Probe { name: "ä".repeat(200), heard: vec![entry; 100], ..probe() };
        let datagram = long.encode();
        assert!(datagram.len() < 600, "{}", datagram.len());
        let read = Probe::parse(&datagram).unwrap();
        assert_eq!(read.heard.len(), ENTRIES_MAX);
        assert_eq!(read.name, "ä".repeat(31));
    }

    #[test]
    fn no_truncation_and_no_other_content_reads_as_a_probe() {
        let datagram = probe().encode();
        for length in 0..datagram.len() - 2 {
            assert_eq!(Probe::parse(&datagram[..length]), None, "{length}");
        }
        // One of version 0.1.0 does not say its MTU.
        let old = Probe::parse(&datagram[..datagram.len() - 2]).unwrap();
        assert_eq!(old, Probe { mtu: 0, ..probe() });
        let mut other = datagram.clone();
        other[16] = b'X';
        assert_eq!(Probe::parse(&other), None);
        let mut newer = datagram;
        newer[20] = 2;
        assert_eq!(Probe::parse(&newer), None);
    }

    #[test]
    fn a_full_probe_is_as_long_as_the_interface_takes_and_reads_as_one() {
        for (mtu, ipv6, length) in [(1500, false, 1472), (1500, true, 1452), (9000, false, 8972)] {
            let bytes = Probe { mtu, ..probe() }.encode_full(ipv6).unwrap();
            assert_eq!(bytes.len(), length);
            let read = Probe::parse(&bytes).unwrap();
            assert!(read.full && read.mtu == mtu && read.sequence == 70_000);
        }
        assert_eq!(Probe { mtu: 60, ..probe() }.encode_full(false), None);
        assert_eq!(Probe { mtu: 0, ..probe() }.encode_full(false), None);
    }

    #[test]
    fn a_name_cannot_steer_the_terminal() {
        let rude = Probe { name: "a\x1b[2J\nb".to_owned(), ..probe() };
        assert_eq!(Probe::parse(&rude.encode()).unwrap().name, "a?[2J?b");
        let silent = Probe { name: String::new(), ..probe() };
        assert_eq!(Probe::parse(&silent.encode()).unwrap().name, "unnamed");
    }
}

//! What doctors say to each other: small numbered probes that NORM nodes skip.
//!
//! A probe is a NORM_CMD(APPLICATION) (RFC 5740 4.2.3.7) with this content, network byte order:
//!
//! ```text
//! "FNDR" | version 1 | flags | name length 1 | entries 1 | boot id 8 | sequence 4 | name
//! entries x ( boot id 8 | first 4 | last 4 | heard 4 | held, microseconds 4 )
//! ```

use std::time::Duration;

use fanfare_wire::{
    Cmd, GroupSize, InstanceId, Message, NodeId, QuantizedRtt, Sequence, cmd::Application,
    ext::Extensions, header::SenderFields,
};

const MAGIC: &[u8; 4] = b"FNDR";
const VERSION: u8 = 1;
const LEAVING: u8 = 0x01;
/// Longest name, bytes.
const NAME_MAX: usize = 63;
/// Most peers named in one probe: with the longest name a probe stays below 600 bytes, which every
/// NORM receiver takes whatever its segment size is by default.
pub(crate) const ENTRIES_MAX: usize = 20;

/// One probe.
#[derive(Debug, Clone, PartialEq, Eq)]
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
        let flags = if self.leaving { LEAVING } else { 0 };
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
        out
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
        Some(Self { boot, sequence, name: printable(name), leaving: flags & LEAVING != 0, heard })
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
        for length in 0..datagram.len() {
            assert_eq!(Probe::parse(&datagram[..length]), None, "{length}");
        }
        let mut other = datagram.clone();
        other[16] = b'X';
        assert_eq!(Probe::parse(&other), None);
        let mut newer = datagram;
        newer[20] = 2;
        assert_eq!(Probe::parse(&newer), None);
    }

    #[test]
    fn a_name_cannot_steer_the_terminal() {
        let rude = Probe { name: "a\x1b[2J\nb".to_owned(), ..probe() };
        assert_eq!(Probe::parse(&rude.encode()).unwrap().name, "a?[2J?b");
        let silent = Probe { name: String::new(), ..probe() };
        assert_eq!(Probe::parse(&silent.encode()).unwrap().name, "unnamed");
    }
}

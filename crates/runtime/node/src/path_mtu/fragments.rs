//! Messages in fragments, and fragments put together.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use fanfare_proto::Time;

use super::message::{FRAGMENT_HEADER, PathMessage};

/// Senders whose fragments are kept at the same time, and messages of each: fragments of a message follow
/// each other, and what is between comes from reordering.
const SENDERS_MAX: usize = 64;
const MESSAGES_MAX: usize = 32;
/// A sender that is silent for so long gives way to another one.
const SILENT: Duration = Duration::from_secs(10);

/// Cut of messages of one size: how many fragments, and how much of a message is in each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FragmentCut {
    pub(crate) count: usize,
    part: usize,
}

impl FragmentCut {
    /// Cuts messages of `size` bytes so that no fragment is longer than `limit`. `None` where that is not
    /// possible.
    pub(crate) fn new(size: usize, limit: usize) -> Option<Self> {
        let room = limit.checked_sub(FRAGMENT_HEADER).filter(|room| *room > 0)?;
        let count = size.div_ceil(room);
        // Of one size: the system sends them in one call.
        (count <= usize::from(u8::MAX)).then(|| Self { count, part: size.div_ceil(count.max(1)) })
    }

    /// Bytes of a fragment.
    pub(crate) fn len(self) -> usize {
        FRAGMENT_HEADER + self.part
    }

    /// Gives `each` the fragments of a message.
    pub(crate) fn fragment(self, id: u32, message: &[u8], mut each: impl FnMut(&[u8])) {
        let Ok(total) = u16::try_from(message.len()) else { return };
        let parts = message.chunks(self.part.max(1));
        let count = parts.len() as u8;
        let mut fragment = Vec::with_capacity(self.len());
        for (number, part) in (0..).zip(parts) {
            fragment.clear();
            PathMessage::Fragment { id, number, count, total, part }.encode(&mut fragment);
            fragment.resize(self.len(), 0);
            each(&fragment);
        }
    }
}

/// A message of which fragments have come.
#[derive(Debug)]
struct PartialMessage {
    bytes: Vec<u8>,
    /// Length of a part, by the fragment that came first.
    part: usize,
    /// Which have come, a bit each.
    come: [u128; 2],
    left: u8,
}

/// Fragments of one sender.
#[derive(Debug)]
struct FragmentSender {
    last: Time,
    messages: BTreeMap<u32, PartialMessage>,
}

/// Store of fragments until their messages are whole.
#[derive(Debug, Default)]
pub(super) struct FragmentStore {
    senders: BTreeMap<SocketAddr, FragmentSender>,
}

impl FragmentStore {
    /// A fragment has come. Gives the message when it is whole.
    pub(super) fn on_fragment(
        &mut self,
        now: Time,
        source: SocketAddr,
        message: PathMessage<'_>,
    ) -> Option<Vec<u8>> {
        let PathMessage::Fragment { id, number, count, total, part } = message else { return None };
        let total = usize::from(total);
        let (first, length) = (usize::from(number) * part.len(), part.len());
        let fits = first < total && total <= length * usize::from(count);
        if !fits || total <= length * (usize::from(count) - 1) {
            return None;
        }
        let sender = self.sender(now, source)?;
        sender.last = now;
        if !sender.messages.contains_key(&id) && sender.messages.len() >= MESSAGES_MAX {
            // Numbers rise: the one that is furthest behind is lost.
            let oldest = sender.messages.keys().copied().max_by_key(|old| id.wrapping_sub(*old));
            oldest.and_then(|old| sender.messages.remove(&old));
        }
        let message = sender.messages.entry(id).or_insert_with(|| PartialMessage {
            bytes: vec![0; total],
            part: length,
            come: [0; 2],
            left: count,
        });
        let (word, bit) = (usize::from(number / 128), 1_u128 << (number % 128));
        let come = message.come.get_mut(word)?;
        if message.part != length || message.bytes.len() != total || *come & bit != 0 {
            return None;
        }
        *come |= bit;
        let end = total.min(first + length);
        message.bytes.get_mut(first..end)?.copy_from_slice(part.get(..end - first)?);
        message.left = message.left.checked_sub(1)?;
        if message.left > 0 {
            return None;
        }
        sender.messages.remove(&id).map(|whole| whole.bytes)
    }

    fn sender(&mut self, now: Time, source: SocketAddr) -> Option<&mut FragmentSender> {
        if !self.senders.contains_key(&source) && self.senders.len() >= SENDERS_MAX {
            self.senders.retain(|_, sender| now.since(sender.last) < SILENT);
            if self.senders.len() >= SENDERS_MAX {
                return None;
            }
        }
        let new = || FragmentSender { last: now, messages: BTreeMap::new() };
        Some(self.senders.entry(source).or_insert_with(new))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: SocketAddr =
        SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 9)), 4000);

    fn cut(id: u32, message: &[u8], limit: usize) -> Vec<Vec<u8>> {
        let cut = FragmentCut::new(message.len(), limit).unwrap();
        let mut all = Vec::new();
        cut.fragment(id, message, |fragment| all.push(fragment.to_vec()));
        assert_eq!(all.len(), cut.count);
        assert!(all.iter().all(|one| one.len() == cut.len() && one.len() <= limit));
        all
    }

    fn put(store: &mut FragmentStore, fragment: &[u8]) -> Option<Vec<u8>> {
        store.on_fragment(Time::ZERO, SOURCE, PathMessage::parse(fragment).unwrap())
    }

    fn message(length: usize, seed: u8) -> Vec<u8> {
        (0..length).map(|n| (n as u8).wrapping_mul(7).wrapping_add(seed)).collect()
    }

    #[test]
    fn every_length_comes_whole_through_every_limit_in_any_order() {
        for length in [1, 2, 500, 507, 508, 1_440, 8_232, 9_100] {
            for limit in [100, 528, 1_232, 1_402, 1_452] {
                let sent = message(length, 3);
                let mut fragments = cut(5, &sent, limit);
                for order in 0..3 {
                    match order {
                        1 => fragments.reverse(),
                        2 => fragments.rotate_left(1),
                        _ => {}
                    }
                    let mut store = FragmentStore::default();
                    let got: Vec<_> =
                        fragments.iter().filter_map(|one| put(&mut store, one)).collect();
                    assert_eq!(got, std::slice::from_ref(&sent), "{length} {limit} {order}");
                }
            }
        }
    }

    #[test]
    fn a_shorter_last_message_of_a_batch_has_fragments_of_the_same_length() {
        let cut = FragmentCut::new(1_440, 1_232).unwrap();
        for length in [1, 600, 730, 1_439] {
            let (sent, mut store) = (message(length, 9), FragmentStore::default());
            let mut got = None;
            cut.fragment(1, &sent, |fragment| {
                assert_eq!(fragment.len(), cut.len());
                got = got.take().or(put(&mut store, fragment));
            });
            assert_eq!(got, Some(sent));
        }
    }

    #[test]
    fn fragments_that_contradict_each_other_or_come_twice_make_no_message() {
        let (one, other) = (cut(7, &message(1_000, 1), 600), cut(7, &message(900, 2), 600));
        let mut store = FragmentStore::default();
        assert_eq!(put(&mut store, &one[0]), None);
        assert_eq!(put(&mut store, &one[0]), None, "twice");
        assert_eq!(put(&mut store, &other[1]), None, "of another length");
        assert_eq!(put(&mut store, &one[1]), Some(message(1_000, 1)));
        let part = [1; 10];
        for (number, count, total) in [(9, 10, 5), (0, 2, 30), (0, 200, 9)] {
            let odd = PathMessage::Fragment { id: 1, number, count, total, part: &part };
            assert_eq!(
                store.on_fragment(Time::ZERO, SOURCE, odd),
                None,
                "{number} {count} {total}"
            );
        }
    }

    #[test]
    fn what_is_never_whole_costs_bounded_memory() {
        let mut store = FragmentStore::default();
        for id in 0..10_000 {
            assert_eq!(put(&mut store, &cut(id, &message(1_000, 1), 600)[0]), None);
        }
        assert_eq!(store.senders[&SOURCE].messages.len(), MESSAGES_MAX);
        let fragment = cut(1, &message(1_000, 1), 600);
        let parsed = PathMessage::parse(&fragment[0]).unwrap();
        for host in 0..1_000_u16 {
            let source = SocketAddr::from(([10, 1, (host >> 8) as u8, host as u8], 1));
            store.on_fragment(Time::ZERO, source, parsed);
        }
        assert_eq!(store.senders.len(), SENDERS_MAX);
        // Others have room when these are silent.
        let later = Time::ZERO + SILENT;
        store.on_fragment(later, SocketAddr::from(([10, 2, 0, 0], 1)), parsed);
        assert_eq!(store.senders.len(), 1);
    }
}

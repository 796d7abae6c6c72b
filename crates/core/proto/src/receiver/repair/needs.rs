//! Iterates over what is missing before a given position of the sender.

use crate::config::Nacking;
use alloc::vec::Vec;

use crate::receiver::{
    block::ReceiveBlock,
    blocks::BlockNeed,
    format::Format,
    object::ReceiveObject,
    objects::{Entry, Objects},
    position::{ObjectIndex, Position},
};

/// One thing, or one run of things, to request.
#[derive(Debug)]
pub(crate) enum Need<'a> {
    /// Nothing of objects `first..=last` was heard.
    Objects { first: ObjectIndex, last: ObjectIndex },
    /// NORM_INFO of `object`.
    Info { object: ObjectIndex },
    /// Nothing of blocks `first..=last` of `object` was heard.
    Blocks { object: ObjectIndex, open: &'a ReceiveObject, first: u32, last: u32 },
    /// Symbols of a block begun.
    Symbols { object: ObjectIndex, open: &'a ReceiveObject, block: u32, state: &'a ReceiveBlock },
    /// Source symbols (runs: first, last) of a stream's block of which there is no parity yet.
    Names { object: ObjectIndex, open: &'a ReceiveObject, block: u32, runs: Vec<(u16, u16)> },
}

impl Need<'_> {
    /// Structure of the object concerned, where it is known.
    pub(crate) fn format(&self) -> Option<&Format> {
        match self {
            Self::Objects { .. } | Self::Info { .. } => None,
            Self::Blocks { open, .. } | Self::Symbols { open, .. } | Self::Names { open, .. } => {
                Some(open.format())
            }
        }
    }
}

/// All needs before `limit`, lowest first. Each step is O(log n) of what is begun.
pub(crate) fn needs_before(objects: &Objects, limit: Position) -> impl Iterator<Item = Need<'_>> {
    let end = if limit.block > 0 { limit.object.next() } else { limit.object };
    let entries = objects.range(objects.low(), end).map(Some).chain([None]);
    entries
        .scan(objects.low(), move |at, entry| {
            let next = entry.map_or(end, |(object, _)| object);
            let gap = (*at < next).then(|| (*at, ObjectIndex(next.0 - 1)));
            *at = next.next();
            Some((gap, entry))
        })
        .flat_map(move |(gap, entry)| {
            let gap = gap.filter(|_| objects.nacking() != Nacking::None);
            let infos = objects.asks_info_first() || objects.nacking() == Nacking::InfoOnly;
            let gaps = gap.into_iter().flat_map(|gap| objects.unfinished.outside(gap));
            let gaps = gaps.flat_map(move |gap| of_gap(infos, Some(gap)));
            let entry = entry.filter(|(object, entry)| !objects.is_unsent(*object, entry));
            gaps.chain(entry.into_iter().flat_map(move |(object, entry)| {
                let blocks = if object == limit.object { limit.block } else { u64::MAX };
                let blocks = match entry {
                    Entry::Open(open) => blocks.min(objects.bound(object, open)),
                    _ => blocks,
                };
                let (first, decides) = (objects.asks_info_first(), objects.info_decides());
                let beyond = objects.newest() > object;
                let nacking = objects.nacking();
                of_entry((object, entry), (blocks, beyond), (first, decides), nacking)
            }))
        })
}

/// Objects that nothing was heard of.
fn of_gap<'a>(
    info_first: bool,
    gap: Option<(ObjectIndex, ObjectIndex)>,
) -> impl Iterator<Item = Need<'a>> {
    let whole = gap.filter(|_| !info_first);
    let infos = gap.filter(|_| info_first).into_iter();
    let infos = infos.flat_map(|(first, last)| (first.0..=last.0).map(ObjectIndex));
    let whole = whole.map(|(first, last)| Need::Objects { first, last });
    whole.into_iter().chain(infos.map(|object| Need::Info { object }))
}

fn of_entry(
    (object, entry): (ObjectIndex, &Entry),
    (end, beyond): (u64, bool),
    (info_first, info_decides): (bool, bool),
    nacking: Nacking,
) -> impl Iterator<Item = Need<'_>> {
    let (whole, open) = match entry {
        Entry::Pending { .. } if nacking == Nacking::None => (None, None),
        Entry::Pending { .. } if nacking == Nacking::InfoOnly => {
            (Some(Need::Info { object }), None)
        }
        Entry::Open(open) if open.nacking == Nacking::None => (None, None),
        Entry::Open(open) if open.nacking == Nacking::InfoOnly => {
            (open.wants_info().then_some(Need::Info { object }), None)
        }
        Entry::Pending { info_only: true, .. } => (Some(Need::Info { object }), None),
        Entry::Pending { .. } if info_first && info_decides => (Some(Need::Info { object }), None),
        Entry::Pending { .. } => (Some(Need::Objects { first: object, last: object }), None),
        Entry::Open(open) if open.wants_info() => (Some(Need::Info { object }), Some(&**open)),
        Entry::Open(open) => (None, Some(&**open)),
        Entry::Complete { .. } | Entry::GivenUp | Entry::Skipped => (None, None),
    };
    let content =
        |open: &&ReceiveObject| !(open.is_examined() || info_decides && open.wants_info());
    let blocks = open.filter(content).into_iter().flat_map(move |open| {
        let names = open.tail_names(beyond).filter(|(block, _)| u64::from(*block) < end);
        let names = names.map(|(block, runs)| Need::Names { object, open, block, runs });
        let needs = open.blocks().needs(end.min(open.whole_blocks()));
        let needs = needs.map(move |need| match need {
            BlockNeed::Absent { first, last } => Need::Blocks { object, open, first, last },
            BlockNeed::Partial { block, state } => Need::Symbols { object, open, block, state },
        });
        needs.chain(names)
    });
    whole.into_iter().chain(blocks)
}

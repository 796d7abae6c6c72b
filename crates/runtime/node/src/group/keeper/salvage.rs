//! What is left of a database that cannot be opened: its leaves are looked for page by page, since
//! each record has a check of its own.
//!
//! A leaf of redb's file format 3 (its design document), where keys have a fixed size:
//! ```text
//! +--------+---------+-----------+------------------------+--------------+--------+
//! | 1 (8)  |   (8)   | rows (16) | ends of values (32 ea) | keys (64 ea) | values |
//! +--------+---------+-----------+------------------------+--------------+--------+
//! ```
//! Numbers are little-endian, ends are counted from the leaf's first byte.

use fanfare_udp::os::file::FileExt;
use std::{collections::BTreeMap, fs::File, io, path::Path};

use fanfare_proto::ObjectKey;

use super::record::{self, Record};

/// Every leaf begins at a multiple of it.
const PAGE: usize = 4096;
const LEAF: u8 = 1;
/// A message and its description: longer ones than 64 KiB are in files, unless they came while the
/// disk was full.
const ROW_MAX: usize = 128 << 20;
/// Leaves of more rows than one are split at a page; some are a little longer.
const ROWS_MAX: usize = 16 * PAGE;
/// What a record begins with: a map (CBOR, RFC 8949 3.1).
const MAP: u8 = 5;

/// Records that were found right, and how many were not.
#[derive(Debug, Default)]
pub(crate) struct Salvage {
    /// Others' messages.
    others: BTreeMap<ObjectKey, Record>,
    /// Messages of the node's own: they belong to numbers that have no check.
    pub(crate) own: u64,
    /// Rows that are not what was written.
    pub(crate) lost: u64,
    /// There may be more than were found, and some that had been removed.
    pub(crate) is_partial: bool,
}

impl Salvage {
    /// A row of the table of records.
    pub(crate) fn take(&mut self, number: u64, bytes: &[u8]) {
        let key = record::key(number);
        match Record::decode(bytes) {
            Some(record) if record.own => self.own += 1,
            Some(record) if record.is_of(key) => self.keep(key, record),
            _ => self.lost += 1,
        }
    }

    /// An object's id may have been used before: the later message counts.
    fn keep(&mut self, key: ObjectKey, record: Record) {
        match self.others.get(&key) {
            Some(other) if other.heard > record.heard => {}
            _ => {
                self.others.insert(key, record);
            }
        }
    }

    pub(crate) fn into_others(self) -> Vec<(ObjectKey, Record)> {
        self.others.into_iter().collect()
    }
}

/// Records in all that looks like a leaf, wherever it belongs: also in pages that were free, with
/// messages that had been removed.
pub(crate) fn carve(path: &Path) -> io::Result<Salvage> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut salvage = Salvage { is_partial: true, ..Salvage::default() };
    let (mut bytes, mut at) = (Vec::new(), 0);
    while at < length {
        let left = usize::try_from(length - at).unwrap_or(usize::MAX);
        bytes.resize(PAGE.min(left), 0);
        // A page that the disk does not give hides none behind it.
        let read = file.read_exact_at(&mut bytes, at);
        let size = read.ok().and_then(|()| leaf_size(&bytes)).filter(|size| *size <= left);
        let found = salvage.others.len() as u64 + salvage.own;
        if let Some(size) = size {
            bytes.resize(size, 0);
            let read = file.read_exact_at(&mut bytes, at);
            bytes.truncate(if read.is_ok() { size } else { 0 });
            rows(&bytes).for_each(|(number, value)| salvage.take(number, value));
        }
        // What only looks like a leaf hides none behind it; a leaf is not looked into.
        let is_leaf = salvage.others.len() as u64 + salvage.own > found;
        let pages = if is_leaf { bytes.len().div_ceil(PAGE) } else { 1 };
        at += (pages * PAGE) as u64;
    }
    Ok(salvage)
}

/// How many rows, if this is the beginning of a leaf.
fn row_count(leaf: &[u8]) -> Option<usize> {
    let [LEAF, _, low, high] = *leaf.first_chunk()? else { return None };
    Some(usize::from(u16::from_le_bytes([low, high]))).filter(|rows| *rows > 0)
}

/// Where the values begin, and then where each of them ends.
fn edges(leaf: &[u8], rows: usize) -> impl Iterator<Item = usize> {
    let ends = leaf.get(4..).unwrap_or_default().as_chunks().0;
    let ends = ends.iter().take(rows).map(|end| u32::from_le_bytes(*end) as usize);
    [4 + 12 * rows].into_iter().chain(ends)
}

/// Bytes of the leaf that begins with this page; `None` when it is none.
fn leaf_size(page: &[u8]) -> Option<usize> {
    let rows = row_count(page)?;
    let size = edges(page, rows).last()?;
    let max = if rows == 1 { ROW_MAX } else { ROWS_MAX };
    let first = page.get(4 + 12 * rows)?;
    (first >> 5 == MAP && size <= max && size > 4 + 12 * rows).then_some(size)
}

/// The rows of a leaf that could be records.
fn rows(leaf: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    let rows = row_count(leaf).unwrap_or_default();
    let keys = leaf.get(4 + 4 * rows..).unwrap_or_default().as_chunks().0.iter();
    let bounds = edges(leaf, rows).zip(edges(leaf, rows).skip(1));
    keys.zip(bounds).filter_map(|(key, (start, end))| {
        let value = leaf.get(start..end).filter(|value| !value.is_empty())?;
        Some((u64::from_le_bytes(*key), value))
    })
}

//! What a program holds: a number that names a place, its kind, and the generation of what stands
//! there. One whose thing is gone never names another thing.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use fanfare_binding::{Files, Member, Options, Publisher, StreamIn, StreamOut};

use crate::kept::Kept;

/// What a handle names.
#[derive(Debug)]
pub(crate) enum Thing {
    Options(Mutex<Options>),
    Files(Files),
    Out(Box<StreamOut>),
    In(StreamIn),
    Member(Member),
    Publisher(Publisher),
}

impl Thing {
    fn kind(&self) -> u64 {
        match self {
            Self::Options(_) => 1,
            Self::Files(_) => 2,
            Self::Out(_) => 3,
            Self::In(_) => 4,
            Self::Member(_) => 5,
            Self::Publisher(_) => 6,
        }
    }

    /// Asks it to end, so that who waits in it does not wait for ever.
    pub(crate) fn stop(&self) {
        match self {
            Self::Files(files) => files.stop(),
            Self::Out(stream) => stream.stop(),
            Self::In(stream) => stream.stop(),
            Self::Member(member) => member.stop(),
            Self::Options(_) | Self::Publisher(_) => {}
        }
    }
}

/// A thing, and what a program was lent of it.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) thing: Thing,
    pub(crate) kept: Mutex<Kept>,
}

#[derive(Debug)]
struct Slot {
    generation: u32,
    entry: Option<Arc<Entry>>,
}

#[derive(Debug)]
struct Table {
    /// The process that has its threads: in a child they are not there.
    process: u32,
    slots: Vec<Slot>,
    free: Vec<usize>,
    generation: u32,
}

static TABLE: RwLock<Table> =
    RwLock::new(Table { process: 0, slots: Vec::new(), free: Vec::new(), generation: 0 });

/// From high to low: generation (32 bits), kind (4), slot (28).
const SLOT_BITS: u32 = 28;
const KIND_BITS: u32 = 4;
/// Things at a time. Each but options has a thread and sockets: no program has as many.
const SLOTS_MAX: usize = 1 << 20;

/// Why a handle names nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dead {
    Null,
    Closed,
    Forked,
    Full,
}

impl Dead {
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Null => "handle (0): names nothing",
            Self::Closed => "handle: was closed, or is none of this library's",
            Self::Forked => "handle: belongs to the process that this one was forked from",
            Self::Full => "handle: there are too many open. Close some",
        }
    }
}

fn place(handle: u64) -> usize {
    (handle & ((1 << SLOT_BITS) - 1)) as usize
}

/// Takes a thing in.
pub(crate) fn insert(thing: Thing) -> Result<u64, Dead> {
    let mut table = TABLE.write().unwrap_or_else(PoisonError::into_inner);
    if table.process == 0 {
        table.process = std::process::id();
    }
    if table.process != std::process::id() {
        return Err(Dead::Forked);
    }
    let kind = thing.kind();
    let entry = Some(Arc::new(Entry { thing, kept: Mutex::default() }));
    table.generation = table.generation.wrapping_add(1).max(1);
    let generation = table.generation;
    let slot = Slot { generation, entry };
    let number = match table.free.pop() {
        Some(number) => {
            table.slots[number] = slot;
            number
        }
        None if table.slots.len() < SLOTS_MAX => {
            table.slots.push(slot);
            table.slots.len() - 1
        }
        None => return Err(Dead::Full),
    };
    Ok(u64::from(generation) << (SLOT_BITS + KIND_BITS) | kind << SLOT_BITS | number as u64)
}

fn check(table: &Table, handle: u64) -> Result<usize, Dead> {
    if handle == 0 {
        return Err(Dead::Null);
    }
    let (number, generation) = (place(handle), (handle >> (SLOT_BITS + KIND_BITS)) as u32);
    let kind = (handle >> SLOT_BITS) & ((1 << KIND_BITS) - 1);
    let slot = table.slots.get(number).ok_or(Dead::Closed)?;
    let entry = slot.entry.as_ref().ok_or(Dead::Closed)?;
    if slot.generation != generation || entry.thing.kind() != kind {
        return Err(Dead::Closed);
    }
    if table.process != std::process::id() {
        return Err(Dead::Forked);
    }
    Ok(number)
}

/// What a handle names.
pub(crate) fn get(handle: u64) -> Result<Arc<Entry>, Dead> {
    let table = TABLE.read().unwrap_or_else(PoisonError::into_inner);
    let number = check(&table, handle)?;
    table.slots[number].entry.clone().ok_or(Dead::Closed)
}

/// Takes it out.
pub(crate) fn remove(handle: u64) -> Result<Arc<Entry>, Dead> {
    let mut table = TABLE.write().unwrap_or_else(PoisonError::into_inner);
    let number = check(&table, handle)?;
    let entry = table.slots[number].entry.take().ok_or(Dead::Closed)?;
    table.free.push(number);
    Ok(entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> Thing {
        Thing::Options(Mutex::default())
    }

    #[test]
    fn a_handle_whose_thing_is_gone_does_not_name_the_next_one_in_its_place() {
        let first = insert(options()).unwrap();
        assert!(get(first).is_ok());
        assert!(remove(first).is_ok());
        let second = insert(options()).unwrap();
        assert_eq!(get(first).unwrap_err(), Dead::Closed);
        assert_eq!(remove(first).unwrap_err(), Dead::Closed);
        assert!(get(second).is_ok());
        assert!(remove(second).is_ok());
    }

    #[test]
    fn what_is_no_handle_names_nothing() {
        assert_eq!(get(0).unwrap_err(), Dead::Null);
        let own = insert(options()).unwrap();
        for stranger in [1, u64::MAX, own ^ 1 << SLOT_BITS, own + 1, own ^ 1 << 40] {
            assert_eq!(get(stranger).unwrap_err(), Dead::Closed, "{stranger:x}");
        }
        assert!(remove(own).is_ok());
    }
}

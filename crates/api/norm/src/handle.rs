//! What a program holds: a word that it takes for a pointer, and that is none.
//!
//! A handle names a place and the generation of what stands there. So a handle whose object is gone
//! never names another object, and one of the wrong kind names nothing.

use std::sync::atomic::{AtomicU32, Ordering};

/// What a handle is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// NormInstanceHandle.
    Instance = 0,
    /// NormSessionHandle.
    Session = 1,
    /// NormNodeHandle.
    Node = 2,
    /// NormObjectHandle.
    Object = 3,
}

/// Instances at a time.
pub const INSTANCES_MAX: usize = 1 << INSTANCE_BITS;
/// Sessions, nodes or objects of an instance at a time.
pub const SLOTS_MAX: usize = 1 << SLOT_BITS;

const INSTANCE_BITS: u32 = 10;
const SLOT_BITS: u32 = 20;
const KIND_BITS: u32 = 2;

/// From high to low: generation (32 bits), kind (2), instance (10), slot (20).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Handle(u64);

static GENERATION: AtomicU32 = AtomicU32::new(1);

/// A generation that nothing else has, within 2^32 of them. Never 0, so that no handle is null.
pub(crate) fn next_generation() -> u32 {
    loop {
        let generation = GENERATION.fetch_add(1, Ordering::Relaxed);
        if generation != 0 {
            return generation;
        }
    }
}

impl Handle {
    /// No handle.
    pub const NULL: Self = Self(0);

    /// Of its parts.
    #[must_use]
    pub fn new(kind: Kind, instance: usize, slot: usize, generation: u32) -> Self {
        let place = (kind as u64) << (INSTANCE_BITS + SLOT_BITS)
            | (instance as u64) << SLOT_BITS
            | slot as u64;
        Self(u64::from(generation) << (KIND_BITS + INSTANCE_BITS + SLOT_BITS) | place)
    }

    /// As a program gave it.
    #[must_use]
    pub fn from_word(word: usize) -> Self {
        Self(word as u64)
    }

    /// As a program gets it.
    #[must_use]
    pub fn to_word(self) -> usize {
        self.0 as usize
    }

    /// Whether it is none.
    #[must_use]
    pub fn is_null(self) -> bool {
        self.0 == 0
    }

    /// Whether it is of this kind.
    #[must_use]
    pub fn is(self, kind: Kind) -> bool {
        !self.is_null() && (self.0 >> (INSTANCE_BITS + SLOT_BITS)) & 3 == kind as u64
    }

    /// The place of its instance.
    #[must_use]
    pub fn instance(self) -> usize {
        (self.0 >> SLOT_BITS) as usize & (INSTANCES_MAX - 1)
    }

    /// Its own place.
    #[must_use]
    pub fn slot(self) -> usize {
        self.0 as usize & (SLOTS_MAX - 1)
    }

    /// Its generation.
    #[must_use]
    pub fn generation(self) -> u32 {
        (self.0 >> (KIND_BITS + INSTANCE_BITS + SLOT_BITS)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_tells_what_it_was_made_of() {
        let handle = Handle::new(Kind::Object, 1023, SLOTS_MAX - 1, u32::MAX);
        assert!(handle.is(Kind::Object) && !handle.is(Kind::Node));
        assert_eq!((handle.instance(), handle.slot()), (1023, SLOTS_MAX - 1));
        assert_eq!(handle.generation(), u32::MAX);
        assert_eq!(Handle::from_word(handle.to_word()), handle);
    }

    #[test]
    fn null_is_of_no_kind_and_the_first_instance_is_not_null() {
        assert!(!Handle::NULL.is(Kind::Instance));
        assert!(!Handle::new(Kind::Instance, 0, 0, 1).is_null());
    }
}

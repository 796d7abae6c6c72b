//! Places for what handles name.

use crate::handle::{Handle, Kind, SLOTS_MAX, next_generation};

#[derive(Debug)]
struct Slot<T> {
    generation: u32,
    value: Option<T>,
}

/// Things of one kind in an instance.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    kind: Kind,
    instance: usize,
    slots: Vec<Slot<T>>,
    free: Vec<usize>,
}

impl<T> Slab<T> {
    pub(crate) fn new(kind: Kind, instance: usize) -> Self {
        Self { kind, instance, slots: Vec::new(), free: Vec::new() }
    }

    /// Takes a thing in. `None`: there is no place for more.
    pub(crate) fn insert(&mut self, value: T) -> Option<Handle> {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None if self.slots.len() < SLOTS_MAX => {
                self.slots.push(Slot { generation: 0, value: None });
                self.slots.len() - 1
            }
            None => return None,
        };
        let generation = next_generation();
        self.slots[slot] = Slot { generation, value: Some(value) };
        Some(Handle::new(self.kind, self.instance, slot, generation))
    }

    fn slot(&self, handle: Handle) -> Option<usize> {
        let slot = self.slots.get(handle.slot())?;
        let same = handle.is(self.kind)
            && handle.instance() == self.instance
            && slot.generation == handle.generation();
        same.then_some(handle.slot())
    }

    pub(crate) fn get(&self, handle: Handle) -> Option<&T> {
        self.slots[self.slot(handle)?].value.as_ref()
    }

    pub(crate) fn get_mut(&mut self, handle: Handle) -> Option<&mut T> {
        let slot = self.slot(handle)?;
        self.slots[slot].value.as_mut()
    }

    pub(crate) fn remove(&mut self, handle: Handle) -> Option<T> {
        let slot = self.slot(handle)?;
        let value = self.slots[slot].value.take();
        if value.is_some() {
            self.slots[slot].generation = 0;
            self.free.push(slot);
        }
        value
    }

    /// All of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Handle, &T)> {
        let (kind, instance) = (self.kind, self.instance);
        self.slots.iter().enumerate().filter_map(move |(number, slot)| {
            let handle = Handle::new(kind, instance, number, slot.generation);
            Some((handle, slot.value.as_ref()?))
        })
    }

    pub(crate) fn handles(&self) -> Vec<Handle> {
        self.iter().map(|(handle, _)| handle).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_whose_thing_is_gone_does_not_name_the_next_one_in_its_place() {
        let mut slab = Slab::new(Kind::Object, 3);
        let first = slab.insert("a").unwrap();
        assert_eq!(slab.remove(first), Some("a"));
        let second = slab.insert("b").unwrap();
        assert_eq!(first.slot(), second.slot());
        assert!(slab.get(first).is_none() && slab.remove(first).is_none());
        assert_eq!(slab.get(second), Some(&"b"));
    }

    #[test]
    fn a_handle_of_another_kind_or_instance_names_nothing() {
        let mut slab = Slab::new(Kind::Node, 3);
        let own = slab.insert(1).unwrap();
        for (kind, instance) in [(Kind::Object, 3), (Kind::Node, 4)] {
            assert_eq!(slab.get(Handle::new(kind, instance, own.slot(), own.generation())), None);
        }
        assert_eq!(slab.get(Handle::NULL), None);
    }
}

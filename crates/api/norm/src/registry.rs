//! The instances of this process. Nothing else is shared by them.

use std::sync::{
    Arc, PoisonError, RwLock,
    atomic::{AtomicBool, Ordering},
};

use crate::{
    handle::{Handle, INSTANCES_MAX, Kind, next_generation},
    instance::Shared,
};

type Slot = Option<(u32, Arc<Shared>)>;

static INSTANCES: RwLock<Vec<Slot>> = RwLock::new(Vec::new());
/// This process was forked off one that had instances: their threads are not here.
static FORKED: AtomicBool = AtomicBool::new(false);

/// To be called in a child.
pub(crate) fn on_fork() {
    FORKED.store(true, Ordering::SeqCst);
}

/// Takes an instance in that is made for its place. `None`: there is no place, or this is a child of a
/// process with instances.
pub(crate) fn insert<E>(
    make: impl FnOnce(usize) -> Result<Arc<Shared>, E>,
) -> Option<Result<(Handle, Arc<Shared>), E>> {
    if FORKED.load(Ordering::SeqCst) {
        return None;
    }
    let mut slots = INSTANCES.write().unwrap_or_else(PoisonError::into_inner);
    let free = slots.iter().position(Option::is_none);
    let place = free.or((slots.len() < INSTANCES_MAX).then_some(slots.len()))?;
    let shared = match make(place) {
        Ok(shared) => shared,
        Err(error) => return Some(Err(error)),
    };
    let generation = next_generation();
    let slot = Some((generation, Arc::clone(&shared)));
    match slots.get_mut(place) {
        Some(free) => *free = slot,
        None => slots.push(slot),
    }
    Some(Ok((Handle::new(Kind::Instance, place, 0, generation), shared)))
}

/// The instance of this handle.
pub(crate) fn instance(handle: Handle) -> Option<Arc<Shared>> {
    if !handle.is(Kind::Instance) || FORKED.load(Ordering::Relaxed) {
        return None;
    }
    let slots = INSTANCES.read().unwrap_or_else(PoisonError::into_inner);
    let (generation, shared) = slots.get(handle.instance())?.as_ref()?;
    (*generation == handle.generation()).then(|| Arc::clone(shared))
}

/// The instance of a session, node or object.
pub(crate) fn owner(handle: Handle, kind: Kind) -> Option<Arc<Shared>> {
    if !handle.is(kind) || FORKED.load(Ordering::Relaxed) {
        return None;
    }
    let slots = INSTANCES.read().unwrap_or_else(PoisonError::into_inner);
    slots.get(handle.instance())?.as_ref().map(|(_, shared)| Arc::clone(shared))
}

/// The handle of the instance in this place.
pub(crate) fn handle(place: usize) -> Option<Handle> {
    let slots = INSTANCES.read().unwrap_or_else(PoisonError::into_inner);
    let (generation, _) = slots.get(place)?.as_ref()?;
    Some(Handle::new(Kind::Instance, place, 0, *generation))
}

/// Takes it out.
pub(crate) fn remove(handle: Handle) -> Option<Arc<Shared>> {
    let shared = instance(handle)?;
    let mut slots = INSTANCES.write().unwrap_or_else(PoisonError::into_inner);
    let slot = slots.get_mut(handle.instance())?;
    match slot {
        Some((generation, _)) if *generation == handle.generation() => {
            *slot = None;
            Some(shared)
        }
        _ => None,
    }
}

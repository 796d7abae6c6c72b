//! How much one client, or one peer, may ask for.

use std::{
    collections::HashMap,
    hash::Hash,
    io,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use nix::libc;

use crate::proxy::event::{Event, Listener};

/// Clients whose budget is remembered. One that is forgotten begins with a full one.
const CLIENTS_MAX: usize = 4096;

/// Requests per second and in one go.
#[derive(Debug, Clone, Copy)]
pub struct Rate {
    /// Per second.
    pub each_second: f64,
    /// In one go.
    pub burst: f64,
}

impl Default for Rate {
    fn default() -> Self {
        // A browser opens tens of connections at once; a port scan thousands.
        Self { each_second: 200.0, burst: 1000.0 }
    }
}

/// A token bucket for each client.
#[derive(Debug)]
pub struct Buckets<K> {
    rate: Rate,
    of: HashMap<K, (f64, Instant)>,
}

impl<K: Hash + Eq> Buckets<K> {
    /// Full ones.
    #[must_use]
    pub fn new(rate: Rate) -> Self {
        Self { rate, of: HashMap::new() }
    }

    /// Whether this client may ask once more.
    pub fn take(&mut self, now: Instant, client: K) -> bool {
        if self.of.len() >= CLIENTS_MAX && !self.of.contains_key(&client) {
            let refill = Duration::from_secs_f64(self.rate.burst / self.rate.each_second);
            self.of.retain(|_, (_, at)| now.duration_since(*at) < refill);
            if self.of.len() >= CLIENTS_MAX {
                return false;
            }
        }
        let (tokens, at) = self.of.entry(client).or_insert((self.rate.burst, now));
        let more = now.duration_since(*at).as_secs_f64() * self.rate.each_second;
        (*tokens, *at) = ((*tokens + more).min(self.rate.burst), now);
        let may = *tokens >= 1.0;
        if may {
            *tokens -= 1.0;
        }
        may
    }
}

/// So many at once.
#[derive(Debug, Clone)]
pub struct Places {
    taken: Arc<AtomicUsize>,
    max: usize,
}

/// One of them; given back when it is dropped.
#[derive(Debug)]
pub struct Place(Arc<AtomicUsize>);

impl Places {
    /// All free.
    #[must_use]
    pub fn new(max: usize) -> Self {
        Self { taken: Arc::default(), max }
    }

    /// One of them, if one is free.
    #[must_use]
    pub fn take(&self) -> Option<Place> {
        let more = |taken: usize| (taken < self.max).then_some(taken + 1);
        let taken = self.taken.fetch_update(Ordering::AcqRel, Ordering::Acquire, more);
        taken.ok().map(|_| Place(self.taken.clone()))
    }

    /// How many are taken.
    #[must_use]
    pub fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Places of each client.
#[derive(Debug)]
pub struct PlacesOfEach<K> {
    max: usize,
    of: Mutex<HashMap<K, Places>>,
}

impl<K: Hash + Eq> PlacesOfEach<K> {
    /// So many for each.
    #[must_use]
    pub fn new(max: usize) -> Self {
        Self { max, of: Mutex::default() }
    }

    /// One of this client's.
    pub fn take(&self, client: K) -> Option<Place> {
        let mut of = self.of.lock().unwrap_or_else(PoisonError::into_inner);
        if of.len() >= CLIENTS_MAX {
            of.retain(|_, places| places.taken() > 0);
        }
        of.entry(client).or_insert_with(|| Places::new(self.max)).take()
    }
}

/// It is told so often at most that no file descriptor is left, and not with each connection.
const EXHAUSTED_EVERY: Duration = Duration::from_secs(10);

/// When that was told last.
#[derive(Debug, Default)]
pub(crate) struct Exhaustion(Mutex<Option<Instant>>);

impl Exhaustion {
    pub(crate) fn tell(&self, listener: &Listener) {
        let now = Instant::now();
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if told.is_none_or(|told| now.duration_since(told) >= EXHAUSTED_EVERY) {
            *told = Some(now);
            listener.tell(Event::Exhausted);
        }
    }
}

/// Whether this error says that no file descriptor is left, in the process or on the machine.
pub(crate) fn is_exhausted(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_may_ask_in_bursts_and_then_at_its_rate() {
        let mut buckets = Buckets::new(Rate { each_second: 2.0, burst: 3.0 });
        let now = Instant::now();
        let asked = |buckets: &mut Buckets<u8>, at| (0..9).filter(|_| buckets.take(at, 1)).count();
        assert_eq!(asked(&mut buckets, now), 3);
        assert!(buckets.take(now, 2));
        assert_eq!(asked(&mut buckets, now + Duration::from_secs(1)), 2);
    }

    #[test]
    fn places_are_given_back() {
        let each = PlacesOfEach::new(2);
        let (one, two) = (each.take("a"), each.take("a"));
        assert!(one.is_some() && two.is_some() && each.take("a").is_none());
        assert!(each.take("b").is_some());
        drop(one);
        assert!(each.take("a").is_some());
    }
}

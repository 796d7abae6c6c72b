//! Names at the far side: once for all that ask at the same time, and kept for a while.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use tokio::{
    sync::{OnceCell, Semaphore},
    time::timeout,
};

/// How long an answer is kept, and how long it is kept that there was none.
const KEPT: Duration = Duration::from_secs(30);
const KEPT_FAILURE: Duration = Duration::from_secs(5);
/// A look-up takes this long at most.
const PATIENCE: Duration = Duration::from_secs(10);
/// Look-ups that run at the same time; more wait.
const AT_ONCE: usize = 8;
/// Names that are kept.
const NAMES_MAX: usize = 1024;

type Found = Arc<OnceCell<(Instant, Vec<IpAddr>)>>;

/// The names that were looked up.
#[derive(Debug)]
pub struct Resolver {
    known: Mutex<HashMap<String, Found>>,
    at_once: Semaphore,
}

impl Default for Resolver {
    fn default() -> Self {
        Self { known: Mutex::default(), at_once: Semaphore::new(AT_ONCE) }
    }
}

impl Resolver {
    /// Addresses of a name, in the system's order; none when it is not known.
    pub async fn resolve(&self, name: &str) -> Vec<IpAddr> {
        let Some(found) = self.entry(name) else { return Vec::new() };
        let (_, addresses) = found.get_or_init(|| self.look_up(name)).await;
        addresses.clone()
    }

    fn entry(&self, name: &str) -> Option<Found> {
        let now = Instant::now();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let is_fresh = |found: &Found| match found.get() {
            None => true,
            Some((at, addresses)) => {
                let kept = if addresses.is_empty() { KEPT_FAILURE } else { KEPT };
                now.duration_since(*at) < kept
            }
        };
        if let Some(found) = known.get(name).filter(|found| is_fresh(found)) {
            return Some(found.clone());
        }
        if known.len() >= NAMES_MAX {
            known.retain(|_, found| is_fresh(found));
            if known.len() >= NAMES_MAX {
                // Those that are known go; those that are being looked up stay.
                known.retain(|_, found| found.get().is_none());
            }
            if known.len() >= NAMES_MAX {
                return None;
            }
        }
        let found = Found::default();
        known.insert(name.to_owned(), found.clone());
        Some(found)
    }

    async fn look_up(&self, name: &str) -> (Instant, Vec<IpAddr>) {
        let look = async {
            let _place = self.at_once.acquire().await;
            tokio::net::lookup_host((name, 0)).await.map(Iterator::collect::<Vec<_>>)
        };
        let found = timeout(PATIENCE, look).await.ok().and_then(Result::ok).unwrap_or_default();
        let addresses = found.into_iter().map(|address| address.ip().to_canonical()).collect();
        (Instant::now(), addresses)
    }
}

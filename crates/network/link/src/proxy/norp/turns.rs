//! Who asks a norp of NRL's asks it one after another. All its sessions have one port, and a new one
//! takes what comes there for its own until it has heard of its peer: two that begin at once would get
//! each other's bytes. With ours at the other end nobody waits.

use std::{
    collections::{HashMap, HashSet},
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::{Mutex as Waiting, OwnedMutexGuard};

/// Given back when it is dropped.
pub(super) type Turn = OwnedMutexGuard<()>;

/// Of all peers; they are those that were named.
#[derive(Debug, Default)]
pub(super) struct Turns {
    of: Mutex<HashMap<IpAddr, Arc<Waiting<()>>>>,
    ours: Mutex<HashSet<IpAddr>>,
}

impl Turns {
    /// Waits until nobody else begins with this peer; none where that does not matter.
    pub(super) async fn wait(&self, peer: IpAddr) -> Option<Turn> {
        if self.ours.lock().unwrap_or_else(PoisonError::into_inner).contains(&peer) {
            return None;
        }
        let mine =
            self.of.lock().unwrap_or_else(PoisonError::into_inner).entry(peer).or_default().clone();
        Some(mine.lock_owned().await)
    }

    /// At this peer is one of ours.
    pub(super) fn is_ours(&self, peer: IpAddr) {
        self.ours.lock().unwrap_or_else(PoisonError::into_inner).insert(peer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::time::timeout;

    #[tokio::test(start_paused = true)]
    async fn with_a_norp_one_begins_after_another_and_with_ours_all_at_once() {
        let (turns, soon) = (Turns::default(), Duration::from_secs(1));
        let [norp, other, ours] = [1, 2, 3].map(|n| IpAddr::from([10, 0, 0, n]));
        let first = turns.wait(norp).await;
        assert!(first.is_some() && timeout(soon, turns.wait(norp)).await.is_err());
        assert!(timeout(soon, turns.wait(other)).await.is_ok(), "another one is free");
        drop(first);
        assert!(timeout(soon, turns.wait(norp)).await.is_ok());
        let one = turns.wait(ours).await;
        turns.is_ours(ours);
        assert!(one.is_some() && turns.wait(ours).await.is_none());
    }
}

//! What MLS keeps of a group, in memory. A member writes it to its own file.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use mls_rs::mls_rs_codec::{MlsDecode, MlsEncode};
use mls_rs_core::{
    group::{EpochRecord, GroupState, GroupStateStorage},
    key_package::{KeyPackageData, KeyPackageStorage},
};
use zeroize::Zeroizing;

/// Requests to join that were made and not answered; the oldest give way.
const REQUESTS_MAX: usize = 8;

#[derive(Debug, Default)]
struct Held {
    group: Option<(Vec<u8>, Vec<u8>)>,
    requests: BTreeMap<Vec<u8>, KeyPackageData>,
    order: Vec<Vec<u8>>,
}

/// Shared by a client and its group.
#[derive(Debug, Clone, Default)]
pub(crate) struct Store(Arc<Mutex<Held>>);

impl Store {
    fn held(&self) -> MutexGuard<'_, Held> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Group id and state, as written last.
    pub(crate) fn group(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        self.held().group.clone()
    }

    pub(crate) fn set_group(&self, group: Option<(Vec<u8>, Vec<u8>)>) {
        self.held().group = group;
    }

    /// Requests, each with its id.
    pub(crate) fn requests(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let held = self.held();
        let one = |(id, request): (&Vec<u8>, &KeyPackageData)| {
            Some((id.clone(), request.mls_encode_to_vec().ok()?))
        };
        held.requests.iter().filter_map(one).collect()
    }

    /// Puts a request back that was saved.
    pub(crate) fn restore(&self, id: &[u8], bytes: &[u8]) -> Option<()> {
        let request = KeyPackageData::mls_decode(&mut &*bytes).ok()?;
        self.put(id.to_vec(), request);
        Some(())
    }

    fn put(&self, id: Vec<u8>, request: KeyPackageData) {
        let mut held = self.held();
        held.order.push(id.clone());
        held.requests.insert(id, request);
        while held.requests.len() > REQUESTS_MAX {
            let oldest = held.order.remove(0);
            held.requests.remove(&oldest);
        }
    }
}

impl GroupStateStorage for Store {
    type Error = Infallible;

    fn state(&self, group_id: &[u8]) -> Result<Option<Zeroizing<Vec<u8>>>, Infallible> {
        let held = self.held();
        let group = held.group.as_ref().filter(|(id, _)| id == group_id);
        Ok(group.map(|(_, state)| Zeroizing::new(state.clone())))
    }

    /// Older epochs are not kept: nothing is sealed by MLS itself.
    fn epoch(&self, _: &[u8], _: u64) -> Result<Option<Zeroizing<Vec<u8>>>, Infallible> {
        Ok(None)
    }

    fn write(
        &mut self,
        state: GroupState,
        _: Vec<EpochRecord>,
        _: Vec<EpochRecord>,
    ) -> Result<(), Infallible> {
        self.held().group = Some((state.id, state.data.to_vec()));
        Ok(())
    }

    fn max_epoch_id(&self, _: &[u8]) -> Result<Option<u64>, Infallible> {
        Ok(None)
    }
}

impl KeyPackageStorage for Store {
    type Error = Infallible;

    fn delete(&mut self, id: &[u8]) -> Result<(), Infallible> {
        let mut held = self.held();
        held.requests.remove(id);
        held.order.retain(|known| known != id);
        Ok(())
    }

    fn insert(&mut self, id: Vec<u8>, request: KeyPackageData) -> Result<(), Infallible> {
        self.put(id, request);
        Ok(())
    }

    fn get(&self, id: &[u8]) -> Result<Option<KeyPackageData>, Infallible> {
        Ok(self.held().requests.get(id).cloned())
    }
}

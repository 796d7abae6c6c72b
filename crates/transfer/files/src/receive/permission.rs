//! What the policy allows a sender, asked when an object is announced: before anything of it is kept.

use std::{
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
};

use crate::content::{announcement::Announcement, manifest::Head};
use fanfare_crypto::PublicKey;
use fanfare_crypto::policy::{Account, Policy, Refused, Who};
use fanfare_proto::ObjectKey;

use super::ReceiveJob;

/// The policy, and what everyone has had of it.
#[derive(Debug, Default)]
pub(super) struct Permission {
    policy: Option<Arc<Policy>>,
    account: Account,
    /// The name of the session that was joined, for which something must be signed.
    session: String,
}

impl Permission {
    pub(super) fn new(policy: Option<Arc<Policy>>) -> Self {
        Self { policy, account: Account::default(), session: String::new() }
    }
}

impl ReceiveJob {
    fn address_of(&self, key: ObjectKey) -> Option<IpAddr> {
        self.binding.address(key.sender)
    }

    /// Whether only a signature tells what its sender may do.
    pub(super) fn policy_asks_signer(&self, key: ObjectKey) -> bool {
        let address = self.address_of(key).unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        let policy = self.permission.policy.as_ref();
        policy.is_some_and(|policy| !policy.is_decided(address, key.sender.0))
    }

    /// Whether anything of this sender may come, as far as can be said before its announcement.
    pub(super) fn may_begin(&self, key: ObjectKey, has_info: bool) -> bool {
        let Some(policy) = &self.permission.policy else { return true };
        if has_info && self.policy_asks_signer(key) {
            return true;
        }
        let who = Who { address: self.address_of(key), node: Some(key.sender.0), key: None };
        policy.rule(&who).is_some_and(|rule| rule.send)
    }

    /// It has joined the session of this name.
    pub(crate) fn listen_in(&mut self, session: String) {
        self.permission.session = session;
    }

    /// Signer of an announcement, for this session.
    pub(super) fn signer_of(&self, info: &[u8]) -> Option<PublicKey> {
        let session = &self.permission.session;
        Announcement::signer(info, session).or_else(|| Head::signer(info, session))
    }

    /// An object of `size` bytes is announced: whether it may come. What may is counted.
    pub(super) fn permit(
        &mut self,
        key: ObjectKey,
        info: &[u8],
        (size, files): (u64, u64),
    ) -> Result<(), Refused> {
        let Some(policy) = self.permission.policy.clone() else { return Ok(()) };
        let key_of_signer = match policy.names_keys() {
            true => self.signer_of(info),
            false => None,
        };
        let address = self.address_of(key);
        let who = Who { address, node: Some(key.sender.0), key: key_of_signer };
        let (mut bytes, mut count) = (0, files);
        if let Some(record) = self.records.get(&(key.sender, key.instance)) {
            bytes = record.settled_bytes;
            // It is among those open already.
            bytes += record.open.values().map(|open| open.size).sum::<u64>();
            count += record.taken_files;
        }
        self.permission.account.transfer(&policy, policy.number(&who), (size, bytes, count))
    }
}

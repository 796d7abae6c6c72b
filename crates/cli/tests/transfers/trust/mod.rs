//! Who may send and who may receive: sealed transfers, codes, senders that are chosen, and the policy.

mod codes;
mod policy;
mod sealed;
mod senders;

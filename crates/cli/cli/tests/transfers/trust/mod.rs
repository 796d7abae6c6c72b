//! Who may send and who may receive: sealed transfers, codes, and senders that are chosen.

mod codes;
mod sealed;
mod senders;

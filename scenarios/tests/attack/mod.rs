//! Attacks: forged control messages, garbage, wrong bytes.

mod forged_control;
mod garbage_flood;
mod hostile;
mod wrong_bytes;

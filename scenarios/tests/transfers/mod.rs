//! Transfers: every kind of object, receivers that come late or leave, and what it all costs.

mod cancel;
mod efficiency;
mod encodings;
mod idle;
mod late_join;
mod many_objects;
mod nack_growth;
mod object_id_wrap;
mod parity_exhausted;
mod resume;
mod roll_call;
mod sender_restart;
mod short_transfer;
mod silent_receiver;
mod small_transfers;
mod transfer;
mod unicast;
mod unicast_nack;
mod watermark;

//! The rate: beside TCP, with marks, for slow receivers, and over layers.

mod auto;
mod beside_tcp;
mod layers;
mod leaving;
mod marks;
mod pauses;
mod slow_receiver;
mod tail;

//! Groups: messages, repair by others, gateways, partitions.

mod floors;
mod gateways;
mod groups;
mod history;
mod partition;
mod together;
mod turns;

//! Groups: messages, repair by others, gateways, partitions.

mod floors;
mod gateways;
mod groups;
mod history;
mod partition;
mod random_groups;
mod sharing;
mod together;
mod turns;

//! `fanfare sensor` tells what passes by on this machine's network, for the monitor.
//!
//! - `options`: what is to be looked at; `watch`: the loop; `look`: one span of time
//! - `agents`: SNMP agents, each in a thread; `monitor`: where reports go; `said`: reports as text

mod agents;
mod look;
mod monitor;
mod options;
mod said;
mod watch;

pub(crate) use options::SensorArgs;
pub(crate) use watch::run;

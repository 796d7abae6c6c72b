//! Interfaces of other machines, by SNMP v2c (RFC 3416, IF-MIB of RFC 2863). Only reading is asked for.
//!
//! - `ber`: values as bytes; `message`: requests and answers; `agent`: who is asked, and how often;
//!   `pace`: when it is asked; `table`: what interfaces are, made of what was answered; `speed`: what
//!   their lines carry; `counters`: rates

mod agent;
mod ber;
mod counters;
mod message;
mod pace;
mod speed;
mod table;

pub use agent::{Agent, SnmpError};
pub use message::read_any as parse;
pub use table::AgentReport;

//! Interfaces of other machines, by SNMP v2c (RFC 3416, IF-MIB of RFC 2863). Only reading is asked for.
//!
//! - `ber`: values as bytes; `message`: requests and answers; `agent`: who is asked, and how often;
//!   `table`: counters of interfaces, made of what was answered

mod agent;
mod ber;
mod message;
mod table;

pub use agent::{Agent, SnmpError};
pub use message::read_any as parse;
pub use table::AgentReport;

//! NRL's `norp` at the other end: its signalling in UDP, and a NORM session for each connection.
//!
//! Nothing of it is sealed or authenticated: peers are known by their addresses. What norp lacks stays
//! lacking: a connection whose one direction has ended loses the other one at norp's end.
//!
//! - without I/O: [`message`], [`request`]: what is said; [`signalling`]: a session's beginning and end;
//!   `streams`: its NORM streams
//! - `ends`: a connection's two directions; `hub`: the port of signalling, and whose a message is;
//!   `turns`: who begins with a norp; `driver`: the task of a connection

mod driver;
pub(crate) mod ends;
mod hub;
pub mod message;
pub mod request;
pub mod signalling;
mod streams;
mod turns;

pub use hub::{Asking, Norp, NorpOptions};

//! A small HTTP/1.1 server: a thread for each connection, one answer for each, and streams of events.
//!
//! - `request`: what is asked, with bounds; `response`: what is answered
//! - `access`: who may ask: names of this host, tokens, failed tries
//! - `server`: connections and their number; `route`: what each path answers; `stream`: events as they come

mod access;
mod request;
mod response;
mod route;
mod server;
mod stream;

pub use access::Access;
pub use route::{PageFile, Pages};
pub use server::{ListenError, Server};

//! `fanfare link` and `fanfare proxy`: links between two nodes, and TCP over them.
//!
//! - `link`: a link and its messages; `proxy`: TCP over a link
//! - `peers`: who the other ends are, as they are written; `identity`: this machine's key
//! - `running`: until a signal comes; `status`: the socket that tells how it is
//! - `lines`: lines of `--json`; `exits`: how commands end

mod exits;
mod identity;
mod lines;
pub(crate) mod link;
mod peers;
pub(crate) mod proxy;
mod running;
mod status;

use exits::EXITS;

//! `fanfare relay` joins islands that no multicast reaches.
//!
//! - `options`: what is asked for, and what it comes to; `serving`: a relay until a signal comes
//! - `lines`: lines of `--json`, and the same for people

mod lines;
mod options;
mod serving;

pub(crate) use options::RelayArgs;
pub(crate) use serving::run;

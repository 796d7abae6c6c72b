//! What has arrived, from symbols to objects.
//!
//! - `position`, `format`: where something stands, and how an object is cut
//! - `objects`, `object`, `blocks`, `block`, `runs`: what is here
//! - `unfinished`: what the sender has yet to send of an object that others have overtaken
//! - `decode`, `equations`: what parity makes of it
//! - `resume`: bytes that the driver has from an earlier attempt

pub(in crate::receiver) mod block;
pub(in crate::receiver) mod blocks;
pub(in crate::receiver) mod decode;
pub(in crate::receiver) mod equations;
pub(in crate::receiver) mod format;
pub(in crate::receiver) mod object;
pub(in crate::receiver) mod objects;
pub(in crate::receiver) mod position;
pub(in crate::receiver) mod resume;
pub(in crate::receiver) mod runs;
pub(in crate::receiver) mod unfinished;

//! All feedback but requests, with its timers and its messages.
//!
//! - `ack`, `watermark`, `status`: acknowledgements and answers to the roll call
//! - `feedback`, `reception`, `timing`: reports of the path, counts, delays
//! - `vouched`: whose reports make ours superfluous
//! - `reflection`: how much goes to an address that may be another's
//! - `messages`: writes the messages

pub(in crate::receiver) mod ack;
pub(in crate::receiver) mod feedback;
pub(in crate::receiver) mod messages;
pub(in crate::receiver) mod reception;
pub(in crate::receiver) mod reflection;
pub(in crate::receiver) mod status;
pub(in crate::receiver) mod timing;
pub(in crate::receiver) mod vouched;
pub(in crate::receiver) mod watermark;

//! Commands of the application to a session: what to send, and what was received and stored.

mod receiver_handle;
mod sender_handle;

pub use receiver_handle::ReceiverHandle;
pub use sender_handle::SenderHandle;

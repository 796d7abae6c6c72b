//! wip
#[allow(missing_docs)]
pub mod announcement;
mod clock;
mod directory;
mod file_storage;
pub mod name;
pub mod receipt;
#[cfg(test)]
mod scratch;
pub mod source;
mod verify;
mod waker;

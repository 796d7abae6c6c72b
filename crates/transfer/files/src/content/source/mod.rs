//! What is to be sent: paths walked, standard input spooled, every file hashed.
//!
//! - `sources`: all of them, in order; `gather`: from paths to them, by the `gatherer`, which says what
//!   it does (`gathering`), and by `walk`
//! - `file`: one of them, ready to be sent; `options`: what of it is sent; `naming`: what receivers call it; `stamp`: how a change shows
//! - `hashing`: what reading a file tells of it; `error`: why something cannot be sent
//! - `links`: what becomes of symbolic links; `again`: what had changed; `streamed`: what is sent as it
//!   is read; `survey`: the same without reading

mod again;
mod error;
mod file;
mod gather;
mod gatherer;
mod gathering;
mod hashing;
mod links;
mod naming;
mod options;
mod sources;
mod stamp;
mod streamed;
mod survey;
mod walk;

pub use error::SourceError;
pub use file::SourceFile;
pub use gathering::Gathering;
pub use hashing::{Hashed, hash};
pub use links::Links;
pub use naming::{Extent, NamedPath};
pub use options::{GatherOptions, Packing};
pub use sources::Sources;
pub use stamp::Stamp;
pub(crate) use stamp::Stamped;

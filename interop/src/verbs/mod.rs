//! What commands of several experiments do.

pub(crate) mod files;
pub(crate) mod libnorm;

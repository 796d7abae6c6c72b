//! Interoperability with NRL's NORM, in network namespaces.

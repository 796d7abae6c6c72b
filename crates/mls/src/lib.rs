//! Groups whose members change.

//! The command `fanfare`.
fn main() {}

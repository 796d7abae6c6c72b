//! libfanfare: the library for programs in C, and in what calls C.
//!
//! The header `include/fanfare.h` is made from these sources by cbindgen; `cargo xtask headers`
//! compares it in CI. `docs/how-to/programs/use-from-c.md` has the programs.
//!
//! # Map, in reading order
//! - [`types`]: what a program in C sees of values; [`edge`]: the functions, and all `unsafe` code
//! - `handle`: what a program holds, and what stands behind it; `kept`: what it was lent
#![deny(unsafe_code)]

pub mod edge;
mod handle;
mod kept;
pub mod types;

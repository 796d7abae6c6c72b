//! The functions. All `unsafe` code is here: pointers become slices and texts, panics become results.
#![allow(unsafe_code, reason = "this is where C calls")]
#![allow(non_camel_case_types, reason = "these are the names in C")]

pub mod basics;
mod call;
pub mod files;
pub mod group;
pub mod stream_in;
pub mod stream_out;
mod words;

//! The seven constants. Programs read them at these sizes, also by copies of their own.

use std::ptr;

use super::words::Word;

/// A pointer that nobody follows.
#[repr(transparent)]
#[derive(Debug)]
pub struct Constant(Word);

// SAFETY: it is null, and nobody writes it.
unsafe impl Sync for Constant {}

/// No instance.
#[unsafe(no_mangle)]
pub static NORM_INSTANCE_INVALID: Constant = Constant(ptr::null());
/// No session.
#[unsafe(no_mangle)]
pub static NORM_SESSION_INVALID: Constant = Constant(ptr::null());
/// No node.
#[unsafe(no_mangle)]
pub static NORM_NODE_INVALID: Constant = Constant(ptr::null());
/// No object.
#[unsafe(no_mangle)]
pub static NORM_OBJECT_INVALID: Constant = Constant(ptr::null());
/// The id of nobody.
#[unsafe(no_mangle)]
pub static NORM_NODE_NONE: u32 = 0;
/// The id of everybody.
#[unsafe(no_mangle)]
pub static NORM_NODE_ANY: u32 = u32::MAX;
/// No descriptor.
#[unsafe(no_mangle)]
pub static NORM_DESCRIPTOR_INVALID: i32 = -1;

//! What the operating system gives: namespaces, tools, rights, priority, scratch directories.

pub mod namespace;
pub mod priority;
pub mod privileges;
pub mod scratch;
pub mod tool;

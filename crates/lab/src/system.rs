//! What the operating system gives: namespaces, tools, rights, priority, scratch directories.

pub(crate) mod namespace;
pub(crate) mod priority;
pub(crate) mod privileges;
pub(crate) mod scratch;
pub(crate) mod tool;

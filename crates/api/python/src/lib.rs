//! The module behind the wheel `fanfare`: `fanfare/__init__.py` has what a program in Python uses.
//!
//! # Map, in reading order
//! - `told`: events, messages and reports as Python sees them
//! - `transfer`, `stream`, `member`: what they are about
//! - `options`: from keyword arguments; `patience`: waits that Ctrl-C ends; `raised`: errors as
//!   exceptions

mod member;
mod options;
mod patience;
mod raised;
mod stream;
mod told;
mod transfer;

/// What Python loads.
#[pyo3::pymodule]
mod _fanfare {
    #[pymodule_export]
    use super::{
        member::{Member, Publisher},
        stream::{StreamIn, StreamOut},
        told::{Event, Fate, Message, Received, Report, Status, StreamMessage},
        transfer::Files,
    };

    #[pymodule_export]
    use super::options::option_names;

    #[pymodule_export]
    const VERSION: &str = fanfare_binding::VERSION;
}

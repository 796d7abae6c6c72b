//! One call: what it comes to, and why.

use std::{
    cell::RefCell,
    ffi::{CStr, CString, c_char},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, MutexGuard, PoisonError},
};

use fanfare_binding::{Error, Files, Kind, Member, Options, Publisher, StreamIn, StreamOut};

use crate::{
    handle::{self, Dead, Entry, Thing},
    kept::{Kept, text},
    types::fanfare_result::{self, *},
};

thread_local! {
    /// Why the last call of this thread that failed has failed.
    static WHY: RefCell<CString> = RefCell::default();
}

/// Why a call was not done.
#[derive(Debug)]
pub(super) struct Refusal {
    result: fanfare_result,
    text: String,
}

pub(super) type Done = Result<(), Refusal>;

impl Refusal {
    pub(super) fn invalid(text: impl Into<String>) -> Self {
        Self { result: FANFARE_INVALID, text: text.into() }
    }

    /// Not a failure: nothing more comes.
    pub(super) fn over(text: &str) -> Self {
        Self { result: FANFARE_ENDED, text: text.to_owned() }
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let result = match error.kind {
            Kind::Timeout => FANFARE_TIMEOUT,
            Kind::Ended => FANFARE_ENDED,
            Kind::Gap { .. } => FANFARE_GAP,
            Kind::Mistake => FANFARE_INVALID,
            Kind::Failed => FANFARE_FAILED,
        };
        Self { result, text: error.text }
    }
}

impl From<Dead> for Refusal {
    fn from(dead: Dead) -> Self {
        Self::invalid(dead.words())
    }
}

fn remember(why: &str) {
    WHY.with(|place| *place.borrow_mut() = text(why));
}

/// Why the last call that failed here has failed.
pub(super) fn why() -> *const c_char {
    WHY.try_with(|place| place.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// Runs a function of the interface. A panic is told as a fault: it must not reach a program in another
/// language.
pub(super) fn call(name: &CStr, run: impl FnOnce() -> Done) -> fanfare_result {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(())) => FANFARE_OK,
        Ok(Err(refusal)) => {
            remember(&refusal.text);
            refusal.result
        }
        Err(_) => {
            let name = name.to_string_lossy();
            remember(&format!("{name}: a fault of this library; the call had no effect"));
            FANFARE_FAULT
        }
    }
}

/// What a handle names; and that it is of this kind.
#[derive(Debug)]
pub(super) struct Held(Arc<Entry>);

impl Held {
    pub(super) fn of(handle: u64) -> Result<Self, Refusal> {
        Ok(Self(handle::get(handle)?))
    }

    pub(super) fn thing(&self) -> &Thing {
        &self.0.thing
    }

    /// What it has lent to the program; the last call's is forgotten.
    pub(super) fn kept(&self) -> MutexGuard<'_, Kept> {
        let mut kept = self.0.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.renew();
        kept
    }

    pub(super) fn files(&self) -> Result<&Files, Refusal> {
        match self.thing() {
            Thing::Files(files) => Ok(files),
            _ => Err(Refusal::invalid("handle: is not of files")),
        }
    }

    pub(super) fn out(&self) -> Result<&StreamOut, Refusal> {
        match self.thing() {
            Thing::Out(stream) => Ok(stream),
            _ => Err(Refusal::invalid("handle: is not of a stream that is sent")),
        }
    }

    pub(super) fn input(&self) -> Result<&StreamIn, Refusal> {
        match self.thing() {
            Thing::In(stream) => Ok(stream),
            _ => Err(Refusal::invalid("handle: is not of a stream that is received")),
        }
    }

    pub(super) fn member(&self) -> Result<&Member, Refusal> {
        match self.thing() {
            Thing::Member(member) => Ok(member),
            _ => Err(Refusal::invalid("handle: is not of a group")),
        }
    }

    pub(super) fn publisher(&self) -> Result<&Publisher, Refusal> {
        match self.thing() {
            Thing::Publisher(publisher) => Ok(publisher),
            _ => Err(Refusal::invalid("handle: is not of a publisher")),
        }
    }
}

/// Options as they are now; all at their defaults for 0.
pub(super) fn options(handle: u64) -> Result<Options, Refusal> {
    if handle == 0 {
        return Ok(Options::default());
    }
    match Held::of(handle)?.thing() {
        Thing::Options(options) => {
            Ok(options.lock().unwrap_or_else(PoisonError::into_inner).clone())
        }
        _ => Err(Refusal::invalid("handle: is not of options")),
    }
}

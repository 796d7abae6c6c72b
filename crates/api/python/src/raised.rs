//! Errors as exceptions of the package.

use fanfare_binding::{Error, Kind};
use pyo3::{
    exceptions::{PyTimeoutError, PyValueError},
    prelude::*,
};

/// An exception that the package defines.
fn own(name: &str, arguments: impl for<'py> pyo3::call::PyCallArgs<'py>) -> PyErr {
    Python::attach(|py| {
        let made = py
            .import("fanfare.errors")
            .and_then(|errors| errors.getattr(name))
            .and_then(|class| class.call1(arguments));
        match made {
            Ok(exception) => PyErr::from_value(exception),
            Err(error) => error,
        }
    })
}

pub(crate) fn raised(error: Error) -> PyErr {
    match error.kind {
        Kind::Timeout => PyTimeoutError::new_err(error.text),
        Kind::Mistake => PyValueError::new_err(error.text),
        Kind::Ended => own("Ended", (error.text,)),
        Kind::Gap { from, to } => own("Gap", (error.text, from, to)),
        Kind::Failed => own("Error", (error.text,)),
    }
}

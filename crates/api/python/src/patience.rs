//! Waits that Ctrl-C ends: in slices, without the interpreter's lock.

use std::time::{Duration, Instant};

use fanfare_binding::{Error, Kind, Wait};
use pyo3::{exceptions::PyValueError, prelude::*};

use crate::raised::raised;

/// A person does not notice that Ctrl-C takes so long.
pub(crate) const SLICE: Duration = Duration::from_millis(200);

/// When a wait of so many seconds is over; `None` for one without an end.
fn deadline(timeout: Option<f64>) -> PyResult<Option<Instant>> {
    let Some(seconds) = timeout else { return Ok(None) };
    let time = Duration::try_from_secs_f64(seconds.max(0.0));
    let time = time.map_err(|_| PyValueError::new_err(format!("timeout ({seconds}): too long")))?;
    Ok(Instant::now().checked_add(time))
}

/// Calls `next` until it gives something, or the time is over.
pub(crate) fn patient<T: Send>(
    py: Python<'_>,
    timeout: Option<f64>,
    next: impl Fn(Wait) -> Result<T, Error> + Sync,
) -> PyResult<T> {
    let deadline = deadline(timeout)?;
    loop {
        let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
        let slice = left.map_or(SLICE, |left| left.min(SLICE));
        match py.detach(|| next(Wait::AtMost(slice))) {
            Err(error) if error.kind == Kind::Timeout && left.is_none_or(|left| left > slice) => {
                py.check_signals()?;
            }
            found => return found.map_err(raised),
        }
    }
}

//! Files that are sent or received.

use std::path::{Path, PathBuf};

use fanfare_binding::{self as binding, Kind, Wait};
use pyo3::{prelude::*, types::PyDict};

use crate::{
    options::options,
    patience::{SLICE, patient},
    raised::raised,
    told::{Event, Report},
};

/// Files that are sent or received, by a thread of their own.
#[pyclass(frozen, module = "fanfare")]
#[derive(Debug)]
pub(crate) struct Files(binding::Files);

#[pymethods]
impl Files {
    #[staticmethod]
    #[pyo3(signature = (group, paths, **given))]
    fn send(
        py: Python<'_>,
        group: &str,
        paths: Vec<PathBuf>,
        given: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let options = options(given)?;
        // Files are read here: they are hashed before they are sent.
        py.detach(|| binding::Files::send(group, paths, &options)).map(Self).map_err(raised)
    }

    #[staticmethod]
    #[pyo3(signature = (group, directory, **given))]
    #[expect(clippy::needless_pass_by_value, reason = "Python gives it away")]
    fn receive(
        group: &str,
        directory: PathBuf,
        given: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let directory: &Path = &directory;
        binding::Files::receive(group, directory, &options(given)?).map(Self).map_err(raised)
    }

    #[pyo3(signature = (timeout = None))]
    fn next(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Event> {
        patient(py, timeout, |wait| self.0.next(wait)).map(Event)
    }

    fn finish(&self, py: Python<'_>) -> PyResult<Report> {
        loop {
            match py.detach(|| self.0.next(Wait::AtMost(SLICE))) {
                Ok(_) => {}
                Err(error) if error.kind == Kind::Timeout => {}
                // Whether it has ended so, or was finished before, the report says.
                Err(_) => break,
            }
            py.check_signals()?;
        }
        py.detach(|| self.0.finish()).map(Report::from).map_err(raised)
    }

    fn stop(&self) {
        self.0.stop();
    }
}

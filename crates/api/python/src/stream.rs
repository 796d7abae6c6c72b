//! The two ends of a stream.

use std::time::Duration;

use fanfare_binding as binding;
use pyo3::{
    exceptions::PyValueError,
    prelude::*,
    types::{PyBytes, PyDict},
};

use crate::{
    options::options,
    patience::{SLICE, patient},
    raised::raised,
    told::{Event, Report, Status, StreamMessage},
};

/// The end of a stream at which bytes go in.
#[pyclass(frozen, module = "fanfare")]
#[derive(Debug)]
pub(crate) struct StreamOut(binding::StreamOut);

impl StreamOut {
    /// Waits until there is room, or the stream has ended.
    fn wait_for_room(&self, py: Python<'_>) -> PyResult<()> {
        loop {
            let status = self.0.status().map_err(raised)?;
            if status.vacancy > 0 || status.ended {
                return Ok(());
            }
            py.detach(|| self.0.wait(SLICE)).map_err(raised)?;
            py.check_signals()?;
        }
    }
}

#[pymethods]
impl StreamOut {
    #[new]
    #[pyo3(signature = (group, **given))]
    fn new(group: &str, given: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        binding::StreamOut::open(group, &options(given)?).map(Self).map_err(raised)
    }

    fn write(&self, py: Python<'_>, data: &[u8]) -> PyResult<usize> {
        let mut rest = data;
        while !rest.is_empty() {
            self.wait_for_room(py)?;
            let count = py.detach(|| self.0.try_write(rest)).map_err(raised)?;
            rest = &rest[count..];
        }
        Ok(data.len())
    }

    #[pyo3(signature = (data, lifetime = None))]
    fn write_message(&self, py: Python<'_>, data: &[u8], lifetime: Option<f64>) -> PyResult<()> {
        let lifetime = lifetime.map(|seconds| {
            Duration::try_from_secs_f64(seconds)
                .map_err(|_| PyValueError::new_err(format!("lifetime ({seconds}): not a time")))
        });
        let lifetime = lifetime.transpose()?;
        self.wait_for_room(py)?;
        py.detach(|| self.0.write_message(data, lifetime)).map_err(raised)
    }

    fn mark(&self) -> PyResult<()> {
        self.0.mark().map_err(raised)
    }

    #[pyo3(signature = (active = false))]
    fn flush(&self, active: bool) -> PyResult<()> {
        self.0.flush(active).map_err(raised)
    }

    fn status(&self) -> PyResult<Status> {
        self.0.status().map(Status).map_err(raised)
    }

    #[pyo3(signature = (timeout = None))]
    fn next(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Event> {
        patient(py, timeout, |wait| self.0.next_event(wait)).map(Event)
    }

    fn finish(&self, py: Python<'_>) -> PyResult<Report> {
        // It may have ended already, since nobody listens any more.
        let _ = self.0.close();
        while !self.0.status().map_err(raised)?.ended {
            py.detach(|| self.0.wait(SLICE)).map_err(raised)?;
            py.check_signals()?;
        }
        py.detach(|| self.0.finish()).map(Report::from).map_err(raised)
    }

    fn stop(&self) {
        self.0.stop();
    }
}

/// The end of a stream at which bytes come out.
#[pyclass(frozen, module = "fanfare")]
#[derive(Debug)]
pub(crate) struct StreamIn(binding::StreamIn);

#[pymethods]
impl StreamIn {
    #[new]
    #[pyo3(signature = (group, **given))]
    fn new(group: &str, given: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        binding::StreamIn::open(group, &options(given)?).map(Self).map_err(raised)
    }

    #[pyo3(signature = (most, timeout = None))]
    fn read<'py>(
        &self,
        py: Python<'py>,
        most: usize,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = patient(py, timeout, |wait| self.0.read_some(most, wait))?;
        Ok(PyBytes::new(py, &bytes))
    }

    #[pyo3(signature = (timeout = None))]
    fn read_message(
        &self,
        py: Python<'_>,
        timeout: Option<f64>,
    ) -> PyResult<Option<StreamMessage>> {
        let found = patient(py, timeout, |wait| self.0.read_message(wait))?;
        Ok(found.map(|message| StreamMessage {
            data: PyBytes::new(py, &message.bytes).unbind(),
            offset: message.offset,
            gap_before: message.gap_before,
        }))
    }

    fn offset(&self) -> PyResult<u64> {
        self.0.offset().map_err(raised)
    }

    #[pyo3(signature = (timeout = None))]
    fn next(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Event> {
        patient(py, timeout, |wait| self.0.next_event(wait)).map(Event)
    }

    fn finish(&self, py: Python<'_>) -> PyResult<Report> {
        py.detach(|| self.0.finish()).map(Report::from).map_err(raised)
    }

    fn stop(&self) {
        self.0.stop();
    }
}

//! Messages of groups.

use fanfare_binding as binding;
use pyo3::{prelude::*, types::PyDict};

use crate::{
    options::options,
    patience::patient,
    raised::raised,
    told::{Fate, Message},
};

/// A member of a group.
#[pyclass(frozen, module = "fanfare")]
#[derive(Debug)]
pub(crate) struct Member(binding::Member);

#[pymethods]
impl Member {
    #[new]
    #[pyo3(signature = (group, **given))]
    fn new(py: Python<'_>, group: &str, given: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let options = options(given)?;
        // A durable cache is read here.
        py.detach(|| binding::Member::join(group, &options)).map(Self).map_err(raised)
    }

    #[getter]
    fn node(&self) -> u32 {
        self.0.node()
    }

    #[pyo3(signature = (topics, **given))]
    fn subscribe(
        &self,
        py: Python<'_>,
        topics: &str,
        given: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<u32> {
        let options = options(given)?;
        py.detach(|| self.0.subscribe(topics, &options)).map_err(raised)
    }

    fn unsubscribe(&self, py: Python<'_>, subscription: u32) -> PyResult<bool> {
        py.detach(|| self.0.unsubscribe(subscription)).map_err(raised)
    }

    #[pyo3(signature = (topic, data, **given))]
    fn publish(
        &self,
        py: Python<'_>,
        topic: &str,
        data: &[u8],
        given: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<u32> {
        let (options, data) = (options(given)?, data.to_vec());
        py.detach(|| self.0.publish(topic, data, &options)).map_err(raised)
    }

    #[pyo3(signature = (topic, **given))]
    fn publisher(&self, topic: &str, given: Option<&Bound<'_, PyDict>>) -> PyResult<Publisher> {
        self.0.publisher(topic, &options(given)?).map(Publisher).map_err(raised)
    }

    fn cancel(&self, py: Python<'_>, tag: u64) -> PyResult<u64> {
        py.detach(|| self.0.cancel(tag)).map_err(raised)
    }

    #[pyo3(signature = (timeout = None))]
    fn next(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Message> {
        let arrival = patient(py, timeout, |wait| self.0.next(wait))?;
        Ok(Message::of(py, arrival))
    }

    fn receipts(&self, py: Python<'_>) -> PyResult<Vec<Fate>> {
        let fates = py.detach(|| self.0.receipts()).map_err(raised)?;
        Ok(fates.into_iter().map(Fate).collect())
    }

    fn leave(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.0.leave()).map_err(raised)
    }

    fn stop(&self) {
        self.0.stop();
    }
}

/// Publishes many messages on one topic, fast.
#[pyclass(frozen, module = "fanfare")]
#[derive(Debug)]
pub(crate) struct Publisher(binding::Publisher);

#[pymethods]
impl Publisher {
    fn send(&self, py: Python<'_>, data: &[u8]) -> PyResult<()> {
        py.detach(|| self.0.send(data)).map_err(raised)
    }

    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.0.flush()).map_err(raised)
    }
}

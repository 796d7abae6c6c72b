//! Events, messages and reports as Python sees them.

use fanfare_binding::{self as binding, Outcome, Standing};
use pyo3::{prelude::*, types::PyBytes};

/// Something that has happened; which values count, `kind` says.
#[pyclass(frozen, module = "fanfare")]
#[derive(Debug)]
pub(crate) struct Event(pub(crate) binding::Event);

#[pymethods]
impl Event {
    #[getter]
    fn kind(&self) -> &'static str {
        self.0.kind.name()
    }

    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    #[getter]
    fn text(&self) -> &str {
        &self.0.text
    }

    #[getter]
    fn node(&self) -> u32 {
        self.0.node
    }

    #[getter]
    fn count(&self) -> u64 {
        self.0.count
    }

    #[getter]
    fn bytes(&self) -> u64 {
        self.0.bytes
    }

    #[getter]
    fn total(&self) -> u64 {
        self.0.total
    }

    #[getter]
    fn seconds(&self) -> f64 {
        self.0.seconds
    }

    #[getter]
    fn hash<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.hash)
    }

    fn __repr__(&self) -> String {
        let binding::Event { kind, name, text, .. } = &self.0;
        format!("<fanfare.Event {} name={name:?} text={text:?}>", kind.name())
    }
}

/// A message of a group, or word of members and losses.
#[pyclass(frozen, module = "fanfare")]
#[derive(Debug)]
pub(crate) struct Message {
    #[pyo3(get)]
    kind: &'static str,
    #[pyo3(get)]
    topic: String,
    #[pyo3(get)]
    data: Py<PyBytes>,
    #[pyo3(get)]
    node: u32,
    #[pyo3(get)]
    number: u64,
    #[pyo3(get)]
    subscription: u32,
    #[pyo3(get)]
    age: f64,
}

#[pymethods]
impl Message {
    fn __repr__(&self) -> String {
        let Self { kind, topic, node, number, .. } = self;
        format!("<fanfare.Message {kind} topic={topic:?} node={node} number={number}>")
    }
}

impl Message {
    pub(crate) fn of(py: Python<'_>, arrival: binding::Arrival) -> Self {
        let word = |kind, node, number| Self {
            kind,
            topic: String::new(),
            data: PyBytes::new(py, b"").unbind(),
            node,
            number,
            subscription: 0,
            age: 0.0,
        };
        match arrival {
            binding::Arrival::Message(message) => Self {
                kind: "message",
                topic: message.topic,
                data: PyBytes::new(py, &message.bytes).unbind(),
                node: message.publisher,
                number: message.number,
                subscription: message.subscription,
                age: message.age.as_secs_f64(),
            },
            binding::Arrival::Lost(number) => word("lost", 0, number),
            binding::Arrival::Joined(node) => word("joined", node, 0),
            binding::Arrival::Left(node) => word("left", node, 0),
        }
    }
}

/// A message of a stream.
#[pyclass(frozen, module = "fanfare")]
#[derive(Debug)]
pub(crate) struct StreamMessage {
    #[pyo3(get)]
    pub(crate) data: Py<PyBytes>,
    #[pyo3(get)]
    pub(crate) offset: u64,
    #[pyo3(get)]
    pub(crate) gap_before: bool,
}

#[pymethods]
impl StreamMessage {
    fn __repr__(&self) -> String {
        format!("<fanfare.StreamMessage offset={} gap_before={}>", self.offset, self.gap_before)
    }
}

/// A receiver, and what it came to.
#[pyclass(frozen, module = "fanfare")]
#[derive(Debug, Clone)]
pub(crate) struct Received {
    #[pyo3(get)]
    name: String,
    #[pyo3(get)]
    node: u32,
    #[pyo3(get)]
    outcome: &'static str,
}

#[pymethods]
impl Received {
    fn __repr__(&self) -> String {
        format!("<fanfare.Received {:?} {}>", self.name, self.outcome)
    }
}

/// What it came to.
#[pyclass(frozen, module = "fanfare")]
#[derive(Debug)]
pub(crate) struct Report {
    #[pyo3(get)]
    complete: bool,
    #[pyo3(get)]
    bytes: u64,
    #[pyo3(get)]
    files: u64,
    #[pyo3(get)]
    lost: u64,
    #[pyo3(get)]
    receivers: Vec<Received>,
    #[pyo3(get)]
    missing: Vec<String>,
}

#[pymethods]
impl Report {
    fn __repr__(&self) -> String {
        let whole = self.receivers.iter().filter(|one| one.outcome == Outcome::Complete.name());
        let (complete, whole, of) = (self.complete, whole.count(), self.receivers.len());
        format!("<fanfare.Report complete={complete} receivers={whole}/{of}>")
    }
}

impl From<binding::Report> for Report {
    fn from(report: binding::Report) -> Self {
        let one = |one: binding::Received| Received {
            name: one.name,
            node: one.node,
            outcome: one.outcome.name(),
        };
        Self {
            complete: report.complete,
            bytes: report.bytes,
            files: report.files,
            lost: report.lost,
            receivers: report.receivers.into_iter().map(one).collect(),
            missing: report.missing,
        }
    }
}

/// How it stands with a stream.
#[pyclass(frozen, module = "fanfare")]
#[derive(Debug)]
pub(crate) struct Status(pub(crate) binding::Status);

#[pymethods]
impl Status {
    #[getter]
    fn written(&self) -> u64 {
        self.0.written
    }

    #[getter]
    fn acknowledged(&self) -> u64 {
        self.0.acknowledged
    }

    #[getter]
    fn receivers(&self) -> u64 {
        self.0.receivers
    }

    #[getter]
    fn stalled(&self) -> f64 {
        self.0.stalled
    }

    #[getter]
    fn rate(&self) -> u64 {
        self.0.rate
    }

    #[getter]
    fn vacancy(&self) -> u64 {
        self.0.vacancy
    }

    #[getter]
    fn ended(&self) -> bool {
        self.0.ended
    }
}

/// What is new of an own message with receipts.
#[pyclass(frozen, module = "fanfare")]
#[derive(Debug)]
pub(crate) struct Fate(pub(crate) binding::Fate);

#[pymethods]
impl Fate {
    #[getter]
    fn message(&self) -> u32 {
        self.0.message
    }

    #[getter]
    fn sent(&self) -> bool {
        self.0.sent
    }

    #[getter]
    fn over(&self) -> bool {
        self.0.gone
    }

    #[getter]
    fn standings(&self) -> Vec<(u32, &'static str)> {
        let word = |standing| match standing {
            Standing::Holds => "holds",
            Standing::Lacks => "lacks",
            Standing::Unwanted => "unwanted",
        };
        self.0.standings.iter().map(|(node, standing)| (*node, word(*standing))).collect()
    }
}

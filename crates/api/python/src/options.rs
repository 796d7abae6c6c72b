//! Options from keyword arguments.

use fanfare_binding::{Options, Purpose};
use pyo3::{
    exceptions::PyValueError,
    prelude::*,
    types::{PyBool, PyDict, PyList, PyString, PyTuple},
};

use crate::raised::raised;

/// `create_dirs=True` is the option `create-dirs`, `true`. What is `None` stays at its default.
pub(crate) fn options(given: Option<&Bound<'_, PyDict>>) -> PyResult<Options> {
    let mut options = Options::default();
    let Some(given) = given else { return Ok(options) };
    for (name, value) in given.iter() {
        if value.is_none() {
            continue;
        }
        let name = name.extract::<String>()?.replace('_', "-");
        options.set(&name, &words(&value)?).map_err(raised)?;
    }
    Ok(options)
}

/// The options for a purpose, as keyword arguments: what signatures in Python are compared with.
#[pyfunction]
pub(crate) fn option_names(purpose: &str) -> PyResult<Vec<String>> {
    let purpose = match purpose {
        "send-files" => Purpose::SendFiles,
        "receive-files" => Purpose::ReceiveFiles,
        "send-stream" => Purpose::SendStream,
        "receive-stream" => Purpose::ReceiveStream,
        "join" => Purpose::Join,
        "publish" => Purpose::Publish,
        "subscribe" => Purpose::Subscribe,
        other => return Err(PyValueError::new_err(format!("purpose ({other}): there is none"))),
    };
    Ok(Options::names(purpose).map(|name| name.replace('-', "_")).collect())
}

fn words(value: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(flag.is_true().to_string());
    }
    if value.is_instance_of::<PyString>() {
        return value.extract();
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let names: Vec<String> = value.extract()?;
        return Ok(names.join(","));
    }
    Ok(value.str()?.to_string())
}

//! Lines in the text format of Prometheus.

use std::fmt::{Display, Write as _};

use serde_json::Value;

#[derive(Debug, Default)]
pub(super) struct Page {
    pub(super) text: String,
}

impl Page {
    pub(super) fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = write!(self.text, "# HELP fanfare_{name} {help}\n# TYPE fanfare_{name} {kind}\n");
    }

    pub(super) fn line(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        let label = |(name, value): &(&str, &str)| format!("{name}=\"{}\"", escaped(value));
        let labels: Vec<String> = labels.iter().map(label).collect();
        let labels =
            if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(self.text, "fanfare_{name}{labels} {value}");
    }

    /// One number, if there is one.
    pub(super) fn one(&mut self, name: &str, kind: &str, help: &str, value: &Value) {
        if value.is_number() {
            self.family(name, kind, help);
            self.line(name, &[], value);
        }
    }
}

/// Names come by the network: a quote or a line end in one must not end the line.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

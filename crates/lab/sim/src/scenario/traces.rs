//! Loss traces that a scenario names: files of `0` (arrived) and `1` (lost), one a datagram.

use crate::link::{TraceId, Traces};

/// How a scenario gets at the files beside it.
pub type ReadFile<'a> = dyn Fn(&str) -> Result<String, String> + 'a;

/// Traces read so far.
pub(super) struct TraceFiles<'a> {
    read: &'a ReadFile<'a>,
    names: Vec<String>,
    pub(super) traces: Traces,
}

impl<'a> TraceFiles<'a> {
    pub(super) fn new(read: &'a ReadFile<'a>) -> Self {
        Self { read, names: Vec::new(), traces: Traces::new() }
    }

    /// The trace in a file, read once.
    pub(super) fn read(&mut self, file: &str) -> Result<TraceId, String> {
        if let Some(known) = self.names.iter().position(|name| name == file) {
            return Ok(TraceId(known as u16));
        }
        let lost = parse(&(self.read)(file)?)?;
        let id = TraceId(self.names.len() as u16);
        self.names.push(file.to_owned());
        self.traces.insert(id, lost);
        Ok(id)
    }
}

fn parse(text: &str) -> Result<Vec<bool>, String> {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    let marks = lines.flat_map(str::chars).filter(|mark| !mark.is_whitespace());
    let lost: Vec<bool> = marks
        .map(|mark| match mark {
            '0' => Ok(false),
            '1' => Ok(true),
            other => Err(format!("has a {other}. Write 0 for arrived and 1 for lost")),
        })
        .collect::<Result<_, _>>()?;
    if lost.is_empty() { Err(String::from("is empty. Write 0s and 1s into it")) } else { Ok(lost) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_zeros_and_ones_with_comments() {
        assert_eq!(parse("0 1 1\n0 # lost 1\n"), Ok(vec![false, true, true, false]));
        assert!(parse("0 2").unwrap_err().contains("has a 2"));
        assert!(parse("# nothing\n").unwrap_err().contains("empty"));
    }
}

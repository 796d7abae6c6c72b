//! A Dask cluster, spoken to through a few lines of Python.
//!
//! Python is given every piece of work as a line of JSON, and answers each with a line, in order.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Lines, Write},
    process::{Child, ChildStdout, Command, Stdio},
    thread::{self, JoinHandle},
};

use fanfare_command::{Exit, Failure};
use fanfare_sim::Values;
use serde::{Deserialize, Serialize};

const SCRIPT: &str = include_str!("dask.py");

/// Some seeds of a scenario.
#[derive(Debug, Serialize)]
pub(super) struct Piece {
    pub(super) fanfare: String,
    pub(super) text: String,
    pub(super) values: Values,
    pub(super) first: u64,
    pub(super) seeds: u64,
}

/// The figures of each seed.
pub(super) type Answer = Vec<(u64, BTreeMap<String, f64>)>;

/// What Python says.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Line {
    Seeds(Answer),
    Error(String),
}

/// The cluster at work.
#[derive(Debug)]
pub(super) struct Cluster {
    python: Child,
    answers: Lines<BufReader<ChildStdout>>,
    writer: Option<JoinHandle<()>>,
}

impl Cluster {
    /// Gives all pieces to the scheduler at this address.
    pub(super) fn start(address: &str, pieces: &[Piece]) -> Result<Self, Failure> {
        let mut command = Command::new("python3");
        command.args(["-c", SCRIPT, address]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let no_python = |why: &dyn std::fmt::Display| {
            let text = format!("dask ({address}): python3 cannot be started ({why}). Install it");
            Failure::new(Exit::Resource, "sweep.dask", text)
        };
        let mut python = command.spawn().map_err(|error| no_python(&error))?;
        let (input, answers) = (python.stdin.take(), python.stdout.take());
        let answers = answers.ok_or_else(|| no_python(&"no output"))?;
        let work: String =
            pieces.iter().map(|piece| fanfare_command::to_text(piece) + "\n").collect();
        // Python may answer before it has read everything.
        let writer =
            input.map(|mut input| thread::spawn(move || drop(input.write_all(work.as_bytes()))));
        Ok(Self { python, answers: BufReader::new(answers).lines(), writer })
    }

    /// The answer to the next piece.
    pub(super) fn next(&mut self) -> Result<Answer, Failure> {
        let failed = |exit, text| Failure::new(exit, "sweep.dask", text);
        let line = self.answers.next().and_then(Result::ok).unwrap_or_default();
        match serde_json::from_str(&line) {
            Ok(Line::Seeds(answer)) => Ok(answer),
            Ok(Line::Error(text)) if text.starts_with("dask ") => Err(failed(Exit::Resource, text)),
            Ok(Line::Error(text)) => Err(failed(Exit::Failed, text)),
            Err(_) => {
                let text = "dask (python3): ended without an answer. See what it printed above";
                Err(failed(Exit::Failed, text.to_owned()))
            }
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // It has answered everything, or nobody wants to know any more.
        let _ = self.python.kill();
        let _ = self.python.wait();
        self.writer.take().map(JoinHandle::join);
    }
}

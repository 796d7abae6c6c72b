//! A running command and what it says.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread::JoinHandle,
};

use super::news::News;

/// A sender or a receiver; it dies with this.
pub(crate) struct Side {
    child: Child,
    lines: Arc<Mutex<Vec<String>>>,
    reader: Option<JoinHandle<()>>,
    code: Option<Option<i32>>,
}

impl Drop for Side {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Side {
    /// Rings for each line, and at the end of them.
    pub(crate) fn start(command: &mut Command, news: News) -> Result<Self, String> {
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = child.spawn().map_err(|e| e.to_string())?;
        let stdout = child.stdout.take().ok_or("no output")?;
        let lines = Arc::new(Mutex::new(Vec::new()));
        let into = lines.clone();
        let reader = std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if let Ok(mut lines) = into.lock() {
                    lines.push(line);
                }
                news.ring();
            }
            news.ring();
        });
        Ok(Self { child, lines, reader: Some(reader), code: None })
    }

    /// Whether it has ended, and with which exit code; killed, with none.
    pub(crate) fn ended(&mut self) -> Option<Option<i32>> {
        if self.code.is_none()
            && let Ok(Some(status)) = self.child.try_wait()
        {
            self.finish(status.code());
        }
        self.code
    }

    fn finish(&mut self, code: Option<i32>) {
        self.code = Some(code);
        // Its output ends with it.
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }

    /// As a crash: no time for anything.
    pub(crate) fn kill(&mut self) {
        if self.code.is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
            self.finish(None);
        }
    }

    /// Whether it has said something of this kind.
    pub(crate) fn said(&self, event: &str) -> bool {
        let start = format!("{{\"event\":\"{event}\"");
        self.lines().iter().any(|line| line.starts_with(&start))
    }

    /// All it has said.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines.lock().map(|lines| lines.clone()).unwrap_or_default()
    }
}

//! The socket from outside: requests to a node that runs.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError, channel},
    },
    time::Duration,
};

use super::{LINE_MAX, Request};
use crate::{
    exit::{Exit, Failure},
    json::{Line, StreamLine},
};

/// A node answers at once; one that does not hangs.
const ANSWER: Duration = Duration::from_secs(10);

/// A connection to a node.
pub(crate) struct Client {
    path: PathBuf,
    stream: UnixStream,
    lines: Receiver<Line>,
    /// This side has ended it.
    closed: Arc<AtomicBool>,
}

impl Client {
    pub(crate) fn connect(path: &Path) -> Result<Self, Failure> {
        let failed = |error: io::Error| {
            let exit = match error.kind() {
                io::ErrorKind::PermissionDenied => Exit::Permission,
                _ => Exit::Failed,
            };
            let text = format!(
                "socket ({}): no node answers there ({error}). Start one with fanfare node, or give \
                 its --socket",
                path.display()
            );
            Failure::new(exit, "socket.unreachable", text)
        };
        let stream = UnixStream::connect(path).map_err(failed)?;
        let reading = stream.try_clone().map_err(failed)?;
        let (told, lines) = channel();
        std::thread::spawn(move || {
            let mut reader = BufReader::new(reading);
            loop {
                let mut line = String::new();
                match reader.by_ref().take(LINE_MAX).read_line(&mut line) {
                    Ok(count) if count > 0 => {}
                    _ => return,
                }
                // What a newer node says beside is of no concern.
                let Ok(line) = serde_json::from_str::<StreamLine>(&line) else { continue };
                if told.send(line.into_line()).is_err() {
                    return;
                }
            }
        });
        let closed = Arc::new(AtomicBool::new(false));
        Ok(Self { path: path.to_owned(), stream, lines, closed })
    }

    /// Ends it from a signal handler.
    pub(crate) fn closer(&self) -> Option<Box<dyn Fn() + Send>> {
        let (stream, closed) = (self.stream.try_clone().ok()?, self.closed.clone());
        Some(Box::new(move || {
            closed.store(true, Ordering::Relaxed);
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }))
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// Asks, and gives the answer.
    pub(crate) fn ask(&mut self, request: &Request) -> Result<Line, Failure> {
        let mut line = serde_json::to_string(request).unwrap_or_default();
        line.push('\n');
        self.stream.write_all(line.as_bytes()).map_err(|_| self.gone())?;
        match self.lines.recv_timeout(ANSWER) {
            Ok(Line::Error(error)) => {
                let text = error.message.trim_start_matches("error: ").to_owned();
                let full = error.code.starts_with("cache.") || error.code.ends_with(".full");
                let exit = if full { Exit::Resource } else { Exit::Usage };
                Err(Failure::new(exit, "node.refused", text))
            }
            Ok(line) => Ok(line),
            Err(_) => Err(self.gone()),
        }
    }

    /// The next line that comes by itself.
    pub(crate) fn next(&self, timeout: Duration) -> Result<Line, RecvTimeoutError> {
        self.lines.recv_timeout(timeout)
    }

    pub(crate) fn gone(&self) -> Failure {
        let text = format!(
            "socket ({}): the node has ended the connection. See what it says",
            self.path.display()
        );
        Failure::new(Exit::Failed, "socket.closed", text)
    }
}

//! The socket from outside: requests to a node that runs.

use std::{
    collections::VecDeque,
    io::{self, BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    },
    time::Duration,
};

use fanfare_udp::os::local::UnixStream;

use crate::json::{Line, MessageLine, StreamLine};
use fanfare_node::group::{Body, BodyError};

use super::request::{LINE_MAX, Request};
use crate::{Exit, Failure};

/// A node answers at once; one that does not hangs.
const ANSWER: Duration = Duration::from_secs(10);
/// What it has to write to a disk first takes longer: at least so many bytes are written each second.
const WRITTEN_EACH_SECOND: u64 = 1 << 20;
/// Lines that wait to be looked at; then the node waits, for this client alone.
const LINES_MAX: usize = 64;

/// A line, and the content that followed it.
type Said = (Line, Option<Body>);

/// A connection to a node.
pub struct Client {
    path: PathBuf,
    stream: UnixStream,
    said: Receiver<Result<Said, BodyError>>,
    /// Came before the answer to what was asked.
    early: VecDeque<Said>,
    /// This side has ended it.
    closed: Arc<AtomicBool>,
}

/// Why nothing comes.
#[derive(Debug)]
pub enum Silence {
    /// For now.
    Timeout,
    /// The node has ended the connection, or this side has.
    Ended,
    /// There is no room here for what comes.
    Failed(Failure),
}

impl Client {
    /// Connects to the node at this socket.
    pub fn connect(path: &Path) -> Result<Self, Failure> {
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
        let (told, said) = sync_channel(LINES_MAX);
        std::thread::spawn(move || listen(BufReader::new(reading), &told));
        let (path, closed) = (path.to_owned(), Arc::new(AtomicBool::new(false)));
        Ok(Self { path, stream, said, early: VecDeque::new(), closed })
    }

    /// Ends it from a signal handler.
    pub fn closer(&self) -> Option<Box<dyn Fn() + Send>> {
        let (stream, closed) = (self.stream.try_clone().ok()?, self.closed.clone());
        Some(Box::new(move || {
            closed.store(true, Ordering::Relaxed);
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }))
    }

    /// Whether this side has ended it.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// Asks, and gives the answer.
    pub fn ask(&mut self, request: &Request) -> Result<Line, Failure> {
        self.ask_with(request, None)
    }

    /// The same with content that follows the request.
    pub fn ask_with(&mut self, request: &Request, content: Option<&Body>) -> Result<Line, Failure> {
        let mut line = serde_json::to_string(request).unwrap_or_default();
        line.push('\n');
        let asked = self.stream.write_all(line.as_bytes());
        let asked = asked.and_then(|()| content.map_or(Ok(()), |c| c.copy_to(&mut self.stream)));
        let bytes = content.map_or(0, Body::len);
        match self.answer(ANSWER + Duration::from_secs(bytes / WRITTEN_EACH_SECOND)) {
            Some(Line::Error(error)) => {
                let text = error.message.trim_start_matches("error: ").to_owned();
                let full = error.code.starts_with("cache.")
                    || error.code.starts_with("message.spool")
                    || error.code.ends_with(".full");
                let exit = if full { Exit::Resource } else { Exit::Usage };
                Err(Failure::new(exit, "node.refused", text))
            }
            // A node that has refused it before it had all of it has said why.
            Some(line) if asked.is_ok() => Ok(line),
            _ => Err(self.gone()),
        }
    }

    fn answer(&mut self, timeout: Duration) -> Option<Line> {
        loop {
            let (line, content) = self.said.recv_timeout(timeout).ok()?.ok()?;
            let by_itself = matches!(line, Line::Message(_) | Line::Dropped(_));
            if !by_itself {
                return Some(line);
            }
            // No more than gates let through before the answer.
            self.early.push_back((line, content));
        }
    }

    /// The next line that comes by itself, with the content that followed it.
    pub fn next(&mut self, timeout: Duration) -> Result<Said, Silence> {
        if let Some(said) = self.early.pop_front() {
            return Ok(said);
        }
        match self.said.recv_timeout(timeout) {
            Ok(said) => said.map_err(|error| Silence::Failed(error.into())),
            Err(RecvTimeoutError::Timeout) => Err(Silence::Timeout),
            Err(RecvTimeoutError::Disconnected) => Err(Silence::Ended),
        }
    }

    /// What to say when the node is gone.
    #[must_use]
    pub fn gone(&self) -> Failure {
        let text = format!(
            "socket ({}): the node has ended the connection. See what it says",
            self.path.display()
        );
        Failure::new(Exit::Failed, "socket.closed", text)
    }
}

/// Hears the node, until it ends or nobody wants to know.
fn listen(mut from: BufReader<UnixStream>, told: &SyncSender<Result<Said, BodyError>>) {
    loop {
        let mut line = String::new();
        match from.by_ref().take(LINE_MAX).read_line(&mut line) {
            Ok(count) if count > 0 => {}
            _ => return,
        }
        // What a newer node says beside is of no concern.
        let Ok(line) = serde_json::from_str::<StreamLine>(&line) else { continue };
        let line = line.into_line();
        let said = match content_behind(&line, &mut from) {
            Ok(content) => Ok((line, content)),
            Err(error) => Err(error),
        };
        let ends = said.is_err();
        if told.send(said).is_err() || ends {
            return;
        }
    }
}

fn content_behind(line: &Line, from: &mut dyn BufRead) -> Result<Option<Body>, BodyError> {
    let Line::Message(MessageLine { bytes: Some(bytes), .. }) = line else { return Ok(None) };
    let body = Body::read_from(&mut from.take(*bytes), *bytes)?;
    let whole = body.len() == *bytes;
    let cut = || BodyError::Unreadable(io::ErrorKind::UnexpectedEof.into());
    if whole { Ok(Some(body)) } else { Err(cut()) }
}

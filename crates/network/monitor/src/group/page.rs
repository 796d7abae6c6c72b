//! A group with its page: it is looked at once a second, and twice where sensors tell of links.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        mpsc::{self, RecvTimeoutError, Sender},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use super::{
    GroupView, Seen,
    places::{self, Placed},
};
use crate::{Access, Board, ListenError, Server, evidence::Evidence, history::History};

/// How often it is looked at, and how often what sensors tell is: two looks in a row bring advice.
const LOOKS: Duration = Duration::from_secs(1);
const LOOKS_AT_SENSORS: Duration = Duration::from_millis(500);
/// Open pages get the end within this, or not at all.
const END_PATIENCE: Duration = Duration::from_secs(1);

/// What is shown and kept beside what nodes say of themselves.
#[derive(Debug, Default)]
pub struct More {
    /// Of sensors.
    pub evidence: Option<Evidence>,
    /// This member does what is advised.
    pub obeys: bool,
    /// Where numbers are kept.
    pub history: Option<History>,
    /// Where nodes stand.
    pub places: Vec<Placed>,
}

impl More {
    fn ceiling(&self) -> Option<u64> {
        self.evidence.as_ref().filter(|_| self.obeys)?.ceiling()
    }
}

/// A page for one group; it ends when this is dropped.
#[derive(Debug)]
pub struct GroupPage {
    board: Arc<Board>,
    server: Server,
    running: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl GroupPage {
    /// Opens it at `address`. `look` says what is known now, and nothing once the group has ended; it is
    /// told the ceiling that this member is to obey, if there is one. `more` is taken once the address is had.
    pub fn start(
        mut view: GroupView,
        more: &mut More,
        address: SocketAddr,
        access: Access,
        mut look: impl FnMut(Option<u64>) -> Option<Seen> + Send + 'static,
    ) -> Result<Self, ListenError> {
        let board = Arc::new(Board::new(view.document(Duration::ZERO, &Seen::default())));
        let server = Server::start(address, access, Arc::clone(&board))?;
        let mut more = std::mem::take(more);
        if let Some(history) = more.history.take() {
            board.set_history(history);
        }
        let (running, stopped) = mpsc::channel();
        let (own, begun) = (Arc::clone(&board), Instant::now());
        let thread = thread::Builder::new().name("watch-group".to_owned()).spawn(move || {
            let pause = if more.evidence.is_some() { LOOKS_AT_SENSORS } else { LOOKS };
            let mut point = Duration::ZERO;
            while let Some(seen) = look(more.ceiling()) {
                let now = begun.elapsed();
                let mut document = view.document(now, &seen);
                if let Some(evidence) = &mut more.evidence {
                    evidence.add(now, &mut document);
                }
                places::add(&more.places, &mut document);
                own.publish(document);
                if now >= point {
                    own.add_point(view.point(now));
                    point += LOOKS;
                }
                if stopped.recv_timeout(pause) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
            }
        });
        let thread = thread.map_err(|error| ListenError::Refused(address, error))?;
        Ok(Self { board, server, running: Some(running), thread: Some(thread) })
    }

    /// What a browser opens.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/", self.server.address())
    }
}

impl Drop for GroupPage {
    fn drop(&mut self) {
        drop(self.running.take());
        self.thread.take().map(JoinHandle::join);
        self.board.end(END_PATIENCE);
    }
}

//! Connections: a thread for each, bounded in number and in time.

use std::{
    error::Error,
    fmt, io,
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use super::{
    access::Access,
    request::Request,
    response::{Response, Status},
    route::{Answer, Pages, Site},
    stream,
};
use crate::Board;

/// Connections at one time: a browser opens six.
const CONNECTIONS_MAX: usize = 64;
/// Of these, streams.
const STREAMS_MAX: usize = 32;
/// Who takes longer to ask, or to take a piece of an answer, is left.
const PATIENCE: Duration = Duration::from_secs(5);

/// A server; it ends when it is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    site: Site,
    connections: AtomicUsize,
    streams: AtomicUsize,
    stopped: AtomicBool,
}

/// Why there is no server.
#[derive(Debug)]
pub enum ListenError {
    /// The address is open to others, and not protected enough.
    Open(SocketAddr, &'static str),
    /// The system says no.
    Refused(SocketAddr, io::Error),
}

impl fmt::Display for ListenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open(address, why) => write!(f, "watch ({address}): {why}"),
            Self::Refused(address, error) => {
                write!(f, "watch ({address}): cannot be listened at ({error}). Use another port")
            }
        }
    }
}

impl Error for ListenError {}

impl Server {
    /// Serves `board` at `address`; port 0 takes any that is free.
    pub fn start(
        address: SocketAddr,
        access: Access,
        board: Arc<Board>,
    ) -> Result<Self, ListenError> {
        Self::serve(address, Site { access, board, pages: None })
    }

    /// Serves another program's pages with the same guards.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn start_pages(
        address: SocketAddr,
        access: Access,
        pages: Arc<dyn Pages>,
    ) -> Result<Self, ListenError> {
        let board = Arc::new(Board::new(serde_json::Value::Null));
        Self::serve(address, Site { access, board, pages: Some(pages) })
    }

    fn serve(address: SocketAddr, site: Site) -> Result<Self, ListenError> {
        site.access.suits(address).map_err(|why| ListenError::Open(address, why))?;
        let refused = |error| ListenError::Refused(address, error);
        let listener = TcpListener::bind(address).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let shared = Arc::new(Shared {
            site,
            connections: AtomicUsize::new(0),
            streams: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
        });
        let own = Arc::clone(&shared);
        thread::Builder::new()
            .name("watch".to_owned())
            .spawn(move || accept(&listener, &own))
            .map_err(refused)?;
        Ok(Self { address, shared })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Relaxed);
        // The thread waits for a connection: it gets one.
        let _ = TcpStream::connect_timeout(&self.address, PATIENCE);
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for connection in listener.incoming() {
        if shared.stopped.load(Ordering::Relaxed) {
            return;
        }
        let Ok(connection) = connection else {
            // Too many open files, most likely: they are closed sooner or later.
            thread::sleep(PATIENCE / 100);
            continue;
        };
        let Some(place) = Place::take(shared, Counter::Connections) else {
            let busy = Response::refused(Status::Busy, "too many connections");
            let _ = connection.set_write_timeout(Some(PATIENCE / 100));
            let _ = busy.write(&mut &connection, true);
            continue;
        };
        let own = Arc::clone(shared);
        // Without a thread the connection is closed: the browser tries again.
        let _ = thread::Builder::new().name("watch-one".to_owned()).spawn(move || {
            let _place = place;
            // Whoever has gone away needs no answer.
            let _ = serve(&connection, &own);
        });
    }
}

fn serve(connection: &TcpStream, shared: &Arc<Shared>) -> io::Result<()> {
    connection.set_read_timeout(Some(PATIENCE))?;
    connection.set_write_timeout(Some(PATIENCE))?;
    connection.set_nodelay(true)?;
    let request = match Request::read(&mut &*connection) {
        Ok(request) => request,
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            let refused = Response::refused(Status::BadRequest, "this is no request");
            return refused.write(&mut &*connection, true);
        }
        Err(error) => return Err(error),
    };
    match shared.site.answer(&request) {
        Answer::Whole(response) => response.write(&mut &*connection, request.method != "HEAD"),
        Answer::Stream => match Place::take(shared, Counter::Streams) {
            Some(_place) => stream::send(&mut &*connection, &shared.site.board),
            None => {
                let busy = Response::refused(Status::Busy, "too many streams");
                busy.write(&mut &*connection, true)
            }
        },
    }
}

#[derive(Debug, Clone, Copy)]
enum Counter {
    Connections,
    Streams,
}

/// One of the places that there are; free again when it is dropped.
struct Place {
    shared: Arc<Shared>,
    counter: Counter,
}

impl Place {
    fn take(shared: &Arc<Shared>, counter: Counter) -> Option<Self> {
        let most = match counter {
            Counter::Connections => CONNECTIONS_MAX,
            Counter::Streams => STREAMS_MAX,
        };
        let place = Self { shared: Arc::clone(shared), counter };
        // One too many is given back at once.
        (place.count().fetch_add(1, Ordering::Relaxed) < most).then_some(place)
    }

    fn count(&self) -> &AtomicUsize {
        match self.counter {
            Counter::Connections => &self.shared.connections,
            Counter::Streams => &self.shared.streams,
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.count().fetch_sub(1, Ordering::Relaxed);
    }
}

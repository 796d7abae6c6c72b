//! A transfer with its page: lines go in, the page shows them.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, RecvTimeoutError, SyncSender},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::{
    Access, Board, ListenError, Server,
    transfer::{Kind, Transfer},
};

/// The page is renewed so often, and at once when something came that says who is late, and why: that is to
/// show within two seconds.
const RENEWED: Duration = Duration::from_millis(500);
/// Such lines. The first one comes once a second, the others seldom.
const NEWS: [&str; 3] = ["receivers", "reported", "failed"];
/// Open pages get the end within this, or not at all.
const END_PATIENCE: Duration = Duration::from_secs(1);

/// A page for one transfer; it ends when this is dropped.
#[derive(Debug)]
pub struct TransferPage {
    shared: Arc<Shared>,
    server: Server,
    /// Wakes the thread, and ends it when it is dropped.
    running: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    transfer: Mutex<Transfer>,
    board: Arc<Board>,
    begun: Instant,
}

impl TransferPage {
    /// Opens it at `address`.
    pub fn start(kind: Kind, address: SocketAddr, access: Access) -> Result<Self, ListenError> {
        let mut transfer = Transfer::new(kind);
        let board = Arc::new(Board::new(transfer.document(Duration::ZERO)));
        let server = Server::start(address, access, Arc::clone(&board))?;
        let (transfer, begun) = (Mutex::new(transfer), Instant::now());
        let shared = Arc::new(Shared { transfer, board, begun });
        // A thread that is awake looks at all that has come: one word is enough.
        let (running, stopped) = mpsc::sync_channel(1);
        let own = Arc::clone(&shared);
        let thread = thread::Builder::new().name("watch-clock".to_owned()).spawn(move || {
            let mut second = 0;
            while stopped.recv_timeout(RENEWED) != Err(RecvTimeoutError::Disconnected) {
                own.renew(&mut second);
            }
        });
        let thread = thread.map_err(|error| ListenError::Refused(address, error))?;
        Ok(Self { shared, server, running: Some(running), thread: Some(thread) })
    }

    /// A line of `--json`.
    pub fn tell(&self, line: &str) {
        if let Ok(line) = serde_json::from_str::<Value>(line) {
            let now = self.shared.begun.elapsed();
            let is_news = NEWS.iter().any(|event| line["event"] == *event);
            self.shared.lock().on_line(now, line);
            if let (true, Some(running)) = (is_news, &self.running) {
                // It has been told already.
                let _ = running.try_send(());
            }
        }
    }

    /// What a browser opens.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/", self.server.address())
    }
}

impl Drop for TransferPage {
    /// Open pages see how it ended.
    fn drop(&mut self) {
        drop(self.running.take());
        self.thread.take().map(JoinHandle::join);
        let mut second = u64::MAX;
        self.shared.renew(&mut second);
        self.shared.board.end(END_PATIENCE);
    }
}

impl Shared {
    fn renew(&self, second: &mut u64) {
        let now = self.begun.elapsed();
        let mut transfer = self.lock();
        let document = transfer.document(now);
        if now.as_secs() > *second {
            *second = now.as_secs();
            self.board.add_point(transfer.point(now));
        }
        drop(transfer);
        self.board.publish(document);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Transfer> {
        self.transfer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read, Write},
        net::TcpStream,
    };

    use super::*;
    use crate::http::testing;

    fn ask(page: &TransferPage, path: &str) -> String {
        testing::ask(page.server.address(), path)
    }

    #[test]
    fn what_is_told_is_on_the_page_and_its_end_too() {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let page = TransferPage::start(Kind::Send, any, Access::local()).unwrap();
        page.tell(r#"{"event":"start","group":"239.255.42.1:6003","node_id":1,"interface":null}"#);
        page.tell("no JSON");
        let mut state = String::new();
        while !state.contains("\"phase\":\"waiting\"") {
            state = ask(&page, "/api/state");
        }
        assert!(ask(&page, "/metrics").contains("fanfare_build_info"));
        let mut stream = TcpStream::connect(page.server.address()).unwrap();
        write!(stream, "GET /api/stream HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let mut begin = [0; 8];
        stream.read_exact(&mut begin).unwrap();
        page.tell(r#"{"event":"result","ok":true,"exit":0}"#);
        drop(page);
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        assert!(text.contains("\"phase\":\"ended\"") && text.contains("event: end"), "{text}");
    }

    #[test]
    fn a_port_that_is_taken_is_named() {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let page = TransferPage::start(Kind::Receive, any, Access::local()).unwrap();
        let taken = page.server.address();
        let refused = TransferPage::start(Kind::Receive, taken, Access::local()).unwrap_err();
        assert!(refused.to_string().contains("Use another port"), "{refused}");
    }
}
